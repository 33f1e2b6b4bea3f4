// SPDX-License-Identifier: Apache-2.0

package tutorial_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/docs/tutorial"
)

// TestManifests decodes every document strictly as its API type, and checks that the documents match each
// other and the exported names.
func TestManifests(t *testing.T) {
	t.Parallel()
	var (
		class       cosiapi.BucketClass
		accessClass cosiapi.BucketAccessClass
		claim       cosiapi.BucketClaim
		access      cosiapi.BucketAccess
	)
	into := map[string]any{
		"kind: BucketClass\n":       &class,
		"kind: BucketAccessClass\n": &accessClass,
		"kind: BucketClaim\n":       &claim,
		"kind: BucketAccess\n":      &access,
	}
	for _, document := range documents(t) {
		for kind, object := range into {
			if !strings.Contains(document, kind) {
				continue
			}
			if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			delete(into, kind)
		}
	}
	for kind := range into {
		t.Errorf("no document of %s", kind)
	}
	if t.Failed() {
		return
	}

	got := []string{
		class.Name, class.Spec.DriverName,
		accessClass.Name, accessClass.Spec.DriverName,
		claim.Name, claim.Spec.BucketClassName,
		access.Name, access.Spec.BucketAccessClassName,
		access.Spec.BucketClaims[0].BucketClaimName, access.Spec.BucketClaims[0].AccessSecretName,
	}
	want := []string{
		tutorial.Name, tutorial.DriverName,
		tutorial.Name, tutorial.DriverName,
		tutorial.Name, tutorial.Name,
		tutorial.Name, tutorial.Name,
		tutorial.Name, tutorial.SecretName,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if !slices.Contains(claim.Spec.Protocols, access.Spec.Protocol) {
		t.Errorf("the claim's protocols %v lack the access's %s", claim.Spec.Protocols, access.Spec.Protocol)
	}
}

// documents returns all YAML documents of all manifests.
func documents(t *testing.T) []string {
	t.Helper()
	names, err := fs.Glob(tutorial.Manifests, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var documents []string
	for _, name := range names {
		data, err := tutorial.Manifests.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, strings.Split(string(data), "\n---\n")...)
	}
	return documents
}
