// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// IDs remembers which object of a kind was given which ID since the sidecar
// started: the cache shows an ID only some time after it was stored, and
// meanwhile the driver may return it for another object. The zero value is ready
// to use, by several goroutines.
type IDs struct {
	mu    sync.Mutex
	owner map[string]reconcile.Request
	of    map[reconcile.Request]string
}

// Give gives an ID to an object, in the place of the one that it was given
// before. It reports false, and changes nothing, if another object has it.
func (i *IDs) Give(req reconcile.Request, id string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if owner, given := i.owner[id]; given {
		return owner == req
	}
	if i.owner == nil {
		i.owner, i.of = map[string]reconcile.Request{}, map[reconcile.Request]string{}
	}
	delete(i.owner, i.of[req])
	i.owner[id], i.of[req] = req, id
	return true
}

// Forget forgets what an object was given, because it is gone.
func (i *IDs) Forget(req reconcile.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.owner, i.of[req])
	delete(i.of, req)
}
