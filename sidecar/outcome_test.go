// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

// During a long grant or revocation, the Controller may write to the access. The driver's response must still be used.
func TestGrantIsNotRepeatedBecauseControllerWrote(t *testing.T) {
	t.Parallel()
	t.Run("a grant", func(t *testing.T) {
		t.Parallel()
		s := start(t, memdriver.Options{})
		b := s.readyBucket()
		a := s.access(b)
		own := a.DeepCopy()
		s.driver.ForgetCalls()
		memdriver.On(s.driver, func(context.Context, *cosi.DriverGrantBucketAccessRequest) error {
			s.says(own, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketClaimDeleting)
			return nil
		})
		s.handOff(a, b)
		s.ready(a)
		s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketClaimDeleting)
		s.settled()
		s.calledJust(memdriver.GenerateAccessID, memdriver.GrantAccess)
	})
	t.Run("a revocation", func(t *testing.T) {
		t.Parallel()
		s := start(t, memdriver.Options{})
		a := s.readyAccess(s.readyBucket())
		s.slowRevocation(a)
		s.Delete(a)
		s.release(a)
		s.settled()
		s.calledJust(memdriver.RevokeAccess)
	})
	t.Run("a revocation that fails", func(t *testing.T) {
		t.Parallel()
		s := start(t, memdriver.Options{})
		a := s.readyAccess(s.readyBucket())
		s.slowRevocation(a)
		s.driver.Script(memdriver.Fault{RPC: memdriver.RevokeAccess, Code: codes.Internal, Times: memdriver.Always})
		s.Delete(a)
		s.untilCondition(a, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.Retrying)
		s.settled()
		s.calledJust(memdriver.RevokeAccess)
	})
}

// The same for a Bucket, which users with access to Buckets may write.
func TestCreationIsNotRepeatedAfterOtherWrites(t *testing.T) {
	t.Parallel()
	t.Run("a creation", func(t *testing.T) {
		t.Parallel()
		s := start(t, memdriver.Options{})
		memdriver.On(s.driver, func(_ context.Context, request *cosi.DriverCreateBucketRequest) error {
			s.labels(request.GetBucketId())
			return nil
		})
		b := s.readyBucket()
		if b.Labels["team"] == "" {
			t.Error("the label is lost")
		}
		s.settled()
		s.calledJust(memdriver.GenerateBucketID, memdriver.CreateBucket)
	})
	t.Run("a deletion", func(t *testing.T) {
		t.Parallel()
		s := newSystem(t, memdriver.Options{})
		stop := s.run()
		b := s.readyBucket()
		s.driver.ForgetCalls()
		stop() // so that mark and deletion are seen together
		s.leave(b)
		memdriver.On(s.driver, func(_ context.Context, request *cosi.DriverDeleteBucketRequest) error {
			s.labels(request.GetBucketId())
			return nil
		})
		s.run()
		s.Gone(b)
		s.settled()
		s.calledJust(memdriver.DeleteBucket)
	})
}

// The Controller binds an imported Bucket when a claim for it is created, which may be before, during or after the
// driver's refusal of the Bucket. The driver is not called because of the claim.
func TestRefusedImportIsNotRepeatedBecauseClaimWasBound(t *testing.T) {
	t.Parallel()
	bind := func(s *system, name string) { // also called from the driver's handler, so it uses its own object
		testenv.Change(s.Env, &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: name}}, func(b *cosiapi.Bucket) { b.Spec.BucketClaimRef.UID = "00000000-0000-4000-8000-000000000001" })
	}
	for name, tc := range map[string]struct{ meanwhile, afterwards bool }{
		"while the driver looks":      {meanwhile: true},
		"when the driver has refused": {afterwards: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, memdriver.Options{})
			b := s.static("theirs")
			bucket := b.Name
			s.driver.Script(memdriver.Fault{RPC: memdriver.GetBucket, ID: "theirs", Code: codes.InvalidArgument, Times: memdriver.Always})
			memdriver.On(s.driver, func(_ context.Context, request *cosi.DriverGetBucketRequest) error {
				if tc.meanwhile && request.GetBucketId() == "theirs" {
					bind(s, bucket)
				}
				return nil
			})
			s.Create(b)
			s.untilCondition(b, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.Terminal)
			if tc.afterwards {
				bind(s, bucket)
				s.untilCondition(b, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.Terminal)
			}
			s.settled()
			looks := slices.DeleteFunc(s.driver.Calls(memdriver.GetBucket), func(c memdriver.Call) bool { return c.ID != "theirs" })
			if len(looks) != 1 {
				t.Errorf("want one look at the bucket, got %d", len(looks))
			}
			s.driver.ForgetCalls()
			// The administrator requests a retry.
			testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { b.Labels = map[string]string{"look": "again"} })
			s.await(memdriver.GetBucket, 1)
		})
	}
}

// labels sets a label on a Bucket, as an administrator does.
func (s *system) labels(name string) {
	s.t.Helper()
	testenv.Change(s.Env, &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: name}}, func(b *cosiapi.Bucket) { b.Labels = map[string]string{"team": "blue"} })
}

// If the user changes the request during the call, the response belongs to the old request.
func TestGrantIsRepeatedWhenUserAsksForSomethingElse(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.readyBucket()
	a := s.access(b)
	own := a.DeepCopy()
	memdriver.On(s.driver, func(_ context.Context, request *cosi.DriverGrantBucketAccessRequest) error {
		if request.GetRotation() == "" {
			testenv.Change(s.Env, own, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "1") })
		}
		return nil
	})
	s.handOff(a, b)
	s.ready(a)
	var rotations []string
	for _, request := range memdriver.Requests[*cosi.DriverGrantBucketAccessRequest](s.driver) {
		rotations = append(rotations, request.GetRotation())
	}
	if diff := cmp.Diff([]string{"", "1"}, rotations); diff != "" {
		t.Errorf("rotations of the grants (-want, +got):\n%s", diff)
	}
}

// slowRevocation writes a condition during every revocation, as Controllers of earlier versions did if it took long,
// and clears the recorded calls.
func (s *system) slowRevocation(a *cosiapi.BucketAccess) {
	own := a.DeepCopy()
	s.driver.ForgetCalls()
	memdriver.On(s.driver, func(context.Context, *cosi.DriverRevokeBucketAccessRequest) error {
		s.says(own, cosiapi.ConditionDeprovisionFailed, metav1.ConditionUnknown, conditions.Reason("WaitingForSidecar"))
		return nil
	})
}

// says sets a condition of an access, as the Controller does.
func (s *system) says(a *cosiapi.BucketAccess, conditionType string, status metav1.ConditionStatus, reason conditions.Reason) {
	s.t.Helper()
	testenv.ChangeStatus(s.Env, a, func(a *cosiapi.BucketAccess) {
		conditions.Set(&a.Status.Conditions, conditions.Change{
			Type: conditionType, Status: status, Reason: reason, Message: "set by the Controller", Generation: a.Generation,
		})
	})
}

// calledJust fails the test unless the driver received exactly these calls.
func (s *system) calledJust(want ...memdriver.RPC) {
	s.t.Helper()
	got := s.calls()
	for i, rpc := range got { // without the Bucket of settled
		if rpc == memdriver.GetBucket {
			got = got[:i]
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("calls (-want, +got):\n%s", diff)
	}
}
