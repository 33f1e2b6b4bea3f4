// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// modified returns the Bucket of a backup as a restore tool creates it according to docs/howto/velero.md.
func modified(w *world, bucket *cosiapi.Bucket, until string) *cosiapi.Bucket {
	again := bucket.DeepCopy()
	again.UID, again.ResourceVersion, again.Spec.BucketClaimRef.UID = "", "", ""
	cosiapi.SetAnnotation(again, cosiapi.BindUntilAnnotation, until)
	w.create(again)
	return again
}

// later is a time after any test, for BindUntilAnnotation.
func later() string { return time.Now().Add(never).UTC().Format(time.RFC3339) }

// restoreTool returns a client that has only the role of docs/howto/velero.md and can create copies of the objects.
func (w *world) restoreTool(objects ...client.Object) client.Client {
	w.t.Helper()
	manifest, err := os.ReadFile("../docs/howto/velero-role.yaml")
	w.must(err)
	w.applyManifest(manifest)
	name := "restore-" + w.namespace
	w.create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cosi-restore"},
	})
	tool := w.ClientFor(w.User(name))
	for _, obj := range objects {
		w.eventually("the restore tool may create "+obj.GetName(), func(ctx context.Context) error {
			again := copyOf(w, obj)
			again.SetUID("")
			again.SetResourceVersion("")
			return tool.Create(ctx, again, client.DryRunAll)
		})
	}
	return tool
}

// TestRestoredBucketIsBound restores a Bucket so that the restored claim gets its data back, and deletes both.
func TestRestoredBucketIsBound(t *testing.T) {
	t.Parallel()
	covers(t, "restored-bucket-bound")
	w := start(t, setup{backoff: patient()})
	w.newClass("fast")
	w.newAccessClass("keys")
	claim, bucket := w.provisioned("photos", "fast")
	access := w.granted("app", "keys", "photos")
	w.must(w.driver.PutObject(bucket.Status.BucketID, "precious"))
	saved, savedClaim, savedAccess := get(w, bucket).DeepCopy(), get(w, claim), get(w, access)
	w.lose(savedClaim, bucket, savedAccess, get(w, secret(access, 0)))
	w.runController()
	w.runSidecar()

	tool := w.restoreTool(saved, savedClaim, savedAccess)
	restored := modified(w, saved, later())
	w.restore(savedClaim, false)
	claim = &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "photos"}}
	w.condition(claim, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.WaitingForBucket)
	w.settled()
	created := restored.ResourceVersion
	if get(w, restored).ResourceVersion != created {
		t.Errorf("the Bucket was written before its status was restored: %+v", restored)
	}
	restored.Status = saved.Status
	w.must(tool.Status().Update(t.Context(), restored))
	w.ready(claim)
	w.restore(savedAccess, false)
	w.ready(&cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "app"}})
	get(w, restored)
	if claim.Status.BoundBucketName != bucket.Name || restored.Spec.BucketClaimRef.UID != claim.UID || restored.Annotations[cosiapi.BindUntilAnnotation] != "" {
		t.Errorf("the claim has the Bucket %q; the Bucket is %+v", claim.Status.BoundBucketName, restored)
	}
	w.holdsPrecious(bucket)
	w.called(memdriver.GenerateBucketID, 1)

	w.must(w.driver.RemoveObjects(bucket.Status.BucketID))
	w.delete(&cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "app"}}, claim)
	w.gone(claim, restored)
	w.called(memdriver.DeleteBucket, 1)
}

