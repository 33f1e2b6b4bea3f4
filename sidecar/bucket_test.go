// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

// live reads a Bucket from within a driver's handler.
func (s *system) live(ctx context.Context, name string) (*cosiapi.Bucket, error) {
	b := &cosiapi.Bucket{}
	return b, s.Client.Get(ctx, client.ObjectKey{Name: name}, b)
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

// again requests a retry, as an administrator does.
func (s *system) again(b *cosiapi.Bucket) {
	s.t.Helper()
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { b.Labels = map[string]string{"again": "1"} })
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
