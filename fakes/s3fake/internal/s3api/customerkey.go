// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // the protocol compares keys by MD5
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// Errors of "Using server-side encryption with customer-provided keys (SSE-C)", as recorded.
var (
	errKeyNeeded   = invalidRequest("The object was stored using a form of Server Side Encryption. The correct parameters must be provided to retrieve the object.")
	errKeyUseless  = invalidRequest("The encryption parameters are not applicable to this object.")
	errWrongKey    = awserr.New(http.StatusForbidden, "AccessDenied", "Requests specifying Server Side Encryption with Customer provided keys must provide the correct secret key.")
	errPartsSealed = invalidRequest("The multipart upload initiate requested encryption. Subsequent part requests must include the appropriate encryption parameters.")
	errPartsKey    = invalidRequest("The provided encryption parameters did not match the ones used originally.")
)

// keyHeaders are the names of the three headers with a customer's key.
type keyHeaders struct{ algorithm, key, sum string }

var (
	objectKey = keyHeaders{
		"X-Amz-Server-Side-Encryption-Customer-Algorithm", "X-Amz-Server-Side-Encryption-Customer-Key",
		"X-Amz-Server-Side-Encryption-Customer-Key-Md5",
	}
	sourceKey = keyHeaders{
		"X-Amz-Copy-Source-Server-Side-Encryption-Customer-Algorithm", "X-Amz-Copy-Source-Server-Side-Encryption-Customer-Key",
		"X-Amz-Copy-Source-Server-Side-Encryption-Customer-Key-Md5",
	}
)

// customerKeySize is the size of a key for AES256 in bytes.
const customerKeySize = 32

// customerKey is the key of a request. It is never stored: objects have only a salted digest of it.
type customerKey struct {
	raw []byte
	sum string
}

func badKey(message string) *awserr.Error {
	return invalidArgument("x-amz-server-side-encryption", "", message)
}

// customerKey reads a key from the headers of a request. It returns nil if the request has none.
func (q *request) customerKey(from keyHeaders) (*customerKey, error) {
	algorithm, encoded, sum := q.header(from.algorithm), q.header(from.key), q.header(from.sum)
	if algorithm == "" && encoded == "" && sum == "" {
		return nil, nil
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	other := q.header("X-Amz-Server-Side-Encryption")
	computed := md5.Sum(key) //nolint:gosec // see the import
	switch {
	case q.r.TLS == nil:
		return nil, badKey("Requests specifying Server Side Encryption with Customer provided keys must be made over a secure connection.")
	case from == objectKey && other != "":
		return nil, invalidArgument("x-amz-server-side-encryption", other, "Server Side Encryption with Customer provided key is incompatible with the encryption method specified")
	case algorithm == "":
		return nil, badKey("Requests specifying Server Side Encryption with Customer provided keys must provide a valid encryption algorithm.")
	case algorithm != "AES256":
		return nil, awserr.New(http.StatusBadRequest, "InvalidEncryptionAlgorithmError", "The Encryption request you specified is not valid. Supported value: AES256.").
			With("ArgumentName", "x-amz-server-side-encryption").With("ArgumentValue", algorithm)
	case encoded == "":
		return nil, badKey("Requests specifying Server Side Encryption with Customer provided keys must provide an appropriate secret key.")
	case sum == "":
		return nil, badKey("Requests specifying Server Side Encryption with Customer provided keys must provide the client calculated MD5 of the secret key.")
	case err != nil:
		return nil, badKey("The secret key was invalid for the specified algorithm.")
	case sum != base64.StdEncoding.EncodeToString(computed[:]):
		return nil, badKey("The calculated MD5 hash of the key did not match the hash that was provided.")
	}
	if from == objectKey {
		q.customer = sum
	}
	return &customerKey{raw: key, sum: sum}, nil
}

// seal returns the encryption of a new object under the key in the request, or nothing if there is no key.
func (q *request) seal() (store.Encryption, bool, error) {
	key, err := q.customerKey(objectKey)
	switch {
	case err != nil || key == nil:
		return store.Encryption{}, false, err
	case len(key.raw) != customerKeySize:
		return store.Encryption{}, false, badKey("The secret key was invalid for the specified algorithm.")
	case q.blocksCustomerKeys():
		return store.Encryption{}, false, errAccessDenied
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails: crypto/rand ends the process instead
	return store.Encryption{CustomerKey: key.digest(salt)}, true, nil
}

// blocksCustomerKeys reports whether the bucket's encryption blocks SSE-C.
func (q *request) blocksCustomerKeys() bool {
	body := configOf[encryptionBody](q.state, configEncryption)
	return len(body.Rule) > 0 && body.Rule[0].Blocked != nil && slices.Contains(body.Rule[0].Blocked.Type, "SSE-C")
}

// digest is the salt and a digest of the key with it, in hexadecimal.
func (k *customerKey) digest(salt []byte) string {
	h := hmac.New(sha256.New, salt)
	_, _ = h.Write(k.raw) // a hash never fails
	return hex.EncodeToString(salt) + hex.EncodeToString(h.Sum(nil))
}

// opens reports whether the key is the one of a stored digest.
func (k *customerKey) opens(stored string) bool {
	salt, err := hex.DecodeString(stored[:min(32, len(stored))])
	return err == nil && hmac.Equal([]byte(k.digest(salt)), []byte(stored))
}

// unseal compares the key in a request with that of an object that is read.
func (q *request) unseal(e store.Encryption, from keyHeaders) error {
	key, err := q.customerKey(from)
	switch {
	case err != nil:
		return err
	case key == nil && e.CustomerKey == "":
		return nil
	case key == nil:
		return errKeyNeeded
	case e.CustomerKey == "":
		return errKeyUseless
	case !key.opens(e.CustomerKey):
		return errWrongKey
	}
	return nil
}

// unsealParts compares the key in a request with that of a multipart upload. If it is optional, the request can omit
// the key.
func (q *request) unsealParts(e store.Encryption, optional bool) error {
	key, err := q.customerKey(objectKey)
	switch {
	case err != nil:
		return err
	case key == nil && (optional || e.CustomerKey == ""):
		return nil
	case key == nil || e.CustomerKey == "":
		return errPartsSealed
	case !key.opens(e.CustomerKey):
		return errPartsKey
	}
	return nil
}

// openParts checks the key under which the upload's parts are stored.
func (q *request) openParts(u *store.Upload) error {
	if err := q.unsealParts(u.Encryption, false); err != nil {
		return err
	}
	return q.decrypt(u.Encryption)
}

// showCustomerKey repeats the algorithm and the MD5 of the key that the client sent.
func (q *request) showCustomerKey() {
	q.w.Header().Set(objectKey.algorithm, "AES256")
	q.w.Header().Set(objectKey.sum, q.customer)
}

// partETag is the ETag of part n of an upload, which is not an MD5 under a customer's key.
func partETag(sum string, n int, e store.Encryption) string {
	if e.CustomerKey == "" {
		return sum
	}
	return etagOf(sum+"/"+itoa(n), e)
}
