// SPDX-License-Identifier: Apache-2.0

package uninstall_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/internal/uninstall"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestCheck checks each kind of uninstallation against the objects in an API server.
func TestCheck(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{Private: true})
	check := func(o uninstall.Options) string {
		if err := uninstall.Check(t.Context(), env.Config(), o); err != nil {
			return err.Error()
		}
		return ""
	}
	if said := check(uninstall.Options{}); said != "" {
		t.Fatalf("nothing is left, and it said %s", said)
	}
	namespace, other := env.Namespace(), env.Namespace()
	env.Create(&cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "photos"},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: "any", Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
	})
	env.Create(&cosiapi.Bucket{
		ObjectMeta: metav1.ObjectMeta{Name: "bucket-1"},
		Spec: cosiapi.BucketSpec{
			DriverName: "a.example.com", DeletionPolicy: cosiapi.DeletionPolicyRetain,
			BucketClaimRef: cosiapi.BucketClaimReference{Namespace: namespace, Name: "photos"},
		},
	})
	full := &cosiapi.Bucket{
		ObjectMeta: metav1.ObjectMeta{Name: "bucket-2", Finalizers: []string{"example.com/full"}},
		Spec: cosiapi.BucketSpec{
			DriverName: "a.example.com", DeletionPolicy: cosiapi.DeletionPolicyDelete,
			BucketClaimRef: cosiapi.BucketClaimReference{Namespace: namespace, Name: "gone"},
		},
	}
	env.Create(full)
	env.Delete(full)
	access := &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "reader"},
		Spec: cosiapi.BucketAccessSpec{
			BucketAccessClassName: "any", Protocol: cosiapi.ProtocolS3,
			BucketClaims: []cosiapi.BucketClaimAccess{{BucketClaimName: "photos", AccessSecretName: "reader", AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadOnly}}},
		},
	}
	env.Create(access)
	testenv.ChangeStatus(env, access, func(a *cosiapi.BucketAccess) {
		a.Status.DriverName, a.Status.AuthenticationType = "b.example.com", cosiapi.AuthenticationTypeKey
		a.Status.AccessedBuckets = []cosiapi.AccessedBucket{{BucketClaimName: "photos", BucketName: "bucket-1", BucketID: "bucket-1"}}
	})
	claimed, bucket, granted := "BucketClaim "+namespace+"/photos", "Bucket bucket-1 of claim "+namespace+"/photos, deletionPolicy Retain", "BucketAccess "+other+"/reader"
	for name, tc := range map[string]struct {
		what  uninstall.Options
		wants []string
		lacks []string
	}{
		"COSI":                              {uninstall.Options{}, []string{"without COSI", claimed, bucket, granted, "helm uninstall --no-hooks"}, nil},
		"the driver of the Bucket":          {uninstall.Options{Driver: "a.example.com"}, []string{"the driver a.example.com", bucket + "\n", "Bucket bucket-2 of claim " + namespace + "/gone, deletionPolicy Delete, being deleted\n"}, []string{claimed, granted}},
		"the driver of the access":          {uninstall.Options{Driver: "b.example.com"}, []string{granted}, []string{claimed, bucket}},
		"a driver of nothing":               {uninstall.Options{Driver: "c.example.com"}, nil, []string{"left"}},
		"a driver of some namespaces":       {uninstall.Options{Driver: "b.example.com", Namespaces: []string{namespace}}, nil, []string{"left"}},
		"a driver of the access's, by name": {uninstall.Options{Driver: "b.example.com", Namespaces: []string{namespace, other}}, []string{granted}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := check(tc.what)
			for _, want := range tc.wants {
				if !strings.Contains(said, want) {
					t.Errorf("want %q in:\n%s", want, said)
				}
			}
			for _, lack := range tc.lacks {
				if strings.Contains(said, lack) {
					t.Errorf("%q is none of it:\n%s", lack, said)
				}
			}
		})
	}
}

// TestCheckOfMany has more objects than fit on a page or are listed.
func TestCheckOfMany(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestCheck lists fewer objects")
	env := testenv.Start(t, testenv.Options{Private: true})
	namespace := env.Namespace()
	for i := range 230 {
		env.Create(&cosiapi.BucketClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("claim-%03d", i)},
			Spec:       cosiapi.BucketClaimSpec{BucketClassName: "any", Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
		})
	}
	err := uninstall.Check(t.Context(), env.Config(), uninstall.Options{})
	if want := "/claim-019\n  and 210 more of kind BucketClaim\n"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want %q, got %v", want, err)
	}
}

// TestCheckWithoutCRDs checks an API server from which the CRDs have been deleted.
func TestCheckWithoutCRDs(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{Private: true, CRDs: map[string][]byte{}})
	if err := uninstall.Check(t.Context(), env.Config(), uninstall.Options{}); err != nil {
		t.Errorf("there can be no objects: %v", err)
	}
}

// TestCheckOfAnotherVersion checks an API server that serves the kinds in another version.
func TestCheckOfAnotherVersion(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestCheckWithoutRights fails to list the objects, too")
	manifests, err := deploy.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for name := range manifests {
		manifests[name] = bytes.ReplaceAll(manifests[name], []byte("name: v1alpha2"), []byte("name: v1alpha9"))
	}
	env := testenv.Start(t, testenv.Options{Private: true, CRDs: manifests})
	err = uninstall.Check(t.Context(), env.Config(), uninstall.Options{})
	if want := "cannot list the objects that would be orphaned"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want %q, got %v", want, err)
	}
}

// TestCheckWithoutRights verifies that the error names the namespace that could not be read.
func TestCheckWithoutRights(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	err := uninstall.Check(t.Context(), env.User("stranger"), uninstall.Options{Driver: "a.example.com", Namespaces: []string{"team-a"}})
	if want := "cannot list the objects that would be orphaned in the namespace team-a: "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want %q, got %v", want, err)
	}
}
