// SPDX-License-Identifier: Apache-2.0

package obc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

// ready waits until the claim's condition Ready has a status and a reason, and until Stalled is as given.
func (w *world) ready(claim *objectbucket.ObjectBucketClaim, status metav1.ConditionStatus, reason string, stalled bool) {
	w.t.Helper()
	testenv.Until(w.Env, claim, "the claim's conditions", func(c *objectbucket.ObjectBucketClaim) error {
		ready := meta.FindStatusCondition(c.Status.Conditions, objectbucket.ConditionReady)
		if ready == nil || ready.Status != status || ready.Reason != reason ||
			meta.IsStatusConditionTrue(c.Status.Conditions, objectbucket.ConditionStalled) != stalled {
			return fmt.Errorf("they are %+v", c.Status.Conditions)
		}
		if status != metav1.ConditionUnknown && (ready.ObservedGeneration != c.Generation || ready.LastTransitionTime.Unix() <= 0) {
			return fmt.Errorf("Ready is out of date: %+v", ready)
		}
		return nil
	})
}

// TestConditionsOfClaims follows the conditions of a claim from its creation to its deletion.
func TestConditionsOfClaims(t *testing.T) {
	t.Parallel()
	w, driver := start(t)
	heal := driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.Unavailable, Message: "the store is full", Times: memdriver.Always})
	class := w.storageClass("", corev1.PersistentVolumeReclaimDelete, nil)
	early := w.claim("early", w.namespace+"-missing")
	w.Create(early)
	w.ready(early, metav1.ConditionUnknown, "Pending", false)

	claim := w.claim("claim", class)
	claim.Spec.AdditionalConfig = map[string]string{"bucketPolicy": "{}"}
	w.Create(claim)
	w.ready(claim, metav1.ConditionFalse, "Failed", true)
	testenv.Change(w.Env, claim, func(c *objectbucket.ObjectBucketClaim) { c.Spec.AdditionalConfig = nil })
	w.phase(claim, objectbucket.PhasePending, "the store is full")
	w.ready(claim, metav1.ConditionFalse, "Pending", false)
	heal()
	w.phase(claim, objectbucket.PhaseBound, "")
	w.ready(claim, metav1.ConditionTrue, "Bound", false)

	heal = driver.Script(memdriver.Fault{RPC: memdriver.DeleteBucket, Code: codes.Unavailable, Message: "the store is down", Times: memdriver.Always})
	w.Delete(claim)
	w.ready(claim, metav1.ConditionFalse, "Terminating", false)
	heal()
	w.Gone(claim)
}

// ignoredEvent waits until an Event reports that the change of maxSize has no effect.
func (w *world) ignoredEvent(claim *objectbucket.ObjectBucketClaim) {
	w.t.Helper()
	w.Eventually("an Event reports it", func(ctx context.Context) error {
		events := &eventsv1.EventList{}
		if err := w.Client.List(ctx, events, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.Reason == string(reconciler.ChangeIgnored) && e.Regarding.Name == claim.Name && strings.Contains(e.Note, "maxSize") {
				return nil
			}
		}
		return errors.New("there is none")
	})
}

// TestChangesOfRefusedClaims checks that a change of a claim whose bucket the driver refused is applied, because no
// bucket exists yet.
func TestChangesOfRefusedClaims(t *testing.T) {
	t.Parallel()
	w, driver := start(t)
	heal := driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.InvalidArgument, Message: "unknown parameter quota", Times: memdriver.Always})
	claim := w.claim("edited", w.storageClass("", corev1.PersistentVolumeReclaimDelete, nil))
	claim.Spec.AdditionalConfig = map[string]string{"maxSize": "1Mi"}
	w.Create(claim)
	w.phase(claim, objectbucket.PhasePending, "unknown parameter quota")
	w.phase(claim, objectbucket.PhasePending, "An administrator can forbid keys with the parameter allowedAdditionalConfig of StorageClass")
	w.ready(claim, metav1.ConditionFalse, "Pending", true)
	refused := "BucketClaim obc-" + string(claim.UID)
	first := testenv.Get(w.Env, &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "obc-" + string(claim.UID)}})
	testenv.Change(w.Env, claim, func(c *objectbucket.ObjectBucketClaim) { c.Spec.AdditionalConfig["maxSize"] = "big" })
	w.phase(claim, objectbucket.PhaseFailed, "must be a positive size")
	names, err := w.left(t.Context())
	if err != nil || slices.Contains(names, refused) || len(names) != 1 {
		t.Errorf("there is %q, %v: want the claim alone", names, err)
	}
	heal()
	testenv.Change(w.Env, claim, func(c *objectbucket.ObjectBucketClaim) { c.Spec.AdditionalConfig = nil })
	w.phase(claim, objectbucket.PhaseBound, "")
	w.ready(claim, metav1.ConditionTrue, "Bound", false)
	if again := testenv.Get(w.Env, &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: first.Name}}); again.UID == first.UID {
		t.Error("the refused BucketClaim was not replaced")
	}
	if has := driver.Inventory().Buckets; len(has) != 1 || len(has[0].Parameters) != 0 {
		t.Errorf("the driver has %+v, want one bucket without parameters", has)
	}
	w.Delete(claim)
	w.Gone(claim)
	w.nothingLeft()
}

// TestCRDWithoutConditions serves claims with a CRD that drops unknown fields of the status, such as that of another
// provisioner.
func TestCRDWithoutConditions(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "claims with the CRD of deploy/obc")
	env := testenv.Start(t, testenv.Options{Private: true})
	_, part := systemtest.NewDriver(t, memdriver.Options{})
	w := newWorldOn(t, env, part, func(object *unstructured.Unstructured) {
		versions, _, _ := unstructured.NestedSlice(object.Object, "spec", "versions")
		if object.GetName() != "objectbucketclaims.objectbucket.io" || len(versions) != 1 {
			return
		}
		status := []string{"schema", "openAPIV3Schema", "properties", "status"}
		phase := map[string]any{"type": "object", "properties": map[string]any{"phase": map[string]any{"type": "string"}}}
		if err := errors.Join(unstructured.SetNestedMap(versions[0].(map[string]any), phase, status...), unstructured.SetNestedSlice(object.Object, versions, "spec", "versions")); err != nil {
			t.Fatal(err)
		}
	})
	w.run()
	class := w.storageClass("", corev1.PersistentVolumeReclaimDelete, nil)
	claim := w.claim("refused", class)
	claim.Spec.AdditionalConfig = map[string]string{"bucketOwner": "alice"}
	w.Create(claim)
	w.phase(claim, objectbucket.PhaseFailed, "")
	testenv.Change(w.Env, claim, func(c *objectbucket.ObjectBucketClaim) { c.Spec.AdditionalConfig = nil })
	w.phase(claim, objectbucket.PhaseBound, "")
	if len(claim.Status.Conditions) > 0 || claim.Status.Message != "" {
		t.Errorf("the CRD should drop them: %+v", claim.Status)
	}
	w.Delete(claim)
	w.Gone(claim)
	w.nothingLeft()
}
