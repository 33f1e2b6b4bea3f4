// SPDX-License-Identifier: Apache-2.0

package credstore

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	cosi "github.com/cooper-cosi/cooper/proto"
)

const (
	// sealedPrefix is the prefix of every encrypted secret. The key ID, a colon, and nonce and ciphertext in base64
	// follow.
	sealedPrefix = "aes256gcm:"
	// plainWord is the line of a key file that allows unencrypted secrets to be read.
	plainWord = "plain"
	// keySize is the key size of AES-256, in bytes.
	keySize = 32
)

// keyring encrypts the secrets of a store and decrypts secrets that were encrypted with earlier keys.
type keyring struct {
	// keys maps key IDs to ciphers; first is the ID of the key that encrypts.
	keys  map[string]cipher.AEAD
	first string
	// plain allows unencrypted secrets to be read.
	plain bool
}

// readKeys reads a key file. Each line has a key ID, a space, and 32 bytes in base64. The first key encrypts, all keys
// decrypt. The line "plain" allows unencrypted secrets to be read. Empty lines and lines that start with # are
// ignored. Errors never contain a key.
func readKeys(path string) (*keyring, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the keys: %w", err)
	}
	k := &keyring{keys: map[string]cipher.AEAD{}}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "#"):
		case line == plainWord:
			k.plain = true
		default:
			if err := k.add(strings.Fields(line)); err != nil {
				return nil, fmt.Errorf("%s, line %d: %w", path, number, err)
			}
		}
	}
	if k.first == "" {
		return nil, fmt.Errorf("%s contains no key: write one line for each key, with an ID and 32 random bytes in base64", path)
	}
	return k, nil
}

func (k *keyring) add(fields []string) error {
	const form = "expected an ID (of letters, digits, '-', '_' and '.'), a space, and 32 bytes in base64"
	if len(fields) != 2 || strings.ContainsFunc(fields[0], func(r rune) bool { return !isKeyIDRune(r) }) {
		return errors.New(form)
	}
	raw, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil || len(raw) != keySize {
		return fmt.Errorf("key %s is not %d bytes in base64", fields[0], keySize)
	}
	if _, known := k.keys[fields[0]]; known {
		return fmt.Errorf("there are two keys with the ID %s", fields[0])
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return fmt.Errorf("key %s: %w", fields[0], err)
	}
	sealer, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return fmt.Errorf("key %s: %w", fields[0], err)
	}
	k.keys[fields[0]] = sealer
	if k.first == "" {
		k.first = fields[0]
	}
	return nil
}

func isKeyIDRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)
}

// Encrypted returns a Store that keeps its entries in store and encrypts their secrets with the keys in keyFile. IDs,
// notes and rotations are not encrypted: they are not secret, and administrators need them for repairs. When the Store
// reads an entry that is not encrypted, or was encrypted with an earlier key, it encrypts the entry with the first key.
//
// If keyFile is empty, secrets are not encrypted. An encrypted secret then causes an error, so it is never returned as
// if it were a plain secret.
func Encrypted(store Store, keyFile string) (Store, error) {
	if keyFile == "" {
		return encrypted{store, &keyring{plain: true}}, nil
	}
	keys, err := readKeys(keyFile)
	if err != nil {
		return nil, err
	}
	return encrypted{store, keys}, nil
}

type encrypted struct {
	Store

	keys *keyring
}

// Get implements Store.
func (e encrypted) Get(ctx context.Context, account string) (Entry, error) {
	stored, err := e.Store.Get(ctx, account)
	if err != nil {
		return Entry{}, err
	}
	entry, err := e.keys.each(stored, e.keys.unseal)
	if err != nil {
		return Entry{}, fmt.Errorf("decrypt the stored credential of account %q: %w", account, err)
	}
	if e.keys.current(stored) {
		return entry, nil
	}
	renewed, err := e.Put(ctx, entry)
	if errors.Is(err, ErrConflict) {
		return entry, nil // another writer has encrypted it; a Put with the version returned here fails with a conflict
	}
	return renewed, err
}

// Put implements Store.
func (e encrypted) Put(ctx context.Context, entry Entry) (Entry, error) {
	if err := entry.validate(); err != nil {
		return Entry{}, err
	}
	sealed, err := e.keys.each(entry, e.keys.seal)
	if err != nil {
		return Entry{}, fmt.Errorf("encrypt the credential of account %q: %w", entry.Account, err)
	}
	stored, err := e.Store.Put(ctx, sealed)
	if err != nil {
		return Entry{}, err
	}
	entry = entry.clone()
	entry.Version = stored.Version
	return entry, nil
}

// each returns the entry with all secrets replaced by the results of change.
func (k *keyring) each(entry Entry, change func(account, id string, secret cosi.Secret) (cosi.Secret, error)) (Entry, error) {
	entry = entry.clone()
	credentials := []*Credential{&entry.Current}
	if entry.Previous != nil {
		credentials = append(credentials, entry.Previous)
	}
	for _, c := range credentials {
		if c.Secret.IsZero() {
			continue // an entry with notes only
		}
		var err error
		if c.Secret, err = change(entry.Account, c.ID, c.Secret); err != nil {
			return Entry{}, err
		}
	}
	return entry, nil
}

// current reports whether all secrets are encrypted with the first key, if there is one.
func (k *keyring) current(stored Entry) bool {
	secrets := []cosi.Secret{stored.Current.Secret}
	if stored.Previous != nil {
		secrets = append(secrets, stored.Previous.Secret)
	}
	return k.first == "" || !slices.ContainsFunc(secrets, func(s cosi.Secret) bool {
		return !s.IsZero() && !strings.HasPrefix(s.Reveal(), sealedPrefix+k.first+":")
	})
}

// bound returns the additional data that binds a secret to its entry. The secret cannot be decrypted in the entry of
// another account or with another ID.
func bound(account, id string) []byte {
	return fmt.Appendf(nil, "%d:%s%s", len(account), account, id)
}

func (k *keyring) seal(account, id string, secret cosi.Secret) (cosi.Secret, error) {
	if k.first == "" {
		return secret, nil
	}
	sealed := k.keys[k.first].Seal(nil, nil, []byte(secret.Reveal()), bound(account, id)) //nolint:gosec // the AEAD makes the nonce
	return cosi.NewSecret(sealedPrefix + k.first + ":" + base64.StdEncoding.EncodeToString(sealed)), nil
}

func (k *keyring) unseal(account, id string, secret cosi.Secret) (cosi.Secret, error) {
	rest, isSealed := strings.CutPrefix(secret.Reveal(), sealedPrefix)
	switch {
	case !isSealed && k.plain:
		return secret, nil
	case !isSealed:
		return cosi.Secret{}, fmt.Errorf("%w: its secret is not encrypted; to allow unencrypted secrets, add a line with the word %s to the key file", ErrCorrupt, plainWord)
	}
	keyID, text, _ := strings.Cut(rest, ":")
	sealer, known := k.keys[keyID]
	if !known {
		return cosi.Secret{}, fmt.Errorf("%w: it is encrypted with key %q, which is not in the driver's key file; add that key", ErrCorrupt, keyID)
	}
	sealed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return cosi.Secret{}, fmt.Errorf("%w: its secret is not base64", ErrCorrupt)
	}
	opened, err := sealer.Open(nil, nil, sealed, bound(account, id))
	if err != nil {
		return cosi.Secret{}, fmt.Errorf("%w: its secret was changed, or was encrypted for another account or with a different key of the same ID (%s)", ErrCorrupt, keyID)
	}
	return cosi.NewSecret(string(opened)), nil
}
