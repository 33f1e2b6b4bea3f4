// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/adopt"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/env"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/plugin"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/probe"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/rotate"
	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/testing/docstest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/system"
	"github.com/cooper-cosi/cooper/testenv/system/cloudstest"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

// world is a system with the three clouds and a user who manages their own claims.
type world struct {
	*systemtest.System

	t          *testing.T
	s3         *s3fake.Server
	gcs        *gcsfake.Server
	kubeconfig string
}

func start(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, s3: faketest.Start(t, s3fake.New, s3fake.Options{}), gcs: faketest.Start(t, gcsfake.New, gcsfake.Options{})}
	azure := faketest.Start(t, azurefake.New, azurefake.Options{})
	w.System = systemtest.Start(t, system.Options{Drivers: []system.Driver{cloudstest.S3(t, w.s3, credstore.NewMemory()), cloudstest.Azure(t, azure), cloudstest.GCS(t, w.gcs)}})
	// Exactly the permissions that the plugin needs.
	w.Create(
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "user"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{cosiapi.GroupName}, Resources: []string{"bucketaccesses"}, Verbs: []string{"get", "patch"}},
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "user"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "user"},
			Subjects: []rbacv1.Subject{{Kind: "User", Name: "anna"}},
		},
	)
	w.kubeconfig = w.Env.Kubeconfig(w.Env.User("anna"), w.Namespace)
	return w
}

// in returns the world for a subtest.
func (w *world) in(t *testing.T) *world {
	t.Helper()
	part := *w
	part.t = t
	return &part
}

// cosi runs the plugin with the arguments.
func (w *world) cosi(args ...string) (out, errOut string, err error) {
	w.t.Helper()
	streams, _, o, e := genericiooptions.NewTestIOStreams()
	root := &cobra.Command{SilenceErrors: true, SilenceUsage: true}
	p := plugin.New(root, streams)
	root.AddCommand(env.New(p), probe.New(p), rotate.New(p), adopt.New(p))
	root.SetArgs(append([]string{"--kubeconfig", w.kubeconfig}, args...))
	err = root.ExecuteContext(w.t.Context())
	return o.String(), e.String(), err
}

func (w *world) must(args ...string) string {
	w.t.Helper()
	out, errOut, err := w.cosi(args...)
	if err != nil {
		w.t.Fatalf("%q: %v\n%s%s", args, err, out, errOut)
	}
	return out
}

// fails runs a command that must fail with the text.
func (w *world) fails(want string, args ...string) string {
	w.t.Helper()
	out, _, err := w.cosi(args...)
	if err == nil || !strings.Contains(err.Error(), want) {
		w.t.Errorf("%q: want an error with %q, got %v\n%s", args, want, err, out)
	}
	return out
}

// classes creates the classes of a driver.
func (w *world) classes(name, driver string, parameters map[string]string) {
	w.t.Helper()
	w.Create(
		&cosiapi.BucketClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: cosiapi.BucketClassSpec{DriverName: driver, DeletionPolicy: cosiapi.DeletionPolicyDelete}},
		&cosiapi.BucketAccessClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: cosiapi.BucketAccessClassSpec{
			DriverName: driver, AuthenticationType: cosiapi.AuthenticationTypeKey, Parameters: parameters, MultiBucketAccess: cosiapi.MultiBucketAccessMultipleBuckets,
		}},
	)
}

// access claims buckets with one Secret each, and waits until they are granted.
func (w *world) access(name, class string, protocol cosiapi.Protocol, claims map[string]cosiapi.BucketAccessMode) *cosiapi.BucketAccess {
	w.t.Helper()
	access := &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		Spec:       cosiapi.BucketAccessSpec{BucketAccessClassName: class, Protocol: protocol},
	}
	for _, claim := range slices.Sorted(maps.Keys(claims)) { // the plugin preserves their order
		err := w.Client().Create(w.t.Context(), &cosiapi.BucketClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: claim},
			Spec:       cosiapi.BucketClaimSpec{BucketClassName: class, Protocols: []cosiapi.Protocol{protocol}},
		})
		if client.IgnoreAlreadyExists(err) != nil {
			w.t.Fatal(err)
		}
		access.Spec.BucketClaims = append(access.Spec.BucketClaims, cosiapi.BucketClaimAccess{
			BucketClaimName: claim, AccessSecretName: name + "-" + claim, AccessModes: cosiapi.BucketAccessModes{ObjectData: claims[claim]},
		})
	}
	w.Create(access)
	w.WaitCondition(access, cosiapi.ConditionProvisioned)
	return access
}

