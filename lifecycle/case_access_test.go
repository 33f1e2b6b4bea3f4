// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

// pair starts a world with a class, an access class and two provisioned claims.
func pair(t *testing.T, o setup, alter ...func(*cosiapi.BucketAccessClassSpec)) *world {
	t.Helper()
	w := start(t, o)
	w.newClass("fast")
	w.newAccessClass("keys", alter...)
	photos, films := w.newClaim("photos", "fast"), w.newClaim("films", "fast")
	w.ready(photos, films)
	return w
}

func (w *world) bucketIDs() []string {
	var ids []string
	for _, b := range w.driver.Inventory().Buckets {
		ids = append(ids, b.ID)
	}
	return ids // sorted
}

func TestTwoPhasesOfAnAccess(t *testing.T) {
	t.Parallel()
	covers(t, "account-name", "account-id-stored-first", "access-phases-agree", "access-modes")
	bothWays(t, setup{}, func(t *testing.T, o setup) {
		w := pair(t, o, multiBucket)
		live := &cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "app"}}
		memdriver.On(w.driver, func(ctx context.Context, r *cosi.DriverGrantBucketAccessRequest) error {
			now := &cosiapi.BucketAccess{}
			err := w.Client.Get(ctx, client.ObjectKeyFromObject(live), now)
			if err == nil && now.Status.AccountID != r.GetAccountId() {
				t.Errorf("account %q is granted while status.accountID is %q", r.GetAccountId(), now.Status.AccountID)
			}
			return err
		})
		access := w.granted("app", "keys", "photos", "films")
		first := memdriver.Requests[*cosi.DriverGenerateBucketAccessIdRequest](w.driver)[0]
		grant := memdriver.Requests[*cosi.DriverGrantBucketAccessRequest](w.driver)[0]
		anyMode := &cosi.AccessMode{Mode: cosi.AccessMode_ANY}
		want := &cosi.DriverGenerateBucketAccessIdRequest{
			AccountName: "ba-" + string(access.UID), Protocol: &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_S3},
			AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY}, Parameters: map[string]string{"user": "plain"},
		}
		for _, id := range w.bucketIDs() {
			want.Buckets = append(want.Buckets, &cosi.AccessedBucket{
				BucketId: id, ObjectDataAccessMode: &cosi.AccessMode{Mode: cosi.AccessMode_READ_WRITE},
				ObjectMetadataAccessMode: anyMode, BucketMetadataAccessMode: anyMode,
			})
		}
		again := &cosi.DriverGenerateBucketAccessIdRequest{
			AccountName: first.GetAccountName(), Protocol: grant.GetProtocol(), AuthenticationType: grant.GetAuthenticationType(),
			Parameters: grant.GetParameters(), Buckets: grant.GetBuckets(),
			ServiceAccountName: grant.GetServiceAccountName(), ServiceAccountNamespace: grant.GetServiceAccountNamespace(),
		}
		byID := protocmp.SortRepeated(func(a, b *cosi.AccessedBucket) bool { return a.GetBucketId() < b.GetBucketId() })
		if d := cmp.Diff(want, first, protocmp.Transform(), byID); d != "" {
			t.Errorf("phase 1 (-want, +got):\n%s", d)
		}
		if d := cmp.Diff(first, again, protocmp.Transform(), byID); d != "" {
			t.Errorf("the phases differ (-first, +second):\n%s", d)
		}
		// A user cannot replace the ID.
		forged := client.RawPatch(types.MergePatchType, []byte(`{"status":{"accountID":"another"}}`))
		if err := w.Client.Status().Patch(t.Context(), access.DeepCopy(), forged); !apierrors.IsInvalid(err) {
			t.Errorf("another account ID: %v", err)
		}
		// A new access of the same name gets another account.
		w.delete(access)
		w.gone(access)
		if next := w.granted("app", "keys", "photos"); next.Status.AccountID == access.Status.AccountID {
			t.Errorf("both accesses have account %s", next.Status.AccountID)
		}
	})
}

