// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// TestHangingClassLeavesWorkers has one more hanging call of one class than there are workers.
func TestHangingClassLeavesWorkers(t *testing.T) {
	t.Parallel()
	covers(t, "classes-share-workers")
	const workers, slow = 4, 5
	for name, create := range map[string]func(w *world, name string) client.Object{
		"Buckets": func(w *world, name string) client.Object { return w.newClaim(name, "slow") },
		"accesses of a class to Buckets of two": func(w *world, name string) client.Object {
			a := w.access(name, "keys", "far")
			w.create(a)
			return a
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := pair(t, setup{workers: workers, deadline: never})
			w.newClass("slow", func(class *cosiapi.BucketClassSpec) { class.Parameters = map[string]string{"backend": "slow"} })
			_, far := w.provisioned("far", "slow")
			hold, began := make(chan struct{}), make(chan struct{}, slow)
			release := sync.OnceFunc(func() { close(hold) })
			t.Cleanup(release)
			var hanging atomic.Int32
			hang := func(ctx context.Context) error {
				defer hanging.Add(-1)
				if n := hanging.Add(1); n > workers/4 {
					t.Errorf("%d calls of one class run concurrently", n)
					release()
				}
				began <- struct{}{}
				select {
				case <-hold:
				case <-ctx.Done():
				}
				return ctx.Err()
			}
			memdriver.On(w.driver, func(ctx context.Context, r *cosi.DriverCreateBucketRequest) error {
				if r.GetParameters()["backend"] != "slow" {
					return nil
				}
				return hang(ctx)
			})
			memdriver.On(w.driver, func(ctx context.Context, r *cosi.DriverGrantBucketAccessRequest) error {
				if r.GetBuckets()[0].GetBucketId() != far.Status.BucketID {
					return nil
				}
				return hang(ctx)
			})
			var all []client.Object
			for i := range slow {
				all = append(all, create(w, fmt.Sprintf("slow-%d", i)))
			}
			<-began
			w.provisioned("others", "fast")
			w.granted("others", "keys", "photos")
			release()
			w.ready(all...)
		})
	}
}

// TestDriverChangeGrantsOneAfterTheOther limits background re-grants to one access per hour.
func TestDriverChangeGrantsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	covers(t, "grants-again-are-spread")
	w := pair(t, setup{regrantRate: 1.0 / 3600})
	both := []*cosiapi.BucketAccess{w.granted("one", "keys", "photos"), w.granted("two", "keys", "photos")}
	of := func(i int) string { return get(w, secret(both[i], 0)).Annotations["cooper.dev/grant"] }
	before := []string{of(0), of(1)}
	w.reconfigure()
	w.awaitCalls(memdriver.Finished(3), memdriver.GrantAccess)
	w.granted("first", "keys", "photos")
	w.settled()
	w.called(memdriver.GrantAccess, 4)
	waiting := 0
	if of(0) != before[0] {
		waiting = 1
	}
	change(w, both[waiting], func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "now") })
	w.awaitCalls(memdriver.Finished(5), memdriver.GrantAccess)
	if last := memdriver.Requests[*cosi.DriverGrantBucketAccessRequest](w.driver)[4]; last.GetRotation() != "now" {
		t.Errorf("the fifth grant is no rotation: %v", last)
	}
}
