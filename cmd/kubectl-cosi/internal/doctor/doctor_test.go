// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/internal/crds"
	"github.com/cooper-cosi/cooper/cmd/internal/tree"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

// expect fails unless the findings have the states and contain the words.
func expect(t *testing.T, found []finding, states []tree.State, words ...string) {
	t.Helper()
	var text strings.Builder
	for i, f := range found {
		text.WriteString(string(f.state) + " " + f.what + " " + f.do + "\n")
		if i < len(states) && f.state != states[i] {
			t.Errorf("finding %d: want %s, got %s", i, states[i], f.state)
		}
	}
	if len(found) != len(states) {
		t.Errorf("want %d findings, got %d", len(states), len(found))
	}
	for _, word := range words {
		if !strings.Contains(text.String(), word) {
			t.Errorf("no finding contains %q", word)
		}
	}
	if t.Failed() {
		t.Log(text.String())
	}
}

// definition returns Cooper's CRD of buckets as a cluster stores it.
func definition(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all, err := crds.Ours()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range all {
		if crd.Spec.Names.Kind == "Bucket" {
			crd.Status.StoredVersions = []string{cosiapi.Version}
			crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
			return crd
		}
	}
	t.Fatal("there is no CRD of Bucket")
	return nil
}

// foreign returns the upstream project's CRD of buckets.
func foreign(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	text, err := os.ReadFile("../../../../testenv/testdata/upstream-v1alpha2.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal([]byte(document), crd); err != nil {
			t.Fatal(err)
		}
		if crd.Spec.Names.Kind == "Bucket" {
			return crd
		}
	}
	t.Fatal("the upstream project has no Bucket")
	return nil
}

func TestJudgeOfDefinitions(t *testing.T) {
	t.Parallel()
	unserved, old, older, starting := definition(t), definition(t), definition(t), definition(t)
	unserved.Spec.Versions[0].Served = false
	old.Status.StoredVersions = []string{"v1alpha1", cosiapi.Version}
	older.Spec.Versions[0].Name = "v1alpha1"
	starting.Status.Conditions = nil
	wrong := []tree.State{tree.Failed}
	for name, tc := range map[string]struct {
		crd    *apiextensionsv1.CustomResourceDefinition
		states []tree.State
		words  string
	}{
		"Cooper's":                          {definition(t), nil, ""},
		"upstream's v1alpha2":               {foreign(t), wrong, "it is the upstream project's v1alpha2. An administrator must decide"},
		"v1alpha1":                          {older, wrong, "it is v1alpha1."},
		"Cooper's, not served":              {unserved, wrong, "v1alpha2 is not served"},
		"Cooper's, with objects of earlier": {old, wrong, "stored as v1alpha1"},
		"Cooper's, not established":         {starting, wrong, "it is not established"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, judge(tc.crd), tc.states, tc.words)
		})
	}
}

// failingReads is a client whose reads fail.
type failingReads struct {
	client.Client

	err error
}

func (f failingReads) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return f.err
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	policies := admissionv1.Resource("validatingadmissionpolicies")
	for name, tc := range map[string]struct {
		err   error
		want  tree.State
		words string
	}{
		"none is installed":     {apierrors.NewNotFound(policies, "any"), tree.Failed, "Admission policies: cosi-protection, cosi-protection-create, "},
		"the user may not read": {apierrors.NewForbidden(policies, "any", nil), tree.Unknown, "you are not allowed to read them"},
		"the API server fails":  {apierrors.NewInternalError(errors.New("etcd")), tree.Failed, "etcd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &examination{client: failingReads{err: tc.err}}
			expect(t, e.policies(t.Context()), []tree.State{tc.want}, tc.words)
		})
	}
}

func TestClocks(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	for name, tc := range map[string]struct {
		ahead time.Duration
		want  tree.State
	}{
		"they agree":                  {time.Second, tree.Good},
		"this one is ahead":           {30 * time.Second, tree.Waiting},
		"this one is behind":          {-30 * time.Second, tree.Waiting},
		"signatures would be refused": {-time.Hour, tree.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &examination{here: now.Add(tc.ahead), there: now}
			expect(t, e.clocks(t.Context()), []tree.State{tc.want})
		})
	}
}

// theNamespace is a client that finds one namespace, or may not read namespaces.
type theNamespace struct {
	client.Client

	is *corev1.Namespace
}

func (n theNamespace) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if n.is == nil {
		return apierrors.NewForbidden(corev1.Resource("namespaces"), "ns", nil)
	}
	n.is.DeepCopyInto(obj.(*corev1.Namespace))
	return nil
}

// TestDeletions covers one claim that is being deleted.
func TestDeletions(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	stays, goes := &corev1.Namespace{}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: now}}}
	for name, tc := range map[string]struct {
		ago        time.Duration
		conditions []metav1.Condition
		finalizers []string
		want       tree.State
		words      string
		namespace  *corev1.Namespace
	}{
		"it has just begun": {ago: time.Second, want: tree.Good, words: "none is stuck"},
		"it waits for an access": {
			time.Hour,
			[]metav1.Condition{{Type: cosiapi.ConditionDeprovisionFailed, Status: metav1.ConditionUnknown, Reason: string(conditions.WaitingForBucketAccess), Message: "Waiting."}},
			nil, tree.Failed, `BucketClaim "ns/a": it has been terminating since 2026-05-04T02:02:01Z. Waiting. Delete the BucketAccesses that the message names.`, goes,
		},
		"another's finalizer holds it":    {time.Hour, nil, []string{"example.com/backup"}, tree.Failed, "block the deletion: example.com/backup.", goes},
		"no component reports a reason":   {time.Hour, nil, []string{cosiapi.ProtectionFinalizer}, tree.Failed, "No component has reported a reason", stays},
		"so does its namespace":           {time.Hour, nil, []string{cosiapi.ProtectionFinalizer}, tree.Waiting, "Its namespace is being deleted", goes},
		"its namespace is not to be read": {time.Hour, nil, []string{cosiapi.ProtectionFinalizer}, tree.Failed, "No component has reported a reason", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claim := &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", Finalizers: tc.finalizers, DeletionTimestamp: ptr.To(metav1.NewTime(now.Add(-tc.ago)))}}
			claim.Status.Conditions = tc.conditions
			e := &examination{client: theNamespace{is: tc.namespace}, there: now, objects: &tree.Objects{Claims: map[client.ObjectKey]*cosiapi.BucketClaim{client.ObjectKeyFromObject(claim): claim}}}
			expect(t, e.deletions(t.Context()), []tree.State{tc.want}, tc.words)
		})
	}
}
