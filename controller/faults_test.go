// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// A fault is the failure of one write.
type fault struct {
	// lost reports that the write takes effect and only the response is lost.
	lost bool
	err  error
}

// faulty is a client with a fault at its n-th write, counted from 1.
type faulty struct {
	client.Client

	n      int64
	fault  fault
	writes *atomic.Int64
}

func (c faulty) write(do func() error) error {
	if c.writes.Add(1) != c.n {
		return do()
	}
	if c.fault.lost {
		if err := do(); err != nil {
			return err
		}
	}
	return c.fault.err
}

func (c faulty) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	return c.write(func() error { return c.Client.Create(ctx, obj, opts...) })
}

func (c faulty) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return c.write(func() error { return c.Client.Patch(ctx, obj, patch, opts...) })
}

func (c faulty) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return c.write(func() error { return c.Client.Delete(ctx, obj, opts...) })
}

func (c faulty) Status() client.SubResourceWriter {
	return faultyStatus{SubResourceWriter: c.Client.Status(), write: c.write}
}

type faultyStatus struct {
	client.SubResourceWriter

	write func(func() error) error
}

func (c faultyStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	return c.write(func() error { return c.SubResourceWriter.Patch(ctx, obj, patch, opts...) })
}

// flowWrites is the number of writes in lifeAndDeath without a fault: 4 for the claim, 3 for the access and its UID on
// the claim, 2 conditions about the claim in use, and 6 for the deletion, minus the finalizer of the Bucket.
const flowWrites = 14

// lifeAndDeath creates and deletes one claim and one access, and checks that nothing is created twice and nothing
// remains.
func lifeAndDeath(s *system) {
	s.t.Helper()
	s.newClass("fast")
	s.newAccessClass("keys")
	claim, bucket := s.provisioned("photos", "fast")
	access := s.newAccess(s.access("app", "keys", "photos"))
	s.untilHandedOff(access)
	s.grant(access)
	s.Delete(claim)
	s.untilCondition(access, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BucketClaimDeleting)
	s.untilCondition(claim, cosiapi.ConditionDeprovisionFailed, metav1.ConditionUnknown, conditions.WaitingForBucketAccess)
	s.Delete(access)
	s.cleanedUp(access)
	s.Gone(access)
	s.Gone(claim)
	s.untilReleased(bucket, true)
	creates := slices.DeleteFunc(s.writes(), func(w string) bool { return w != "create buckets "+bucket.Name })
	if len(creates) != 1 {
		s.t.Errorf("Buckets created: want 1, got %d", len(creates))
	}
}

func TestWritesOfTheWholeLife(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.patience = 5 * time.Second // not brief: an access reports a wait that lasts longer, and the cache may be behind
	var writes atomic.Int64
	s.wrapClient = func(c client.Client) client.Client { return faulty{Client: c, writes: &writes} }
	s.run()
	lifeAndDeath(s)
	if got := writes.Load(); got != flowWrites {
		t.Errorf("the flow has %d writes, not %d:\n%s", got, flowWrites, strings.Join(s.writes(), "\n"))
	}
}

// Some writes lose their response once, and are refused once, alternately with a conflict and a failure of the API
// server. The flow must end as without the fault. The soak tests every write.
func TestFaultOfEveryWrite(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Group: cosiapi.GroupName, Resource: "anything"}
	refusals := []error{
		apierrors.NewConflict(resource, "x", errors.New("injected")), apierrors.NewInternalError(errors.New("injected")),
	}
	numbers := make([]int, flowWrites)
	for n := range numbers {
		numbers[n] = n
	}
	for _, n := range fulltest.Pick(t, numbers, fulltest.Tiers{Short: []string{"4"}, Full: []string{"1", "7", "10", "13"}}) {
		for name, f := range map[string]fault{
			"is refused": {false, refusals[n%len(refusals)]},
			"has its effect and the response is lost": {true, apierrors.NewTimeoutError("injected", 1)},
		} {
			t.Run(fmt.Sprintf("write %d %s", n+1, name), func(t *testing.T) {
				t.Parallel()
				s := newSystem(t)
				s.patience = brief
				s.backoff = reconciler.BackoffOptions{Base: 10 * time.Millisecond, Max: 100 * time.Millisecond}
				var writes atomic.Int64
				s.wrapClient = func(c client.Client) client.Client {
					return faulty{Client: c, n: int64(n + 1), fault: f, writes: &writes}
				}
				s.run()
				lifeAndDeath(s)
			})
		}
	}
}
