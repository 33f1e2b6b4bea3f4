// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// tenant returns a client of a user with only the role edit in the namespace of the world.
func (w *world) tenant() client.Client {
	w.t.Helper()
	name := "tenant-" + w.namespace
	w.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
	})
	tenant := w.ClientFor(w.User(name))
	w.eventually("the role edit counts", func(ctx context.Context) error {
		return tenant.Create(ctx, w.access("probe", "keys", "photos"), client.DryRunAll)
	})
	return tenant
}

// as changes an object as a user other than the administrator.
func as[T client.Object](w *world, user client.Client, obj T, change func(T)) {
	w.t.Helper()
	w.eventually("the user's change of "+obj.GetName()+" is stored", func(ctx context.Context) error {
		if err := user.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		change(obj)
		return user.Update(ctx, obj)
	})
}

// removeByHand deletes objects and removes their finalizers manually while no component runs. A finalizer
// cannot be added to an object that is being deleted.
func (w *world) removeByHand(objects ...client.Object) {
	w.t.Helper()
	for _, obj := range objects {
		w.must(client.IgnoreNotFound(w.Client.Delete(w.t.Context(), obj)))
		w.drop(w.t.Context(), obj)
		w.gone(obj)
	}
}

// revoked waits until the driver has no account of an access.
func (w *world) revoked(access *cosiapi.BucketAccess) {
	w.t.Helper()
	w.eventually("account "+access.Status.AccountID+" is revoked", func(context.Context) error {
		for _, account := range w.driver.Inventory().Accounts {
			if account.ID == access.Status.AccountID {
				return errors.New("the backend has it")
			}
		}
		return nil
	})
}

