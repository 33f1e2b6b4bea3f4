// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

const (
	// claimWrites is how many object writes a claim with its Bucket costs, and
	// pairWrites a claim with an access that is created later.
	claimWrites, pairWrites = 6, 13
	// pause is the time between two measurements of single things.
	pause = 50 * time.Millisecond
	// floorMark stands for the finalizer of COSI, which nobody would take off.
	floorMark = "bench.cooper.dev/floor"
)

// floors adds the floors of a claim and of a pair to the result of a step, so
// that they are measured in the state in which the machine was for the pair of
// that name.
func (s *system) floors(ctx context.Context, to *result, pair string) error {
	if to.floors == nil {
		to.floors = map[int][]time.Duration{}
	}
	for _, writes := range []int{claimWrites, pairWrites} {
		if err := rest(ctx); err != nil {
			return err
		}
		took, err := s.alone(func() error {
			for n := range writes / claimWrites {
				if err := s.floor(ctx, fmt.Sprintf("floor-%d-%d-%s", writes, n, pair)); err != nil {
					return fmt.Errorf("floor: %w", err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		to.floors[writes] = append(to.floors[writes], took)
	}
	return rest(ctx)
}

// rest lets what the measurement before has set off come to its end.
func rest(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("rest: %w", ctx.Err())
	case <-time.After(pause):
		return nil
	}
}

// alone says how long do takes while controller, sidecar and driver stand still.
func (s *system) alone(do func() error) (time.Duration, error) {
	err := s.signal(syscall.SIGSTOP)
	began := time.Now()
	if err == nil {
		err = do()
	}
	took := time.Since(began)
	return took, errors.Join(err, s.signal(syscall.SIGCONT))
}

func (s *system) signal(what os.Signal) error {
	var errs []error
	for name, program := range s.programs {
		if err := program.Process.Signal(what); err != nil {
			errs = append(errs, fmt.Errorf("signal the %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// floor makes the writes that a claim waits for, as controller and sidecar make
// them, one right after the other: its own creation and its finalizer; the
// Bucket, its finalizer, its ID and its final status; the final status of the
// claim. (The name of the Bucket is written to the claim beside them.) What
// stands for the claim is a Bucket, too, for COSI would serve a claim.
func (s *system) floor(ctx context.Context, name string) error {
	claim, bucket := floorBucket("claim-of-"+name), floorBucket(name)
	patched := func(change func()) client.Patch {
		before := bucket.DeepCopy()
		change()
		return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	}
	for _, write := range []func() error{
		func() error { return s.bare.Create(ctx, claim) },
		func() error { claim.Finalizers = []string{floorMark}; return s.bare.Update(ctx, claim) },
		func() error { return s.bare.Create(ctx, bucket) },
		func() error {
			return s.bare.Patch(ctx, bucket, patched(func() { bucket.Finalizers = []string{floorMark} }))
		},
		func() error {
			return s.bare.Status().Patch(ctx, bucket, patched(func() { bucket.Status.BucketID = name }))
		},
		func() error {
			return s.bare.Status().Patch(ctx, bucket, patched(func() { bucket.Status = floorStatus(name) }))
		},
		func() error { claim.Status = floorStatus(claim.Name); return s.bare.Status().Update(ctx, claim) },
	} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// floorBucket is a Bucket of a driver that nobody serves.
func floorBucket(name string) *cosiapi.Bucket {
	return &cosiapi.Bucket{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: cosiapi.BucketSpec{
			DriverName: "floor." + driverName, DeletionPolicy: cosiapi.DeletionPolicyRetain, ExistingBucketID: name,
			Protocols:      []cosiapi.Protocol{cosiapi.ProtocolS3},
			BucketClaimRef: cosiapi.BucketClaimReference{Namespace: namespace, Name: name},
		},
	}
}

// floorStatus is as large as that of a provisioned Bucket.
func floorStatus(name string) cosiapi.BucketStatus {
	status := cosiapi.BucketStatus{
		BucketID: name, Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3},
		BucketInfo: map[string]string{"COSI_PROTOCOL": "S3", "BUCKET_NAME": name, "AWS_ENDPOINT_URL": "https://s3.fake.example", "AWS_DEFAULT_REGION": "fake-1"},
	}
	for _, name := range []string{cosiapi.ConditionResourcesValidated, cosiapi.ConditionProvisioned, cosiapi.ConditionProvisionFailed} {
		status.Conditions = append(status.Conditions, metav1.Condition{
			Type: name, Status: metav1.ConditionUnknown, Reason: "Floor", Message: "The last call to the driver succeeded", LastTransitionTime: metav1.Now(),
		})
	}
	return status
}

func ratio(of, to []time.Duration) float64 {
	return float64(quantile(of, 0.5)) / float64(max(quantile(to, 0.5), 1))
}
