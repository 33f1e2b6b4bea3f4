// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

// live reads a Bucket from within a driver's handler.
func (s *system) live(ctx context.Context, name string) (*cosiapi.Bucket, error) {
	b := &cosiapi.Bucket{}
	return b, s.Client.Get(ctx, client.ObjectKey{Name: name}, b)
}

func TestBucketIsCreatedInTwoPhases(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.bucket()
	name := b.Name
	memdriver.On(s.driver, func(ctx context.Context, _ *cosi.DriverGenerateBucketIdRequest) error {
		now, err := s.live(ctx, name)
		if err == nil && !cosiapi.HasProtection(now) {
			t.Error("the driver was called before the Bucket had its finalizer")
		}
		return err
	})
	memdriver.On(s.driver, func(ctx context.Context, request *cosi.DriverCreateBucketRequest) error {
		now, err := s.live(ctx, name)
		if err == nil && now.Status.BucketID != request.GetBucketId() {
			t.Errorf("bucket %q is created while status.bucketID is %q", request.GetBucketId(), now.Status.BucketID)
		}
		return err
	})
	s.Create(b)
	s.ready(b)
	first := memdriver.Requests[*cosi.DriverGenerateBucketIdRequest](s.driver)[0]
	second := memdriver.Requests[*cosi.DriverCreateBucketRequest](s.driver)[0]
	if first.GetName() != b.Name {
		t.Errorf("phase 1 has the name %q, the Bucket %q", first.GetName(), b.Name)
	}
	same := &cosi.DriverGenerateBucketIdRequest{Name: first.GetName(), Protocols: second.GetProtocols(), Parameters: second.GetParameters()}
	if !proto.Equal(first, same) || second.GetParameters()["tier"] != "fast" {
		t.Errorf("the phases differ: %v and %v", first, second)
	}
}

func TestStoredBucketIDIsNotGeneratedAgain(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	stop := s.run()
	s.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.Unavailable})
	b := s.bucket()
	s.Create(b)
	s.untilCondition(b, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.Retrying)
	stop()
	s.run()
	s.ready(b)
	want := []memdriver.RPC{memdriver.GenerateBucketID, memdriver.CreateBucket, memdriver.CreateBucket}
	if diff := cmp.Diff(want, s.calls()); diff != "" {
		t.Errorf("calls (-want, +got):\n%s", diff)
	}
}

func TestConflictAtBucketIDStartsAgain(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.bucket()
	own, changed := b.DeepCopy(), false
	memdriver.On(s.driver, func(context.Context, *cosi.DriverGenerateBucketIdRequest) error {
		if !changed {
			changed = true
			testenv.Change(s.Env, own, func(b *cosiapi.Bucket) { b.Labels = map[string]string{"changed": "meanwhile"} })
		}
		return nil
	})
	s.Create(b)
	s.ready(b)
	want := []memdriver.RPC{memdriver.GenerateBucketID, memdriver.GenerateBucketID, memdriver.CreateBucket}
	if diff := cmp.Diff(want, s.calls()); diff != "" {
		t.Errorf("calls (-want, +got):\n%s", diff)
	}
	for _, request := range memdriver.Requests[*cosi.DriverGenerateBucketIdRequest](s.driver) {
		if request.GetName() != b.Name {
			t.Errorf("phase 1 was repeated with the name %q", request.GetName())
		}
	}
}

func TestBucketDeletedBeforeItsIDIsStored(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.bucket()
	own := b.DeepCopy()
	memdriver.On(s.driver, func(context.Context, *cosi.DriverGenerateBucketIdRequest) error {
		s.leave(own)
		return nil
	})
	s.Create(b)
	s.Gone(b)
	// If the cache does not show the deletion yet, there may be a second call.
	if calls := slices.Compact(s.calls()); !slices.Equal(calls, []memdriver.RPC{memdriver.GenerateBucketID}) {
		t.Errorf("want only calls of phase 1, got %v", calls)
	}
}

func TestBucketThatMayExistIsDeleted(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	s.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.Internal, Times: memdriver.Always})
	b := s.bucket()
	s.Create(b)
	s.untilCondition(b, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.Retrying)
	s.leave(b)
	s.Gone(b)
	want := []memdriver.RPC{memdriver.GenerateBucketID, memdriver.CreateBucket, memdriver.DeleteBucket}
	if diff := cmp.Diff(want, s.calls()); diff != "" {
		t.Errorf("calls (-want, +got):\n%s", diff)
	}
}