// TestRestoredBucketIsNotBound restores Buckets that a claim must not bind to.
func TestRestoredBucketIsNotBound(t *testing.T) {
	t.Parallel()
	covers(t, "restored-bucket-bound")
	type alter func(*cosiapi.BucketClaim, *cosiapi.Bucket)
	for name, tc := range map[string]struct {
		until  string
		copies int
		alter  alter
		says   string // substring of the message of a claim that gets no bucket
	}{
		"after the time, the claim gets a new bucket": {until: time.Unix(1, 0).UTC().Format(time.RFC3339)},
		"with two Buckets, an administrator must choose": {
			until: later(), copies: 2, says: "delete all but one",
		},
		"a malformed time is reported": {until: "tomorrow", says: "RFC 3339"},
		"a Bucket of another driver is not bound": {
			until: later(), says: "other.example.com",
			alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) { b.Spec.DriverName = "other.example.com" },
		},
		"a Bucket without the protocols of the claim is not bound": {
			until: later(), says: "supports S3, but not Azure",
			alter: func(c *cosiapi.BucketClaim, _ *cosiapi.Bucket) {
				c.Spec.Protocols = []cosiapi.Protocol{cosiapi.ProtocolAzure}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{backoff: patient()})
			w.newClass("fast")
			claim, bucket := w.provisioned("photos", "fast")
			w.must(w.driver.PutObject(bucket.Status.BucketID, "precious"))
			saved, savedClaim := get(w, bucket).DeepCopy(), get(w, claim).DeepCopy()
			w.lose(claim, bucket)
			if tc.alter != nil {
				tc.alter(savedClaim, saved)
			}
			for n := range max(tc.copies, 1) {
				w.restoreStatus(saved, fmt.Sprintf("%s-%d", saved.Name, n), tc.until)
			}
			w.restore(savedClaim, false)
			w.runController()
			w.runSidecar()
			claim = w.claim("photos", "fast")
			if tc.says == "" {
				w.ready(claim)
			} else if message := w.condition(claim, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.BindingInvalid); !strings.Contains(message, tc.says) || strings.Contains(message, "this BucketClaim and") {
				t.Errorf("want %q and no deletion of the claim: %s", tc.says, message)
			}
			w.settled()
			if bound := get(w, claim).Status.BoundBucketName; (bound != "") != (tc.says == "") || strings.HasPrefix(bound, saved.Name) {
				t.Errorf("the claim is bound to %q", bound)
			}
			w.delete(claim)
			w.gone(claim)
			w.settled()
			w.holdsPrecious(bucket)
		})
	}
}

// restoreStatus restores a Bucket under a name, with its status.
func (w *world) restoreStatus(saved *cosiapi.Bucket, name, until string) *cosiapi.Bucket {
	w.t.Helper()
	again := saved.DeepCopy()
	again.Name = name
	restored := modified(w, again, until)
	restored.Status = saved.Status
	w.must(w.Client.Status().Update(w.t.Context(), restored))
	return restored
}

// TestReservedBucketWithoutItsClaim interrupts a claim after it has reserved a restored Bucket and before it is bound.
func TestReservedBucketWithoutItsClaim(t *testing.T) {
	t.Parallel()
	covers(t, "restored-bucket-bound", "restored-bucket-held")
	for name, then := range map[string]func(w *world, claim *cosiapi.BucketClaim, restored, saved *cosiapi.Bucket){
		"another restored Bucket does not matter": func(w *world, claim *cosiapi.BucketClaim, restored, saved *cosiapi.Bucket) {
			w.restoreStatus(saved, saved.Name+"-2", later())
			w.settled()
			w.tape.calm()
			w.ready(claim)
			if claim.Status.BoundBucketName != restored.Name {
				w.t.Errorf("the claim is bound to %q", claim.Status.BoundBucketName)
			}
			w.holdsPrecious(saved)
		},
		"a deleted claim releases the Bucket": func(w *world, claim *cosiapi.BucketClaim, restored, saved *cosiapi.Bucket) {
			w.must(w.driver.RemoveObjects(saved.Status.BucketID))
			w.delete(claim)
			w.gone(claim, restored)
			w.called(memdriver.DeleteBucket, 1)
		},
		"a lost claim does not": func(w *world, claim *cosiapi.BucketClaim, restored, _ *cosiapi.Bucket) {
			w.drop(w.t.Context(), claim)
			w.untilHeld(restored)
			w.settled()
			w.keeps(restored)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{backoff: patient()})
			w.newClass("fast")
			claim, bucket := w.provisioned("photos", "fast")
			w.must(w.driver.PutObject(bucket.Status.BucketID, "precious"))
			saved, savedClaim := get(w, bucket).DeepCopy(), get(w, claim).DeepCopy()
			w.lose(claim, bucket)
			// The claim has tried to create a Bucket. Such a Bucket would be released without its claim.
			tried := make(chan struct{})
			w.tape.strike(&fault{
				Who: theController, What: "create buckets", Status: http.StatusInternalServerError, Times: always, Hit: sync.OnceFunc(func() { close(tried) }),
			})
			w.runController()
			w.runSidecar()
			w.restore(savedClaim, false)
			<-tried
			w.tape.strike(&fault{
				Who: theController, What: "patch bucketclaims/status", Name: "photos", Status: http.StatusInternalServerError, Times: always,
			})
			restored := w.restoreStatus(saved, saved.Name, later())
			claim = get(w, w.claim("photos", "fast"))
			until(w, restored, "the Bucket is reserved", func(b *cosiapi.Bucket) error {
				if b.Spec.BucketClaimRef.UID != claim.UID {
					return errNot
				}
				return nil
			})
			then(w, claim, restored, saved)
		})
	}
}
