// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

func TestMain(m *testing.M) { processtest.HelperMain(m, helper) }

// helper starts a control plane on a data directory, prints that it is ready and blocks.
func helper(dir string) {
	cp, err := controlplane.Start(context.Background(), controlplane.Options{DataDir: dir}) //nolint:forbidigo // this is a main function
	if err != nil {
		fmt.Println("failed:", err)
		return
	}
	fmt.Println("ready", cp.Config().Host)
	select {}
}

func TestStopLeavesNothingRunningAndNoFiles(t *testing.T) {
	t.Parallel()
	cp := start(t, controlplane.Options{})
	dir := filepath.Dir(cp.LogDir())
	if got := running(t.Context(), t, dir); len(got) != 3 {
		t.Fatalf("running: %q, want etcd, kube-apiserver and kube-controller-manager", got)
	}
	stop(t, cp)
	if got := running(t.Context(), t, dir); len(got) != 0 {
		t.Errorf("still running: %q", got)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there (%v)", dir, err)
	}
	stop(t, cp)
}

// TestAssetsOfTheUserRun uses a directory that lacks kube-controller-manager, as most do. The missing one
// comes from the cache.
func TestAssetsOfTheUserRun(t *testing.T) {
	t.Parallel()
	built, err := binaries.Find(t.Context(), binaries.Options{})
	if err != nil {
		t.Fatal(err)
	}
	assets := t.TempDir()
	for name, path := range map[string]string{"kube-apiserver": built.APIServer, "etcd": built.Etcd, "kubectl": built.Kubectl} {
		if err := os.Symlink(path, filepath.Join(assets, name)); err != nil {
			t.Fatal(err)
		}
	}
	cp := start(t, controlplane.Options{Binaries: binaries.Options{Assets: assets}})
	createConfigMap(t, cp, "works")
	if got, want := cp.Kubectl(), filepath.Join(assets, "kubectl"); got != want {
		t.Errorf("kubectl is %s, want %s", got, want)
	}
}

