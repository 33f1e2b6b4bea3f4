// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/testenv"
)

// Namespaces of drivers in TestDeploy.
const (
	ofDriver = "cosi-driver-s3"
	ofOther  = "cosi-driver-gcs"
)

func newSecret(namespace, name string, changes ...func(*corev1.Secret)) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: corev1.SecretTypeOpaque}
	for _, change := range changes {
		change(secret)
	}
	return secret
}

// ofAccess makes the access the owner of a Secret.
func ofAccess(access metav1.Object) func(*corev1.Secret) {
	return func(s *corev1.Secret) {
		s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(access, cosiapi.GroupVersion().WithKind("BucketAccess"))}
	}
}

// orphaned makes a Secret that belongs to an access but has no owner reference.
func orphaned(s *corev1.Secret) { s.Annotations = map[string]string{"cooper.dev/access-uid": "6f1c"} }

// stripped makes a Secret of an access that does not identify the access.
func stripped(s *corev1.Secret) {
	s.Finalizers, s.Data = []string{"example.com/mine", cosiapi.ProtectionFinalizer}, map[string][]byte{"key": []byte("value")}
}

// entry makes an entry of a credential store.
func entry(s *corev1.Secret) {
	s.Labels = map[string]string{"cooper.dev/credential-store": "s3.cooper.dev"}
}

// forToken requests a token of a service account.
func forToken(s *corev1.Secret) {
	s.Type = corev1.SecretTypeServiceAccountToken
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, corev1.ServiceAccountNameKey, "default")
}

// unnamed makes the API server generate the name.
func unnamed(s *corev1.Secret) { s.GenerateName = "any-" }

