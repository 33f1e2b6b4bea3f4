// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

// Objects with customer-supplied encryption keys ("Customer-supplied encryption keys"). Like the service, the fake
// stores only the SHA-256 of a key in base64. The fake does not encrypt bodies; it only ensures that they cannot be
// read without the key.

// The headers of a key begin with one of these. The second is that of the source of a rewrite.
const (
	ownKey    = "X-Goog-Encryption-"
	sourceKey = "X-Goog-Copy-Source-Encryption-"
)

const (
	keyAlgorithm = "AES256"
	keyBytes     = 32
)

// customerKey reads a key from the headers and returns its hash, "" without one.
func (c *Call) customerKey(prefix string) (string, error) {
	h := c.r.Header
	if h.Get("X-Amz-Server-Side-Encryption-Customer-Algorithm") != "" {
		return "", gcserr.Unimplemented.Say("This fake accepts customer-supplied encryption keys only in x-goog-encryption- headers.")
	}
	algorithm, encoded, sum := h.Get(prefix+"Algorithm"), h.Get(prefix+"Key"), h.Get(prefix+"Key-Sha256")
	if algorithm == "" && encoded == "" && sum == "" {
		return "", nil
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	hash := sha256.Sum256(key)
	switch {
	case algorithm != keyAlgorithm:
		return "", gcserr.KeyAlgorithm
	case err != nil || len(key) != keyBytes:
		return "", gcserr.KeyFormat
	case sum != base64.StdEncoding.EncodeToString(hash[:]):
		return "", gcserr.KeyHash
	}
	return sum, nil
}

// opens returns an error if the key with this hash does not match the one that the object was stored with; "" means
// no key.
func opens(kept, given string) error {
	switch {
	case kept == given:
		return nil
	case given == "":
		return gcserr.KeyMissing
	case kept == "":
		return gcserr.KeyNotNeeded
	}
	return gcserr.KeyIncorrect
}

// opened makes sure that the request has the key of an object that it reads.
func (c *Call) opened(o *store.Object) error {
	given, err := c.customerKey(ownKey)
	if err != nil {
		return err
	}
	return opens(o.CustomerKey, given)
}

// described checks whether a request may read an object's attributes. A request without the object's key may read
// them except for the checksums of the content. A request with a wrong key is rejected.
func (c *Call) described(o *store.Object) error {
	given, err := c.customerKey(ownKey)
	if err != nil || given == "" {
		return err
	}
	return opens(o.CustomerKey, given)
}

// showsSums reports whether the response may have the sums of an object's content.
func (c *Call) showsSums(o *store.Object) bool {
	if o.CustomerKey == "" {
		return true
	}
	given, err := c.customerKey(ownKey)
	return err == nil && given == o.CustomerKey
}

// kmsVersion is the version of every Cloud KMS key, which the service adds to the name.
const kmsVersion = "/cryptoKeyVersions/1"

// keyHeaders tell the key of an object.
func keyHeaders(h http.Header, o *store.Object) {
	if o.KMSKeyName != "" {
		h.Set("X-Goog-Encryption-Kms-Key-Name", o.KMSKeyName+kmsVersion)
	}
	if o.CustomerKey != "" {
		h.Set(ownKey+"Algorithm", keyAlgorithm)
		h.Set(ownKey+"Key-Sha256", o.CustomerKey)
	}
}

// newKey reads the key for a new object, which excludes one of Cloud KMS.
func (c *Call) newKey(a *store.Attributes) (string, error) {
	key, err := c.customerKey(ownKey)
	if err == nil && key != "" && a.KMSKeyName != "" {
		return "", twoKeys
	}
	return key, err
}

var twoKeys = gcserr.Invalid.Say("An object cannot be encrypted with both a Cloud KMS key and a customer-supplied key.")

// copyKeys reads the keys of a copy. A rewrite has separate headers for the key of the source. Other copies use one
// key for both objects.
func (c *Call) copyKeys(from *store.Object, rewrite bool) (to string, err error) {
	if to, err = c.customerKey(ownKey); err != nil {
		return "", err
	}
	if !rewrite {
		if from.CustomerKey == "" {
			return to, nil
		}
		return to, opens(from.CustomerKey, to)
	}
	source, err := c.customerKey(sourceKey)
	if err != nil {
		return "", err
	}
	return to, opens(from.CustomerKey, source)
}
