// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// callTime is how long the store delays the call during which the driver's Pod ends. It exceeds the driver's
// own shutdown time, so the call is interrupted unless the Pod waits for it.
const callTime = "15s"

// TestHelm adopts a kubectl installation as two Helm releases, and upgrades, uninstalls and reinstalls them
// while buckets are in use. Finally it installs with kubectl again.
func TestHelm(t *testing.T) { //nolint:paralleltest // all tests share the cluster
	fulltest.Long(t, "TestHelm in testenv/system does the same, without Pods")
	w := onCluster(t)
	w.install(t)
	w.installed = sync.Once{} // Helm uninstalls the shared installation
	ns := w.claimed(t, "helm")
	w.works(t, ns, "by-kubectl")

	h := w.newReleases(t)
	h.install(t, "--take-ownership")
	w.works(t, ns, "by-helm")
	h.showsMetricsToWhomMay(t, ns)
	h.upgrade(t, h.driver, "--set=replicas=1", "--set=sidecar.rpcTimeoutSeconds=50")
	h.sidecars(t, "[--rpc-timeout=50s]")
	h.endsWithItsCalls(t, w.claimed(t, "helm-revoked"))

	h.install(t)
	h.refusesToGo(t, h.driver, "BucketAccess "+ns+"/sample\n", " of claim "+ns+"/sample, ", "Delete the accesses and then the claims")
	h.refusesToGo(t, h.controller, "BucketAccess "+ns+"/sample\n", "BucketClaim "+ns+"/sample\n", " of claim "+ns+"/sample, ")
	h.run(t, h.driver, "uninstall", "--wait", "--no-hooks")
	h.run(t, h.controller, "uninstall", "--wait", "--no-hooks")
	h.install(t) // while objects exist
	w.works(t, ns, "installed-again")
	w.works(t, w.claimed(t, "helm-later"), "new")

	for _, namespace := range []string{ns, "helm-later", "helm-revoked"} {
		w.kubectl(t, "-n", namespace, "delete", "bucketaccesses,bucketclaims", "--all", "--timeout="+waitTimeout.String())
	}
	h.keepsData(t, ns, "helm-later", "helm-revoked")
	h.goes(t)
	w.install(t)
}

// A release is an installation of a chart, with a file of values.
type release struct{ name, chart, namespace, values string }

// releases are the Helm releases of the test.
type releases struct {
	*world

	program            string
	env                []string
	controller, driver release
}

