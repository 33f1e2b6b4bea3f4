// SPDX-License-Identifier: Apache-2.0

package apps_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/pkg/ssa"
	ssautil "github.com/fluxcd/pkg/ssa/utils"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	releaser "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// TestFluxWait applies an application and waits for it with the library of Flux's kustomize-controller, as a
// Kustomization with `wait: true` does.
func TestFluxWait(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "it needs Flux's library; the tests of the controller cover the conditions that it reads")
	for name, test := range map[string]struct {
		values map[string]any
		want   func(a app) string // the expected error; nil if the wait must succeed
	}{
		"an application with a bucket is ready": {},
		"a refused parameter ends the wait before its timeout": {
			map[string]any{"parameters": map[string]any{"colour": "red"}},
			func(a app) string { return "BucketClaim/" + a.Namespace + "/" + release + " status: 'Failed'" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newApp(t, memdriver.Options{Parameters: map[string][]string{"region": nil}})
			manager := fluxManager(t, a.cd)
			changes, err := manager.ApplyAllStaged(t.Context(), a.rendered(t, test.values), ssa.DefaultApplyOptions())
			if err != nil {
				t.Fatalf("apply: %v", err)
			}
			a.Env.Eventually("the Deployment can start", a.startDeployment)
			// With FailFast, as Flux sets it, the wait ends at a failure. The timeout only delays a failure of the test.
			err = manager.WaitForSetWithContext(t.Context(), changes.ToObjMetadataSet(), ssa.WaitOptions{Interval: 100 * time.Millisecond, Timeout: 5 * time.Minute, FailFast: true})
			switch {
			case test.want == nil && err != nil:
				t.Errorf("wait: %v", err)
			case test.want != nil && (err == nil || !strings.Contains(err.Error(), test.want(a))):
				t.Errorf("wait returned %v, want an error with %q", err, test.want(a))
			}
		})
	}
}

// rendered returns the objects of the chart, as `helm template` prints them.
func (a app) rendered(t *testing.T, values map[string]any) []*unstructured.Unstructured {
	t.Helper()
	run := action.NewInstall(a.helm(t))
	run.ReleaseName, run.Namespace, run.DryRunStrategy = release, a.Namespace, action.DryRunClient
	chart, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := run.RunWithContext(t.Context(), chart, a.values(values))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := ssautil.ReadObjects(strings.NewReader(rendered.(*releaser.Release).Manifest))
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if !strings.HasSuffix(object.GetKind(), "Class") {
			object.SetNamespace(a.Namespace)
		}
	}
	return objects
}

func fluxManager(t *testing.T, config *rest.Config) *ssa.ResourceManager {
	t.Helper()
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, http)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	return ssa.NewResourceManager(c, polling.NewStatusPoller(c, mapper, polling.Options{}), ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
}
