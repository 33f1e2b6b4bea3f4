// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// lose deletes objects as the loss of a cluster does: without finalizers, and unnoticed by the backend. The
// given objects serve as the backup.
func (w *world) lose(backup ...client.Object) {
	w.t.Helper()
	w.stop(theController)
	w.stop(theSidecar)
	for _, obj := range backup {
		lost := copyOf(w, obj)
		w.drop(w.t.Context(), lost)
		w.gone(lost)
	}
}

func copyOf(w *world, obj client.Object) client.Object {
	w.t.Helper()
	copied, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		w.t.Fatalf("a copy of %T is no object", obj)
	}
	return copied
}

// restore creates an object from its backup as restore tools do: with a new UID and its annotations and, if
// requested, its status and finalizers. It does not replace a Secret that was recreated in the meantime.
func (w *world) restore(backup client.Object, withStatus bool) {
	w.t.Helper()
	again := copyOf(w, backup)
	again.SetUID("")
	again.SetResourceVersion("")
	if !withStatus {
		again.SetFinalizers(nil)
	}
	if _, isSecret := backup.(*corev1.Secret); isSecret {
		if err := w.Client.Create(w.t.Context(), again); err != nil && !apierrors.IsAlreadyExists(err) {
			w.t.Fatal(err)
		}
		return
	}
	w.create(again)
	if !withStatus {
		return
	}
	w.eventually("the status of "+backup.GetName()+" is restored", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(again), again); err != nil {
			return err
		}
		full := copyOf(w, backup)
		full.SetUID(again.GetUID())
		full.SetResourceVersion(again.GetResourceVersion())
		err := w.Client.Status().Update(ctx, full)
		if apierrors.IsInvalid(err) {
			return nil // another client has set an immutable field: restore tools give up
		}
		return err
	})
}

// untilHeld waits until a Bucket is held because its claim is missing.
func (w *world) untilHeld(bucket *cosiapi.Bucket) string {
	w.t.Helper()
	return w.condition(bucket, cosiapi.ConditionReleaseHeld, metav1.ConditionTrue, conditions.BucketClaimMissing)
}

// confirm approves the release of a Bucket as an administrator.
func (w *world) confirm(bucket *cosiapi.Bucket) {
	w.t.Helper()
	change(w, bucket, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.ConfirmReleaseAnnotation, string(b.UID)) })
}

// keeps fails the test unless the Bucket is kept, together with its backend bucket and the data.
func (w *world) keeps(bucket *cosiapi.Bucket) {
	w.t.Helper()
	if get(w, bucket); !bucket.DeletionTimestamp.IsZero() || cosiapi.Released(bucket) {
		w.t.Errorf("the Bucket is being deleted: %+v", bucket.ObjectMeta)
	}
	w.called(memdriver.DeleteBucket, 0)
	w.holdsPrecious(bucket)
}

// holdsPrecious fails the test unless the backend has the bucket with the test's data.
func (w *world) holdsPrecious(bucket *cosiapi.Bucket) {
	w.t.Helper()
	there := slices.ContainsFunc(w.driver.Inventory().Buckets, func(b memdriver.Bucket) bool {
		return b.ID == bucket.Name && slices.Contains(b.Objects, "precious")
	})
	if !there {
		w.t.Errorf("the backend has lost the bucket or its data: %+v", w.driver.Inventory().Buckets)
	}
}

// orders returns all permutations of n elements.
func orders(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, order := range orders(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(order), i, n-1))
		}
	}
	return all
}

// aged makes a backup older than the duration of any test.
func aged(bucket *cosiapi.Bucket) {
	cosiapi.SetAnnotation(bucket, cosiapi.CreatedAnnotation, time.Unix(1, 0).UTC().Format(time.RFC3339))
}

// backups are the possible states of a Bucket in a backup.
func backups() map[string]func(*cosiapi.Bucket) {
	return map[string]func(*cosiapi.Bucket){
		"a Bucket in use": func(*cosiapi.Bucket) {},
		"a Bucket that was about to be deleted": func(b *cosiapi.Bucket) {
			cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, cosiapi.ReleaseMark(b))
			cosiapi.SetAnnotation(b, cosiapi.ConfirmReleaseAnnotation, string(b.UID))
		},
		"a Bucket that an older controller was about to delete": func(b *cosiapi.Bucket) {
			cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, "Delete")
		},
		"a Bucket that another controller was about to delete": func(b *cosiapi.Bucket) {
			cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, "")
		},
	}
}

