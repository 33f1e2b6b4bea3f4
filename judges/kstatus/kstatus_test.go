// SPDX-License-Identifier: Apache-2.0

// Package kstatus judges the conditions of Cooper's objects with the libraries by which Helm, Flux and other tools decide
// whether an object is ready.
package kstatus

import (
	"fmt"
	"testing"

	flux "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reasons"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// verdict returns what both libraries say about an object.
func verdict(t *testing.T, obj client.Object) (string, string) {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	first, err := status.Compute(u)
	if err != nil {
		t.Fatal(err)
	}
	second, err := flux.Compute(u)
	if err != nil {
		t.Fatal(err)
	}
	if first.Status.String() != second.Status.String() || first.Message != second.Message {
		t.Errorf("the libraries disagree: %+v and %+v", first, second)
	}
	return first.Status.String(), first.Message
}

// An object must be in progress before any component has seen it.
func TestNewObjects(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	namespace := env.Namespace()
	for name, obj := range map[string]client.Object{
		"claim": &cosiapi.BucketClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "new"}, Spec: cosiapi.BucketClaimSpec{BucketClassName: "missing"},
		},
		"access": &cosiapi.BucketAccess{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "new"},
			Spec: cosiapi.BucketAccessSpec{
				BucketAccessClassName: "missing", Protocol: cosiapi.ProtocolS3,
				BucketClaims: []cosiapi.BucketClaimAccess{{
					BucketClaimName: "new", AccessSecretName: "new", AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadOnly},
				}},
			},
		},
		"Bucket": &cosiapi.Bucket{
			ObjectMeta: metav1.ObjectMeta{Name: namespace},
			Spec: cosiapi.BucketSpec{
				DriverName: "missing", DeletionPolicy: cosiapi.DeletionPolicyRetain, ExistingBucketID: "photos",
				BucketClaimRef: cosiapi.BucketClaimReference{Namespace: namespace, Name: "new"},
			},
		},
	} {
		env.Create(obj)
		if !conditions.Summarized(*conditions.Of(obj)) {
			t.Errorf("%s: the controller would write the default of the CRD again: %+v", name, *conditions.Of(obj))
		}
		if got, message := verdict(t, obj); got != "InProgress" || message != "Waiting for COSI." {
			t.Errorf("%s: want InProgress, got %s: %s", name, got, message)
		}
	}
}

// Every combination of the conditions has a status, with the message of the decisive condition.
func TestStates(t *testing.T) {
	t.Parallel()
	values := []metav1.ConditionStatus{"", metav1.ConditionUnknown, metav1.ConditionFalse, metav1.ConditionTrue}
	for _, text := range reasons.All() {
		if text.Kind != reasons.Condition {
			continue
		}
		for _, provisioned := range values[1:] {
			for _, validated := range values {
				for _, failed := range values {
					for _, released := range []metav1.ConditionStatus{"", metav1.ConditionTrue} {
						list := conditionsOf(conditions.Reason(text.Reason), map[string]metav1.ConditionStatus{
							cosiapi.ConditionProvisioned: provisioned, cosiapi.ConditionResourcesValidated: validated,
							cosiapi.ConditionProvisionFailed: failed, cosiapi.ConditionReleaseHeld: released,
						})
						judge(t, list, conditions.Reason(text.Reason).Stalled())
					}
				}
			}
		}
	}
}

func conditionsOf(reason conditions.Reason, of map[string]metav1.ConditionStatus) []metav1.Condition {
	var list []metav1.Condition
	for conditionType, value := range of {
		if value != "" {
			meta.SetStatusCondition(&list, metav1.Condition{
				Type: conditionType, Status: value, Reason: string(reason), Message: "Because of " + conditionType + ".", ObservedGeneration: 1,
			})
		}
	}
	conditions.Summarize(&list)
	return list
}

// judge compares the verdict with the conditions, for an object that remains and for one that is being deleted.
func judge(t *testing.T, list []metav1.Condition, stalls bool) {
	t.Helper()
	decisive := conditions.Decisive(list)
	problem := decisive.Type != cosiapi.ConditionProvisioned || decisive.Status == metav1.ConditionFalse
	want := "InProgress"
	switch {
	case decisive.Type == cosiapi.ConditionProvisioned && decisive.Status == metav1.ConditionTrue:
		want = "Current"
	case problem && stalls:
		want = "Failed"
	}
	claim := &cosiapi.BucketClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: cosiapi.GroupName + "/" + cosiapi.Version, Kind: "BucketClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "photos", Generation: 1},
		Status:     cosiapi.BucketClaimStatus{Conditions: list},
	}
	said := fmt.Sprintf("%+v", list)
	got, message := verdict(t, claim)
	if got != want || want != "Current" && message != decisive.Message {
		t.Errorf("want %s: %s, got %s: %s for %s", want, decisive.Message, got, message, said)
	}
	now := metav1.Now()
	claim.DeletionTimestamp, claim.Finalizers, claim.Generation = &now, []string{cosiapi.ProtectionFinalizer}, 2
	if got, _ := verdict(t, claim); got != "Terminating" {
		t.Errorf("want Terminating, got %s for %s", got, said)
	}
}
