// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestAccessIsGrantedInTwoPhases(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	one, two := s.readyBucket(), s.readyBucket()
	a := s.access(one, two)
	a.Finalizers = nil // as if it was removed after the hand-off
	key := client.ObjectKeyFromObject(a)
	memdriver.On(s.driver, func(ctx context.Context, request *cosi.DriverGrantBucketAccessRequest) error {
		now := &cosiapi.BucketAccess{}
		err := s.Client.Get(ctx, key, now)
		if err == nil && !cosiapi.HasProtection(now) {
			t.Error("the access is granted before it has its finalizer")
		}
		if err == nil && now.Status.AccountID != request.GetAccountId() {
			t.Errorf("account %q is granted while status.accountID is %q", request.GetAccountId(), now.Status.AccountID)
		}
		return err
	})
	s.handOff(a, two, one)
	s.ready(a)
	first := memdriver.Requests[*cosi.DriverGenerateBucketAccessIdRequest](s.driver)[0]
	second := memdriver.Requests[*cosi.DriverGrantBucketAccessRequest](s.driver)[0]
	if want := "ba-" + string(a.UID); first.GetAccountName() != want {
		t.Errorf("account name: want %q, got %q", want, first.GetAccountName())
	}
	readWrite, open := &cosi.AccessMode{Mode: cosi.AccessMode_READ_WRITE}, &cosi.AccessMode{Mode: cosi.AccessMode_ANY}
	want := &cosi.DriverGenerateBucketAccessIdRequest{
		AccountName: first.GetAccountName(), Protocol: &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_S3},
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY}, Parameters: map[string]string{"plan": "basic"},
	}
	for _, id := range sorted(one.Name, two.Name) {
		want.Buckets = append(want.Buckets, &cosi.AccessedBucket{
			BucketId: id, ObjectDataAccessMode: readWrite, ObjectMetadataAccessMode: open, BucketMetadataAccessMode: open,
		})
	}
	if diff := cmp.Diff(want, first, protocmp.Transform()); diff != "" {
		t.Errorf("phase 1 (-want, +got):\n%s", diff)
	}
	again := &cosi.DriverGenerateBucketAccessIdRequest{
		AccountName: first.GetAccountName(), Protocol: second.GetProtocol(), AuthenticationType: second.GetAuthenticationType(),
		Parameters: second.GetParameters(), Buckets: second.GetBuckets(),
		ServiceAccountName: second.GetServiceAccountName(), ServiceAccountNamespace: second.GetServiceAccountNamespace(),
	}
	if diff := cmp.Diff(first, again, protocmp.Transform()); diff != "" {
		t.Errorf("the phases differ (-first, +second):\n%s", diff)
	}
}

func TestAccessesThatAreNotTheSidecars(t *testing.T) {
	t.Parallel()
	for name, driver := range map[string]string{"an access of another driver": "other.example.com", "an access that was not handed off": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, memdriver.Options{})
			b := s.readyBucket()
			a := s.access(b)
			s.Create(a)
			if driver != "" {
				testenv.ChangeStatus(s.Env, a, func(a *cosiapi.BucketAccess) {
					a.Status.DriverName, a.Status.AuthenticationType = driver, cosiapi.AuthenticationTypeKey
					a.Status.AccessedBuckets = []cosiapi.AccessedBucket{{BucketName: b.Name, BucketID: b.Status.BucketID, BucketClaimName: b.Spec.BucketClaimRef.Name}}
				})
			}
			before := testenv.Get(s.Env, a).ResourceVersion
			s.readyAccess(b) // created later, so the sidecar has seen the first one
			if after := testenv.Get(s.Env, a).ResourceVersion; after != before {
				t.Errorf("it was written: %+v", a)
			}
			if calls := s.driver.Calls(memdriver.GenerateAccessID); len(calls) != 1 {
				t.Errorf("DriverGenerateBucketAccessId: want 1 call, for the access of the sidecar, got %d", len(calls))
			}
			if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(s.secrets(a)[0]), &corev1.Secret{}); !apierrors.IsNotFound(err) {
				t.Errorf("a Secret was made: %v", err)
			}
		})
	}
}

func sorted(a, b string) []string {
	if a > b {
		return []string{b, a}
	}
	return []string{a, b}
}

