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
	"github.com/cooper-cosi/cooper/fakes/driverfake"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// tenant returns a client of a user who has the role edit in the namespace of
// the world, and nothing more.
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

// as changes an object as somebody else than the administrator.
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

// removeByHand deletes objects while nobody is there to clean up behind them. Of
// one that is being deleted, nobody puts the finalizer on again.
func (w *world) removeByHand(objects ...client.Object) {
	w.t.Helper()
	for _, obj := range objects {
		w.must(client.IgnoreNotFound(w.Client.Delete(w.t.Context(), obj)))
		w.drop(w.t.Context(), obj)
		w.gone(obj)
	}
}

// revoked waits until the driver has no account of an access any more.
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

// A user with the role edit says in the sidecar's place that it has finished,
// before the sidecar has seen that the access goes.
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

// The user's annotation comes while the sidecar works on the access.
func TestCompletionForgedDuringTheRevocation(t *testing.T) {
	t.Parallel()
	covers(t, "completion-forged")
	w := pair(t, setup{backoff: patient(), unguarded: true})
	access, tenant := w.granted("app", "keys", "photos"), w.tenant()
	w.driver.Script(driverfake.Fault{RPC: driverfake.RevokeAccess, Code: codes.Unavailable, Times: 2})
	driverfake.On(w.driver, func(ctx context.Context, _ *cosi.DriverRevokeBucketAccessRequest) error {
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

// The user's annotation lets an access go that has no account yet, and the sidecar
// hears of it when it is gone: its Secret must go all the same, or it would hold its
// namespace.
func TestCompletionForgedBeforeTheGrant(t *testing.T) {
	t.Parallel()
	covers(t, "completion-forged")
	w := pair(t, setup{backoff: patient(), unguarded: true})
	w.driver.Script(driverfake.Fault{RPC: driverfake.GenerateAccessID, Code: codes.Unavailable, Times: driverfake.Always})
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

// An access that was granted before there was a record gets one.
func TestRecordOfAnOldAccess(t *testing.T) {
	t.Parallel()
	covers(t, "completion-forged")
	w := pair(t, setup{})
	earlier := w.granted("earlier", "keys", "photos") // whose ID the driver has generated
	w.delete(earlier.DeepCopy())
	w.gone(earlier.DeepCopy())
	w.stop(theSidecar)
	access := w.handedOff("app", "photos")
	access.Status.AccountID = earlier.Status.AccountID
	w.must(w.Client.Status().Update(t.Context(), access))
	w.runSidecar()
	w.ready(access)
	until(w, access, "the record says that there is something to clean up", func(a *cosiapi.BucketAccess) error {
		if a.Status.Cleanup != cosiapi.CleanupPending {
			return fmt.Errorf("it says %q", a.Status.Cleanup)
		}
		return nil
	})
}

// handedOff creates an access to a claim and waits until it is handed over.
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

// A sidecar that follows the KEP to the letter knows of no record in the status.
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

// settledWithoutSidecar is settled for the controller alone.
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

// A finalizer that is removed by hand takes neither the revocation nor the end
// of the Secret away.
func TestAccessRemovedByHand(t *testing.T) {
	t.Parallel()
	covers(t, "access-removed-by-hand")
	for name, prepare := range map[string]func(*world){
		"when all is well": func(*world) {},
		"while the driver is failing": func(w *world) {
			w.driver.Script(driverfake.Fault{RPC: driverfake.RevokeAccess, Code: codes.Unavailable, Times: 3})
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
				// The name is free again.
				next := w.granted("app", "keys", "photos", "films")
				w.settled()
				if w.account(next.Status.AccountID).ID == "" {
					t.Error("the account of the next access of that name was revoked")
				}
			})
		})
	}
}

// What is under way when an access is removed by hand is taken back.
func TestAccessRemovedByHandDuringItsGrant(t *testing.T) {
	t.Parallel()
	covers(t, "access-removed-by-hand")
	w := pair(t, setup{backoff: patient()})
	hold := make(chan struct{})
	w.driver.Script(driverfake.Fault{RPC: driverfake.GrantAccess, Hold: hold})
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
		if len(w.driver.Calls(driverfake.GrantAccess)) == 0 || len(w.driver.Calls(driverfake.RevokeAccess)) == 0 {
			return errNot
		}
		return nil
	})
	w.revoked(access)
	w.gone(secret(access, 0))
}