// TestWhatWasGranted follows the lifecycle of credentials in three clouds.
//
//nolint:paralleltest,tparallel // the parts share a system, and one changes what the next one sees
func TestWhatWasGranted(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.classes("g-s3", s3driver.DefaultName, nil)
	w.classes("g-azure", azuredriver.DefaultName, nil)
	w.classes("g-gcs", gcsdriver.DefaultName, map[string]string{"credentials": "both"})
	w.access("app", "g-s3", cosiapi.ProtocolS3, map[string]cosiapi.BucketAccessMode{"photos": cosiapi.BucketAccessModeReadWrite})
	w.access("reader", "g-s3", cosiapi.ProtocolS3, map[string]cosiapi.BucketAccessMode{"photos": cosiapi.BucketAccessModeReadOnly})
	w.access("writer", "g-s3", cosiapi.ProtocolS3, map[string]cosiapi.BucketAccessMode{"photos": cosiapi.BucketAccessModeWriteOnly})
	w.access("mover", "g-s3", cosiapi.ProtocolS3, map[string]cosiapi.BucketAccessMode{"photos": cosiapi.BucketAccessModeReadOnly, "archive": cosiapi.BucketAccessModeReadWrite})
	w.access("blobs", "g-azure", cosiapi.ProtocolAzure, map[string]cosiapi.BucketAccessMode{"blobs": cosiapi.BucketAccessModeReadWrite})
	w.access("google", "g-gcs", cosiapi.ProtocolGCS, map[string]cosiapi.BucketAccessMode{"google": cosiapi.BucketAccessModeReadWrite})

	t.Run("test", func(t *testing.T) { w.in(t).triesCredentials() })
	t.Run("env", func(t *testing.T) { w.in(t).printsCredentials() })
	t.Run("tools", func(t *testing.T) { w.in(t).configuresTools() })
	t.Run("rotate", func(t *testing.T) { w.in(t).rotates() })
	t.Run("adopt", func(t *testing.T) { w.in(t).adopts() })
	t.Run("trouble", func(t *testing.T) { w.in(t).saysWhatIsWrong() })
}

func (w *world) triesCredentials() {
	t := w.t
	t.Helper()
	var whole strings.Builder
	for _, access := range []string{"app", "reader", "writer", "mover", "blobs", "google"} {
		out := w.must("test", "access/"+access, "--gcs-endpoint", w.gcs.URL())
		whole.WriteString("$ kubectl cosi test access/" + access + "\n" + out)
	}
	text := regexp.MustCompile(`cosi-test-[\w-]+`).ReplaceAllString(whole.String(), "cosi-test-NAME")
	docstest.CurrentPage(t, "cmd/kubectl-cosi/testdata/test.txt", func(string) []byte { return []byte(text) })
	for _, bucket := range w.s3.Inventory().Buckets {
		if bucket.Count > 0 {
			t.Errorf("the test leaves %q", bucket.Objects)
		}
	}
	if out := w.must("test", "mover", "--claim", "archive"); strings.Contains(out, "photos") {
		t.Errorf("the test of one claim tries another:\n%s", out)
	}
}

func (w *world) printsCredentials() {
	t := w.t
	t.Helper()
	secret := w.secret("app-photos")
	if out := w.must("env", "access/app"); !strings.Contains(out, "export AWS_ACCESS_KEY_ID="+string(secret.Data["AWS_ACCESS_KEY_ID"])+"\n") ||
		!strings.Contains(out, string(secret.Data["AWS_SECRET_ACCESS_KEY"])) {
		t.Errorf("the variables of the Secret are not printed where there is no terminal")
	}
	w.fails("the access has 2: select one with --claim", "env", "mover")
	if out := w.must("env", "mover", "--claim", "archive"); !strings.Contains(out, "export BUCKET_NAME="+string(w.secret("mover-archive").Data["BUCKET_NAME"])) {
		t.Errorf("--claim archive does not print its bucket:\n%s", out)
	}
	w.fails(`does not use claim "nobody": set --claim to one of `, "env", "mover", "--claim", "nobody")
	w.fails("is Azure: use one of shell, dotenv, az, rclone, barman, spring, json", "env", "blobs", "-o", "aws")
	w.fails(`"claim/app" is not an access`, "env", "claim/app")
	w.fails(`bucketaccesses.objectstorage.k8s.io "nobody" not found`, "env", "nobody")
}

