// SPDX-License-Identifier: Apache-2.0

package v1alpha2_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/testenv"
)

// initial are the conditions of an object that no component has written to.
func initial() []metav1.Condition {
	var conds []metav1.Condition
	for _, conditionType := range []string{cosiapi.ConditionReady, cosiapi.ConditionProvisioned, cosiapi.ConditionResourcesValidated, cosiapi.ConditionProvisionFailed} {
		conds = append(conds, metav1.Condition{
			Type: conditionType, Status: metav1.ConditionUnknown, Reason: cosiapi.ReasonPending, Message: "Waiting for COSI.",
			LastTransitionTime: metav1.Unix(0, 0).Rfc3339Copy(),
		})
	}
	return conds
}

func TestConditionsStartUnknownWithoutAWrite(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	claim := newClaim(env.Namespace())
	if err := env.Client.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	version := claim.ResourceVersion
	if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(initial(), claim.Status.Conditions); diff != "" {
		t.Errorf("conditions of a new claim (-want +got):\n%s", diff)
	}
	if claim.ResourceVersion != version {
		t.Errorf("the claim was written: resourceVersion %s, was %s", claim.ResourceVersion, version)
	}
	claim.Status = cosiapi.BucketClaimStatus{BoundBucketName: "bc-1"}
	if err := env.Client.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(initial(), claim.Status.Conditions); diff != "" {
		t.Errorf("conditions after a status without any (-want +got):\n%s", diff)
	}
}

// TestAStatusIsNotTakenAway: the rules of a status are on its fields, and would not be asked for one that is absent.
func TestAStatusIsNotTakenAway(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	claim := newClaim(env.Namespace())
	if err := env.Client.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	claim.Status.BoundBucketName = "bc-1"
	if err := env.Client.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	for name, patch := range map[string]client.Patch{
		"a merge with null":            client.RawPatch(types.MergePatchType, []byte(`{"status":null}`)),
		"a merge with null in a field": client.RawPatch(types.MergePatchType, []byte(`{"status":{"boundBucketName":null}}`)),
		"a JSON patch that removes it": client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/status"}]`)),
		"a JSON patch with null":       client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/status","value":null}]`)),
	} {
		err := env.Client.Status().Patch(t.Context(), claim.DeepCopy(), patch)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "status.boundBucketName may not be changed or removed once it is set") {
			t.Errorf("%s: want a refusal, got %v", name, err)
		}
	}
}

func TestBucketsAreSelectedByDriver(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	driver := env.Namespace() // a name that is not used elsewhere
	for _, name := range []string{driver, "other-" + driver} {
		bucket := &cosiapi.Bucket{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: cosiapi.BucketSpec{
				DriverName: name, DeletionPolicy: cosiapi.DeletionPolicyDelete,
				BucketClaimRef: cosiapi.BucketClaimReference{Namespace: "team", Name: "photos", UID: "1"},
			},
		}
		if err := env.Client.Create(t.Context(), bucket); err != nil {
			t.Fatal(err)
		}
	}
	list := &cosiapi.BucketList{}
	if err := env.Client.List(t.Context(), list, client.MatchingFields{"spec.driverName": driver}); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].Name != driver {
		t.Errorf("want the one Bucket of driver %s, got %d", driver, len(list.Items))
	}
}

func TestAccessesAreSelectedByDriverOnceHandedOff(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	namespace := env.Namespace()
	access := &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"},
		Spec: cosiapi.BucketAccessSpec{
			BucketAccessClassName: "keys", Protocol: cosiapi.ProtocolS3,
			BucketClaims: []cosiapi.BucketClaimAccess{{
				BucketClaimName: "photos", AccessSecretName: "photos-key",
				AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadOnly},
			}},
		},
	}
	if err := env.Client.Create(t.Context(), access); err != nil {
		t.Fatal(err)
	}
	count := func() int {
		list := &cosiapi.BucketAccessList{}
		if err := env.Client.List(t.Context(), list, client.MatchingFields{"status.driverName": namespace}); err != nil {
			t.Fatal(err)
		}
		return len(list.Items)
	}
	if got := count(); got != 0 {
		t.Errorf("before the hand-off: want no access, got %d", got)
	}
	access.Status.DriverName, access.Status.AuthenticationType = namespace, cosiapi.AuthenticationTypeKey
	access.Status.AccessedBuckets = []cosiapi.AccessedBucket{{BucketName: "bc-1", BucketID: "bc-1", BucketClaimName: "photos"}}
	if err := env.Client.Status().Update(t.Context(), access); err != nil {
		t.Fatal(err)
	}
	if got := count(); got != 1 {
		t.Errorf("after the hand-off: want the access, got %d", got)
	}
}

func TestNamesForPeople(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	api, err := discovery.NewDiscoveryClientForConfig(env.Config())
	if err != nil {
		t.Fatal(err)
	}
	resources, err := api.ServerResourcesForGroupVersion(cosiapi.GroupVersion().String())
	if err != nil {
		t.Fatal(err)
	}
	short := map[string][]string{}
	for _, r := range resources.APIResources {
		if r.SingularName == "" {
			continue // a subresource
		}
		short[r.Kind] = r.ShortNames
		if !slices.Contains(r.Categories, "cosi") {
			t.Errorf("%s is not in the category cosi: kubectl get cosi leaves it out", r.Kind)
		}
	}
	want := map[string][]string{
		"Bucket": {"bkt"}, "BucketClaim": {"bc"}, "BucketClass": {"bcl"}, "BucketAccess": {"ba"}, "BucketAccessClass": {"bac"},
	}
	if diff := cmp.Diff(want, short); diff != "" {
		t.Errorf("short names (-want +got):\n%s", diff)
	}
}

func newClaim(namespace string) *cosiapi.BucketClaim {
	return &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "photos"},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: "fast"},
	}
}
