// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/sidecar"
	"github.com/cooper-cosi/cooper/testenv"
)

// A bucket that was created under the upstream project's CRDs is verified and not created again by the driver that
// serves it afterwards. It is deleted like any other.
func TestBucketOfTheUpstreamProject(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	request := &cosi.DriverCreateBucketRequest{BucketId: "made-before", Protocols: []*cosi.ObjectProtocol{{Type: cosi.ObjectProtocol_S3}}}
	if _, err := s.driver.DriverCreateBucket(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	b := s.bucket()
	b.Annotations, b.Finalizers, b.Spec.Parameters = nil, []string{cosiapi.ProtectionFinalizer}, nil
	s.Create(b)
	testenv.ChangeStatus(s.Env, b, func(b *cosiapi.Bucket) {
		b.Status.BucketID, b.Status.Protocols = "made-before", []cosiapi.Protocol{cosiapi.ProtocolS3}
	})
	s.run()
	s.ready(b)
	if calls := s.driver.Calls(memdriver.GenerateBucketID, memdriver.CreateBucket); len(calls) > 0 {
		t.Errorf("it was made again: %+v", calls)
	}
	s.leave(b)
	s.Gone(b)
	s.empty()
}

// empty fails the test if anything remains in the backend.
func (s *system) empty() {
	s.t.Helper()
	if inventory := s.driver.Inventory(); len(inventory.Buckets)+len(inventory.Accounts) != 0 {
		s.t.Errorf("the backend still has %+v", inventory)
	}
}

// The sidecar waits for a driver of v1alpha1 and names the adapter.
func TestDriverOfV1alpha1(t *testing.T) {
	t.Parallel()
	endpoint := "unix://" + filepath.Join(processtest.ShortTempDir(t), "d.sock")
	server, err := memdriver.New(memdriver.Options{Speaks: memdriver.V1alpha1}).Start(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	log := &lines{more: make(chan struct{}, 1)}
	go func() {
		for log.count("Waiting for the driver") == 0 {
			<-log.more
		}
		cancel()
	}()
	driver, err := sidecar.Connect(ctx, sidecar.ConnectOptions{Address: endpoint, Logger: logrFunc(log.add)})
	if driver != nil || err == nil || !strings.Contains(err.Error(), "run cosi-driver-adapter between the sidecar and the driver") {
		t.Errorf("want no connection and the adapter named, got %v", err)
	}
}

// Nothing is created with a driver of the upstream project's v1alpha2, and the condition names the adapter.
func TestDriverOfUpstream(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{Speaks: memdriver.Upstream})
	b := s.bucket()
	s.Create(b)
	said := s.untilCondition(b, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.DriverIncompatible)
	if !strings.Contains(said, "run cosi-driver-adapter between the sidecar and the driver") {
		t.Errorf("want the adapter named, got %s", said)
	}
	s.leave(b)
	s.Gone(b)
	s.empty()
}

// A bucket or account that a sidecar of an earlier version requested may exist, but its ID is unknown. The deletion of its
// object waits for an administrator.
func TestDeletionWithUnknownID(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	stop := s.run()
	b := s.readyBucket()
	stop()
	requested := s.bucket()
	requested.Annotations[cosiapi.AskedForAnnotation], requested.Finalizers = requested.Name, []string{cosiapi.ProtectionFinalizer}
	s.Create(requested)
	s.leave(requested)
	a := s.access(b)
	s.handOff(a, b)
	testenv.ChangeStatus(s.Env, a, func(a *cosiapi.BucketAccess) { a.Status.Cleanup = cosiapi.CleanupPending })
	s.Delete(a)
	s.run()
	said := s.untilCondition(requested, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.StatusDegraded)
	if !strings.Contains(said, cosiapi.AskedForAnnotation) {
		t.Errorf("want the annotation named, got %s", said)
	}
	said = s.untilCondition(a, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.StatusDegraded)
	if !strings.Contains(said, cosiapi.AccountNameFor(a.UID)) || !strings.Contains(said, "status.cleanup") {
		t.Errorf("want the account and the field named, got %s", said)
	}
	s.untilEvent(a, string(reconciler.FailedRevokeAccess))
	if calls := s.driver.Calls(memdriver.DeleteBucket, memdriver.RevokeAccess); len(calls) > 0 {
		t.Errorf("want no calls without an ID, got %+v", calls)
	}
	testenv.Change(s.Env, requested, func(b *cosiapi.Bucket) { cosiapi.RemoveAnnotation(b, cosiapi.AskedForAnnotation) })
	s.Gone(requested)
	testenv.ChangeStatus(s.Env, a, func(a *cosiapi.BucketAccess) { a.Status.Cleanup = cosiapi.CleanupFinished })
	s.release(a)
}