// static returns a Bucket as an administrator imports it.
func (s *system) static(id string) *cosiapi.Bucket {
	b := s.bucket()
	b.Spec.ExistingBucketID, b.Spec.DeletionPolicy, b.Spec.BucketClaimRef.UID = id, cosiapi.DeletionPolicyRetain, ""
	return b
}

func TestImportedBucketIsVerified(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	if err := s.driver.AddBucket("existing.bucket"); err != nil {
		t.Fatal(err)
	}
	b := s.static("existing.bucket")
	name := b.Name
	memdriver.On(s.driver, func(ctx context.Context, request *cosi.DriverGetBucketRequest) error {
		if diff := cmp.Diff(map[string]string{"tier": "fast"}, request.GetParameters()); diff != "" {
			t.Errorf("parameters (-Bucket +request):\n%s", diff)
		}
		now, err := s.live(ctx, name)
		if err == nil && now.Status.BucketID != "existing.bucket" {
			t.Errorf("the bucket is looked up while status.bucketID is %q", now.Status.BucketID)
		}
		return err
	})
	s.Create(b)
	s.ready(b)
	if diff := cmp.Diff([]memdriver.RPC{memdriver.GetBucket}, s.calls()); diff != "" {
		t.Errorf("calls (-want, +got):\n%s", diff)
	}
	s.Delete(b)
	s.Gone(b)
	if len(s.driver.Inventory().Buckets) != 1 {
		t.Error("an imported bucket was deleted")
	}
}

func TestFailedImportIsRetriedWhenItsBucketChanges(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	s.options.Backoff = reconciler.BackoffOptions{Base: 10 * time.Millisecond, Max: 10 * time.Millisecond} // which a change does not end
	s.run()
	if err := s.driver.AddBucket("existing.bucket"); err != nil {
		t.Fatal(err)
	}
	s.driver.Script(memdriver.Fault{RPC: memdriver.GetBucket, Code: codes.InvalidArgument, Times: 1})
	b := s.static("existing.bucket")
	s.Create(b)
	s.untilCondition(b, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.Terminal)
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, "example.com/reviewed", "yes") })
	s.ready(b)
}

func TestBucketResponsesThatBreakContract(t *testing.T) {
	t.Parallel()
	s3 := &cosi.ObjectProtocolAndBucketInfo{S3: &cosi.S3BucketInfo{}}
	for name, tc := range fulltest.Rows(t, map[string]struct {
		rpc      memdriver.RPC
		response proto.Message
		want     []memdriver.RPC
		message  string
		deletes  bool
	}{
		"an ID with forbidden characters": {
			memdriver.GenerateBucketID, &cosi.DriverGenerateBucketIdResponse{BucketId: "arn:aws:s3:::x"},
			[]memdriver.RPC{memdriver.GenerateBucketID},
			"bucket_id", false,
		},
		"an empty ID": {
			memdriver.GenerateBucketID, &cosi.DriverGenerateBucketIdResponse{},
			[]memdriver.RPC{memdriver.GenerateBucketID},
			"bucket_id is required", false,
		},
		"no protocol": {
			memdriver.CreateBucket, &cosi.DriverCreateBucketResponse{Protocols: &cosi.ObjectProtocolAndBucketInfo{}},
			[]memdriver.RPC{memdriver.GenerateBucketID, memdriver.CreateBucket},
			"protocols", true,
		},
		"not the protocol that was asked for": {
			memdriver.CreateBucket, &cosi.DriverCreateBucketResponse{Protocols: &cosi.ObjectProtocolAndBucketInfo{Gcs: &cosi.GcsBucketInfo{}}},
			[]memdriver.RPC{memdriver.GenerateBucketID, memdriver.CreateBucket},
			"S3", true,
		},
		"a protocol that the driver does not serve": {
			memdriver.CreateBucket, &cosi.DriverCreateBucketResponse{
				Protocols: &cosi.ObjectProtocolAndBucketInfo{S3: s3.GetS3(), Azure: &cosi.AzureBucketInfo{}},
			},
			[]memdriver.RPC{memdriver.GenerateBucketID, memdriver.CreateBucket},
			"AZURE", true,
		},
	}, "an ID with forbidden characters", "not the protocol that was asked for") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, memdriver.Options{})
			s.driver.Script(memdriver.Fault{RPC: tc.rpc, Answer: tc.response, Times: memdriver.Always})
			b := s.bucket()
			s.Create(b)
			message := s.untilCondition(b, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.DriverResponseInvalid)
			if !strings.Contains(message, tc.message) {
				t.Errorf("the message does not name %q: %s", tc.message, message)
			}
			s.settled()
			got := s.callsFor(b)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("calls (-want, +got):\n%s", diff)
			}
			s.leave(b)
			s.Gone(b)
			if deleted := len(s.driver.CallsFor(b.Name, memdriver.DeleteBucket)) > 0; deleted != tc.deletes {
				t.Errorf("DriverDeleteBucket called: want %v, got %v", tc.deletes, deleted)
			}
		})
	}
}

