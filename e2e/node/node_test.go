// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/cooper-cosi/cooper/e2e/node"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// waitTimeout is long because it only delays failures.
const waitTimeout = 2 * time.Minute

func TestMain(m *testing.M) { processtest.HelperMain(m, helper) }

// helper starts a node, prints its directory and blocks.
func helper(string) {
	n, err := node.Start(context.Background(), node.Options{}) //nolint:forbidigo // this is a main function
	if err != nil {
		fmt.Println("failed:", err)
		return
	}
	fmt.Println(n.Dir())
	select {}
}

// TestANodeRunsPodsAndStopsWithoutATrace runs a Pod, and verifies that the machine is unchanged during and
// after the run.
func TestANodeRunsPodsAndStopsWithoutATrace(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "what it needs is built for minutes")
	node.Need(t, node.Missing())
	before := sysctls(t)
	n, err := node.Start(t.Context(), node.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(); err != nil {
			t.Error(err)
		}
	})
	dir := n.Dir()
	runs(t, n)
	if left := traces(t, dir); len(left) < 2 {
		t.Errorf("a running node has %q, want its cgroups and processes: what follows would show nothing", left)
	}
	if diff := cmp.Diff(before, sysctls(t)); diff != "" {
		t.Errorf("a running node has changed sysctls of the machine (-before +now):\n%s", diff)
	}
	hidden, err := filepath.Glob(filepath.Join(dir, "sysctl-*"))
	if err != nil || len(hidden) != len(before) {
		t.Errorf("the node hides the sysctls %q, %v, and %d are compared", hidden, err, len(before))
	}
	if got := interfaces(t); slices.ContainsFunc(got, func(name string) bool { return strings.HasPrefix(name, "10.244.") }) {
		t.Errorf("the machine has addresses of the node: %q", got)
	}
	if err := n.RestartKubelet(); err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	if left := traces(t, dir); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if diff := cmp.Diff(before, sysctls(t)); diff != "" {
		t.Errorf("sysctls of the machine have changed (-before +after):\n%s", diff)
	}
}

func TestANodeWhoseProcessWasKilledLeavesNoTrace(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "a node that stops takes the same way")
	node.Need(t, node.Missing())
	killed, said := processtest.StartHelper(t, "node")
	if !said.Scan() || !filepath.IsAbs(said.Text()) {
		t.Fatalf("the helper says %q, %v", said.Text(), said.Err())
	}
	dir := said.Text()
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // killed, so always an error
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	err := controlplane.Until(ctx, func(context.Context) error {
		if left := traces(t, dir); len(left) > 0 {
			return fmt.Errorf("left behind: %q", left)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// runs creates a Pod and waits until it has an address.
func runs(t *testing.T, n *node.Node) {
	t.Helper()
	client, err := kubernetes.NewForConfig(n.Config())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	pods := client.CoreV1().Pods("default")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "sleeps"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "sleeps", Image: "localhost/pause:1", ImagePullPolicy: corev1.PullNever}},
	}}
	err = controlplane.Until(ctx, func(ctx context.Context) error {
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{}) // retried until the service account exists
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = controlplane.Until(ctx, func(ctx context.Context) error {
		found, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if found.Status.Phase != corev1.PodRunning || found.Status.PodIP == "" {
			return fmt.Errorf("the Pod is %+v", found.Status)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// Reading logs tests the connection from the API server to the kubelet.
	if _, err := pods.GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx); err != nil {
		t.Errorf("logs: %v", err)
	}
}

// traces returns what exists of a node on the machine: its directory, cgroups, mounts and processes.
func traces(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	if _, err := os.Lstat(dir); err == nil {
		found = append(found, dir)
	}
	for _, pattern := range []string{"/sys/fs/cgroup/*/", "/sys/fs/cgroup/"} {
		cgroups, err := filepath.Glob(pattern + filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, cgroups...)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), dir) {
		found = append(found, "mounts")
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range processes {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), dir) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// sysctls returns the machine's values of the sysctls that a kubelet sets.
func sysctls(t *testing.T) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, name := range []string{
		"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
	} {
		value, err := os.ReadFile("/proc/sys/" + name)
		if err != nil {
			t.Fatal(err)
		}
		values[name] = string(value)
	}
	return values
}

// interfaces returns the machine's addresses.
func interfaces(t *testing.T) []string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	found := make([]string, 0, len(addresses))
	for _, a := range addresses {
		found = append(found, a.String())
	}
	return found
}