func TestAccessWithAnIDIsRevoked(t *testing.T) {
	t.Parallel()
	covers(t, "account-id-stored-first")
	for rpc, want := range map[memdriver.RPC][]memdriver.RPC{
		memdriver.GrantAccess:      {memdriver.GenerateAccessID, memdriver.GrantAccess, memdriver.RevokeAccess},
		memdriver.GenerateAccessID: {memdriver.GenerateAccessID},
	} {
		t.Run(string(rpc)+" never succeeds", func(t *testing.T) {
			t.Parallel()
			w := pair(t, setup{})
			w.driver.Script(memdriver.Fault{RPC: rpc, Code: codes.Internal, Times: memdriver.Always})
			access := w.access("app", "keys", "photos")
			w.create(access)
			w.condition(access, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.Retrying)
			w.delete(access)
			w.gone(access, secret(access, 0))
			diff(t, "calls", want, w.rpcs("ba-"+string(access.UID)))
		})
	}
}

func TestAccessDeletedBeforeItsIDIsStored(t *testing.T) {
	t.Parallel()
	covers(t, "account-id-stored-first")
	w := pair(t, setup{})
	access := w.access("app", "keys", "photos")
	unread := access.DeepCopy() // the test reads into access concurrently
	memdriver.On(w.driver, func(ctx context.Context, _ *cosi.DriverGenerateBucketAccessIdRequest) error {
		return w.Client.Delete(ctx, unread.DeepCopy())
	})
	w.create(access)
	w.gone(access, secret(access, 0))
	diff(t, "calls", []memdriver.RPC{memdriver.GenerateAccessID}, w.rpcs("ba-"+string(access.UID)))
}

func TestAccessRefusedInEitherPhase(t *testing.T) {
	t.Parallel()
	covers(t, "access-refused-in-either-phase", "retryable-or-not")
	for _, rpc := range []memdriver.RPC{memdriver.GenerateAccessID, memdriver.GrantAccess} {
		t.Run(string(rpc), func(t *testing.T) {
			t.Parallel()
			w := pair(t, setup{backoff: patient()})
			w.driver.Script(memdriver.Fault{RPC: rpc, Code: codes.OutOfRange, Message: "one bucket only", Times: memdriver.Always})
			access := w.access("app", "keys", "photos")
			w.create(access)
			message := w.condition(access, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.Terminal)
			if !strings.Contains(message, "one bucket only") {
				t.Errorf("the driver's message is lost: %s", message)
			}
			w.settled()
			w.called(rpc, 1)
		})
	}
}

func TestOrderOfAnAccess(t *testing.T) {
	t.Parallel()
	covers(t, "access-order", "hand-off-once", "revocation-order")
	bothWays(t, setup{}, func(t *testing.T, o setup) {
		w := pair(t, o)
		w.settled()
		mark := w.tape.mark()
		access := w.granted("app", "keys", "photos")
		want := []string{
			"controller patch bucketaccesses", "controller patch bucketclaims", "controller patch bucketaccesses/status",
			"sidecar create secrets", "sidecar DriverGenerateBucketAccessId", "sidecar patch bucketaccesses/status",
			"sidecar DriverGrantBucketAccess", "sidecar patch secrets", "sidecar patch bucketaccesses/status",
		}
		w.eventually("the last request has its response", func(context.Context) error { // the effect is visible before the response arrives
			if len(w.tape.done(since(mark))) < len(want) {
				return errNot
			}
			return nil
		})
		diff(t, "requests for the access", want, w.tape.done(since(mark)))
		// Replacing the class by another one of the same name changes nothing.
		handed := access.Status.DeepCopy()
		class := &cosiapi.BucketAccessClass{ObjectMeta: metav1.ObjectMeta{Name: w.global("keys")}}
		w.delete(class)
		w.gone(class)
		w.newAccessClass("keys", func(c *cosiapi.BucketAccessClassSpec) { c.DriverName, c.Parameters = "other", nil })
		w.settled()
		diff(t, "status after the class was replaced", handed, &get(w, access).Status)
		// The same in reverse.
		mark = w.tape.mark()
		w.delete(access)
		w.gone(access)
		want = []string{
			"sidecar patch secrets", "sidecar delete secrets", "sidecar DriverRevokeBucketAccess", "sidecar patch bucketaccesses/status", "sidecar patch bucketaccesses",
			"controller patch bucketclaims", "controller patch bucketaccesses",
		}
		w.eventually("the last request has its response", func(context.Context) error {
			if len(w.tape.done(since(mark))) < len(want) {
				return errNot
			}
			return nil
		})
		got := w.tape.done(since(mark))
		if !slices.Equal(got, want) && !slices.Equal(got, append([]string{"sidecar delete secrets", "sidecar patch secrets"}, want[2:]...)) {
			t.Errorf("requests for the deletion: want %q, got %q", want, got)
		}
	})
}