func TestAccessWithAccountIDIsRevoked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fails memdriver.RPC
		want  []memdriver.RPC
	}{
		"an account that may have been granted is revoked": {
			memdriver.GrantAccess, []memdriver.RPC{memdriver.GenerateAccessID, memdriver.GrantAccess, memdriver.RevokeAccess},
		},
		"without an ID nothing is revoked": {memdriver.GenerateAccessID, []memdriver.RPC{memdriver.GenerateAccessID}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, memdriver.Options{})
			b := s.readyBucket()
			s.driver.ForgetCalls()
			s.driver.Script(memdriver.Fault{RPC: tc.fails, Code: codes.Internal, Times: memdriver.Always})
			a := s.access(b)
			s.handOff(a, b)
			s.untilCondition(a, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.Retrying)
			s.Delete(a)
			s.release(a)
			if diff := cmp.Diff(tc.want, s.calls()); diff != "" {
				t.Errorf("calls (-want, +got):\n%s", diff)
			}
			s.Gone(s.secrets(a)[0])
		})
	}
}

func TestAccessDeletedBeforeItsIDIsStored(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.readyBucket()
	a := s.access(b)
	own := a.DeepCopy()
	memdriver.On(s.driver, func(context.Context, *cosi.DriverGenerateBucketAccessIdRequest) error {
		s.Delete(own)
		return nil
	})
	s.handOff(a, b)
	s.release(a)
	if calls := s.driver.Calls(memdriver.GrantAccess, memdriver.RevokeAccess); len(calls) > 0 {
		t.Errorf("an access without an ID was granted or revoked: %v", calls)
	}
}

func TestAccessRefusedInEitherPhase(t *testing.T) {
	t.Parallel()
	for _, rpc := range []memdriver.RPC{memdriver.GenerateAccessID, memdriver.GrantAccess} {
		t.Run(string(rpc), func(t *testing.T) {
			t.Parallel()
			s := start(t, memdriver.Options{})
			b := s.readyBucket()
			s.driver.Script(memdriver.Fault{RPC: rpc, Code: codes.OutOfRange, Message: "one bucket only", Times: memdriver.Always})
			a := s.access(b)
			s.handOff(a, b)
			message := s.untilCondition(a, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.Terminal)
			if !strings.Contains(message, "one bucket only") {
				t.Errorf("the driver's message is lost: %s", message)
			}
			s.settled()
			if n := len(s.driver.Calls(rpc)); n != 1 {
				t.Errorf("%s: want 1 call, got %d", rpc, n)
			}
		})
	}
}

func TestAccessToBucketThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, tc := range fulltest.Rows(t, map[string]struct {
		bucket func(*cosiapi.Bucket)
		access func(*cosiapi.AccessedBucket)
		status metav1.ConditionStatus
		reason conditions.Reason
	}{
		"another driver": {
			bucket: func(b *cosiapi.Bucket) { b.Spec.DriverName = "other.example.com" },
			status: metav1.ConditionFalse, reason: conditions.BucketNotUsable,
		},
		"the claim of another namespace": {
			bucket: func(b *cosiapi.Bucket) { b.Spec.BucketClaimRef.Namespace = "elsewhere" },
			status: metav1.ConditionFalse, reason: conditions.BucketNotUsable,
		},
		"a Bucket that does not exist": {
			access: func(b *cosiapi.AccessedBucket) { b.BucketName = "bc-nowhere" },
			status: metav1.ConditionUnknown, reason: conditions.BucketNotUsable,
		},
	}, "another driver") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, memdriver.Options{})
			b := s.bucket()
			if tc.bucket != nil {
				tc.bucket(b)
			}
			s.Create(b)
			b.Status.BucketID = b.Name
			a := s.access(b)
			s.Create(a)
			testenv.ChangeStatus(s.Env, a, func(a *cosiapi.BucketAccess) {
				accessed := cosiapi.AccessedBucket{BucketName: b.Name, BucketID: b.Name, BucketClaimName: b.Spec.BucketClaimRef.Name}
				if tc.access != nil {
					tc.access(&accessed)
				}
				a.Status.DriverName, a.Status.AuthenticationType = s.driver.Name(), cosiapi.AuthenticationTypeKey
				a.Status.AccessedBuckets = []cosiapi.AccessedBucket{accessed}
			})
			s.untilCondition(a, cosiapi.ConditionResourcesValidated, tc.status, tc.reason)
			s.untilCondition(a, cosiapi.ConditionProvisioned, tc.status, tc.reason)
			if calls := s.driver.Calls(memdriver.GenerateAccessID, memdriver.GrantAccess); len(calls) > 0 {
				t.Errorf("the driver was called: %v", calls)
			}
			if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(s.secrets(a)[0]), &corev1.Secret{}); !apierrors.IsNotFound(err) {
				t.Errorf("a Secret was made: %v", err)
			}
		})
	}
}

