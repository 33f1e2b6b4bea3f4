// SPDX-License-Identifier: Apache-2.0

// Package cluster_test installs Cooper on a cluster as an administrator does, and uses buckets from Pods. If
// COOPER_CLUSTER_KUBECONFIG names a kubeconfig file, the tests use its cluster. Otherwise they start a
// cluster with one node on this machine (e2e/node).
package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cooper-cosi/cooper/e2e/node"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

const (
	// clusterVariable names the kubeconfig of a cluster to use instead of a node on this machine. It must be
	// able to pull the images of COOPER_REPOSITORY and COOPER_TAG.
	clusterVariable = "COOPER_CLUSTER_KUBECONFIG"
	// requireVariable, if set, makes tests fail instead of being skipped when no node can run here.
	requireVariable = "COOPER_REQUIRE_NODE"

	// root is the root of the repository.
	root = "../.."
	// waitTimeout is long because it only delays failures.
	waitTimeout = 5 * time.Minute
	// images are Cooper's images that the tests need.
	images = "cosi-controller,cosi-sidecar,cosi-driver-s3,cooper,e2e-client"
)

// A world is a cluster under test. All tests of the package share it and run one at a time.
type world struct {
	// node is nil if the cluster is not a node on this machine.
	node       *node.Node
	program    string // kubectl
	kubeconfig string
	installed  sync.Once
	// before are the cluster-scoped objects that existed before the tests.
	before []string
}

