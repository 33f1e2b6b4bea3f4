// SPDX-License-Identifier: Apache-2.0

// Package inflight keeps the promise of the COSI contract that no two calls
// about one bucket ID or account ID run at once, also when several objects
// share an ID. It never blocks: who comes second is told when to come again.
package inflight

import (
	"slices"
	"sync"
)

// BucketID is the key of a bucket ID.
func BucketID(id string) string { return "bucket/" + id }

// AccountID is the key of an account ID.
func AccountID(id string) string { return "account/" + id }

// Keys is the set of keys that calls are running for. The zero value is ready
// to use, by several goroutines.
type Keys struct {
	mu   sync.Mutex
	busy map[string][]func()
}

// Try takes all keys at once and returns the function that gives them back. If
// one of them is taken it takes none, returns nil, and calls free, which must
// not block, once that key is given back.
func (k *Keys) Try(keys []string, free func()) (release func()) {
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range keys {
		if waiting, taken := k.busy[key]; taken {
			k.busy[key] = append(waiting, free)
			return nil
		}
	}
	if k.busy == nil {
		k.busy = map[string][]func(){}
	}
	for _, key := range keys {
		k.busy[key] = nil
	}
	return func() { k.release(keys) }
}

func (k *Keys) release(keys []string) {
	k.mu.Lock()
	var waiting []func()
	for _, key := range keys {
		waiting = append(waiting, k.busy[key]...)
		delete(k.busy, key)
	}
	k.mu.Unlock()
	for _, free := range waiting {
		free()
	}
}