func TestAccessWaitsForBucketThatIsOnlyIdentified(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	hold := make(chan struct{})
	s.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Hold: hold})
	b := s.bucket()
	s.Create(b)
	testenv.Until(s.Env, b, "the Bucket has an ID", func(b *cosiapi.Bucket) error {
		if b.Status.BucketID == "" {
			return fmt.Errorf("it has none")
		}
		return nil
	})
	a := s.access(b)
	s.handOff(a, b)
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForProvisionedBucket)
	if calls := s.driver.Calls(memdriver.GenerateAccessID); len(calls) > 0 {
		t.Errorf("the driver was called: %v", calls)
	}
	close(hold)
	s.ready(a)
}

func TestAccessToBucketThatStartsDeleting(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.readyBucket()
	a := s.readyAccess(b)
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, "") })
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketNotUsable)
	s.ready(a)
	late := s.access(b)
	s.handOff(late, b)
	s.untilCondition(late, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.BucketNotUsable)
	if n := len(s.driver.Calls(memdriver.GenerateAccessID)); n != 1 {
		t.Errorf("DriverGenerateBucketAccessId: want 1 call, got %d", n)
	}
}

func TestAccessOfServiceAccount(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		authentication cosiapi.AuthenticationType
		namespaced     bool
	}{
		"ServiceAccount sends name and namespace": {cosiapi.AuthenticationTypeServiceAccount, true},
		"Key sends neither":                       {cosiapi.AuthenticationTypeKey, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, memdriver.Options{})
			b := s.readyBucket()
			a := s.access(b)
			a.Spec.ServiceAccountName = "robot"
			s.Create(a)
			testenv.ChangeStatus(s.Env, a, func(a *cosiapi.BucketAccess) {
				a.Status.DriverName, a.Status.AuthenticationType = s.driver.Name(), tc.authentication
				a.Status.AccessedBuckets = []cosiapi.AccessedBucket{{BucketName: b.Name, BucketID: b.Name, BucketClaimName: b.Spec.BucketClaimRef.Name}}
			})
			s.ready(a)
			if _, has := testenv.Get(s.Env, s.secrets(a)[0]).Data["AWS_SECRET_ACCESS_KEY"]; has == tc.namespaced {
				t.Errorf("the Secret holds a key: %v", has)
			}
			s.Delete(a)
			s.release(a)
			wantName, wantNamespace := "", ""
			if tc.namespaced {
				wantName, wantNamespace = "robot", s.namespace
			}
			for _, call := range s.driver.Calls(memdriver.GenerateAccessID, memdriver.GrantAccess, memdriver.RevokeAccess) {
				request, ok := call.Request.(interface {
					GetServiceAccountName() string
					GetServiceAccountNamespace() string
				})
				if !ok || request.GetServiceAccountName() != wantName || request.GetServiceAccountNamespace() != wantNamespace {
					t.Errorf("%s: want service account %s/%s, got %v", call.RPC, wantNamespace, wantName, call.Request)
				}
			}
		})
	}
}

func TestAccessToTwoClaimsOfOneBackendBucket(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	if err := s.driver.AddBucket("shared"); err != nil {
		t.Fatal(err)
	}
	one, two := s.static("shared"), s.static("shared")
	for _, b := range []*cosiapi.Bucket{one, two} {
		s.Create(b)
		s.ready(b)
	}
	a := s.access(one, two)
	a.Spec.BucketClaims[0].AccessModes = cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadOnly}
	a.Spec.BucketClaims[1].AccessModes = cosiapi.BucketAccessModes{
		ObjectData: cosiapi.BucketAccessModeWriteOnly, BucketMetadata: cosiapi.BucketAccessModeReadOnly,
	}
	s.handOff(a, one, two)
	s.ready(a)
	want := []*cosi.AccessedBucket{{
		BucketId:                 "shared",
		ObjectDataAccessMode:     &cosi.AccessMode{Mode: cosi.AccessMode_READ_WRITE},
		ObjectMetadataAccessMode: &cosi.AccessMode{Mode: cosi.AccessMode_ANY},
		BucketMetadataAccessMode: &cosi.AccessMode{Mode: cosi.AccessMode_READ_ONLY},
	}}
	got := memdriver.Requests[*cosi.DriverGrantBucketAccessRequest](s.driver)[0].GetBuckets()
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("buckets of the grant (-want, +got):\n%s", diff)
	}
	first, second := testenv.Get(s.Env, s.secrets(a)[0]), testenv.Get(s.Env, s.secrets(a)[1])
	if diff := cmp.Diff(first.Data, second.Data); diff != "" || len(first.Data) == 0 {
		t.Errorf("the Secrets differ or are empty:\n%s", diff)
	}
}