// configuresTools uses the buckets with the tools and their generated configurations.
func (w *world) configuresTools() {
	t := w.t
	t.Helper()
	bucket := func(secret string) string { return string(w.secret(secret).Data["BUCKET_NAME"]) }
	// With S3, rclone only reads: Debian's version sends an ACL with uploads.
	for _, use := range []struct {
		access, format string
		command        []string
	}{
		{"app", "rclone", []string{"rclone", "--config", "config", "lsf", "photos:" + bucket("app-photos")}},
		{"google", "rclone", []string{"rclone", "--config", "config", "lsf", "google:" + bucket("google-google")}},
		{"blobs", "rclone", []string{"rclone", "--config", "config", "copy", processtest.SmallFile, "blobs:" + w.container("blobs-blobs")}},
		{"mover", "aws", []string{"aws", "--endpoint-url", w.s3.URL(), "--profile", "archive", "s3", "cp", processtest.SmallFile, "s3://" + bucket("mover-archive")}},
		{"app", "s3cmd", []string{"s3cmd", "--config", "config", "put", processtest.SmallFile, "s3://" + bucket("app-photos")}},
	} {
		t.Run(use.format+" of "+use.access, func(t *testing.T) {
			sh := processtest.NewShell(t, use.format)
			text := w.in(t).must("env", use.access, "-o", use.format, "--gcs-endpoint", w.gcs.URL())
			if err := os.WriteFile(filepath.Join(sh.Dir, "config"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			sh.Set("AWS_CONFIG_FILE=config")
			sh.Must(use.command[0], use.command[1:]...)
		})
	}
}

// container returns the container for which a Secret's token is valid.
func (w *world) container(secret string) string {
	address, _, _ := strings.Cut(string(w.secret(secret).Data["AZURE_STORAGE_SAS_TOKEN"]), "?")
	return path.Base(address)
}

func (w *world) rotates() {
	t := w.t
	t.Helper()
	before := w.secret("mover-photos").Data["AWS_ACCESS_KEY_ID"]
	out := w.must("rotate", "access/mover", "--wait")
	docstest.CurrentPage(t, "cmd/kubectl-cosi/testdata/rotate.txt", func(string) []byte { return []byte(out) })
	for _, name := range []string{"mover-photos", "mover-archive"} {
		if after := w.secret(name).Data["AWS_ACCESS_KEY_ID"]; bytes.Equal(after, before) {
			t.Errorf("Secret %s has the old key", name)
		}
	}
	if out := w.must("rotate", "mover"); strings.Contains(out, "is in its Secrets") {
		t.Errorf("rotate without --wait prints:\n%s", out)
	}
	w.StopComponent(w.Sidecar(s3driver.DefaultName))
	w.fails(`BucketAccess "app" has no new credential yet`, "rotate", "app", "--wait", "--timeout", "1s")
	w.StartComponent(w.Sidecar(s3driver.DefaultName))
	w.must("rotate", "app", "--wait")
}

func (w *world) adopts() {
	t := w.t
	t.Helper()
	if err := w.s3.Seed([]byte("buckets: [{name: old-photos}]")); err != nil {
		t.Fatal(err)
	}
	out := w.must("adopt", "old-photos", "--claim", w.Namespace+"/old", "--driver", s3driver.DefaultName, "--protocol", "S3", "--access-class", "g-s3", "--access-mode", "ReadWrite")
	if strings.Contains(out, "status") || strings.Contains(out, "null") {
		t.Errorf("the manifests have unexpected fields:\n%s", out)
	}
	w.apply(out)
	access := &cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "old"}}
	w.WaitCondition(access, cosiapi.ConditionProvisioned)
	if got := string(w.secret("old").Data["BUCKET_NAME"]); got != "old-photos" {
		t.Errorf("the adopted bucket is %q", got)
	}
	w.must("test", "old")
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no claim":                {[]string{"x", "--driver", "a.example.com", "--protocol", "S3"}, `required flag(s) "claim" not set`},
		"a claim of no namespace": {[]string{"x", "--claim", "a", "--driver", "a.example.com", "--protocol", "S3"}, `--claim: "a" is not NAMESPACE/NAME`},
		"an unknown protocol":     {[]string{"x", "--claim", "a/b", "--driver", "a.example.com", "--protocol", "FTP"}, `--protocol: "FTP" is not S3, Azure or GCS`},
		"a driver of no name":     {[]string{"x", "--claim", "a/b", "--driver", "A b", "--protocol", "S3"}, `--driver: "A b" is not a DNS name`},
		"an ID with a line":       {[]string{"x\nkind: Pod", "--claim", "a/b", "--driver", "a.example.com", "--protocol", "S3"}, "the bucket ID: "},
		"an access without modes": {[]string{"x", "--claim", "a/b", "--driver", "a.example.com", "--protocol", "S3", "--access-class", "c"}, "access-mode"},
		"an unknown mode":         {[]string{"x", "--claim", "a/b", "--driver", "a.example.com", "--protocol", "S3", "--access-class", "c", "--access-mode", "Any"}, `--access-mode: "Any" is not`},
		"a name that is too long": {[]string{"x", "--claim", "a/" + strings.Repeat("b", 252), "--driver", "a.example.com", "--protocol", "S3"}, "at most 253 characters"},
	} {
		t.Run(name, func(t *testing.T) { w.in(t).fails(tc.want, append([]string{"adopt"}, tc.args...)...) })
	}
}