// TestCompletionThatAUserForged covers a user with the role edit who forges the sidecar's completion before
// the sidecar has seen that the access is being deleted.
func TestCompletionThatAUserForged(t *testing.T) {
	t.Parallel()
	covers(t, "completion-forged")
	w := pair(t, setup{unguarded: true})
	access, tenant := w.granted("app", "keys", "photos"), w.tenant()
	w.stop(theSidecar)
	if err := tenant.Delete(t.Context(), access.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	as(w, tenant, access.DeepCopy(), func(a *cosiapi.BucketAccess) {
		cosiapi.SetAnnotation(a, cosiapi.SidecarCleanupFinishedAnnotation, "")
	})
	w.settledWithoutSidecar()
	if now := get(w, access.DeepCopy()); !cosiapi.HasProtection(now) || !marked(get(w, w.claim("photos", ""))) {
		t.Errorf("the access was let go on a user's word: %+v", now.ObjectMeta)
	}
	w.runSidecar()
	w.gone(access, secret(access, 0))
	w.revoked(access)
}

// TestCompletionForgedDuringTheRevocation covers a completion that is forged while the sidecar processes the
// access.
func TestCompletionForgedDuringTheRevocation(t *testing.T) {
	t.Parallel()
	covers(t, "completion-forged")
	w := pair(t, setup{backoff: patient(), unguarded: true})
	access, tenant := w.granted("app", "keys", "photos"), w.tenant()
	w.driver.Script(memdriver.Fault{RPC: memdriver.RevokeAccess, Code: codes.Unavailable, Times: 2})
	memdriver.On(w.driver, func(ctx context.Context, _ *cosi.DriverRevokeBucketAccessRequest) error {
		forged := &cosiapi.BucketAccess{}
		if err := tenant.Get(ctx, client.ObjectKeyFromObject(access), forged); err != nil {
			return err
		}
		cosiapi.SetAnnotation(forged, cosiapi.SidecarCleanupFinishedAnnotation, "")
		return client.IgnoreNotFound(tenant.Update(ctx, forged))
	})
	w.delete(access.DeepCopy())
	w.gone(access.DeepCopy(), secret(access, 0))
	w.revoked(access)
}

// TestCompletionForgedBeforeTheGrant covers an annotation of the user that lets an access without an account
// be deleted, which the sidecar sees only afterwards. It must still delete the Secret, which would otherwise
// block the namespace.
func TestCompletionForgedBeforeTheGrant(t *testing.T) {
	t.Parallel()
	covers(t, "completion-forged")
	w := pair(t, setup{backoff: patient(), unguarded: true})
	w.driver.Script(memdriver.Fault{RPC: memdriver.GenerateAccessID, Code: codes.Unavailable, Times: memdriver.Always})
	access, tenant := w.handedOff("app", "photos"), w.tenant()
	w.eventually("there is a Secret", func(ctx context.Context) error {
		return w.Client.Get(ctx, client.ObjectKeyFromObject(secret(access, 0)), &corev1.Secret{})
	})
	release := w.lags.lag(theSidecar, "bucketaccesses") // it sees the deletion too late
	w.must(tenant.Delete(t.Context(), access.DeepCopy()))
	as(w, tenant, access.DeepCopy(), func(a *cosiapi.BucketAccess) {
		cosiapi.SetAnnotation(a, cosiapi.SidecarCleanupFinishedAnnotation, "")
	})
	w.gone(access.DeepCopy())
	release()
	w.gone(secret(access, 0))
}

// TestCleanupOfAnOldAccess verifies that an access that was granted by a version without status.cleanup gets
// it.
func TestCleanupOfAnOldAccess(t *testing.T) {
	t.Parallel()
	covers(t, "completion-forged")
	w := pair(t, setup{})
	earlier := w.granted("earlier", "keys", "photos") // the driver has generated its ID
	w.delete(earlier.DeepCopy())
	w.gone(earlier.DeepCopy())
	w.stop(theSidecar)
	access := w.handedOff("app", "photos")
	access.Status.AccountID = earlier.Status.AccountID
	w.must(w.Client.Status().Update(t.Context(), access))
	w.runSidecar()
	w.ready(access)
	until(w, access, "status.cleanup is Pending", func(a *cosiapi.BucketAccess) error {
		if a.Status.Cleanup != cosiapi.CleanupPending {
			return fmt.Errorf("it says %q", a.Status.Cleanup)
		}
		return nil
	})
}

// handedOff creates an access to a claim and waits until it is handed off.
func (w *world) handedOff(name, claim string) *cosiapi.BucketAccess {
	w.t.Helper()
	access := w.access(name, "keys", claim)
	w.create(access)
	return until(w, access, "the access is handed over", func(a *cosiapi.BucketAccess) error {
		if a.Status.DriverName == "" {
			return errNot
		}
		return nil
	})
}

// TestCompletionOfAnotherSidecar covers a sidecar that implements only the KEP and does not write
// status.cleanup.
func TestCompletionOfAnotherSidecar(t *testing.T) {
	t.Parallel()
	covers(t, "completion-by-annotation")
	w := pair(t, setup{})
	w.stop(theSidecar)
	access := w.handedOff("app", "photos")
	access.Status.AccountID = "of-another-sidecar"
	w.must(w.Client.Status().Update(t.Context(), access))
	w.delete(access)
	w.settledWithoutSidecar()
	if !w.exists(access) {
		t.Fatal("the access went before its sidecar had finished")
	}
	change(w, access, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.SidecarCleanupFinishedAnnotation, "") })
	w.gone(access)
}

// settledWithoutSidecar is settled for the controller only.
func (w *world) settledWithoutSidecar() {
	w.t.Helper()
	name := fmt.Sprintf("%s%d", fencePrefix, w.next())
	claim, access := w.claim(name, "no-such-class"), w.access(name, "no-such-class", name)
	w.create(claim, access)
	w.condition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForClass)
	w.condition(access, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForClass)
	w.delete(access, claim)
	w.gone(access, claim)
}