// TestRestoreInEveryOrder restores claim, Bucket, access and Secret in every order, with and without status,
// before controller and sidecar start and while they run.
func TestRestoreInEveryOrder(t *testing.T) {
	t.Parallel()
	every := t
	covers(t, "restored-bucket-held")
	kinds, signs := []string{"claim", "Bucket", "access", "Secret"}, slices.Sorted(maps.Keys(backups()))
	type plan struct {
		order                []int
		sign                 string
		withStatus, watching bool
	}
	plans := map[string]plan{}
	for n, order := range orders(len(kinds)) {
		for i := range 4 {
			p := plan{order: order, sign: signs[(n+i)%len(signs)], withStatus: i&1 > 0, watching: i&2 > 0}
			var words []string
			for _, k := range order {
				words = append(words, kinds[k])
			}
			plans[fmt.Sprintf("%s, status %v, watched %v, with %s", strings.Join(words, " "), p.withStatus, p.watching, p.sign)] = p
		}
	}
	// The number of samples is coprime to 96, so that they differ in all four properties.
	for _, name := range fulltest.Spread(slices.Sorted(maps.Keys(plans)), 7) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if every.Failed() {
				t.Skip("another order has failed: what breaks one may break all, and each would wait in vain")
			}
			p := plans[name]
			w := start(t, setup{backoff: patient(), poll: patient().Max, window: time.Nanosecond})
			w.newClass("fast")
			w.newAccessClass("keys")
			claim, bucket := w.provisioned("photos", "fast")
			access := w.granted("app", "keys", "photos")
			w.must(w.driver.PutObject(bucket.Status.BucketID, "precious"))
			saved := []client.Object{get(w, claim), get(w, bucket), get(w, access), get(w, secret(access, 0))}
			backups()[p.sign](bucket)
			aged(bucket)
			w.lose(saved...)
			begin := func() { w.runController(); w.runSidecar() }
			if p.watching {
				begin()
			}
			for _, k := range p.order {
				w.restore(saved[k], p.withStatus)
				if p.watching {
					w.settled()
				}
			}
			if !p.watching {
				begin()
			}
			bucket = get(w, &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: bucket.Name}})
			w.untilHeld(bucket)
			w.settled()
			w.keeps(bucket)
			// Deleting the Bucket does not delete data, and the steps of the how-to release everything.
			w.delete(bucket)
			w.settled()
			w.called(memdriver.DeleteBucket, 0)
			w.delete(access)
			w.gone(access)
			change(w, bucket, func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain })
			w.gone(bucket)
			w.delete(claim)
			w.gone(claim)
			w.holdsPrecious(bucket)
		})
	}
}

// TestClaimRemovedBeforeItsBucket deletes a claim while its Bucket is being created, with and without the
// finalizer, as happens when the deletion starts before the finalizer is added. The Bucket must be deleted,
// whatever other failures occur.
func TestClaimRemovedBeforeItsBucket(t *testing.T) {
	t.Parallel()
	covers(t, "claim-gone-before-its-bucket")
	for name, tc := range map[string]struct{ lost, bound bool }{
		"without other failures":               {bound: true},
		"the response to the creation is lost": {lost: true, bound: true},
		"the claim cannot be bound":            {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{backoff: patient()})
			w.newClass("fast")
			hold, reached := make(chan struct{}), make(chan struct{})
			w.tape.strike(&fault{Who: theController, What: "create buckets", Hold: hold, Hit: sync.OnceFunc(func() { close(reached) }), After: tc.lost})
			if !tc.bound {
				w.tape.strike(&fault{Who: theController, What: "patch bucketclaims/status", Status: http.StatusInternalServerError})
			}
			claim := w.claim("photos", "fast")
			w.create(claim)
			<-reached
			w.drop(t.Context(), claim)
			w.gone(claim)
			close(hold)
			w.eventually("a Bucket was made", func(context.Context) error {
				if len(w.tape.done(func(e entry) bool { return e.What == "create buckets" })) == 0 {
					return errNot
				}
				return nil
			})
			w.gone(bucketFor(claim))
		})
	}
}

// TestSignsOfABackup verifies that neither the sidecar nor the controller mistakes annotations from another
// cluster for those of this cluster.
func TestSignsOfABackup(t *testing.T) {
	t.Parallel()
	covers(t, "restored-bucket-held")
	for name, alter := range backups() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{backoff: patient()})
			w.newClass("fast")
			claim, bucket := w.provisioned("photos", "fast")
			w.must(w.driver.PutObject(bucket.Status.BucketID, "precious"))
			alter(get(w, bucket))
			tied := bucket.Annotations[cosiapi.BucketClaimBeingDeletedAnnotation] == cosiapi.ReleaseMark(bucket)
			w.lose(claim, bucket)
			w.restore(bucket, true)
			if tied {
				w.runSidecar()
				w.delete(bucket)
				w.refused(bucket, conditions.ClaimStillBound)
				w.runController()
				w.untilHeld(bucket)
				w.settled()
				w.called(memdriver.DeleteBucket, 0)
				return
			}
			w.runController()
			w.untilHeld(bucket)
			w.runSidecar()
			w.settled()
			w.keeps(bucket)
		})
	}
}

// withoutClaim starts a world in which a Bucket was restored without its claim.
func withoutClaim(t *testing.T) (*world, *cosiapi.Bucket) {
	t.Helper()
	w := start(t, setup{backoff: patient()})
	w.newClass("fast")
	claim, bucket := w.provisioned("photos", "fast")
	w.must(w.driver.PutObject(bucket.Status.BucketID, "precious"))
	get(w, bucket)
	w.lose(claim, bucket)
	w.restore(bucket, true)
	w.runController()
	w.runSidecar()
	return w, bucket
}