func TestDataDirectoryKeepsItsStateOnDiskFromOneStartToTheNext(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	first := start(t, controlplane.Options{DataDir: dir})
	if got := strings.Join(running(t.Context(), t, dir), "\n"); !strings.Contains(got, "--unsafe-no-fsync=false") {
		t.Errorf("etcd does not sync its data to disk: %s", got)
	}
	createConfigMap(t, first, "kept")
	stop(t, first)
	if got := running(t.Context(), t, dir); len(got) != 0 {
		t.Errorf("still running: %q", got)
	}
	second := start(t, controlplane.Options{DataDir: dir})
	if _, err := clientFor(t, second).CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestAfterKill9TheNextStartEndsTheOrphansAndContinues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	holder := startHolder(t, dir)

	_, err := controlplane.Start(t.Context(), controlplane.Options{DataDir: dir})
	var held *controlplane.HeldError
	if !errors.As(err, &held) || held.Holder.PID != holder.Process.Pid || held.Holder.Server == "" {
		t.Fatalf("start on a directory in use: %v, want who holds it", err)
	}
	for _, part := range []string{dir, "in use by process " + strconv.Itoa(holder.Process.Pid), filepath.Base(os.Args[0]), "stop that process"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
	if got := running(t.Context(), t, dir); len(got) != 3 {
		t.Errorf("the refused start ended processes of the holder; left: %q", got)
	}

	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait()
	cp := start(t, controlplane.Options{DataDir: dir})
	if got := running(t.Context(), t, dir); len(got) != 3 {
		t.Errorf("running: %q, want only those of the new start", got)
	}
	createConfigMap(t, cp, "works")
}

func TestControlPlaneEndsWhenItsStarterIsKilled(t *testing.T) {
	t.Parallel()
	used, err := binaries.Find(t.Context(), binaries.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cache, err := binaries.CacheDir("")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(used.APIServer, cache) {
		t.Skip("only an API server and etcd that were built here end with their starter; these were not: " + filepath.Dir(used.APIServer))
	}
	dir := t.TempDir()
	holder := startHolder(t, dir)
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait()
	err = controlplane.Until(t.Context(), func(ctx context.Context) error {
		if got := running(ctx, t, dir); len(got) > 0 {
			return fmt.Errorf("still running: %q", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if holder, held, err := controlplane.HolderOf(dir); held || err != nil {
		t.Errorf("holder %+v, %v, %v; want none", holder, held, err)
	}
}

func TestSecondStartInTheSameProcessIsRefusedToo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cp := start(t, controlplane.Options{DataDir: dir})
	_, err := controlplane.Start(t.Context(), controlplane.Options{DataDir: dir})
	var held *controlplane.HeldError
	if !errors.As(err, &held) || held.Holder.PID != os.Getpid() {
		t.Errorf("%v, want that this process holds it", err)
	}
	holder, isHeld, err := controlplane.HolderOf(dir)
	if err != nil || !isHeld || holder.Server != cp.Config().Host {
		t.Errorf("holder: %+v, %v, %v", holder, isHeld, err)
	}
	if err := controlplane.EndOrphans(dir); !errors.As(err, &held) {
		t.Errorf("EndOrphans: %v, want that the directory is in use", err)
	}
}

func TestNobodyHoldsADirectoryThatDoesNotExist(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "missing")
	if _, held, err := controlplane.HolderOf(dir); held || err != nil {
		t.Errorf("%v, %v", held, err)
	}
	if err := controlplane.EndOrphans(dir); err != nil {
		t.Error(err)
	}
}

func TestRequestedPortIsUsed(t *testing.T) {
	t.Parallel()
	port := freeport.ForTest(t).Number
	cp := start(t, controlplane.Options{Port: port})
	if want := fmt.Sprintf("127.0.0.1:%d", port); !strings.Contains(cp.Config().Host, want) {
		t.Errorf("the API server is at %s, want %s", cp.Config().Host, want)
	}
}

func TestBusyPortIsNamed(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	_, err = controlplane.Start(t.Context(), controlplane.Options{Port: port})
	wantParts(t, err, fmt.Sprintf("cannot use port %d for the API server", port), "choose another port")
}

func TestComponentThatFailsShowsItsLastLines(t *testing.T) {
	t.Parallel()
	assets, dir := t.TempDir(), t.TempDir()
	const script = "#!/bin/sh\n[ \"$1\" = --version ] && echo v9.9.9 && exit\n[ \"$1\" = --help ] && exit 0\necho the disk is on fire >&2\nexit 1\n"
	for _, name := range []string{"kube-apiserver", "etcd", "kube-controller-manager", "kubectl"} {
		if err := os.WriteFile(filepath.Join(assets, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	_, err := controlplane.Start(t.Context(), controlplane.Options{
		Binaries: binaries.Options{Assets: assets}, DataDir: dir,
	})
	wantParts(t, err, "cannot start the control plane", "the last lines of etcd", "the disk is on fire")
	if _, held, err := controlplane.HolderOf(dir); held || err != nil {
		t.Errorf("after the failure the directory is held: %v, %v", held, err)
	}
}

func TestManifestThatIsNoCRDIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := controlplane.Start(t.Context(), controlplane.Options{
		DataDir: dir, CRDs: map[string][]byte{"odd.yaml": []byte("kind: CustomResourceDefinition\nspecs: {}\n")},
	})
	wantParts(t, err, "odd.yaml is not a CustomResourceDefinition", "specs")
	if got := running(t.Context(), t, dir); len(got) != 0 {
		t.Errorf("still running: %q", got)
	}
}

func TestCanceledStartStartsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := controlplane.Start(ctx, controlplane.Options{DataDir: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want canceled", err)
	}
	if got := running(t.Context(), t, dir); len(got) != 0 {
		t.Errorf("still running: %q", got)
	}
}

// shortTests are the tests with start that run in the short tier.
var shortTests = []string{"TestStopLeavesNothingRunningAndNoFiles"}

func start(t *testing.T, o controlplane.Options) *controlplane.ControlPlane {
	t.Helper()
	fulltest.Named(t, shortTests)
	cp, err := controlplane.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, cp) })
	return cp
}

func stop(t *testing.T, cp *controlplane.ControlPlane) {
	t.Helper()
	if err := cp.Stop(); err != nil {
		t.Error(err)
	}
}

// startHolder starts a process that runs a control plane on the directory.
func startHolder(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd, lines := processtest.StartHelper(t, dir)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "ready ") {
		t.Fatalf("helper: %q, %v", lines.Text(), lines.Err())
	}
	return cmd
}

// running returns the command lines of the processes whose executable path is in the directory.
func running(ctx context.Context, t *testing.T, dir string) []string {
	t.Helper()
	list, err := exec.CommandContext(ctx, "ps", "-axww", "-o", "command=").Output()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(list), "\n"), func(line string) bool {
		return !strings.HasPrefix(line, dir+string(os.PathSeparator))
	})
}

func clientFor(t *testing.T, cp *controlplane.ControlPlane) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(cp.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func createConfigMap(t *testing.T, cp *controlplane.ControlPlane, name string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := clientFor(t, cp).CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func wantParts(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}