// secretsOfSidecars writes Secrets with the service account of a driver's Pod.
func secretsOfSidecars(t *testing.T, env *testenv.Env) {
	t.Helper()
	config, err := env.ControlPlane.User("system:serviceaccount:"+ofDriver+":"+ofDriver, "system:serviceaccounts", "system:serviceaccounts:"+ofDriver, "system:authenticated")
	wantNoError(t, err)
	sidecar := env.ClientFor(config)
	ofTenant, _ := newTenant(t, env)
	annotate(t, env, ofTenant, map[string]string{"cooper.dev/bucket-access-classes": "*"})
	access := newAccess(ofTenant, "app", "keys")
	until(t, "there is an access", func(ctx context.Context) error { return env.Client.Create(ctx, access) })
	forAccess := ofAccess(access)
	app, lost, stranger := newSecret(ofTenant, "app", forAccess), newSecret(ofTenant, "lost", orphaned), newSecret(ofTenant, "stranger")
	bare := newSecret(ofTenant, "bare", stripped)
	own, key, neighbour := newSecret(ofDriver, "cosi-credential-1", entry), newSecret(ofDriver, "key"), newSecret(ofOther, "cosi-credential-2", entry)
	for _, object := range []*corev1.Secret{app, lost, stranger, bare, own, key, neighbour} {
		if err := env.Client.Create(t.Context(), object); err != nil { // the policy does not restrict administrators
			t.Fatal(err)
		}
	}
	label := func(s *corev1.Secret) error {
		return patch(t.Context(), sidecar, s, `{"metadata":{"labels":{"touched":"yes"}}}`)
	}
	until(t, "the policy counts", func(context.Context) error {
		if err := label(stranger); !confined(err) {
			return fmt.Errorf("want a refusal by the policy, got %w", err)
		}
		return nil
	})
	create := func(s *corev1.Secret) error { return sidecar.Create(t.Context(), s, client.DryRunAll) }
	remove := func(s *corev1.Secret) error { return sidecar.Delete(t.Context(), s, client.DryRunAll) }
	for name, tc := range map[string]struct {
		err     error
		allowed bool
	}{
		"create the Secret of an access":                            {create(newSecret(ofTenant, "new", forAccess)), true},
		"create a Secret without an owner":                          {create(newSecret(ofTenant, "new")), false},
		"create one for the token of an account":                    {create(newSecret(ofTenant, "new", forAccess, forToken)), false},
		"change the Secret of an access":                            {label(app), true},
		"change a Secret whose owner was removed":                   {label(lost), true},
		"let a Secret of an access go":                              {patch(t.Context(), sidecar, app, `{"metadata":{"ownerReferences":null}}`), false},
		"turn another owner's Secret into that of an access":        {patch(t.Context(), sidecar, stranger, `{"metadata":{"annotations":{"cooper.dev/access-uid":"6f1c"}}}`), false},
		"delete the Secret of an access":                            {remove(app), true},
		"delete another owner's Secret":                             {remove(stranger), false},
		"remove the finalizer of a Secret without an access":        {patch(t.Context(), sidecar, bare, `{"metadata":{"finalizers":["example.com/mine"]}}`), true},
		"let it go for others, too":                                 {patch(t.Context(), sidecar, bare, `{"metadata":{"finalizers":null}}`), false},
		"let it go with other data":                                 {patch(t.Context(), sidecar, bare, `{"data":{"key":null},"metadata":{"finalizers":["example.com/mine"]}}`), false},
		"let it go as an access's":                                  {patch(t.Context(), sidecar, bare, `{"metadata":{"finalizers":["example.com/mine"],"annotations":{"cooper.dev/access-uid":"6f1c"}}}`), false},
		"create an entry":                                           {create(newSecret(ofDriver, "cosi-credential-3", entry)), true},
		"create an entry of another name":                           {create(newSecret(ofDriver, "mine", entry)), false},
		"create an entry for the token of an account":               {create(newSecret(ofDriver, "cosi-credential-3", entry, forToken)), false},
		"create an entry in another driver's namespace":             {create(newSecret(ofOther, "cosi-credential-3", entry)), false},
		"create an entry in a tenant's namespace":                   {create(newSecret(ofTenant, "cosi-credential-3", entry)), false},
		"change an entry":                                           {label(own), true},
		"delete an entry":                                           {remove(own), true},
		"change the driver's credentials for its store":             {label(key), false},
		"turn the driver's credentials for its store into an entry": {patch(t.Context(), sidecar, key, `{"metadata":{"labels":{"cooper.dev/credential-store":"x"}}}`), false},
		"delete an entry of another driver":                         {remove(neighbour), false},
		"change an entry of another driver":                         {label(neighbour), false},
		"as an administrator, create any Secret":                    {env.Client.Create(t.Context(), newSecret(ofTenant, "", unnamed, forToken), client.DryRunAll), true},
		"as an administrator, change another owner's Secret":        {patch(t.Context(), env.Client, stranger, `{"metadata":{"labels":{"touched":"yes"}}}`), true},
	} {
		if tc.allowed && tc.err != nil || !tc.allowed && !confined(tc.err) {
			t.Errorf("%s: want allowed %v by the policy, got %v", name, tc.allowed, tc.err)
		}
	}
}

// patch sends a merge patch.
func patch(ctx context.Context, c client.Client, s *corev1.Secret, body string) error {
	return c.Patch(ctx, s.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(body)), client.DryRunAll)
}

// confined reports whether the policy, and not RBAC, rejected a request.
func confined(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "A sidecar may write only")
}

// namespaced applies the sample of a driver that serves one namespace, unchanged and adapted to the other
// drivers as its comments say.
func namespaced(t *testing.T, env *testenv.Env) {
	t.Helper()
	wantNoError(t, env.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}}))
	for _, driver := range []string{"s3", "azure", "gcs"} {
		sample := sampleFor(t, driver)
		apply(t, env, "default", "--dry-run=server", "--force-conflicts", "-k", sample)
		boundInNamespaces(t, env, driver, sample)
		if driver == "azure" {
			apply(t, env, "default", "--force-conflicts", "-k", sample)
		}
	}
	everywhere := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "cosi-sidecar:cosi-driver-azure"}}
	wantNoError(t, env.Client.Delete(t.Context(), everywhere))
	withoutStore(t, env, "cosi-driver-azure")
}