func TestHeldBucketIsReleasedWhenConfirmed(t *testing.T) {
	t.Parallel()
	covers(t, "restored-bucket-held", "restored-bucket-confirmed")
	w, bucket := withoutClaim(t)
	message := w.untilHeld(bucket)
	if !strings.Contains(message, string(bucket.UID)) || !strings.Contains(message, cosiapi.ConfirmReleaseAnnotation) {
		t.Errorf("the Bucket does not say how it comes free: %s", message)
	}
	for _, value := range []string{"true", string(bucket.Spec.BucketClaimRef.UID), bucket.Name} {
		change(w, bucket, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.ConfirmReleaseAnnotation, value) })
		w.settled()
		w.keeps(bucket)
	}
	w.must(w.driver.RemoveObjects(bucket.Status.BucketID))
	w.confirm(bucket)
	w.gone(bucket)
	w.called(memdriver.DeleteBucket, 1)
}

func TestHeldBucketIsKeptByRetain(t *testing.T) {
	t.Parallel()
	covers(t, "restored-bucket-confirmed")
	w, bucket := withoutClaim(t)
	w.untilHeld(bucket)
	change(w, bucket, func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain })
	until(w, bucket, "the Bucket is released", func(b *cosiapi.Bucket) error {
		if !cosiapi.Released(b) || slices.ContainsFunc(b.Status.Conditions, func(c metav1.Condition) bool { return c.Type == cosiapi.ConditionReleaseHeld }) {
			return fmt.Errorf("annotations %v, conditions %v", b.Annotations, b.Status.Conditions)
		}
		return nil
	})
	w.delete(bucket)
	w.gone(bucket)
	w.called(memdriver.DeleteBucket, 0)
}

// TestHeldBucketIsReleasedAfterTheGrace verifies that the grace period starts at the restore, independent of
// the backup. It has elapsed when the controller checks again.
func TestHeldBucketIsReleasedAfterTheGrace(t *testing.T) {
	t.Parallel()
	covers(t, "restored-bucket-confirmed")
	for name, tc := range map[string]struct {
		grace time.Duration
		gone  bool
	}{
		"that has passed":     {time.Second, true},
		"that has not passed": {never, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{backoff: patient(), lostClaimGrace: tc.grace})
			w.newClass("fast")
			claim, bucket := w.provisioned("photos", "fast")
			if !tc.gone {
				w.must(w.driver.PutObject(bucket.Status.BucketID, "precious"))
			}
			get(w, bucket)
			bucket.Status.Conditions = append(bucket.Status.Conditions, metav1.Condition{
				Type: cosiapi.ConditionReleaseHeld, Status: metav1.ConditionTrue, Reason: string(conditions.BucketClaimMissing),
				Message: "Held in another cluster.", LastTransitionTime: metav1.NewTime(time.Unix(1, 0)),
			})
			w.lose(claim, bucket)
			w.restore(bucket, true)
			w.runController()
			w.runSidecar()
			if tc.gone {
				w.gone(bucket)
				w.called(memdriver.DeleteBucket, 1)
				return
			}
			w.untilHeld(bucket)
			w.settled()
			w.keeps(bucket)
		})
	}
}

// TestHeldBucketIsAnEvent verifies that Events are recorded on the Bucket, and on the claim that now has the
// name.
func TestHeldBucketIsAnEvent(t *testing.T) {
	t.Parallel()
	covers(t, "restored-bucket-held", "events")
	w := start(t, setup{backoff: patient()})
	w.newClass("fast")
	claim, bucket := w.provisioned("photos", "fast")
	aged(get(w, bucket))
	w.lose(claim, bucket)
	w.restore(claim, false)
	w.restore(bucket, false)
	w.runController()
	w.runSidecar()
	for about, namespace := range map[string]string{"Bucket": metav1.NamespaceDefault, "BucketClaim": w.namespace} {
		w.eventually("an Event is on the "+about, func(ctx context.Context) error {
			list := &eventsv1.EventList{}
			if err := w.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
				return err
			}
			if !slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool {
				return e.Reason == string(reconciler.BucketHeld) && e.Regarding.Kind == about && (e.Regarding.Name == bucket.Name || strings.Contains(e.Note, bucket.Name))
			}) {
				return errNot
			}
			return nil
		})
	}
}

// TestBucketNeverAttempted verifies that no confirmation is needed if there is no data to lose.
func TestBucketNeverAttempted(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-never-attempted")
	for name, restored := range map[string]bool{"deleted without its claim": false, "kept if it comes from a backup": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{backoff: patient()})
			w.stop(theSidecar)
			w.newClass("fast")
			claim := w.newClaim("photos", "fast")
			bucket := w.bucketOf(claim)
			w.stop(theController)
			w.drop(t.Context(), claim)
			w.gone(claim)
			if restored {
				aged(bucket)
				w.lose(bucket)
				w.restore(bucket, false)
			}
			w.runController()
			if !restored {
				w.gone(bucket)
				return
			}
			w.untilHeld(bucket)
		})
	}
}