// An access that went while no sidecar ran is known by its Secret alone.
func TestAccessRemovedByHandUnseen(t *testing.T) {
	t.Parallel()
	covers(t, "access-removed-unseen", "secret-without-label")
	for name, earlier := range map[string]bool{"with a Secret of this version": false, "with a Secret of an earlier version": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := pair(t, setup{watchSecrets: true, backoff: patient()})
			access, neighbour := w.granted("app", "keys", "photos"), w.granted("neighbour", "keys", "films")
			w.stop(theSidecar)
			if earlier {
				change(w, secret(access, 0), func(s *corev1.Secret) { s.Labels = nil })
				change(w, secret(neighbour, 0), func(s *corev1.Secret) { s.Labels = nil })
			}
			w.removeByHand(access.DeepCopy())
			w.runSidecar()
			w.revoked(access)
			w.gone(secret(access, 0))
			until(w, secret(neighbour, 0), "the Secret of another access has the label", func(s *corev1.Secret) error {
				if s.Labels[cosiapi.AccessSecretLabel] == "" {
					return errNot
				}
				return nil
			})
			w.settled()
			if w.account(neighbour.Status.AccountID).ID == "" {
				t.Error("the account of another access was revoked")
			}
		})
	}
}

// What tenants write into Secrets makes a sidecar revoke nothing: no account of
// somebody else, be it of another cluster, and none that lives.
func TestForgedSecrets(t *testing.T) {
	t.Parallel()
	covers(t, "access-removed-unseen")
	const record, owner = "cooper.dev/account", "cooper.dev/access-uid"
	for name, forge := range fulltest.Rows(t, map[string]func(w *world, tenant client.Client, own, foreign *corev1.Secret){
		"a copy of a Secret": func(w *world, tenant client.Client, _, foreign *corev1.Secret) {
			forged := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
				Namespace: w.namespace, Name: "forged", Annotations: foreign.Annotations, Labels: foreign.Labels, Finalizers: foreign.Finalizers,
			}}
			w.must(tenant.Create(w.t.Context(), forged))
		},
		"a copy in another namespace": func(w *world, tenant client.Client, _, foreign *corev1.Secret) {
			forged := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
				Namespace: w.namespace, Name: "forged", Annotations: maps.Clone(foreign.Annotations), Labels: foreign.Labels, Finalizers: foreign.Finalizers,
			}}
			forged.Annotations[cosiapi.BucketAccessReferenceAnnotation] = "elsewhere/foreign"
			w.must(tenant.Create(w.t.Context(), forged))
		},
		"a copy for what cannot be an access": func(w *world, tenant client.Client, _, foreign *corev1.Secret) {
			forged := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
				Namespace: w.namespace, Name: "forged", Annotations: maps.Clone(foreign.Annotations), Labels: foreign.Labels, Finalizers: foreign.Finalizers,
			}}
			forged.Annotations[cosiapi.BucketAccessReferenceAnnotation] = w.namespace + "/.."
			w.must(tenant.Create(w.t.Context(), forged))
		},
		"a copy under the name of the original": func(w *world, tenant client.Client, _, foreign *corev1.Secret) {
			forged := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
				Namespace: w.namespace, Name: foreign.Name, Annotations: foreign.Annotations, Labels: foreign.Labels, Finalizers: foreign.Finalizers,
			}}
			w.must(tenant.Create(w.t.Context(), forged))
		},
		"another record in an own Secret": func(w *world, tenant client.Client, own, foreign *corev1.Secret) {
			as(w, tenant, own, func(s *corev1.Secret) {
				s.Annotations[record], s.Annotations[owner], s.OwnerReferences = foreign.Annotations[record], foreign.Annotations[owner], nil
				s.Annotations[cosiapi.BucketAccessReferenceAnnotation] = foreign.Annotations[cosiapi.BucketAccessReferenceAnnotation]
			})
		},
		"all annotations in an own Secret": func(w *world, tenant client.Client, own, foreign *corev1.Secret) {
			as(w, tenant, own, func(s *corev1.Secret) { s.Annotations, s.OwnerReferences = foreign.Annotations, nil })
		},
	}, 2) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := pair(t, setup{watchSecrets: true, backoff: patient(), unguarded: true})
			own, foreign := w.granted("own", "keys", "photos"), w.granted("foreign", "keys", "films")
			ownSecret, foreignSecret := get(w, secret(own, 0)), get(w, secret(foreign, 0))
			tenant := w.tenant()
			w.stop(theSidecar)
			// This cluster has never heard of the account, as if it were another's.
			w.removeByHand(foreign.DeepCopy(), secret(foreign, 0), own.DeepCopy())
			forge(w, tenant, ownSecret, foreignSecret)
			w.runSidecar()
			w.settled()
			if w.account(foreign.Status.AccountID).ID == "" {
				t.Error("a forged Secret made the sidecar revoke the account of somebody else")
			}
			// Nothing of it holds the namespace.
			forged := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "forged"}}
			for _, s := range []*corev1.Secret{forged, secret(foreign, 0), secret(own, 0)} {
				w.must(client.IgnoreNotFound(tenant.Delete(t.Context(), s)))
				w.gone(s)
			}
		})
	}
}