// sampleFor copies the drivers' manifests and replaces the driver's name in the sample.
func sampleFor(t *testing.T, driver string) string {
	t.Helper()
	drivers := t.TempDir()
	wantNoError(t, os.CopyFS(drivers, os.DirFS("../../deploy/drivers")))
	sample := filepath.Join(drivers, "s3-namespaced")
	files, err := filepath.Glob(filepath.Join(sample, "*"))
	wantNoError(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		wantNoError(t, err)
		wantNoError(t, os.WriteFile(file, bytes.ReplaceAll(content, []byte("s3"), []byte(driver)), 0o600))
	}
	return sample
}

// boundInNamespaces checks that the driver's account has no role that grants access to Secrets in a namespace
// that it does not serve.
func boundInNamespaces(t *testing.T, env *testenv.Env, driver, sample string) {
	t.Helper()
	manifests, err := exec.CommandContext(t.Context(), env.ControlPlane.Kubectl(), "kustomize", sample).Output()
	wantNoError(t, err)
	var bindings []string
	for document := range strings.SplitSeq(string(manifests), "\n---\n") {
		binding := rbacv1.RoleBinding{} // a ClusterRoleBinding has the same fields
		wantNoError(t, yaml.Unmarshal([]byte(document), &binding))
		if binding.RoleRef.Name != "" {
			bindings = append(bindings, binding.Namespace+"/"+binding.RoleRef.Name)
		}
		if binding.Kind == "Deployment" && !strings.Contains(document, "COOPER_NAMESPACES\n          value: team-a") {
			t.Errorf("the sidecar serves all namespaces:\n%s", document)
		}
	}
	want := []string{
		"/cosi-metrics-auth", "/cosi-sidecar-buckets", "cosi-system/cosi-driver-" + driver + ".cooper.dev",
		"default/cosi-sidecar-events", "team-a/cosi-sidecar",
	}
	if driver != "azure" { // which has no credential store
		want = append(want, "cosi-driver-"+driver+"/cosi-driver-credentials")
	}
	slices.Sort(want)
	slices.Sort(bindings)
	if diff := cmp.Diff(want, bindings); diff != "" {
		t.Errorf("bindings of the account of %s (-want +got):\n%s", driver, diff)
	}
}

// withoutStore acts as the account of a driver that serves team-a and has no credential store.
func withoutStore(t *testing.T, env *testenv.Env, driver string) {
	t.Helper()
	config, err := env.ControlPlane.User("system:serviceaccount:"+driver+":"+driver, "system:serviceaccounts", "system:authenticated")
	wantNoError(t, err)
	sidecar := env.ClientFor(config)
	read := func(namespace, name string) error {
		return client.IgnoreNotFound(sidecar.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &corev1.Secret{}))
	}
	until(t, "the account has lost the rights in all namespaces", func(context.Context) error {
		if err := read("default", "any"); !apierrors.IsForbidden(err) {
			return fmt.Errorf("want a refusal, got %w", err)
		}
		return nil
	})
	for name, tc := range map[string]struct {
		err     error
		allowed bool
	}{
		"create a Secret of its own":                    {sidecar.Create(t.Context(), newSecret(driver, "mine"), client.DryRunAll), false},
		"read the driver's credentials for its store":   {read(driver, driver+"-credentials"), false},
		"read the Secret of an access that it serves":   {read("team-a", "app"), true},
		"read a Secret of a namespace that it does not": {read("kube-system", "any"), false},
	} {
		if tc.allowed && tc.err != nil || !tc.allowed && !apierrors.IsForbidden(tc.err) {
			t.Errorf("%s: want allowed %v, got %v", name, tc.allowed, tc.err)
		}
	}
}
