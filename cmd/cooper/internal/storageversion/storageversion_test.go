// SPDX-License-Identifier: Apache-2.0

package storageversion_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/cooper/internal/storageversion"
	"github.com/cooper-cosi/cooper/cmd/internal/crds"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	next     = "v1beta1"
	pageSize = 3
)

// versions returns Cooper's CRDs with the given served versions, one of which is the storage version.
func versions(t *testing.T, storage string, served ...string) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all, err := crds.Ours()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range all {
		only := crd.Spec.Versions[0]
		crd.Spec.Versions = nil
		for _, name := range served {
			version := *only.DeepCopy()
			version.Name, version.Storage = name, name == storage
			crd.Spec.Versions = append(crd.Spec.Versions, version)
		}
	}
	return all
}

type world struct {
	*testenv.Env

	t *testing.T
	c client.Client
}

// newWorld starts a control plane that stores v1alpha2 and also serves the next version, with some objects of
// each kind.
func newWorld(t *testing.T) *world {
	t.Helper()
	manifests := map[string][]byte{}
	for _, crd := range versions(t, cosiapi.Version, cosiapi.Version, next) {
		text, err := yaml.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		manifests[crd.Name] = text
	}
	w := &world{Env: testenv.Start(t, testenv.Options{CRDs: manifests}), t: t}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.c, err = client.New(w.Config(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	for i := range 2*pageSize + 1 { // more than one page
		meta := metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("object-%d", i)}
		global := metav1.ObjectMeta{Name: meta.Name, Finalizers: []string{cosiapi.ProtectionFinalizer}}
		w.Create(&cosiapi.Bucket{ObjectMeta: global, Spec: cosiapi.BucketSpec{
			DriverName: "x", DeletionPolicy: cosiapi.DeletionPolicyRetain, BucketClaimRef: cosiapi.BucketClaimReference{Namespace: "default", Name: "x", UID: "1"},
		}})
		w.Create(&cosiapi.BucketClaim{ObjectMeta: meta, Spec: cosiapi.BucketClaimSpec{BucketClassName: "x", Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}}})
		w.Create(&cosiapi.BucketAccess{ObjectMeta: meta, Spec: cosiapi.BucketAccessSpec{
			BucketAccessClassName: "x", Protocol: cosiapi.ProtocolS3, BucketClaims: []cosiapi.BucketClaimAccess{{
				BucketClaimName: "x", AccessSecretName: "x", AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite},
			}},
		}})
		w.Create(&cosiapi.BucketClass{ObjectMeta: metav1.ObjectMeta{Name: meta.Name}, Spec: cosiapi.BucketClassSpec{DriverName: "x", DeletionPolicy: cosiapi.DeletionPolicyRetain}})
		w.Create(&cosiapi.BucketAccessClass{ObjectMeta: metav1.ObjectMeta{Name: meta.Name}, Spec: cosiapi.BucketAccessClassSpec{DriverName: "x", AuthenticationType: cosiapi.AuthenticationTypeKey}})
	}
	w.Delete(&cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: "object-0"}}) // terminating, blocked by its finalizer
	return w
}

