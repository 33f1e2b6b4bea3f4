// SPDX-License-Identifier: Apache-2.0

package minio

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"sync"

	"github.com/secure-io/sio-go"
	"golang.org/x/crypto/argon2"
)

// The envelope of the admin API for bodies with secrets: a salt, the number of the cipher, a nonce and the encrypted
// stream. The key is derived from the sender's secret key.
const (
	saltSize = 32
	// cipherArgonAES is Argon2id for the key and AES-256-GCM for the stream.
	cipherArgonAES = 0

	argonTime    = 1
	argonMemory  = 64 << 10 // KiB
	argonThreads = 4
	keySize      = 32
)

// deriving prevents concurrent calls from each using argonMemory.
var deriving sync.Mutex

// encrypt returns data encrypted with secret, in the format of the admin API.
func encrypt(secret string, data []byte) ([]byte, error) {
	salt := make([]byte, saltSize)
	// crypto/rand.Read never returns an error; it crashes the program if the system has no randomness.
	_, _ = rand.Read(salt)
	stream, err := newStream(secret, salt)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, stream.NonceSize())
	_, _ = rand.Read(nonce)
	var sealed bytes.Buffer
	sealed.Write(salt)
	sealed.WriteByte(cipherArgonAES)
	sealed.Write(nonce)
	writer := stream.EncryptWriter(&sealed, nonce, nil)
	if _, err := writer.Write(data); err != nil {
		return nil, fmt.Errorf("encrypt for the admin API: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("encrypt for the admin API: %w", err)
	}
	return sealed.Bytes(), nil
}

func newStream(secret string, salt []byte) (*sio.Stream, error) {
	deriving.Lock()
	key := argon2.IDKey([]byte(secret), salt, argonTime, argonMemory, argonThreads, keySize)
	deriving.Unlock()
	stream, err := sio.AES_256_GCM.Stream(key)
	if err != nil {
		return nil, fmt.Errorf("encrypt for the admin API: %w", err)
	}
	return stream, nil
}
