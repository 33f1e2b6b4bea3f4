// SPDX-License-Identifier: Apache-2.0

package crds_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/internal/crds"
	"github.com/cooper-cosi/cooper/testenv"
)

// upstream returns the upstream project's CRDs, by kind.
func upstream(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	text, err := os.ReadFile("../../../testenv/testdata/upstream-v1alpha2.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict([]byte(document), crd); err != nil {
			t.Fatal(err)
		}
		all[crd.Spec.Names.Kind] = crd
	}
	return all
}

func ours(t *testing.T, kind string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all, err := crds.Ours()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range all {
		if crd.Spec.Names.Kind == kind {
			return crd
		}
	}
	t.Fatalf("no CRD of %s", kind)
	return nil
}

// v1alpha1 returns a CRD of the released v1alpha1 with a field that identifies the kind.
func v1alpha1(t *testing.T, kind, field string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := upstream(t)[kind]
	crd.Annotations = map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: "https://github.com/kubernetes/enhancements/tree/master/keps/sig-storage/1979-object-storage-support"}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name: "v1alpha1", Served: true, Storage: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{field: {Type: "string"}},
		}},
	}}
	return crd
}

func TestOf(t *testing.T) {
	t.Parallel()
	unnamed := func(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
		crd.Annotations = nil
		return crd
	}
	older := ours(t, "Bucket")
	delete(older.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties, "bucketInfo")
	others := ours(t, "Bucket")
	others.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation] = "unapproved, a test"
	both := ours(t, "Bucket")
	both.Spec.Versions = append(both.Spec.Versions, v1alpha1(t, "Bucket", "spec").Spec.Versions...)
	later := ours(t, "Bucket")
	later.Spec.Versions[0].Name = "v1beta1"
	for name, tc := range map[string]struct {
		crd  *apiextensionsv1.CustomResourceDefinition
		want crds.Generation
	}{
		"ours, after v1alpha2 was dropped":       {later, crds.Cooper},
		"ours":                                   {ours(t, "Bucket"), crds.Cooper},
		"ours of another version":                {older, crds.Cooper},
		"ours without the annotation":            {unnamed(ours(t, "BucketAccessClass")), crds.Cooper},
		"ours with v1alpha1":                     {both, crds.Cooper},
		"upstream's Bucket":                      {upstream(t)["Bucket"], crds.Upstream},
		"upstream's, without its annotation":     {unnamed(upstream(t)["BucketAccess"]), crds.Upstream},
		"upstream's class, which has our fields": {upstream(t)["BucketClass"], crds.Upstream},
		"our fields with a foreign annotation":   {others, crds.Unknown},
		"a class without an annotation":          {unnamed(upstream(t)["BucketClass"]), crds.Unknown},
		"v1alpha1":                               {v1alpha1(t, "BucketClass", "driverName"), crds.V1alpha1},
		"no version that we know":                {&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, crds.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := crds.Of(tc.crd); got != tc.want {
				t.Errorf("want %s, got %s", tc.want, got)
			}
		})
	}
}

