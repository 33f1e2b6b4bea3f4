// SPDX-License-Identifier: Apache-2.0

// Package written remembers what a component wrote last, so that a reconcile
// that starts from an older copy in the cache waits for the watch instead of
// repeating a write and running into a conflict. It must not read or write
// objects, and nothing may depend on it for correctness: every write is
// guarded by its resourceVersion anyway.
package written

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/internal/step"
)

// patience is how long an entry counts. A watch is never that late; the bound
// only keeps an API server that was restored from a backup, whose
// resourceVersions went back, from blocking an object.
const patience = time.Minute

// A Log holds the last write of each object of one kind. The zero value is
// ready to use, by several goroutines.
type Log struct {
	mu      sync.Mutex
	entries map[types.UID]entry
	swept   time.Time
}

type entry struct {
	version string
	at      time.Time
}

// Note remembers the object as the API server answered its write.
func (l *Log) Note(obj client.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entries == nil {
		l.entries = map[types.UID]entry{}
	}
	now := time.Now()
	l.entries[obj.GetUID()] = entry{version: obj.GetResourceVersion(), at: now}
	l.sweep(now)
}

// sweep drops what no longer counts: objects that are gone are never seen.
func (l *Log) sweep(now time.Time) {
	if now.Sub(l.swept) < patience {
		return
	}
	l.swept = now
	maps.DeleteFunc(l.entries, func(_ types.UID, e entry) bool { return now.Sub(e.at) >= patience })
}

// Await lets a reconcile of the cached object go on if it is Seen.
func (l *Log) Await(obj client.Object) step.Verdict {
	if l.Seen(obj) {
		return step.Next()
	}
	return step.Wait("the cache, which is behind our own write")
}

// Seen reports whether the cached object is at least as new as the last write.
// If not, a watch event for it is on its way.
func (l *Log) Seen(obj client.Object) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, ok := l.entries[obj.GetUID()]
	if !ok {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), last.version)
	if err == nil && order < 0 && time.Since(last.at) < patience {
		return false
	}
	delete(l.entries, obj.GetUID())
	return true
}