// TestAccessWhoseFinalizerIsRemoved verifies that an access whose finalizer is removed manually is revoked,
// and that its Secrets are deleted.
func TestAccessWhoseFinalizerIsRemoved(t *testing.T) {
	t.Parallel()
	covers(t, "access-finalizer-removed")
	for name, prepare := range map[string]func(*world){
		"when all is well": func(*world) {},
		"while the driver is failing": func(w *world) {
			w.driver.Script(memdriver.Fault{RPC: memdriver.RevokeAccess, Code: codes.Unavailable, Times: 3})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothWays(t, setup{backoff: patient()}, func(t *testing.T, o setup) {
				w := pair(t, o, multiBucket)
				access := w.granted("app", "keys", "photos", "films")
				prepare(w)
				w.drop(t.Context(), access.DeepCopy())
				w.revoked(access)
				w.gone(access.DeepCopy(), secret(access, 0), secret(access, 1))
				// The name can be used again.
				next := w.granted("app", "keys", "photos", "films")
				w.settled()
				if w.account(next.Status.AccountID).ID == "" {
					t.Error("the account of the next access of that name was revoked")
				}
			})
		})
	}
}

// TestAccessWhoseFinalizerIsRemovedDuringItsGrant verifies that a grant is revoked if the finalizer of the
// access is removed manually during the grant.
func TestAccessWhoseFinalizerIsRemovedDuringItsGrant(t *testing.T) {
	t.Parallel()
	covers(t, "access-finalizer-removed")
	w := pair(t, setup{backoff: patient()})
	hold := make(chan struct{})
	w.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Hold: hold})
	access := w.access("app", "keys", "photos")
	w.create(access)
	until(w, access, "the account ID is stored", func(a *cosiapi.BucketAccess) error {
		if a.Status.AccountID == "" {
			return errNot
		}
		return nil
	})
	w.removeByHand(access.DeepCopy())
	close(hold)
	w.eventually("the account was granted and revoked", func(context.Context) error {
		if len(w.driver.Calls(memdriver.GrantAccess)) == 0 || len(w.driver.Calls(memdriver.RevokeAccess)) == 0 {
			return errNot
		}
		return nil
	})
	w.revoked(access)
	w.gone(secret(access, 0))
}

// TestSecretWithoutItsOwner removes the owner from an access Secret as a tenant, without the admission
// policies. The Secret can still be deleted, and the account is revoked.
func TestSecretWithoutItsOwner(t *testing.T) {
	t.Parallel()
	covers(t, "secret-without-owner")
	strip := func(w *world, tenant client.Client, access *cosiapi.BucketAccess) {
		w.t.Helper()
		as(w, tenant, secret(access, 0), func(s *corev1.Secret) {
			delete(s.Annotations, "cooper.dev/access-uid")
			s.OwnerReferences = nil
		})
	}
	deleted := func(w *world, tenant client.Client, access *cosiapi.BucketAccess) {
		w.t.Helper()
		w.must(tenant.Delete(w.t.Context(), secret(access, 0)))
	}
	for name, tc := range map[string]struct {
		options setup
		play    func(w *world, tenant client.Client, access *cosiapi.BucketAccess)
	}{
		"before its access is deleted": {setup{}, func(w *world, tenant client.Client, access *cosiapi.BucketAccess) {
			strip(w, tenant, access)
			w.delete(access.DeepCopy())
			w.gone(access.DeepCopy())
			deleted(w, tenant, access)
		}},
		"before the finalizer of its access is removed": {setup{}, func(w *world, tenant client.Client, access *cosiapi.BucketAccess) {
			strip(w, tenant, access)
			w.drop(w.t.Context(), access.DeepCopy())
			deleted(w, tenant, access)
		}},
		"and deleted while its access exists": {setup{resync: 100 * time.Millisecond}, func(w *world, tenant client.Client, access *cosiapi.BucketAccess) {
			stripped := get(w, secret(access, 0))
			strip(w, tenant, access)
			deleted(w, tenant, access)
			until(w, secret(access, 0), "there is another Secret", func(s *corev1.Secret) error {
				if s.UID == stripped.UID || len(s.Data) == 0 {
					return errNot
				}
				return nil
			})
			w.delete(access.DeepCopy())
		}},
		"after its access was deleted": {setup{watchSecrets: true, resync: patient().Max}, func(w *world, tenant client.Client, access *cosiapi.BucketAccess) {
			w.delete(access.DeepCopy())
			w.gone(access.DeepCopy(), secret(access, 0))
			copied := secret(access, 0)
			copied.Labels, copied.Finalizers = map[string]string{cosiapi.AccessSecretLabel: "true"}, []string{cosiapi.ProtectionFinalizer}
			w.must(tenant.Create(w.t.Context(), copied))
			deleted(w, tenant, access)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.options.backoff, tc.options.unguarded = patient(), true
			w := pair(t, tc.options)
			access := w.granted("app", "keys", "photos")
			tc.play(w, w.tenant(), access)
			w.revoked(access)
			w.gone(secret(access, 0))
		})
	}
}

