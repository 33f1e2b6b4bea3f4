// SPDX-License-Identifier: Apache-2.0

// Package inflight keeps the promise of the COSI contract that no two calls
// about one bucket ID or account ID run at once, also when several objects
// share an ID. It never blocks: who comes second is called back.
//
// A grant or revocation is about its account, and uses its buckets: calls of
// several accounts may use one bucket at once, so that one that hangs does not
// delay the others, but none runs beside a call about the bucket itself.
package inflight

import (
	"slices"
	"sync"
)

// BucketID returns the key of a bucket ID.
func BucketID(id string) string { return "bucket/" + id }

// AccountID returns the key of an account ID.
func AccountID(id string) string { return "account/" + id }

// A Call is what a call needs.
type Call struct {
	// About are the keys that it needs for itself.
	About []string
	// Using are those that it shares with other calls that use them.
	Using []string
}

// Keys is the set of keys that calls are running for. The zero value is ready
// to use, by several goroutines.
type Keys struct {
	mu   sync.Mutex
	busy map[string]*key
}

// A key is one that calls are running for.
type key struct {
	// users is how many calls use the key; none means that one call has it for
	// itself.
	users   int
	waiting []func()
}

// Try takes all keys of a call at once and returns the function that gives
// them back. If it cannot have one of them it takes none, returns nil, and
// calls free, which must not block, once that key is given back.
func (k *Keys) Try(call Call, free func()) (release func()) {
	about := slices.Compact(slices.Sorted(slices.Values(call.About)))
	using := slices.Compact(slices.Sorted(slices.Values(call.Using)))
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, name := range about {
		if taken := k.busy[name]; taken != nil {
			taken.waiting = append(taken.waiting, free)
			return nil
		}
	}
	for _, name := range using {
		if taken := k.busy[name]; taken != nil && taken.users == 0 {
			taken.waiting = append(taken.waiting, free)
			return nil
		}
	}
	if k.busy == nil {
		k.busy = map[string]*key{}
	}
	for _, name := range about {
		k.busy[name] = &key{}
	}
	for _, name := range using {
		if k.busy[name] == nil {
			k.busy[name] = &key{}
		}
		k.busy[name].users++
	}
	return func() { k.release(slices.Concat(about, using)) }
}

func (k *Keys) release(names []string) {
	k.mu.Lock()
	var waiting []func()
	for _, name := range names {
		held := k.busy[name]
		if held.users--; held.users > 0 {
			continue
		}
		waiting = append(waiting, held.waiting...)
		delete(k.busy, name)
	}
	k.mu.Unlock()
	for _, free := range waiting {
		free()
	}
}