func TestAccessRejectedByItsClass(t *testing.T) {
	t.Parallel()
	covers(t, "access-order", "never-handed-off")
	w := pair(t, setup{}, func(c *cosiapi.BucketAccessClassSpec) {
		c.DisallowedBucketAccessModes.ObjectData = []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeReadWrite}
	})
	w.stop(theSidecar)
	access := w.access("app", "keys", "photos")
	w.create(access)
	w.refused(access, conditions.AccessModeDisallowed)
	if cosiapi.HasProtection(access) {
		t.Errorf("a rejected access is protected: %+v", access.ObjectMeta)
	}
	until(w, w.claim("photos", ""), "the claim has no mark", func(c *cosiapi.BucketClaim) error {
		if marked(c) {
			return errNot
		}
		return nil
	})
	waiting := w.access("waiting", "keys", "slow")
	waiting.Spec.BucketClaims[0].AccessModes.ObjectData = cosiapi.BucketAccessModeReadOnly
	w.create(w.claim("slow", "fast"), waiting)
	until(w, waiting, "the access is protected and waits", func(a *cosiapi.BucketAccess) error {
		if !cosiapi.HasProtection(a) {
			return errNot
		}
		return nil
	})
	w.delete(access, waiting)
	w.gone(access, waiting) // without a sidecar
}

func TestRefusedAccesses(t *testing.T) {
	t.Parallel()
	for name, tc := range fulltest.Rows(t, map[string]struct {
		covers string
		class  func(*cosiapi.BucketAccessClassSpec)
		access func(*cosiapi.BucketAccess)
		want   conditions.Reason
	}{
		"a protocol that the claim lacks": {
			"access-protocol", nil, func(a *cosiapi.BucketAccess) { a.Spec.Protocol = cosiapi.ProtocolAzure }, conditions.ProtocolUnsupported,
		},
		"a class for another driver": {
			"access-driver", func(c *cosiapi.BucketAccessClassSpec) { c.DriverName = "other" }, nil, conditions.DriverMismatch,
		},
		"a mode that the class disallows": {
			"access-modes", func(c *cosiapi.BucketAccessClassSpec) {
				c.DisallowedBucketAccessModes.BucketMetadata = []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeReadOnly}
			},
			func(a *cosiapi.BucketAccess) {
				a.Spec.BucketClaims[0].AccessModes.BucketMetadata = cosiapi.BucketAccessModeReadOnly
			},
			conditions.AccessModeDisallowed,
		},
		"two claims of a class without multiBucketAccess": {
			"single-bucket-default", nil, func(a *cosiapi.BucketAccess) {
				more := a.Spec.BucketClaims[0]
				more.BucketClaimName, more.AccessSecretName = "films", "more"
				a.Spec.BucketClaims = append(a.Spec.BucketClaims, more)
			}, conditions.MultiBucketDisallowed,
		},
		"no ServiceAccount for a class that needs one": {
			"service-account", func(c *cosiapi.BucketAccessClassSpec) {
				c.AuthenticationType = cosiapi.AuthenticationTypeServiceAccount
			}, nil, conditions.ServiceAccountRequired,
		},
	}, "a mode that the class disallows", "no ServiceAccount for a class that needs one") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			covers(t, tc.covers)
			w := start(t, setup{})
			w.newClass("fast")
			if tc.class == nil {
				tc.class = func(*cosiapi.BucketAccessClassSpec) {}
			}
			w.newAccessClass("keys", tc.class)
			w.provisioned("photos", "fast")
			access := w.access("app", "keys", "photos")
			if tc.access != nil {
				tc.access(access)
			}
			w.create(access)
			w.refused(access, tc.want)
			w.condition(access, cosiapi.ConditionProvisioned, metav1.ConditionFalse, tc.want)
			if access.Status.DriverName != "" || len(w.driver.Calls(memdriver.GenerateAccessID)) > 0 {
				t.Errorf("a refused access was handed off: %+v", access.Status)
			}
			w.delete(access)
			w.gone(access)
		})
	}
}