// install changes the versions of the CRDs and waits until a version is served.
func (w *world) install(definitions []*apiextensionsv1.CustomResourceDefinition, version string) error {
	w.t.Helper()
	for _, crd := range definitions {
		// The API server's own controllers write the status.
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			there := &apiextensionsv1.CustomResourceDefinition{}
			if err := w.c.Get(w.t.Context(), client.ObjectKeyFromObject(crd), there); err != nil {
				w.t.Fatal(err)
			}
			there.Spec.Versions = crd.Spec.Versions
			return w.c.Update(w.t.Context(), there)
		})
		if err != nil {
			return err
		}
	}
	w.Eventually("the API server serves "+version, func(ctx context.Context) error {
		for _, crd := range definitions {
			if _, err := w.list(ctx, crd, version); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// list returns the objects of a CRD by name, without the fields that differ between versions.
func (w *world) list(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string) (map[string]any, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: crd.Spec.Group, Version: version, Kind: crd.Spec.Names.ListKind})
	if err := w.c.List(ctx, list); err != nil {
		return nil, err
	}
	objects := map[string]any{}
	for _, item := range list.Items {
		name := item.GetName()
		delete(item.Object, "apiVersion")
		item.SetResourceVersion("")
		item.SetManagedFields(nil)
		objects[name] = item.Object
	}
	return objects, nil
}

func (w *world) all(version string) map[string]any {
	w.t.Helper()
	all := map[string]any{}
	for _, crd := range versions(w.t, version, version) {
		objects, err := w.list(w.t.Context(), crd, version)
		if err != nil {
			w.t.Fatal(err)
		}
		all[crd.Name] = objects
	}
	return all
}

// stored returns status.storedVersions of each CRD.
func (w *world) stored() map[string][]string {
	w.t.Helper()
	stored := map[string][]string{}
	for _, crd := range versions(w.t, next, next) {
		if err := w.c.Get(w.t.Context(), client.ObjectKeyFromObject(crd), crd); err != nil {
			w.t.Fatal(err)
		}
		stored[crd.Spec.Names.Kind] = crd.Status.StoredVersions
	}
	return stored
}

// patched waits until the audit log, which may lag slightly, has this number of patches of Cooper's objects. It fails the
// test if the log has more.
func (w *world) patched(want int) {
	w.t.Helper()
	kinds := []string{"buckets", "bucketclaims", "bucketaccesses", "bucketclasses", "bucketaccessclasses"}
	w.Eventually("the audit log shows the patches", func(context.Context) error {
		if n := len(w.Audit(controlplane.AuditFilter{Verbs: []string{"patch"}, Resources: kinds})); n < want {
			return fmt.Errorf("%d patches, want %d", n, want)
		} else if n > want {
			w.t.Fatalf("%d patches, want %d", n, want)
		}
		return nil
	})
}

func migrate(t *testing.T, config *rest.Config, version string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := storageversion.Migrate(t.Context(), config, storageversion.Options{Version: version, PageSize: pageSize, Out: &out})
	return out.String(), err
}

// TestMigrate migrates to the next storage version until v1alpha2 can be dropped, and back.
func TestMigrate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.all(cosiapi.Version)
	if _, err := migrate(t, w.Config(), next); err == nil || strings.Count(err.Error(), "is v1alpha2, not v1beta1") != 5 {
		t.Errorf("the CRDs store v1alpha2: want a refusal that names all five, got %v", err)
	}
	const objects = 2*pageSize + 1
	for i, step := range []struct{ from, to string }{{cosiapi.Version, next}, {next, cosiapi.Version}} {
		if err := w.install(versions(t, step.to, cosiapi.Version, next), next); err != nil {
			t.Fatal(err)
		}
		if err := w.install(versions(t, step.to, step.to), step.to); err == nil || !strings.Contains(err.Error(), "status.storedVersions") {
			t.Errorf("without %s: want a refusal for status.storedVersions, got %v", step.from, err)
		}
		said, err := migrate(t, w.Config(), step.to)
		if err != nil || strings.Count(said, fmt.Sprintf("rewrote %d objects in %s", objects, step.to)) != 5 {
			t.Fatalf("to %s: %v\n%s", step.to, err, said)
		}
		for kind, stored := range w.stored() {
			if !slices.Equal(stored, []string{step.to}) {
				t.Errorf("%s: status.storedVersions is %q, want %s alone", kind, stored, step.to)
			}
		}
		w.patched((i + 1) * 5 * objects)
		if said, err := migrate(t, w.Config(), step.to); err != nil || strings.Count(said, "nothing to do") != 5 {
			t.Errorf("a second time: %v\n%s", err, said)
		}
		// Objects stored in a version that the CRD no longer has cannot be read.
		if err := w.install(versions(t, step.to, step.to), step.to); err != nil {
			t.Fatalf("without %s: %v", step.from, err)
		}
		if diff := cmp.Diff(before, w.all(step.to)); diff != "" {
			t.Errorf("objects in %s (-before +after):\n%s", step.to, diff)
		}
		w.patched((i + 1) * 5 * objects) // the second migration made none
	}
}

// TestMigrateGoesOn makes the API server reject some objects and verifies that a second run completes the
// migration.
func TestMigrateGoesOn(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestMigrate migrates without a rejected object")
	w := newWorld(t)
	if err := w.install(versions(t, next, cosiapi.Version, next), next); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "migrates-most"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{cosiapi.GroupName}, Resources: []string{"*"}, Verbs: []string{"list"}},
		{APIGroups: []string{cosiapi.GroupName}, Resources: []string{"buckets", "bucketclaims", "bucketclasses", "bucketaccessclasses"}, Verbs: []string{"patch"}},
		{APIGroups: []string{cosiapi.GroupName}, Resources: []string{"bucketaccesses"}, ResourceNames: []string{"object-1"}, Verbs: []string{"patch"}},
		{APIGroups: []string{apiextensionsv1.GroupName}, Resources: []string{"customresourcedefinitions", "customresourcedefinitions/status"}, Verbs: []string{"get", "update"}},
	}}
	w.Create(role)
	w.Create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "limited"}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
	})
	limited := w.User("limited")
	w.Eventually("the role counts", func(ctx context.Context) error {
		return w.ClientFor(limited).List(ctx, &cosiapi.BucketList{})
	})
	_, err := migrate(t, limited, next)
	if err == nil || strings.Count(err.Error(), "forbidden") != 2*pageSize || !strings.Contains(err.Error(), `rewrite default/object-2`) {
		t.Fatalf("want a refusal of all accesses but one, got %v", err)
	}
	want := map[string][]string{
		"Bucket": {next}, "BucketClaim": {next}, "BucketAccess": {cosiapi.Version, next}, "BucketClass": {next}, "BucketAccessClass": {next},
	}
	if diff := cmp.Diff(want, w.stored()); diff != "" {
		t.Errorf("status.storedVersions after it (-want +got):\n%s", diff)
	}
	const objects = 2*pageSize + 1
	w.patched(5 * objects) // including those that were rejected
	if said, err := migrate(t, w.Config(), next); err != nil || strings.Count(said, "nothing to do") != 4 {
		t.Errorf("again: %v\n%s", err, said)
	}
	w.patched(6 * objects) // one for each access
	if stored := w.stored()["BucketAccess"]; !slices.Equal(stored, []string{next}) {
		t.Errorf("status.storedVersions of accesses is %q", stored)
	}
}