// TestCopiedAccessSecret verifies that copies of an access Secret, with all of its metadata, can be deleted
// while the original is in use.
func TestCopiedAccessSecret(t *testing.T) {
	t.Parallel()
	covers(t, "secret-copied")
	for name, change := range map[string]func(s *corev1.Secret){
		"with its owner":         func(*corev1.Secret) {},
		"without its owner":      func(s *corev1.Secret) { s.OwnerReferences = nil },
		"without any annotation": func(s *corev1.Secret) { s.OwnerReferences, s.Annotations = nil, nil },
		"for an impossible access": func(s *corev1.Secret) {
			s.OwnerReferences, s.Annotations[cosiapi.BucketAccessReferenceAnnotation] = nil, "elsewhere/.."
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := pair(t, setup{watchSecrets: true, unguarded: true, backoff: patient(), resync: patient().Max})
			access, tenant := w.granted("app", "keys", "photos"), w.tenant()
			original := get(w, secret(access, 0))
			copied := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
				Namespace: w.namespace, Name: "copy", Labels: original.Labels, Annotations: maps.Clone(original.Annotations),
				Finalizers: original.Finalizers, OwnerReferences: original.OwnerReferences,
			}}
			change(copied)
			if err := w.Client.Create(t.Context(), copied); err != nil {
				t.Fatal(err)
			}
			w.must(client.IgnoreNotFound(tenant.Delete(t.Context(), copied.DeepCopy())))
			w.gone(copied)
			w.settled()
			if now := get(w, secret(access, 0)); now.UID != original.UID || !cosiapi.HasProtection(now) {
				t.Errorf("the original was changed: %+v", now.ObjectMeta)
			}
			w.called(memdriver.RevokeAccess, 0)
		})
	}
}

// TestRestoredNamespaceIsDeleted verifies that a namespace that was restored with accesses, Secrets and
// finalizers can be deleted: the Secrets name accesses that do not exist, and no sidecar watches them.
func TestRestoredNamespaceIsDeleted(t *testing.T) {
	t.Parallel()
	covers(t, "secret-restored")
	bothWays(t, setup{backoff: patient(), poll: 100 * time.Millisecond}, func(t *testing.T, o setup) {
		w := pair(t, o)
		access := w.granted("app", "keys", "photos")
		backup := []client.Object{get(w, secret(access, 0)), get(w, access.DeepCopy())}
		w.stop(theSidecar)
		w.removeByHand(access.DeepCopy(), secret(access, 0))
		for _, obj := range backup { // without the owner reference, because a restore does not preserve UIDs
			obj.SetUID("")
			obj.SetResourceVersion("")
			obj.SetOwnerReferences(nil)
			w.create(obj)
		}
		w.runSidecar()
		w.refused(backup[1].(*cosiapi.BucketAccess), conditions.SecretTaken) //nolint:forcetypeassert // as it was saved
		w.delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
		w.gone(backup...)
	})
}