func TestAccessThatIsNotRefused(t *testing.T) {
	t.Parallel()
	covers(t, "access-protocol", "access-modes", "single-bucket-default")
	w := start(t, setup{patience: brief})
	w.newClass("fast")
	w.newAccessClass("keys", func(c *cosiapi.BucketAccessClassSpec) {
		c.DisallowedBucketAccessModes.ObjectData = []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeReadWrite}
		c.DisallowedBucketAccessModes.BucketMetadata = []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeReadOnly}
	})
	access := w.access("app", "keys", "photos")
	none := access.DeepCopy()
	none.Spec.BucketClaims[0].AccessModes = cosiapi.BucketAccessModes{}
	if err := w.Client.Create(t.Context(), none); err == nil {
		t.Error("an access without any mode was accepted")
	}
	access.Spec.BucketClaims[0].AccessModes = cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadOnly}
	hold := make(chan struct{})
	w.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Hold: hold})
	claim := w.newClaim("photos", "fast")
	w.create(access)
	// The access waits until the claim's protocols are known.
	w.condition(access, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForBucketClaim)
	close(hold)
	w.ready(claim, access)
	modes := memdriver.Requests[*cosi.DriverGrantBucketAccessRequest](w.driver)[0].GetBuckets()[0]
	if modes.GetObjectDataAccessMode().GetMode() != cosi.AccessMode_READ_ONLY ||
		modes.GetObjectMetadataAccessMode().GetMode() != cosi.AccessMode_ANY || modes.GetBucketMetadataAccessMode().GetMode() != cosi.AccessMode_ANY {
		t.Errorf("modes of the grant: %v", modes)
	}
}