func TestAccessResponsesThatBreakContract(t *testing.T) {
	t.Parallel()
	info := &cosi.ObjectProtocolAndBucketInfo{S3: &cosi.S3BucketInfo{
		BucketId: "x", Endpoint: "https://s3.example.com", Region: "r", AddressingStyle: &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_PATH},
	}}
	keys := &cosi.CredentialInfo{S3: &cosi.S3CredentialInfo{AccessKeyId: "AK", AccessSecretKey: "canary-secret"}}
	for name, tc := range fulltest.Rows(t, map[string]struct {
		spoil   func(*cosi.DriverGrantBucketAccessResponse)
		message string
	}{
		"a bucket is missing": {func(r *cosi.DriverGrantBucketAccessResponse) { r.Buckets = nil }, "lacks"},
		"a bucket too many": {func(r *cosi.DriverGrantBucketAccessResponse) {
			r.Buckets = append(r.Buckets, &cosi.DriverGrantBucketAccessResponse_BucketInfo{BucketId: "other", BucketInfo: info})
		}, "buckets[1].bucket_id was not requested"},
		"another protocol": {func(r *cosi.DriverGrantBucketAccessResponse) {
			r.Buckets[0].BucketInfo = &cosi.ObjectProtocolAndBucketInfo{Gcs: &cosi.GcsBucketInfo{ProjectId: "p", BucketName: "b"}}
		}, "protocol"},
		"no endpoint": {func(r *cosi.DriverGrantBucketAccessResponse) { r.Buckets[0].BucketInfo.S3.Endpoint = "" }, "endpoint"},
		"half a key":  {func(r *cosi.DriverGrantBucketAccessResponse) { r.Credentials.S3.AccessKeyId = "" }, "access_key_id"},
		"no key":      {func(r *cosi.DriverGrantBucketAccessResponse) { r.Credentials = nil }, "credentials"},
	}, "a bucket too many", "half a key") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, memdriver.Options{})
			b := s.readyBucket()
			response := &cosi.DriverGrantBucketAccessResponse{
				Buckets:     []*cosi.DriverGrantBucketAccessResponse_BucketInfo{{BucketId: b.Name, BucketInfo: proto.CloneOf(info)}},
				Credentials: proto.CloneOf(keys),
			}
			tc.spoil(response)
			s.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Answer: response, Times: memdriver.Always})
			a := s.access(b)
			s.handOff(a, b)
			message := s.untilCondition(a, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.DriverResponseInvalid)
			if !strings.Contains(message, tc.message) || strings.Contains(message, "canary") {
				t.Errorf("the message does not name %q, or names a secret: %s", tc.message, message)
			}
			if data := testenv.Get(s.Env, s.secrets(a)[0]).Data; len(data) > 0 {
				t.Errorf("the Secret has data")
			}
		})
	}
}