// apply creates the objects of a manifest as an administrator.
func (w *world) apply(text string) {
	w.t.Helper()
	objects, err := system.ParseManifest([]byte(text))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, object := range objects {
		w.Create(object)
	}
}

func (w *world) saysWhatIsWrong() {
	t := w.t
	t.Helper()
	waiting := &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "waiting"},
		Spec: cosiapi.BucketAccessSpec{BucketAccessClassName: "g-s3", Protocol: cosiapi.ProtocolS3, BucketClaims: []cosiapi.BucketClaimAccess{{
			BucketClaimName: "nobody", AccessSecretName: "waiting", AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadOnly},
		}}},
	}
	w.Create(waiting)
	testenv.Until(w.Env, waiting, "it reports what it waits for", func(*cosiapi.BucketAccess) error {
		if _, _, err := w.cosi("env", "waiting"); !strings.Contains(err.Error(), `"waiting" is not provisioned: Waiting for BucketClaim "nobody"`) {
			return err
		}
		return nil
	})

	secret := w.secret("app-photos")
	hostile := secret.DeepCopy()
	hostile.Data["AWS_SECRET_ACCESS_KEY"] = []byte("wrong")
	if err := w.Client().Update(t.Context(), hostile); err != nil {
		t.Fatal(err)
	}
	out := w.fails("The secret does not match the key", "test", "app")
	if !strings.Contains(out, "photos  put      FAILED") {
		t.Errorf("test of a wrong secret prints:\n%s", out)
	}
	hostile.Data["AWS_DEFAULT_REGION"] = []byte("x\n[profile default]")
	if err := w.Client().Update(t.Context(), hostile); err != nil {
		t.Fatal(err)
	}
	w.fails("the value of AWS_DEFAULT_REGION contains characters that no driver delivers", "env", "app", "-o", "aws")

	// A user without permissions, and no store.
	nobody := *w
	nobody.kubeconfig = w.Env.Kubeconfig(w.Env.User("eve"), w.Namespace)
	nobody.fails("is forbidden", "env", "app")
	hostile.Data["AWS_DEFAULT_REGION"], hostile.Data["AWS_ENDPOINT_URL"] = secret.Data["AWS_DEFAULT_REGION"], []byte("http://127.0.0.1:1")
	if err := w.Client().Update(t.Context(), hostile); err != nil {
		t.Fatal(err)
	}
	w.fails("Check that the store is running", "test", "app")
}

// secret reads a Secret as an administrator.
func (w *world) secret(name string) *corev1.Secret {
	w.t.Helper()
	secret := &corev1.Secret{}
	if err := w.Client().Get(context.WithoutCancel(w.t.Context()), client.ObjectKey{Namespace: w.Namespace, Name: name}, secret); err != nil {
		w.t.Fatal(err)
	}
	return secret
}