// TestDisallowedModes verifies that the class's disallowed modes are part of the hand-off and reach the
// driver in both phases, even after the class is replaced by one that disallows other modes.
func TestDisallowedModes(t *testing.T) {
	t.Parallel()
	covers(t, "disallowed-modes")
	const read, write, both = cosiapi.BucketAccessModeReadOnly, cosiapi.BucketAccessModeWriteOnly, cosiapi.BucketAccessModeReadWrite
	disallowed := cosiapi.DisallowedBucketAccessModes{
		ObjectMetadata: []cosiapi.BucketAccessMode{both, write}, BucketMetadata: []cosiapi.BucketAccessMode{read, write, both},
	}
	w := pair(t, setup{}, func(c *cosiapi.BucketAccessClassSpec) { c.DisallowedBucketAccessModes = disallowed })
	access := w.granted("app", "keys", "photos")
	diff(t, "modes that were handed off", disallowed, access.Status.DisallowedBucketAccessModes)

	class := &cosiapi.BucketAccessClass{ObjectMeta: metav1.ObjectMeta{Name: w.global("keys")}}
	w.delete(class)
	w.gone(class)
	w.newAccessClass("keys", func(c *cosiapi.BucketAccessClassSpec) {
		c.DisallowedBucketAccessModes.ObjectMetadata = []cosiapi.BucketAccessMode{read}
	})
	change(w, access, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "once") })
	w.awaitCalls(memdriver.Started(2), memdriver.GrantAccess)
	want := &cosi.DisallowedAccessModes{
		ObjectMetadata: []cosi.AccessMode_Mode{cosi.AccessMode_READ_WRITE, cosi.AccessMode_WRITE_ONLY},
		BucketMetadata: []cosi.AccessMode_Mode{cosi.AccessMode_READ_ONLY, cosi.AccessMode_WRITE_ONLY, cosi.AccessMode_READ_WRITE},
	}
	phases := []interface {
		GetDisallowedAccessModes() *cosi.DisallowedAccessModes
	}{memdriver.Requests[*cosi.DriverGenerateBucketAccessIdRequest](w.driver)[0]}
	for _, grant := range memdriver.Requests[*cosi.DriverGrantBucketAccessRequest](w.driver) {
		phases = append(phases, grant)
	}
	for i, request := range phases {
		if d := cmp.Diff(want, request.GetDisallowedAccessModes(), protocmp.Transform()); d != "" {
			t.Errorf("request %d (-want +got):\n%s", i, d)
		}
	}
}

// TestDisallowedModesOfAnOldAccess covers an access that was granted by a version that did not hand over the
// disallowed modes. It is unchanged until its next grant.
func TestDisallowedModesOfAnOldAccess(t *testing.T) {
	t.Parallel()
	covers(t, "disallowed-modes")
	disallowed := cosiapi.DisallowedBucketAccessModes{ObjectMetadata: []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeReadWrite}}
	w := pair(t, setup{}, func(c *cosiapi.BucketAccessClassSpec) { c.DisallowedBucketAccessModes = disallowed })
	access := w.granted("app", "keys", "photos")
	w.stop(theController)
	w.stop(theSidecar)
	get(w, access).Status.DisallowedBucketAccessModes = cosiapi.DisallowedBucketAccessModes{}
	w.must(w.Client.Status().Update(t.Context(), access))
	w.runController()
	w.runSidecar()
	until(w, access, "the disallowed modes are handed off", func(a *cosiapi.BucketAccess) error {
		if d := cmp.Diff(disallowed, a.Status.DisallowedBucketAccessModes); d != "" {
			return errors.New(d)
		}
		return nil
	})
	w.settled()
	w.called(memdriver.GrantAccess, 1)

	change(w, access, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "once") })
	w.awaitCalls(memdriver.Started(2), memdriver.GrantAccess)
	again := memdriver.Requests[*cosi.DriverGrantBucketAccessRequest](w.driver)[1]
	want := &cosi.DisallowedAccessModes{ObjectMetadata: []cosi.AccessMode_Mode{cosi.AccessMode_READ_WRITE}}
	if d := cmp.Diff(want, again.GetDisallowedAccessModes(), protocmp.Transform()); d != "" {
		t.Errorf("the second grant (-want +got):\n%s", d)
	}
}

