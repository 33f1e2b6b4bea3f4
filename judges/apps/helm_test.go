// SPDX-License-Identifier: Apache-2.0

package apps_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// failAfter are the timeouts of installations that cannot succeed. When one expires, Helm reports the objects that are
// not ready. The second one is for busy machines, on which COSI may need longer than the first one to report a status.
var failAfter = []time.Duration{10 * time.Second, 2 * time.Minute}

// install installs the chart of docs/howto/gitops as the release photos, like `helm install photos --wait`.
func (a app) install(t *testing.T, timeout time.Duration, values map[string]any) error {
	t.Helper()
	run := action.NewInstall(a.helm(t))
	run.ReleaseName, run.Namespace, run.WaitStrategy, run.Timeout, run.ServerSideApply = release, a.Namespace, kube.StatusWatcherStrategy, timeout, true
	chart, err := loader.Load(chartDir)
	if err != nil {
		return fmt.Errorf("load the chart: %w", err)
	}
	_, err = run.RunWithContext(t.Context(), chart, values)
	return err
}

// helm returns Helm's configuration for the CD controller.
func (a app) helm(t *testing.T) *action.Configuration {
	t.Helper()
	settings := cli.New()
	settings.KubeConfig = a.kubeconfig
	settings.SetNamespace(a.Namespace)
	c := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	if err := c.Init(settings.RESTClientGetter(), a.Namespace, "secret"); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestHelmWait installs an application while the driver delays the bucket. Helm must wait until the application has
// its credential. The uninstallation keeps the claim.
func TestHelmWait(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "it needs Helm's library; the tests of the controller cover the conditions that it reads")
	a := newApp(t, memdriver.Options{})
	held := make(chan struct{})
	a.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Times: memdriver.Always, Hold: held})
	installed := make(chan error, 1)
	go func() { installed <- a.install(t, 5*time.Minute, a.values(nil)) }()

	a.Env.Eventually("the claim is in progress", func(ctx context.Context) error { return a.claimIs(ctx, "InProgress") })
	select {
	case err := <-installed:
		t.Fatalf("the installation ended without a bucket: %v", err)
	default:
	}
	close(held)
	a.Env.Eventually("the Deployment can start", func(ctx context.Context) error {
		return errors.Join(a.Client().Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: release + "-bucket"}, &corev1.Secret{}), a.startDeployment(ctx))
	})
	if err := <-installed; err != nil {
		t.Fatalf("install: %v", err)
	}
	if err := errors.Join(a.claimIs(t.Context(), "Current"), a.accessIs(t.Context(), "Current")); err != nil {
		t.Error(err)
	}

	uninstall := action.NewUninstall(a.helm(t))
	uninstall.WaitStrategy, uninstall.Timeout = kube.StatusWatcherStrategy, time.Minute
	if _, err := uninstall.Run(release); err != nil {
		t.Fatalf("uninstall: %v", err)
	}
	a.Env.Gone(&cosiapi.BucketAccess{ObjectMeta: a.meta()})
	if err := a.claimIs(t.Context(), "Current"); err != nil {
		t.Errorf("the claim was not kept: %v", err)
	}
}

// TestHelmReportsTheReason installs applications whose bucket cannot be created. Helm's error must contain COSI's
// message.
func TestHelmReportsTheReason(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "it needs Helm's library; the tests of the controller cover the conditions that it reads")
	for name, test := range map[string]struct {
		values map[string]any
		status string
	}{
		"a missing class is in progress, because an administrator may create it": {map[string]any{"driverName": ""}, "InProgress"},
		"a refused parameter has failed":                                         {map[string]any{"parameters": map[string]any{"colour": "red"}}, "Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var problem error
			for _, timeout := range failAfter {
				a := newApp(t, memdriver.Options{Parameters: map[string][]string{"region": nil}})
				err := a.install(t, timeout, a.values(test.values))
				if err == nil {
					t.Fatal("the installation succeeded")
				}
				want := fmt.Sprintf("resource BucketClaim/%s/%s not ready. status: %s, message: %s", a.Namespace, release, test.status, a.message(t))
				if strings.Contains(err.Error(), want) {
					return
				}
				problem = fmt.Errorf("the error has no %q: %w", want, err)
			}
			t.Error(problem)
		})
	}
}
