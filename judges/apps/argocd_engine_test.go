// SPDX-License-Identifier: Apache-2.0

package apps_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

// The version of Argo CD that docs/howto/gitops.md names, and the version of Go that it needs.
const (
	argoCDModule    = "github.com/argoproj/argo-cd/v3@v3.6.1"
	argoCDToolchain = "go1.27.4"
)

// TestArgoCD runs the health checks and the ignored differences of deploy/argocd in Argo CD's own engine, which reads
// them from the ConfigMap in the cluster: on the objects of TestArgoCDHealth, and on the objects of an application.
func TestArgoCD(t *testing.T) {
	t.Parallel()
	fulltest.Long(t, "TestArgoCDHealth runs the health checks in the Lua interpreter of Argo CD")
	program := argoCDProgram(t)
	a := newApp(t, memdriver.Options{Parameters: map[string][]string{"region": nil}})
	kubeconfig := a.Env.Kubeconfig(a.Env.Config(), "argocd")
	argoCDSettings(t, a, kubeconfig)
	judge := func(ctx context.Context, objects []map[string]any) ([]argoCDResult, error) {
		cmd := exec.CommandContext(ctx, program)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
		in, err := json.Marshal(objects)
		if err != nil {
			return nil, err
		}
		var said bytes.Buffer
		cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &said
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("%w: %s", err, &said)
		}
		var results []argoCDResult
		return results, json.Unmarshal(out, &results)
	}

	t.Run("objects in all states", func(t *testing.T) {
		t.Parallel()
		testEngine(t, judge)
	})
	t.Run("an application", func(t *testing.T) {
		t.Parallel()
		testLiveObjects(t, a, judge)
	})
}

// argoCDResult is a result of testdata/argocd.
type argoCDResult struct {
	Status, Message string
	Compared        map[string]any
}

type argoCDJudge func(context.Context, []map[string]any) ([]argoCDResult, error)

// argoCDProgram builds testdata/argocd. Argo CD's repository contains the module gitops-engine, which is published
// separately.
func argoCDProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "argocd")
	published{
		module: argoCDModule, main: "testdata/argocd/main.go", toolchain: argoCDToolchain,
		edits: []string{"-dropreplace=github.com/argoproj/argo-cd/gitops-engine/v3"},
	}.build(t, program)
	return program
}

// argoCDSettings adds deploy/argocd to the ConfigMap that Argo CD's installation creates.
func argoCDSettings(t *testing.T, a app, kubeconfig string) {
	t.Helper()
	a.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "argocd"}}, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "argocd-cm", Labels: map[string]string{"app.kubernetes.io/part-of": "argocd"}},
	})
	programs, err := binaries.Find(t.Context(), binaries.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), programs.Kubectl, "--kubeconfig", kubeconfig, "apply", "--server-side", "-k", "../../deploy/argocd").CombinedOutput(); err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
}

func testEngine(t *testing.T, judge argoCDJudge) {
	t.Helper()
	var objects []map[string]any
	names, kinds := slices.Sorted(maps.Keys(healthCases())), slices.Sorted(maps.Keys(healthKinds))
	for _, name := range names {
		for _, kind := range kinds {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(healthCases()[name].object), &object.Object); err != nil {
				t.Fatal(err)
			}
			object.SetGroupVersionKind(healthKinds[kind])
			objects = append(objects, object.Object)
		}
	}
	results, err := judge(t.Context(), objects)
	if err != nil || len(results) != len(objects) {
		t.Fatalf("%d results for %d objects: %v", len(results), len(objects), err)
	}
	for i, got := range results {
		name, kind := names[i/len(kinds)], kinds[i%len(kinds)]
		want := healthCases()[name].want
		if message := cmp.Or(want.DeletionMessage, want.Message); got.Status != want.Status || got.Message != message {
			t.Errorf("%s, %s: got %s (%s), want %s (%s)", name, kind, got.Status, got.Message, want.Status, message)
		}
	}
}

// testLiveObjects compares Argo CD's health of a claim that is ready, of one without a class and of a refused one, and of
// an access. It also verifies that Argo CD ignores what COSI writes.
func testLiveObjects(t *testing.T, a app, judge argoCDJudge) {
	t.Helper()
	for name, parameters := range map[string]map[string]string{"ready": nil, "refused": {"colour": "red"}} {
		a.Create(&cosiapi.BucketClass{
			ObjectMeta: metav1.ObjectMeta{Name: a.Namespace + "-" + name},
			Spec:       cosiapi.BucketClassSpec{DriverName: a.driver.Name(), DeletionPolicy: cosiapi.DeletionPolicyDelete, Parameters: parameters},
		})
	}
	a.Create(&cosiapi.BucketAccessClass{
		ObjectMeta: metav1.ObjectMeta{Name: a.Namespace},
		Spec:       cosiapi.BucketAccessClassSpec{DriverName: a.driver.Name(), AuthenticationType: cosiapi.AuthenticationTypeKey},
	}, &cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: "access"}, Spec: cosiapi.BucketAccessSpec{
		BucketAccessClassName: a.Namespace, Protocol: cosiapi.ProtocolS3,
		BucketClaims: []cosiapi.BucketClaimAccess{{
			BucketClaimName: "ready", AccessSecretName: "ready", AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite},
		}},
	}})
	want := []struct{ kind, name, status string }{
		{"BucketClaim", "ready", "Healthy"}, {"BucketClaim", "missing", "Progressing"}, {"BucketClaim", "refused", "Degraded"}, {"BucketAccess", "access", "Healthy"},
	}
	for _, object := range want[:3] {
		a.Create(&cosiapi.BucketClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: object.name},
			Spec:       cosiapi.BucketClaimSpec{BucketClassName: a.Namespace + "-" + object.name, Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
		})
	}
	a.Env.Eventually("Argo CD shows the health of the objects", func(ctx context.Context) error {
		var objects []map[string]any
		for _, object := range want {
			live := &unstructured.Unstructured{}
			live.SetGroupVersionKind(cosiapi.GroupVersion().WithKind(object.kind))
			if err := a.Client().Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: object.name}, live); err != nil {
				return err
			}
			objects = append(objects, live.Object)
		}
		results, err := judge(ctx, objects)
		if err != nil {
			return err
		}
		var errs []error
		for i, got := range results {
			compared := &unstructured.Unstructured{Object: got.Compared}
			if got.Status != want[i].status || got.Message == "" {
				errs = append(errs, fmt.Errorf("%s %s is %s (%s), want %s", want[i].kind, want[i].name, got.Status, got.Message, want[i].status))
			}
			if len(compared.GetFinalizers()) > 0 || len(compared.GetAnnotations()) > 0 {
				errs = append(errs, fmt.Errorf("%s %s: Argo CD compares %v and %v", want[i].kind, want[i].name, compared.GetFinalizers(), compared.GetAnnotations()))
			}
		}
		return errors.Join(errs...)
	})
}