func TestServiceAccounts(t *testing.T) {
	t.Parallel()
	covers(t, "service-account")
	for _, authentication := range []cosiapi.AuthenticationType{cosiapi.AuthenticationTypeServiceAccount, cosiapi.AuthenticationTypeKey} {
		t.Run(string(authentication), func(t *testing.T) {
			t.Parallel()
			w := pair(t, setup{}, func(c *cosiapi.BucketAccessClassSpec) { c.AuthenticationType = authentication })
			access := w.access("app", "keys", "photos")
			access.Spec.ServiceAccountName = "robot"
			w.create(access)
			w.ready(access)
			if _, has := get(w, secret(access, 0)).Data["AWS_SECRET_ACCESS_KEY"]; has != (authentication == cosiapi.AuthenticationTypeKey) {
				t.Errorf("the Secret holds a key: %v", has)
			}
			w.delete(access)
			w.gone(access)
			name, namespace := "", ""
			if authentication == cosiapi.AuthenticationTypeServiceAccount {
				name, namespace = "robot", w.namespace
			}
			calls := w.driver.Calls(memdriver.GenerateAccessID, memdriver.GrantAccess, memdriver.RevokeAccess)
			if len(calls) != 3 {
				t.Errorf("want 3 calls, got %d", len(calls))
			}
			for _, call := range calls {
				r, ok := call.Request.(interface {
					GetServiceAccountName() string
					GetServiceAccountNamespace() string
				})
				if !ok || r.GetServiceAccountName() != name || r.GetServiceAccountNamespace() != namespace {
					t.Errorf("%s: want service account %s/%s, got %v", call.RPC, namespace, name, call.Request)
				}
			}
		})
	}
}

func TestClaimsThatShareABucket(t *testing.T) {
	t.Parallel()
	covers(t, "shared-bucket")
	for name, disallowed := range map[string][]cosiapi.BucketAccessMode{
		"the sum of their modes is disallowed": {cosiapi.BucketAccessModeReadWrite},
		"the class does not mind":              nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{})
			w.must(w.driver.AddBucket("shared"))
			w.newAccessClass("keys", multiBucket, func(c *cosiapi.BucketAccessClassSpec) { c.DisallowedBucketAccessModes.ObjectData = disallowed })
			for _, claim := range []string{"photos", "films"} {
				importing := w.importing(claim, "for-"+claim)
				w.create(w.imported("for-"+claim, "shared", claim), importing)
				w.ready(importing)
			}
			access := w.access("app", "keys", "photos", "films")
			access.Spec.BucketClaims[0].AccessModes.ObjectData = cosiapi.BucketAccessModeReadOnly
			access.Spec.BucketClaims[1].AccessModes.ObjectData = cosiapi.BucketAccessModeWriteOnly
			w.create(access)
			if disallowed != nil {
				if message := w.refused(access, conditions.AccessModeDisallowed); strings.Contains(message, `"shared"`) {
					t.Errorf("users read the ID of the bucket, which may be that of others: %s", message)
				}
				return
			}
			w.ready(access)
			buckets := memdriver.Requests[*cosi.DriverGrantBucketAccessRequest](w.driver)[0].GetBuckets()
			if len(buckets) != 1 || buckets[0].GetObjectDataAccessMode().GetMode() != cosi.AccessMode_READ_WRITE {
				t.Errorf("buckets of the grant: want one, read-write, got %v", buckets)
			}
			one, two := get(w, secret(access, 0)), get(w, secret(access, 1))
			if len(one.Data) == 0 {
				t.Error("a Secret is empty")
			}
			diff(t, "the Secrets", one.Data, two.Data)
		})
	}
}

func TestTwoCausesOfOneCondition(t *testing.T) {
	t.Parallel()
	covers(t, "conditions-of-accesses", "ready-summarizes")
	for name, secretFirst := range map[string]bool{"the Secret is freed first": true, "the claim is deleted first": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := pair(t, setup{poll: patient().Max, patience: brief})
			w.stop(theSidecar)
			access := w.access("app", "keys", "photos")
			foreign := secret(access, 0)
			foreign.StringData = map[string]string{"mine": "x"}
			w.create(foreign, access)
			w.runSidecar()
			w.refused(access, conditions.SecretTaken)
			claim := w.claim("photos", "fast")
			w.delete(claim)
			w.settled()
			w.refused(access, conditions.SecretTaken) // the first one keeps its name
			if secretFirst {
				w.delete(foreign)
				w.refused(access, conditions.BucketClaimDeleting)
			}
			w.delete(access)
			w.gone(access, claim)
			if !secretFirst && string(get(w, foreign).Data["mine"]) != "x" {
				t.Error("the foreign Secret was changed")
			}
		})
	}
}