func TestOrderOfAccessDeletion(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.readyBucket()
	a := s.readyAccess(b)
	secret := testenv.Get(s.Env, s.secrets(a)[0])
	own, key := a.DeepCopy(), client.ObjectKeyFromObject(secret)
	memdriver.On(s.driver, func(ctx context.Context, _ *cosi.DriverRevokeBucketAccessRequest) error {
		if err := s.Client.Get(ctx, key, &corev1.Secret{}); !apierrors.IsNotFound(err) {
			t.Errorf("access is revoked while its Secret exists: %v", err)
		}
		if cosiapi.HasAnnotation(testenv.Get(s.Env, own), cosiapi.SidecarCleanupFinishedAnnotation) {
			t.Error("access is revoked after it was given back")
		}
		return nil
	})
	s.driver.Script(memdriver.Fault{RPC: memdriver.RevokeAccess, Code: codes.PermissionDenied, Message: "not allowed"})
	s.Delete(a)
	message := s.untilCondition(a, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.Retrying)
	if !strings.Contains(message, "not allowed") {
		t.Errorf("the driver's message is lost: %s", message)
	}
	s.settled()
	testenv.Get(s.Env, a)
	if cosiapi.HasAnnotation(a, cosiapi.SidecarCleanupFinishedAnnotation) || testenv.Condition(a, cosiapi.ConditionProvisionFailed).Status != metav1.ConditionFalse {
		t.Errorf("a failed revocation changed more than DeprovisionFailed: %v %v", a.Annotations, a.Status.Conditions)
	}
	s.Gone(secret)
	s.driver.SetInfo(func(info *cosi.DriverGetInfoResponse) { info.Revision = "fixed" })
	s.release(a)
	want := []*cosi.DriverRevokeBucketAccessRequest_AccessedBucket{{BucketId: b.Name}}
	got := memdriver.Requests[*cosi.DriverRevokeBucketAccessRequest](s.driver)[1].GetBuckets()
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("buckets of the revocation (-want, +got):\n%s", diff)
	}
	if left := s.driver.Inventory().Accounts; len(left) > 0 {
		t.Errorf("the backend still has accounts: %v", left)
	}
}

// An access may be created from the manifest of one that was being deleted.
func TestNewAccessWithFinishedCleanup(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.readyBucket()
	a := s.access(b)
	cosiapi.SetAnnotation(a, cosiapi.SidecarCleanupFinishedAnnotation, "")
	s.handOff(a, b)
	s.ready(a)
	if cosiapi.HasAnnotation(testenv.Get(s.Env, a), cosiapi.SidecarCleanupFinishedAnnotation) {
		t.Error("an access that was just granted is reported as cleaned up")
	}
	s.Delete(a)
	s.release(a)
	s.Gone(s.secrets(a)[0])
	if n := len(s.driver.Calls(memdriver.RevokeAccess)); n != 1 {
		t.Errorf("DriverRevokeBucketAccess: want 1 call, got %d", n)
	}
}

// A Bucket that was deleted before its claim remains, and so does the access to it.
func TestAccessToBucketThatIsHeldForItsClaim(t *testing.T) {
	t.Parallel()
	s := startWatching(t, false)
	b := s.readyBucket()
	a := s.readyAccess(b)
	original := testenv.Get(s.Env, s.secrets(a)[0])
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { b.Finalizers = append(b.Finalizers, "example.com/keep") })
	s.Delete(b.DeepCopy())
	s.untilCondition(b, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.ClaimStillBound)
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketNotUsable)
	testenv.Change(s.Env, original.DeepCopy(), func(secret *corev1.Secret) { delete(secret.Data, "AWS_SECRET_ACCESS_KEY") })
	testenv.Until(s.Env, original.DeepCopy(), "the Secret is repaired", sameContent(original))
	s.settled()
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketNotUsable)
	s.ready(a)
	// No other access is granted.
	late := s.access(b)
	s.handOff(late, b)
	s.untilCondition(late, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.BucketNotUsable)
	// Without its claim, the bucket is deleted, and nothing is granted to it.
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain })
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, "Retain") })
	s.settled()
	n := len(s.driver.Calls(memdriver.GrantAccess))
	testenv.Change(s.Env, a, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "once") })
	s.settled()
	if more := len(s.driver.Calls(memdriver.GrantAccess)) - n; more > 0 {
		t.Errorf("access was granted %d times to a bucket of a deleted claim", more)
	}
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { b.Finalizers = nil })
}

func TestTwoWritersOfResourcesValidated(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.readyBucket()
	a := s.readyAccess(b)
	controllers := conditions.Change{
		Type: cosiapi.ConditionResourcesValidated, Status: metav1.ConditionFalse, Reason: conditions.BucketClaimDeleting,
		Message: "the claim is being deleted", Generation: 1,
	}
	testenv.ChangeStatus(s.Env, a, func(a *cosiapi.BucketAccess) { conditions.Merge(&a.Status.Conditions, controllers) })
	s.settled()
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketClaimDeleting)
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, "") })
	s.settled()
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketClaimDeleting)
	controllers.Status, controllers.Reason = metav1.ConditionTrue, conditions.ControllerValidated
	testenv.ChangeStatus(s.Env, a, func(a *cosiapi.BucketAccess) { conditions.Merge(&a.Status.Conditions, controllers) })
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketNotUsable)
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { cosiapi.RemoveAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation) })
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.SidecarValidated)
}
