// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"context"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// lookLasts is for how long a look at a namespace counts.
const lookLasts = 10 * time.Second

// Namespaces remembers of each namespace when last an object of it went, or began to
// go, and whether it is being deleted itself. The zero value is ready to use, by several
// goroutines.
type Namespaces struct {
	mu    sync.Mutex
	moved map[string]time.Time
	// looks are those at the API server.
	looks map[string]namespaceLook
}

// A namespaceLook is what a namespace was seen to be, and when.
type namespaceLook struct {
	goes bool
	at   time.Time
}

// Moved says that an object of a namespace began to be deleted then, or is gone since.
func (n *Namespaces) Moved(namespace string, at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !at.After(n.moved[namespace]) {
		return
	}
	maps.DeleteFunc(n.moved, func(_ string, old time.Time) bool { return at.Sub(old) >= forgetful })
	if n.moved == nil {
		n.moved = map[string]time.Time{}
	}
	n.moved[namespace] = at
}

// lastMoved is the last time that Moved was told of.
func (n *Namespaces) lastMoved(namespace string) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.moved[namespace]
}

// NamespaceGoes reports whether a namespace is being deleted, and with it, sooner or
// later, all that is in it, so that nobody needs to be told to delete anything. If
// that cannot be found out, it is not.
func (w Waits) NamespaceGoes(ctx context.Context, name string, now time.Time) bool {
	if goes, known := w.Namespaces.look(name, now); known {
		return goes
	}
	namespace := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	err := w.Live.Get(ctx, types.NamespacedName{Name: name}, namespace)
	if err != nil && !apierrors.IsNotFound(err) {
		log.FromContext(ctx).Info("Cannot find out whether the namespace is being deleted", "reason", err.Error())
	}
	goes := err == nil && namespace.DeletionTimestamp != nil
	w.Namespaces.looked(name, namespaceLook{goes: goes, at: now})
	return goes
}

// look returns what is known of a namespace.
func (n *Namespaces) look(name string, now time.Time) (goes, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	seen, known := n.looks[name]
	return seen.goes, known && now.Sub(seen.at) < lookLasts
}

// looked remembers a look, and forgets those that count no more.
func (n *Namespaces) looked(name string, seen namespaceLook) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.looks, func(_ string, old namespaceLook) bool { return seen.at.Sub(old.at) >= lookLasts })
	if n.looks == nil {
		n.looks = map[string]namespaceLook{}
	}
	n.looks[name] = seen
}
