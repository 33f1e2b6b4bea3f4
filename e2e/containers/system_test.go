// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"context"
	"fmt"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/e2e/containers"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
	"github.com/cooper-cosi/cooper/testenv/system"
)

// TestASystemInContainers uses a system normally, after its control plane was killed, and after its driver
// was disconnected from the store. TestCompose kills the other containers.
func TestASystemInContainers(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "a whole system of containers")
	fulltest.Alone(t, "containers")
	network := containers.NewNetwork(t)
	store := containers.FakeS3(t, network)
	sample := store.Driver()
	sample.Sidecar = map[string]string{"COOPER_RPC_TIMEOUT": "5s"} // applies while the driver is disconnected
	s := containers.StartSystem(t, network, sample)
	s.Kubectl("create", "namespace", namespace)
	class := &cosiapi.BucketClass{
		ObjectMeta: metav1.ObjectMeta{Name: "sample"},
		Spec:       cosiapi.BucketClassSpec{DriverName: containers.S3DriverName, DeletionPolicy: cosiapi.DeletionPolicyDelete},
	}
	create(t, s, class)
	first, second, cutOff := newClaim("first"), newClaim("second"), newClaim("cut-off")
	create(t, s, first)
	provisioned(t, s, first)
	s.Restart(s.ControlPlane)
	create(t, s, second)
	provisioned(t, s, second)

	driver := s.Drivers[containers.S3DriverName]
	driver.Cut()
	create(t, s, cutOff)
	t.Logf("the user reads: %s", failure(t, s, cutOff))
	driver.Heal()
	provisioned(t, s, cutOff)
	for _, claim := range []*cosiapi.BucketClaim{first, second, cutOff} {
		gone(t, s, claim)
	}
}

// failure waits for the Event that reports why a claim is not provisioned.
func failure(t *testing.T, s *containers.System, claim *cosiapi.BucketClaim) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	note := ""
	err := controlplane.Until(ctx, func(ctx context.Context) error {
		var events eventsv1.EventList
		if err := s.Client().List(ctx, &events, client.InNamespace(claim.Namespace)); err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Regarding.Name == claim.Name && event.Reason == "FailedCreateBucket" {
				note = event.Note
				return nil
			}
		}
		return fmt.Errorf("claim %s has no such Event", claim.Name)
	})
	if err != nil {
		t.Fatal(err)
	}
	return note
}

func newClaim(name string) *cosiapi.BucketClaim {
	return &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: "sample", Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
	}
}

func create(t *testing.T, s *containers.System, object client.Object) {
	t.Helper()
	if err := s.Client().Create(t.Context(), object); err != nil {
		t.Fatalf("create %s: %v", object.GetName(), err)
	}
}

func provisioned(t *testing.T, s *containers.System, claim *cosiapi.BucketClaim) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	if err := system.WaitCondition(ctx, s.Client(), claim, cosiapi.ConditionProvisioned, metav1.ConditionTrue); err != nil {
		t.Fatal(err)
	}
}

// gone deletes an object and waits until it no longer exists.
func gone(t *testing.T, s *containers.System, object client.Object) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	if err := s.Client().Delete(ctx, object); err != nil {
		t.Fatalf("delete %s: %v", object.GetName(), err)
	}
	if err := system.WaitGone(ctx, s.Client(), object); err != nil {
		t.Error(err)
	}
}