func TestConditionsOfAnAccess(t *testing.T) {
	t.Parallel()
	covers(t, "conditions-of-accesses")
	type want struct {
		provisioned, validated, failed metav1.ConditionStatus
	}
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	for name, tc := range fulltest.Rows(t, map[string]struct {
		prepare func(w *world, access *cosiapi.BucketAccess)
		want    want
	}{
		"waiting for its class": {func(w *world, a *cosiapi.BucketAccess) {
			a.Spec.BucketAccessClassName = w.global("later")
			w.create(a)
		}, want{unknown, unknown, unknown}},
		"waiting for a claim": {func(w *world, a *cosiapi.BucketAccess) {
			a.Spec.BucketClaims[0].BucketClaimName = "later"
			w.create(a)
		}, want{unknown, unknown, unknown}},
		"refused by its class": {func(w *world, a *cosiapi.BucketAccess) {
			a.Spec.BucketClaims[0].AccessModes.ObjectMetadata = cosiapi.BucketAccessModeReadWrite
			w.create(a)
		}, want{no, no, unknown}},
		"handed over": {func(w *world, a *cosiapi.BucketAccess) {
			w.stop(theSidecar)
			w.create(a)
		}, want{unknown, yes, unknown}},
		"its Secret has another owner": {func(w *world, a *cosiapi.BucketAccess) { w.create(secret(a, 0), a) }, want{unknown, no, unknown}},
		"granted":                      {func(w *world, a *cosiapi.BucketAccess) { w.create(a) }, want{yes, yes, no}},
		"retried": {func(w *world, a *cosiapi.BucketAccess) {
			w.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Code: codes.Unavailable, Times: memdriver.Always})
			w.create(a)
		}, want{unknown, yes, yes}},
		"refused by the driver": {func(w *world, a *cosiapi.BucketAccess) {
			w.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Code: codes.InvalidArgument, Times: memdriver.Always})
			w.create(a)
		}, want{no, yes, yes}},
		"its claim is being deleted": {func(w *world, a *cosiapi.BucketAccess) {
			w.create(a)
			w.ready(a)
			w.delete(w.claim("photos", "fast"))
		}, want{yes, no, no}},
		"its claim is missing": {func(w *world, a *cosiapi.BucketAccess) {
			w.create(a)
			w.ready(a)
			w.drop(w.t.Context(), w.claim("photos", "fast"))
		}, want{yes, no, no}},
		"a rotation is refused": {func(w *world, a *cosiapi.BucketAccess) {
			w.create(a)
			w.ready(a)
			w.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Code: codes.InvalidArgument, Times: memdriver.Always})
			change(w, a, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "once") })
		}, want{yes, yes, yes}},
	}, "granted", "refused by the driver") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{patience: brief})
			w.newClass("fast")
			w.newAccessClass("keys", func(c *cosiapi.BucketAccessClassSpec) {
				c.DisallowedBucketAccessModes.ObjectMetadata = []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeReadWrite}
			})
			w.provisioned("photos", "fast")
			access := w.access("app", "keys", "photos")
			tc.prepare(w, access)
			until(w, access, "the access is "+name, func(a *cosiapi.BucketAccess) error {
				got := want{
					testenv.Condition(a, cosiapi.ConditionProvisioned).Status, testenv.Condition(a, cosiapi.ConditionResourcesValidated).Status,
					testenv.Condition(a, cosiapi.ConditionProvisionFailed).Status,
				}
				silent := slices.ContainsFunc(a.Status.Conditions, func(c metav1.Condition) bool {
					said := c.Reason != cosiapi.ReasonPending
					return said && (c.ObservedGeneration != a.Generation || c.Message == "") || !said && c.Type != cosiapi.ConditionProvisionFailed
				})
				if got != tc.want || silent {
					return fmt.Errorf("conditions %+v", a.Status.Conditions)
				}
				return nil
			})
		})
	}
}
