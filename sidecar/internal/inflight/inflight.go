// SPDX-License-Identifier: Apache-2.0

// Package inflight ensures that no two calls about the same bucket ID or account ID run at the same time, even if
// several objects have the same ID. The COSI contract requires this. The package never blocks: if a conflicting call is
// running, the caller gets a callback when that call ends.
//
// A grant or revocation needs its account exclusively and shares its buckets. Calls for several accounts may therefore
// use one bucket at the same time, so a call that hangs does not delay the others. None of them runs during a call
// about the bucket itself.
package inflight

import (
	"slices"
	"sync"
)

// BucketID returns the key of a bucket ID.
func BucketID(id string) string { return "bucket/" + id }

// AccountID returns the key of an account ID.
func AccountID(id string) string { return "account/" + id }

// A Call holds the keys of a call.
type Call struct {
	// About are the keys that the call needs exclusively.
	About []string
	// Using are the keys that the call shares with other calls that use them.
	Using []string
}

// Keys is the set of keys of running calls. The zero value is ready to use and safe for concurrent use.
type Keys struct {
	mu   sync.Mutex
	busy map[string]*key
}

// A key is the key of running calls.
type key struct {
	// users is the number of calls that use the key; zero means that one call has it exclusively.
	users   int
	waiting []func()
}

// Try takes all keys of a call at once and returns the function that releases them. If a key is taken, Try takes none
// and returns nil. It then calls free once that key is released; free must not block.
func (k *Keys) Try(call Call, free func()) (release func()) {
	about := slices.Compact(slices.Sorted(slices.Values(call.About)))
	using := slices.Compact(slices.Sorted(slices.Values(call.Using)))
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, name := range slices.Concat(about, using) {
		if taken := k.busy[name]; taken != nil && (taken.users == 0 || slices.Contains(about, name)) {
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
