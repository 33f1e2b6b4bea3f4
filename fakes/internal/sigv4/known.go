// SPDX-License-Identifier: Apache-2.0

package sigv4

import "sync"

// SigningKeys caches derived signing keys, each of which is valid for one day. The zero value is ready to use; a nil
// *SigningKeys caches nothing.
type SigningKeys struct {
	mu   sync.RWMutex
	keys map[derivation][]byte
}

// derivation is all that a key depends on.
type derivation struct {
	prefix, secret string
	scope          scope
}

// maxKnown bounds the keys; past it they start over.
const maxKnown = 1000

func (k *SigningKeys) get(prefix, secret string, s scope) []byte {
	if k == nil {
		return signingKey(prefix, secret, s)
	}
	of := derivation{prefix, secret, s}
	k.mu.RLock()
	key := k.keys[of]
	k.mu.RUnlock()
	if key != nil {
		return key
	}
	key = signingKey(prefix, secret, s)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keys == nil || len(k.keys) >= maxKnown {
		k.keys = map[derivation][]byte{}
	}
	k.keys[of] = key
	return key
}
