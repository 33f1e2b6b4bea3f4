// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience is how long an entry counts. A watch is never that late; the bound
// only keeps an API server that was restored from a backup, whose
// resourceVersions went back, from blocking an object.
const patience = time.Minute

// writes holds the last write of each object of one kind, so that a reconcile
// that starts from an older copy in the cache waits for the watch instead of
// repeating a write and running into a conflict. Nothing depends on it for
// correctness: every write is guarded by its resourceVersion anyway. The zero
// value is ready to use, by several goroutines.
type writes struct {
	mu    sync.Mutex
	last  map[types.UID]write
	swept time.Time
}

type write struct {
	version string
	at      time.Time
	// last is true if the object went with it. What the API server returns then
	// still has the resourceVersion of before.
	last bool
}

// note remembers the object as the API server returned it after a write.
func (w *writes) note(obj client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[types.UID]write{}
	}
	now := time.Now()
	w.last[obj.GetUID()] = write{
		version: obj.GetResourceVersion(), at: now,
		last: obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0,
	}
	w.sweep(now)
}

// sweep drops what no longer counts: objects that are gone are never seen.
func (w *writes) sweep(now time.Time) {
	if now.Sub(w.swept) < patience {
		return
	}
	w.swept = now
	maps.DeleteFunc(w.last, func(_ types.UID, last write) bool { return now.Sub(last.at) >= patience })
}

// seen reports whether the cached object is at least as new as the last write.
// If not, a watch event for it is on its way.
func (w *writes) seen(obj client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.last[obj.GetUID()]
	if !ok {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), last.version)
	if err == nil && (order < 0 || last.last) && time.Since(last.at) < patience {
		return false
	}
	delete(w.last, obj.GetUID())
	return true
}