// newReleases builds Helm and writes the values files.
func (w *world) newReleases(t *testing.T) *releases {
	t.Helper()
	build := exec.CommandContext(t.Context(), "bash", "hack/helm.sh")
	build.Dir = root
	path, err := build.Output()
	wantNoError(t, err)
	dir := t.TempDir()
	of := func(name string) string {
		return fmt.Sprintf("{repository: %s/%s, tag: %s}", repository(), name, current().tag)
	}
	values := map[string]string{
		"controller.yaml": "image: " + of("cosi-controller"),
		"driver.yaml": "sidecar: {image: " + of("cosi-sidecar") + "}\nnetworkPolicy: {backend: {ports: [9000]}}\ndriver:\n  image: " +
			of("cosi-driver-s3") + "\n  config: |" + strings.ReplaceAll(driverConfig, "\n", "\n    "),
	}
	for name, content := range values {
		wantNoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return &releases{
		world: w, program: strings.TrimSpace(string(path)),
		env:        append(os.Environ(), "KUBECONFIG="+w.kubeconfig, "HELM_CACHE_HOME="+dir, "HELM_CONFIG_HOME="+dir, "HELM_DATA_HOME="+dir),
		controller: release{"cosi-controller", "deploy/charts/cosi-controller", systemNamespace, filepath.Join(dir, "controller.yaml")},
		driver:     release{"cosi-driver-s3", "deploy/charts/cosi-driver", driverNamespace, filepath.Join(dir, "driver.yaml")},
	}
}

// try runs Helm on a release and returns its output.
func (h *releases) try(ctx context.Context, r release, command string, args ...string) (string, error) {
	args = append([]string{command, r.name, "--namespace=" + r.namespace, "--timeout=" + waitTimeout.String()}, args...)
	cmd := exec.CommandContext(ctx, h.program, args...)
	cmd.Dir, cmd.Env = root, h.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("helm %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// run is try for commands that must succeed.
func (h *releases) run(t *testing.T, r release, command string, args ...string) {
	t.Helper()
	if _, err := h.try(t.Context(), r, command, args...); err != nil {
		t.Fatal(err)
	}
}

// upgrade installs or upgrades a release and waits for its Pods.
func (h *releases) upgrade(t *testing.T, r release, args ...string) {
	t.Helper()
	h.run(t, r, "upgrade", append([]string{r.chart, "--install", "--wait", "--values=" + r.values}, args...)...)
}

func (h *releases) install(t *testing.T, args ...string) {
	t.Helper()
	h.upgrade(t, h.controller, args...)
	h.upgrade(t, h.driver, args...)
}

// sidecars waits until the sidecars of the driver's Pods have these arguments, one list in brackets per Pod.
func (h *releases) sidecars(t *testing.T, want string) {
	t.Helper()
	h.until(t, func(ctx context.Context) error {
		got, err := h.world.try(ctx, "", "-n", driverNamespace, "get", "pods", "-o", "jsonpath={range .items[*]}[{.spec.containers[*].args[*]}]{end}")
		if err == nil && got != want {
			err = fmt.Errorf("the arguments of the sidecars are %q, want %q", got, want)
		}
		return err
	})
}

// showsMetricsToWhomMay requests the controller's metrics with and without a token.
func (h *releases) showsMetricsToWhomMay(t *testing.T, namespace string) {
	t.Helper()
	const binding = "cooper-e2e-metrics"
	token := func(account string) string {
		h.kubectl(t, "-n", namespace, "create", "serviceaccount", account)
		return "Bearer " + strings.TrimSpace(h.kubectl(t, "-n", namespace, "create", "token", account))
	}
	somebody, prometheus := token("somebody"), token("prometheus")
	t.Cleanup(func() {
		if _, err := h.world.try(context.WithoutCancel(t.Context()), "", "delete", "clusterrolebinding", binding); err != nil {
			t.Error(err)
		}
	})
	h.kubectl(t, "create", "clusterrolebinding", binding, "--clusterrole=cosi-metrics-reader", "--serviceaccount="+namespace+":prometheus")
	url := "https://" + h.forward(t, systemNamespace, "deployment/cosi-controller", "8080") + "/metrics"
	// The certificate is self-signed by default.
	unsigned := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for who, want := range map[string]int{"": http.StatusUnauthorized, "Bearer made-up": http.StatusUnauthorized, somebody: http.StatusForbidden} {
		if got, _, err := ask(t.Context(), unsigned, http.MethodGet, url, "", who); err != nil || got != want {
			t.Errorf("metrics for %.9q: %d, %v, want %d", who, got, err, want)
		}
	}
	h.until(t, func(ctx context.Context) error { // the binding takes effect with a delay
		got, text, err := ask(ctx, unsigned, http.MethodGet, url, "", prometheus)
		if err == nil && (got != http.StatusOK || !strings.Contains(text, "\ngo_info{")) {
			err = fmt.Errorf("metrics for an account that may read them: %d %.100s", got, text)
		}
		return err
	})
}

// endsWithItsCalls deletes all Pods of the driver while a credential is being revoked. The revocation must
// complete and the access be deleted, although no sidecar is left.
func (h *releases) endsWithItsCalls(t *testing.T, namespace string) {
	t.Helper()
	h.store(t, http.MethodPut, "faults", "rules: [{operation: iam:DeleteAccessKey, effect: delay, latency: "+callTime+", times: 1}]")
	h.kubectl(t, "-n", namespace, "delete", "bucketaccess", "sample", "--wait=false")
	h.until(t, func(context.Context) error {
		if plan := h.store(t, http.MethodGet, "faults", ""); !strings.Contains(plan, `"hits": 1`) {
			return fmt.Errorf("nothing is revoked yet: %s", plan)
		}
		return nil
	})
	h.upgrade(t, h.driver, "--set=replicas=0")
	h.sidecars(t, "")
	h.kubectl(t, "-n", namespace, "wait", "--for=delete", "bucketaccess/sample", "--timeout="+waitTimeout.String())
}

// refusesToGo tries to uninstall and checks that the message lists the remaining objects and what to do.
func (h *releases) refusesToGo(t *testing.T, r release, wants ...string) {
	t.Helper()
	said, err := h.try(t.Context(), r, "uninstall")
	if err == nil {
		t.Fatalf("the release %s went, with all that is left:\n%s", r.name, said)
	}
	for _, want := range wants {
		if !strings.Contains(said, want) {
			t.Errorf("the refusal to uninstall %s lacks %q:\n%s", r.name, want, said)
		}
	}
	h.rolledOut(t, r.namespace)
}

// keepsData releases Buckets that cannot be deleted because they contain objects, by following the message.
func (h *releases) keepsData(t *testing.T, namespace string, others ...string) {
	t.Helper()
	h.refusesToGo(t, h.driver, " of claim "+namespace+"/sample, deletionPolicy Delete, being deleted\n", "kubectl describe buckets.objectstorage.k8s.io NAME")
	wantNoError(t, h.letGo(t.Context(), append(others, namespace)...))
}

// goes uninstalls when no objects are left. The CRDs remain until a user deletes them, as documented in
// docs/howto/install-with-helm.md.
func (h *releases) goes(t *testing.T) {
	t.Helper()
	for _, r := range []release{h.driver, h.controller} {
		h.run(t, r, "uninstall", "--wait")
		if left := h.kubectl(t, "-n", r.namespace, "get", "deployments,jobs,poddisruptionbudgets,networkpolicies", "-o", "name"); left != "" {
			t.Errorf("the release %s left %s", r.name, left)
		}
	}
	crds := slices.DeleteFunc(strings.Fields(h.kubectl(t, "get", "crd", "-o", "name")), func(name string) bool {
		return !strings.HasSuffix(name, ".objectstorage.k8s.io")
	})
	if len(crds) != 5 {
		t.Errorf("the CRDs that stay are %q, want five", crds)
	}
	if h.node != nil { // only in the test's own cluster
		// The policy that requires the annotation was uninstalled with the release, but the API server may
		// still enforce it for a moment.
		h.kubectl(t, append(append([]string{"annotate"}, crds...), "cooper.dev/allow-deletion=true")...)
		h.kubectl(t, append([]string{"delete", "--timeout=" + waitTimeout.String()}, crds...)...)
	}
}