// callsFor returns the calls about one Bucket.
func (s *system) callsFor(b *cosiapi.Bucket) []memdriver.RPC {
	var rpcs []memdriver.RPC
	for _, call := range s.driver.CallsFor(b.Name) {
		rpcs = append(rpcs, call.RPC)
	}
	return rpcs
}

// A bucket that does not exist yet is looked up again with backoff, without a change of the Bucket.
func TestMissingImportedBucketIsLookedUpAgain(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	s.options.Backoff = reconciler.BackoffOptions{Base: 10 * time.Millisecond, Max: 100 * time.Millisecond}
	s.run()
	b := s.static("made.later")
	s.Create(b)
	s.untilCondition(b, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.Retrying)
	s.await(memdriver.GetBucket, 3)
	if err := s.driver.AddBucket("made.later"); err != nil {
		t.Fatal(err)
	}
	s.ready(b)
}

func TestBucketOfProtocolThatDriverLacks(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.bucket()
	b.Spec.Protocols = []cosiapi.Protocol{cosiapi.ProtocolS3, cosiapi.ProtocolAzure}
	s.Create(b)
	s.untilCondition(b, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.DriverLacksProtocol)
	s.untilCondition(b, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.DriverLacksProtocol)
	if got := s.calls(); len(got) > 0 {
		t.Errorf("calls: want none, got %v", got)
	}
	s.driver.SetInfo(func(info *cosi.DriverGetInfoResponse) {
		info.SupportedProtocols = append(info.SupportedProtocols, &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_AZURE})
	})
	s.ready(b)
}

func TestBucketOfAnotherDriverIsNotChanged(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.bucket()
	b.Spec.DriverName = "other." + b.Spec.DriverName[:20]
	s.Create(b)
	before := testenv.Get(s.Env, b).ResourceVersion
	s.settled()
	if after := testenv.Get(s.Env, b).ResourceVersion; after != before {
		t.Errorf("a Bucket of another driver was written: %v", b)
	}
}

func TestBucketDeletionNeedsBothSigns(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		first, second func(*system, *cosiapi.Bucket)
	}{
		"the annotation alone does nothing": {
			func(s *system, b *cosiapi.Bucket) {
				testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, "") })
				s.settled()
			},
			func(s *system, b *cosiapi.Bucket) { s.Delete(b) },
		},
		"the deletion alone does nothing while the claim lives": {
			func(s *system, b *cosiapi.Bucket) {
				s.Delete(b)
				s.untilCondition(b, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.ClaimStillBound)
			},
			func(s *system, b *cosiapi.Bucket) {
				testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, "") })
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, memdriver.Options{})
			b := s.readyBucket()
			tc.first(s, b)
			if n := len(s.driver.Calls(memdriver.DeleteBucket)); n > 0 {
				t.Fatalf("DriverDeleteBucket was called %d times on one sign alone", n)
			}
			tc.second(s, b)
			s.Gone(b)
			if diff := cmp.Diff(map[string]string{"tier": "fast"}, memdriver.Requests[*cosi.DriverDeleteBucketRequest](s.driver)[0].GetParameters()); diff != "" {
				t.Errorf("parameters of the deletion (-want, +got):\n%s", diff)
			}
		})
	}
}