// Without the admission policies, a tenant removes from an access Secret what names its access. The Secret still does not
// hold the namespace, and the account is revoked.
func TestSecretThatWasStripped(t *testing.T) {
	t.Parallel()
	covers(t, "secret-stripped")
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
		"before its access goes": {setup{}, func(w *world, tenant client.Client, access *cosiapi.BucketAccess) {
			strip(w, tenant, access)
			w.delete(access.DeepCopy())
			w.gone(access.DeepCopy())
			deleted(w, tenant, access)
		}},
		"before its access is removed by hand": {setup{}, func(w *world, tenant client.Client, access *cosiapi.BucketAccess) {
			strip(w, tenant, access)
			w.drop(w.t.Context(), access.DeepCopy())
			deleted(w, tenant, access)
		}},
		"and deleted while its access lives": {setup{resync: 100 * time.Millisecond}, func(w *world, tenant client.Client, access *cosiapi.BucketAccess) {
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
		"while no sidecar runs": {setup{watchSecrets: true}, func(w *world, tenant client.Client, access *cosiapi.BucketAccess) {
			w.stop(theSidecar)
			strip(w, tenant, access)
			w.removeByHand(access.DeepCopy())
			deleted(w, tenant, access)
			w.runSidecar()
		}},
		"after its access has gone": {setup{watchSecrets: true, resync: patient().Max}, func(w *world, tenant client.Client, access *cosiapi.BucketAccess) {
			w.delete(access.DeepCopy())
			w.gone(access.DeepCopy(), secret(access, 0))
			copied := secret(access, 0)
			copied.Finalizers = []string{cosiapi.ProtectionFinalizer}
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

// An account that another access has got is not revoked on the word of a Secret,
// though that is genuine.
func TestSecretOfAnAccountThatLives(t *testing.T) {
	t.Parallel()
	covers(t, "access-removed-unseen")
	w := pair(t, setup{watchSecrets: true, backoff: patient()})
	access := w.granted("app", "keys", "photos")
	w.stop(theSidecar)
	heir := w.handedOff("heir", "photos")
	heir.Status.AccountID = access.Status.AccountID
	w.must(w.Client.Status().Update(t.Context(), heir))
	w.removeByHand(access.DeepCopy())
	w.runSidecar()
	w.gone(secret(access, 0))
	w.ready(heir)
	w.settled()
	if w.account(access.Status.AccountID).ID == "" {
		t.Error("the account of an access that lives was revoked")
	}
	w.called(driverfake.RevokeAccess, 0)
}

// A sidecar that may not list Secrets says so, and cleans up behind the access
// whose Secret is in the way of another.
func TestAccessRemovedByHandUnseenWithoutAList(t *testing.T) {
	t.Parallel()
	covers(t, "access-removed-unseen", "secret-left-over")
	w := pair(t, setup{poll: patient().Max, backoff: patient()})
	access := w.granted("app", "keys", "photos")
	w.stop(theSidecar)
	w.removeByHand(access.DeepCopy())
	w.runSidecar()
	w.settled()
	w.called(driverfake.RevokeAccess, 0)
	if w.log.count("Secrets may not be listed") == 0 {
		t.Error("the sidecar does not say that it will not find what was removed unseen")
	}
	next := w.granted("app", "keys", "photos")
	w.revoked(access)
	if w.account(next.Status.AccountID).ID == "" {
		t.Error("the account of the next access was revoked")
	}
}