// shared is the world, from the first test that needs it until the process ends.
var shared struct {
	once  sync.Once
	world *world
	err   error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if w := shared.world; w != nil && code == 0 {
		if err := w.leftNothing(context.Background()); err != nil { //nolint:forbidigo // all tests have ended
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if w := shared.world; w != nil && w.node != nil {
		if err := w.node.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the node:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// wantNoError ends the test if there is an error.
func wantNoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// onCluster returns the world, or skips the test with the reason why there is none.
func onCluster(t *testing.T) *world {
	t.Helper()
	if err := node.Missing(); err != nil && os.Getenv(clusterVariable) == "" {
		if os.Getenv(requireVariable) != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	shared.once.Do(func() {
		ctx := context.WithoutCancel(t.Context())
		if shared.world, shared.err = newWorld(ctx); shared.err == nil {
			shared.world.before, shared.err = shared.world.clusterWide(ctx)
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	w := shared.world
	t.Cleanup(func() {
		if t.Failed() {
			w.report(t)
		}
	})
	return w
}

// onNode is onCluster for tests that need a node on this machine.
func onNode(t *testing.T) *world {
	t.Helper()
	w := onCluster(t)
	if w.node == nil {
		t.Skip("only on a node of this machine")
	}
	return w
}

func newWorld(ctx context.Context) (*world, error) {
	log.SetLogger(logr.Discard()) // avoids a warning of controller-runtime
	if kubeconfig := os.Getenv(clusterVariable); kubeconfig != "" {
		path, err := fromRoot(kubeconfig)
		if err != nil {
			return nil, err
		}
		w := &world{program: "kubectl", kubeconfig: path}
		return w, w.take(ctx)
	}
	n, err := node.Start(ctx, node.Options{Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	// Files in the node's directory are deleted with it, however the tests end.
	w := &world{node: n, program: n.ControlPlane().Kubectl(), kubeconfig: filepath.Join(n.Dir(), "admin.kubeconfig")}
	if err := n.WriteKubeconfig(w.kubeconfig); err != nil {
		return w, err
	}
	return w, w.load(ctx, images)
}

// fromRoot returns the absolute path of a file that is relative to the root, where make runs.
func fromRoot(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	return filepath.Abs(filepath.Join(root, path))
}

// mark is the label of systemNamespace that marks a cluster as usable for the tests.
const mark = "cooper.dev/e2e"

// take marks a cluster as the tests' own, unless Cooper or another COSI is in use there.
func (w *world) take(ctx context.Context) error {
	there, err := w.try(ctx, "", "get", "namespaces,crd", "-o", "name")
	if err != nil {
		return err
	}
	ours, err := w.try(ctx, "", "get", "namespaces", "-l", mark, "-o", "name")
	if err != nil || strings.Contains(ours, systemNamespace) {
		return err
	}
	if used := inUse(strings.Fields(there)); len(used) > 0 {
		return fmt.Errorf("the cluster of %s is in use: the tests would change and delete what belongs to %q", clusterVariable, used)
	}
	if _, err := w.try(ctx, "", "create", "namespace", systemNamespace); err != nil {
		return err
	}
	_, err = w.try(ctx, "", "label", "namespace", systemNamespace, mark+"=yes")
	return err
}

// inUse returns the objects, named as by kubectl, that the tests would mistake for their own.
func inUse(objects []string) []string {
	return slices.DeleteFunc(slices.Clone(objects), func(object string) bool {
		kind, name, _ := strings.Cut(object, "/")
		if kind == "namespace" {
			return name != systemNamespace && name != storeNamespace && !strings.HasPrefix(name, "cosi-driver-")
		}
		return !strings.HasSuffix(name, ".objectstorage.k8s.io")
	})
}

// load builds images with these comma-separated names and loads them into the node. Other clusters pull them.
func (w *world) load(ctx context.Context, names string) error {
	if w.node == nil {
		return nil
	}
	archives, err := os.MkdirTemp(w.node.Dir(), "images-")
	if err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "run", "./hack/images", "-archives="+archives, "-client", "-only="+names)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build images: %w\n%s", err, out)
	}
	return errors.Join(w.node.LoadImages(ctx, archives), os.RemoveAll(archives))
}

// try runs kubectl as an administrator and returns its output.
func (w *world) try(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, w.program, args...)
	cmd.Dir, cmd.Stdin = root, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, problem.String())
	}
	return out.String(), nil
}

// kubectl is try for commands that must succeed.
func (w *world) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := w.try(t.Context(), "", args...)
	wantNoError(t, err)
	return out
}

// apply applies a manifest in a namespace, or in the namespaces that it names. A kubectl older than the
// node's takes text that begins with a brace for JSON.
func (w *world) apply(t *testing.T, namespace, manifest string) {
	t.Helper()
	args := []string{"apply", "--server-side", "-f", "-"}
	if namespace != "" {
		args = append(args, "-n", namespace)
	}
	if _, err := w.try(t.Context(), manifest, args...); err != nil {
		t.Fatal(err)
	}
}

// clusterWide returns the cluster-scoped objects whose names are chosen by the tests and not by the
// installation.
func (w *world) clusterWide(ctx context.Context) ([]string, error) {
	kinds := "clusterroles,clusterrolebindings"
	if crds, err := w.try(ctx, "", "get", "crd", "-o", "name"); err != nil {
		return nil, err
	} else if strings.Contains(crds, "/bucketclasses.objectstorage") {
		kinds += ",bucketclasses.objectstorage.k8s.io,bucketaccessclasses.objectstorage.k8s.io,buckets.objectstorage.k8s.io"
	}
	out, err := w.try(ctx, "", "get", kinds, "-o", "name")
	return slices.DeleteFunc(strings.Fields(out), func(object string) bool {
		_, name, _ := strings.Cut(object, "/")
		return strings.HasPrefix(name, "cosi-") || strings.HasPrefix(name, "system:")
	}), err
}

// leftNothing returns an error if the cluster has more objects than before, apart from the installation.
func (w *world) leftNothing(ctx context.Context) error {
	after, err := w.clusterWide(ctx)
	if left := slices.DeleteFunc(after, func(object string) bool { return slices.Contains(w.before, object) }); len(left) > 0 {
		err = fmt.Errorf("the tests left %q", left)
	}
	return err
}

// takeBack deletes a manifest's objects that still exist at the end of the test. Cleanups run in reverse
// order, so objects that others depend on are deleted last.
func (w *world) takeBack(t *testing.T, namespace, manifest string) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), waitTimeout)
		defer cancel()
		args := []string{"delete", "--ignore-not-found", "-f", "-"}
		if namespace != "" {
			args = append(args, "-n", namespace)
		}
		if _, err := w.try(ctx, manifest, args...); err != nil {
			t.Error(err)
		}
	})
}

// wait runs kubectl wait for a condition of existing objects, such as condition=Provisioned.
func (w *world) wait(t *testing.T, namespace, condition string, objects ...string) {
	t.Helper()
	args := []string{"-n", namespace, "wait", "--for=" + condition, "--timeout=" + waitTimeout.String()}
	w.kubectl(t, append(args, objects...)...)
}

// until repeats a check until it returns nil.
func (w *world) until(t *testing.T, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	wantNoError(t, controlplane.UntilEvery(ctx, time.Second, check))
}

// logs returns the current output of a container.
func (w *world) logs(t *testing.T, namespace, pod string, args ...string) string {
	t.Helper()
	return w.kubectl(t, append([]string{"-n", namespace, "logs", pod}, args...)...)
}