func TestRetainedBucket(t *testing.T) {
	t.Parallel()
	retain := func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain }
	s := newSystem(t, memdriver.Options{})
	stop := s.run()
	kept, flipped, unflipped := s.bucket(), s.readyBucket(), s.bucket()
	for _, b := range []*cosiapi.Bucket{kept, unflipped} {
		retain(b)
		s.Create(b)
		s.ready(b)
	}
	stop()
	s.leave(kept)
	s.leave(flipped)
	testenv.Change(s.Env, flipped, retain)
	s.leave(unflipped)
	testenv.Change(s.Env, unflipped, func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = cosiapi.DeletionPolicyDelete })
	s.run()
	s.Gone(flipped)
	s.settled()
	if n := len(s.driver.Calls(memdriver.DeleteBucket)); n > 0 {
		t.Errorf("DriverDeleteBucket was called %d times", n)
	}
	if b := testenv.Get(s.Env, unflipped); b.DeletionTimestamp != nil || !cosiapi.HasProtection(b) {
		t.Error("a Bucket whose policy became Delete after its claim was deleted does not wait for its own deletion")
	}
	s.Delete(kept)
	s.Gone(kept)
	s.Delete(unflipped)
	s.Gone(unflipped)
	if n := len(s.driver.Calls(memdriver.DeleteBucket)); n != 1 {
		t.Errorf("DriverDeleteBucket: want 1 call, for the Bucket whose policy is Delete, got %d", n)
	}
}

// again requests a retry, as an administrator does.
func (s *system) again(b *cosiapi.Bucket) {
	s.t.Helper()
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { b.Labels = map[string]string{"again": "1"} })
}

func TestBucketDeletionThatFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		code   codes.Code
		reason conditions.Reason
	}{
		"for good":  {codes.InvalidArgument, conditions.Terminal},
		"for a way": {codes.FailedPrecondition, conditions.Retrying},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, memdriver.Options{})
			b := s.readyBucket()
			s.driver.Script(memdriver.Fault{RPC: memdriver.DeleteBucket, Code: tc.code, Message: "not empty"})
			s.leave(b)
			message := s.untilCondition(b, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, tc.reason)
			if !strings.Contains(message, "not empty") {
				t.Errorf("the driver's message is lost: %s", message)
			}
			s.settled()
			if b := testenv.Get(s.Env, b); !cosiapi.HasProtection(b) || testenv.Condition(b, cosiapi.ConditionProvisionFailed).Status != metav1.ConditionFalse {
				t.Errorf("finalizer or ProvisionFailed changed: %v", b.Status.Conditions)
			}
			if n := len(s.driver.Calls(memdriver.DeleteBucket)); n != 1 {
				t.Errorf("DriverDeleteBucket: want 1 call until something changes, got %d", n)
			}
			s.again(b)
			s.Gone(b)
		})
	}
}

// A Bucket that is being deleted reports its current wait, not an earlier one.
func TestBucketReportsReasonOfDeletionWait(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.readyBucket()
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { b.Finalizers = append(b.Finalizers, "example.com/backup") })
	s.driver.Script(memdriver.Fault{RPC: memdriver.DeleteBucket, Code: codes.FailedPrecondition, Message: "not empty"})
	s.Delete(b)
	s.untilCondition(b, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.ClaimStillBound)
	s.untilCondition(b, cosiapi.ConditionDeprovisionFailed, metav1.ConditionUnknown, conditions.ClaimStillBound)
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, "") })
	s.untilCondition(b, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.Retrying)
	s.untilCondition(b, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.SidecarValidated)
	s.again(b)
	s.untilCondition(b, cosiapi.ConditionDeprovisionFailed, metav1.ConditionFalse, conditions.RPCSucceeded)
	s.Eventually("COSI has released the Bucket", func(context.Context) error {
		if cosiapi.HasProtection(testenv.Get(s.Env, b)) {
			return errors.New("it has not")
		}
		return nil
	})
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { b.Finalizers = nil })
	s.Gone(b)
}