// TestVersionsHaveOneSchema checks Cooper's CRDs against ADR 0052: all served versions have the same fields,
// because there is no conversion and a client of one version must not drop fields of another.
func TestVersionsHaveOneSchema(t *testing.T) {
	t.Parallel()
	all, err := crds.Ours()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range all {
		if diff := differing(crd); diff != "" {
			t.Errorf("%s: %s", crd.Name, diff)
		}
		next := *crd.Spec.Versions[0].DeepCopy()
		next.Name, next.Storage = "v1beta1", false
		crd.Spec.Versions = append(crd.Spec.Versions, next)
		if diff := differing(crd); diff != "" {
			t.Errorf("%s with an equal second version: %s", crd.Name, diff)
		}
		crd.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties["spec"].Properties["newField"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		if differing(crd) == "" {
			t.Errorf("%s: the check does not see a field that one version lacks", crd.Name)
		}
	}
}

// differing returns the differences between the versions of a CRD other than their names, and which one is
// stored.
func differing(crd *apiextensionsv1.CustomResourceDefinition) string {
	if c := crd.Spec.Conversion; c != nil && c.Strategy != apiextensionsv1.NoneConverter {
		return "the conversion strategy is " + string(c.Strategy)
	}
	first := crd.Spec.Versions[0]
	for _, version := range crd.Spec.Versions[1:] {
		if diff := cmp.Diff(first, version, cmpopts.IgnoreFields(version, "Name", "Storage", "Deprecated", "DeprecationWarning")); diff != "" {
			return fmt.Sprintf("%s and %s (-first +second):\n%s", first.Name, version.Name, diff)
		}
	}
	return ""
}

// TestCheck installs CRDs in an API server and checks whether Cooper's may be installed. Check must write
// nothing.
func TestCheck(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{CRDs: map[string][]byte{}})
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(env.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, replace bool, says string, wants ...string) {
		t.Run(name, func(t *testing.T) {
			before := versions(t, c)
			var out bytes.Buffer
			err := crds.Check(t.Context(), env.Config(), crds.Options{Replace: replace, Out: &out})
			if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
				t.Errorf("want %q, got %v", says, err)
			}
			for _, want := range wants {
				if !strings.Contains(out.String(), want) {
					t.Errorf("want %q, got\n%s", want, out.String())
				}
			}
			if len(wants) == 0 && out.Len() > 0 {
				t.Errorf("want nothing, got\n%s", out.String())
			}
			if after := versions(t, c); after != before {
				t.Errorf("the CRDs were %s and are %s", before, after)
			}
		})
	}
	install := func(crd *apiextensionsv1.CustomResourceDefinition) {
		t.Helper()
		if err := c.Create(t.Context(), crd); err != nil {
			t.Fatal(err)
		}
		served(t, env, c, crd.Name)
	}
	check("an empty cluster", false, "")
	var nothing bytes.Buffer
	if err := crds.Check(t.Context(), env.Config(), crds.Options{Policies: true, Out: &nothing}); err != nil || nothing.Len() > 0 {
		t.Errorf("before the first installation, policies are reported: %v\n%s", err, nothing.String())
	}
	older := ours(t, "Bucket")
	delete(older.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties, "bucketInfo")
	install(older)
	check("ours of an older version", false, "")
	var out bytes.Buffer
	err = crds.Check(t.Context(), env.Config(), crds.Options{Policies: true, Out: &out})
	if err != nil || !strings.Contains(out.String(), "admission policies are missing or do not deny requests: cosi-protection, cosi-protection-create, ") {
		t.Errorf("without the admission policies: %v\n%s", err, out.String())
	}
	stranger := ours(t, "BucketClaim")
	stranger.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation] = "unapproved, a test"
	install(stranger)
	check("a foreign CRD", false, "these CustomResourceDefinitions are not Cooper's: bucketclaims.objectstorage.k8s.io.",
		"bucketclaims.objectstorage.k8s.io is of an unknown origin\n  no field differs\n")
	access, class := upstream(t)["BucketAccess"], upstream(t)["BucketAccessClass"]
	install(access)
	install(class)
	check("two more of upstream", false,
		"these CustomResourceDefinitions are not Cooper's: bucketaccessclasses.objectstorage.k8s.io, bucketaccesses.objectstorage.k8s.io, bucketclaims.objectstorage.k8s.io.",
		"bucketaccesses.objectstorage.k8s.io is the upstream project's v1alpha2\n"+
			"  fields that Cooper's CRD lacks: spec.bucketClaims.accessMode, status.error, status.readyToUse\n"+
			"  fields that only Cooper's CRD has: spec.bucketClaims.accessModes, status.cleanup, status.conditions, status.disallowedBucketAccessModes\n",
		"fields that Cooper's CRD lacks: spec.featureOptions\n")
	check("they may be replaced", true, "", "fields that Cooper's CRD lacks")
	strict := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "objectstorage.k8s.io/v1alpha2", "kind": "BucketAccessClass", "metadata": map[string]any{"name": "strict"},
		"spec": map[string]any{
			"driverName": "s3.example.com", "authenticationType": "Key",
			"featureOptions": map[string]any{"disallowedBucketAccessModes": []any{"ReadWrite"}},
		},
	}}
	if err := c.Create(t.Context(), strict); err != nil {
		t.Fatal(err)
	}
	check("a class would allow more", true, "these BucketAccessClasses would allow access modes that they now disallow: strict.", "featureOptions")
	install(v1alpha1(t, "BucketClass", "driverName"))
	check("v1alpha1 cannot be replaced", true, "there are objects of v1alpha1: bucketclasses.objectstorage.k8s.io.",
		"bucketclasses.objectstorage.k8s.io is v1alpha1", "stored versions that Cooper's CRD lacks: v1alpha1")
}

// TestCheckReportsWaitingObjects lists the objects that a sidecar of an earlier version requested, and no others.
func TestCheckReportsWaitingObjects(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	namespace := env.Namespace()
	bucket := func(name string) *cosiapi.Bucket {
		b := &cosiapi.Bucket{Spec: cosiapi.BucketSpec{
			DriverName: "old.example.com", DeletionPolicy: cosiapi.DeletionPolicyDelete, Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3},
			BucketClaimRef: cosiapi.BucketClaimReference{Namespace: namespace, Name: "photos", UID: "uid"},
		}}
		b.Name, b.Annotations = namespace+name, map[string]string{cosiapi.AskedForAnnotation: name}
		env.Create(b)
		return b
	}
	bucket("waits")
	testenv.ChangeStatus(env, bucket("known"), func(b *cosiapi.Bucket) { b.Status.BucketID = "known" })
	access := &cosiapi.BucketAccess{Spec: cosiapi.BucketAccessSpec{
		BucketAccessClassName: "keys", Protocol: cosiapi.ProtocolS3, BucketClaims: []cosiapi.BucketClaimAccess{{
			BucketClaimName: "photos", AccessSecretName: "photos", AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite},
		}},
	}}
	access.Namespace, access.Name = namespace, "app"
	env.Create(access)
	testenv.ChangeStatus(env, access, func(a *cosiapi.BucketAccess) { a.Status.Cleanup = cosiapi.CleanupPending })
	var out bytes.Buffer
	if err := crds.Check(t.Context(), env.Config(), crds.Options{Policies: true, Out: &out}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Bucket " + namespace + "waits", "BucketAccess " + namespace + "/app"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q, got\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), namespace+"known") {
		t.Errorf("a Bucket with an ID is reported:\n%s", out.String())
	}
}

// versions returns the resource versions of the CRDs, which show whether one was written.
func versions(t *testing.T, c client.Client) string {
	t.Helper()
	list := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := c.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, crd := range list.Items {
		all = append(all, crd.Name+" "+string(crd.UID)+" "+strings.Join(crd.Status.StoredVersions, ","))
	}
	return strings.Join(all, "; ")
}

// served waits until the API server serves a CRD.
func served(t *testing.T, env *testenv.Env, c client.Client, name string) {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	env.Eventually("the CRD is served", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
			return err
		}
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("%s is not established", name)
	})
}