// exec runs a command in a container of a Pod.
func (w *world) exec(t *testing.T, namespace, pod string, command ...string) string {
	t.Helper()
	return w.kubectl(t, append([]string{"-n", namespace, "exec", pod, "--"}, command...)...)
}

// killPods kills the Pods of a namespace at once, as the loss of a node does, and waits until as many new
// ones are ready.
func (w *world) killPods(t *testing.T, namespace string) {
	t.Helper()
	w.replace(t, namespace, w.pods(t, namespace), "--force", "--grace-period=0")
}

// pods returns the Pods of a namespace as named by kubectl, such as pod/a.
func (w *world) pods(t *testing.T, namespace string) []string {
	t.Helper()
	return strings.Fields(w.kubectl(t, "-n", namespace, "get", "pods", "-o", "name"))
}

// replace deletes Pods with the given kubectl arguments, and waits until the namespace has as many ready Pods
// as before.
func (w *world) replace(t *testing.T, namespace string, gone []string, how ...string) {
	t.Helper()
	before := len(w.pods(t, namespace))
	w.kubectl(t, append(append([]string{"-n", namespace, "delete"}, how...), gone...)...)
	var now []string
	w.until(t, func(ctx context.Context) error {
		out, err := w.try(ctx, "", "-n", namespace, "get", "pods", "-o", "name")
		if err != nil {
			return err
		}
		now = strings.Fields(out)
		if len(now) < before || slices.ContainsFunc(now, func(pod string) bool { return slices.Contains(gone, pod) }) {
			return fmt.Errorf("the Pods are %q, %q were deleted", now, gone)
		}
		return nil
	})
	w.wait(t, namespace, "condition=Ready", now...)
}

// rolledOut waits until every Deployment in a namespace has been rolled out.
func (w *world) rolledOut(t *testing.T, namespace string) {
	t.Helper()
	deployments := strings.Fields(w.kubectl(t, "-n", namespace, "get", "deployments", "-o", "name"))
	if len(deployments) == 0 {
		t.Fatalf("there is no Deployment in %s: the installation failed", namespace)
	}
	for _, name := range deployments {
		w.kubectl(t, "-n", namespace, "rollout", "status", name, "--timeout="+waitTimeout.String())
	}
}

// namespace creates a namespace that is deleted at the end of the test, after its contents and the Buckets of
// its claims.
func (w *world) namespace(t *testing.T, name string) string {
	t.Helper()
	w.apply(t, "", "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+", labels: {pod-security.kubernetes.io/enforce: restricted}}")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), waitTimeout)
		defer cancel()
		_, err := w.try(ctx, "", "delete", "namespace", name, "--wait")
		if err := errors.Join(err, w.letGo(ctx, name)); err != nil {
			t.Error(err)
		}
	})
	return name
}

// letGo deletes the Buckets of claims that no longer exist in namespaces, including Buckets that are kept
// because they contain data. The data remains in the store.
func (w *world) letGo(ctx context.Context, namespaces ...string) error {
	const kind = "buckets.objectstorage.k8s.io"
	list, err := w.try(ctx, "", "get", kind, "-o", `jsonpath={range .items[*]}{.spec.bucketClaimRef.namespace} {.metadata.name}{"\n"}{end}`)
	for line := range strings.Lines(list) {
		of, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !slices.Contains(namespaces, of) {
			continue
		}
		if _, failed := w.try(ctx, "", "patch", kind, name, "--type=merge", `--patch={"spec":{"deletionPolicy":"Retain"}}`); failed != nil && !strings.Contains(failed.Error(), "NotFound") {
			err = errors.Join(err, failed)
		}
		_, failed := w.try(ctx, "", "delete", kind, name, "--ignore-not-found", "--timeout="+waitTimeout.String())
		err = errors.Join(err, failed)
	}
	return err
}

// report logs diagnostics after a failure.
func (w *world) report(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for _, args := range [][]string{
		{"get", "pods", "-A", "-o", "wide"},
		{"describe", "pods", "-A", "-l", "app.kubernetes.io/part-of=cosi"},
		{"get", "bucketclaims,bucketaccesses,buckets", "-A"},
		{"get", "events", "-A", "--sort-by=.lastTimestamp"},
		{"-n", "cosi-system", "logs", "-l", "app.kubernetes.io/part-of=cosi", "--all-containers", "--tail=15"},
		{"-n", driverNamespace, "logs", "-l", "app.kubernetes.io/part-of=cosi", "--all-containers", "--tail=15"},
	} {
		out, err := w.try(ctx, "", args...)
		t.Logf("kubectl %s (%v):\n%s", strings.Join(args, " "), err, out)
	}
}