func TestBucketProvisioningThatFails(t *testing.T) {
	t.Parallel()
	var all []codes.Code
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		all = append(all, code)
	}
	for _, code := range fulltest.Pick(t, all, fulltest.Tiers{Short: []string{"InvalidArgument", "Unavailable"}}) {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			s := start(t, memdriver.Options{})
			s.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: code, Message: "no such luck"})
			b := s.bucket()
			s.Create(b)
			status, reason := metav1.ConditionUnknown, conditions.Retrying
			if cosi.DispositionOf(cosi.Provisioner_DriverCreateBucket_FullMethodName, code) == cosi.Terminal {
				status, reason = metav1.ConditionFalse, conditions.Terminal
			}
			if code == codes.Unimplemented {
				reason = conditions.DriverIncompatible
			}
			s.untilCondition(b, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, reason)
			message := s.untilCondition(b, cosiapi.ConditionProvisioned, status, reason)
			if !strings.Contains(message, "no such luck") || !strings.Contains(message, "DriverCreateBucket") {
				t.Errorf("the message lacks the driver's words or the name of the call: %s", message)
			}
			s.settled()
			if n := len(s.driver.Calls(memdriver.CreateBucket)); n != 1 {
				t.Errorf("DriverCreateBucket: want 1 call until something changes, got %d", n)
			}
			s.driver.SetInfo(func(info *cosi.DriverGetInfoResponse) { info.Revision = "fixed" })
			s.ready(b)
			s.untilCondition(b, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse, conditions.RPCSucceeded)
		})
	}
}

// If a user has edited a status, the sidecar reads it from the driver again.
func TestBucketStatusThatLostItsProtocols(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.readyBucket()
	want := b.DeepCopy().Status
	testenv.ChangeStatus(s.Env, b, func(b *cosiapi.Bucket) { b.Status.Protocols, b.Status.BucketInfo = nil, nil })
	testenv.Until(s.Env, b, "the status is whole again", func(b *cosiapi.Bucket) error {
		if diff := cmp.Diff(want, b.Status); diff != "" {
			return fmt.Errorf("it differs: %s", diff)
		}
		return nil
	})
}

func TestNoTwoCallsForOneBucketID(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	if err := s.driver.AddBucket("shared"); err != nil {
		t.Fatal(err)
	}
	hold := make(chan struct{})
	s.driver.Script(memdriver.Fault{RPC: memdriver.GetBucket, ID: "shared", Hold: hold})
	one, two, other := s.static("shared"), s.static("shared"), s.bucket()
	s.Create(one)
	s.Create(two)
	s.Create(other)
	s.ready(other)
	s.Eventually("both Buckets have the ID", func(context.Context) error {
		for _, b := range []*cosiapi.Bucket{one, two} {
			if testenv.Get(s.Env, b).Status.BucketID == "" {
				return fmt.Errorf("Bucket %s has none", b.Name)
			}
		}
		return nil
	})
	s.settled()
	if n := len(s.driver.Calls(memdriver.GetBucket)); n != 2 { // the other one is from settled
		t.Errorf("DriverGetBucket: want 1 call while it hangs, got %d", n-1)
	}
	close(hold)
	s.ready(one)
	s.ready(two)
}

func TestBucketInfo(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{Protocols: []cosi.ObjectProtocol_Type{cosi.ObjectProtocol_S3, cosi.ObjectProtocol_AZURE}})
	b := s.bucket()
	b.Spec.Protocols = nil
	s.Create(b)
	s.ready(b)
	want := map[string]string{
		"COSI_PROTOCOL": "S3,Azure", "AWS_ENDPOINT_URL": "https://s3.memory.example", "BUCKET_NAME": b.Name,
		"AWS_DEFAULT_REGION": "memory-1", "AWS_S3_ADDRESSING_STYLE": "path", "AZURE_STORAGE_ACCOUNT": "memory",
	}
	if diff := cmp.Diff(want, b.Status.BucketInfo); diff != "" {
		t.Errorf("bucketInfo (-want, +got):\n%s", diff)
	}
	if diff := cmp.Diff([]cosiapi.Protocol{cosiapi.ProtocolS3, cosiapi.ProtocolAzure}, b.Status.Protocols); diff != "" {
		t.Errorf("protocols (-want, +got):\n%s", diff)
	}
}
