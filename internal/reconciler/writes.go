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

// patience is how long an entry is valid. A watch is never that late. The limit only prevents that an object is
// blocked after the API server was restored from a backup, which resets resourceVersions.
const patience = time.Minute

// writes holds the last write of each object of one kind. A reconcile that starts with a stale object from the cache
// then waits for the watch instead of repeating a write and causing a conflict. Correctness does not depend on it:
// every write is guarded by its resourceVersion. The zero value is ready to use and safe for concurrent use.
type writes struct {
	mu    sync.Mutex
	last  map[types.UID]write
	swept time.Time
}

type write struct {
	version string
	at      time.Time
	// last reports that the write removed the object. The API server's response then still has the previous
	// resourceVersion.
	last bool
}

// note records the object that the API server returned after a write.
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

// sweep drops expired entries. Deleted objects are never seen again.
func (w *writes) sweep(now time.Time) {
	if now.Sub(w.swept) < patience {
		return
	}
	w.swept = now
	maps.DeleteFunc(w.last, func(_ types.UID, last write) bool { return now.Sub(last.at) >= patience })
}

// seen reports whether the cached object is at least as new as the last write. If it is not, a watch event for it will
// follow.
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
