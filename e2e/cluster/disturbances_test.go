// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// page is written by TestDisturbances if COOPER_UPDATE is set.
const page = root + "/docs/reference/disturbances.md"

const pageHead = `# Disturbances

<!-- Written by COOPER_UPDATE=1 make e2e-node TESTFLAGS='-run Disturbances'; do not edit. -->

For this page, Cooper ran on [a node](../adr/0041-node.md) under load: each second, users created a BucketClaim with a
BucketAccess and deleted one of three, and a Pod used its bucket five times per second. After each disturbance, the test
verified that:

- each BucketClaim and BucketAccess became ready
- the store had exactly one bucket for each claim, and one account with one key for each access
- existing Secrets did not change
- a Pod could use each bucket, and the Pod under load never got an error and never restarted
- nothing was left after the deletion of all objects

"Duration" is the time from the begin of the disturbance to its end. "Recovered after" is the time from this end until all
objects were ready. The measurements are from a machine with two cores. They are not guarantees.

| disturbance | duration | effect for users | recovered after |
|---|---|---|---|
`

// A disturbance is a fault in a cluster.
type disturbance struct {
	// name is the name of its test, and what is its description on the page.
	name, what string
	// driver is the name of the driver that the users use. install installs it, unless it is the default one.
	driver  string
	install func(*testing.T, *world)
	// onNode means that it requires a node on this machine.
	onNode bool
	// do returns when the fault has ended; its consequences may last longer.
	do func(*testing.T, *load)
}

// disturbances returns the rows of the page in order.
func disturbances() []disturbance {
	return []disturbance{
		{name: "killed-in-turn", what: "Kill each Pod of controller and driver, one after the other", do: killInTurn},
		{name: "killed-at-once", what: "Kill all Pods of controller and driver at once", do: killAll},
		{name: "drained", what: "Drain Cooper's Pods from the node (`kubectl drain`), then run `kubectl uncordon`", onNode: true, do: drain},
		{name: "kubelet", what: "Restart the kubelet, and wait until it has run a new Pod", onNode: true, do: restartKubelet},
		{name: "controller-leader", what: "Delete the leader of the controller, three times", do: handOver(systemNamespace, "cosi-controller")},
		{name: "driver-leader", what: "Delete the leader of two Pods of the driver, three times", do: handOverDriver},
		{name: "bad-image", what: "Deploy an image of the driver that crashes three times, then restore the previous image (`strategy: RollingUpdate`)", do: badImage(appsv1.RollingUpdateDeploymentStrategyType)},
		{name: "bad-image-alone", what: "The same with `strategy: Recreate`, without another Pod of the driver", do: badImage(appsv1.RecreateDeploymentStrategyType)},
		{name: "full-disk", what: "Fill the volume of the driver's credential store (`--credential-store=directory:`), then free space", driver: diskDriver, install: installOnSmallDisk, do: fillDisk},
		{name: "clock", what: "Set the store's clock a minute ahead of the cluster's, then a minute behind, then correctly (users have keys)", do: changeClock},
	}
}

// TestDisturbances causes all disturbances under load. Nothing may be lost, duplicated or stuck.
func TestDisturbances(t *testing.T) { //nolint:paralleltest // all tests share the cluster
	fulltest.Long(t, "TestSmoke kills Pods")
	w := onCluster(t)
	w.install(t)
	var rows []string
	for _, d := range disturbances() { //nolint:paralleltest // one at a time
		t.Run(d.name, func(t *testing.T) {
			if d.onNode {
				onNode(t)
			}
			rows = append(rows, w.disturb(t, d))
		})
	}
	if os.Getenv("COOPER_UPDATE") == "" || t.Failed() {
		return
	}
	if len(rows) != len(disturbances()) {
		t.Fatalf("%d of %d disturbances ran: the page needs all", len(rows), len(disturbances()))
	}
	wantNoError(t, os.WriteFile(page, []byte(pageHead+strings.Join(rows, "")), 0o600))
}

// TestThePageHasTheDisturbances compares the rows of the page, without the measurements. It needs no node.
func TestThePageHasTheDisturbances(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(page)
	wantNoError(t, err)
	rest, ok := strings.CutPrefix(string(content), pageHead)
	if !ok {
		t.Errorf("the head of the page is out of date")
	}
	var want, got []string
	for _, d := range disturbances() {
		want = append(want, d.what)
	}
	for line := range strings.Lines(rest) {
		what, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		got = append(got, what)
	}
	if !slices.Equal(want, got) {
		t.Errorf("the page has the rows %q, want %q: COOPER_UPDATE=1 make e2e-node TESTFLAGS='-run Disturbances'", got, want)
	}
}

// disturb causes a disturbance under load, and returns its row.
func (w *world) disturb(t *testing.T, d disturbance) string {
	t.Helper()
	driver := "s3.cooper.dev"
	if d.install != nil {
		driver = d.driver
		d.install(t, w)
	}
	l := w.busy(t, d.name, driver)
	began := time.Now()
	d.do(t, l)
	lasted := time.Since(began)
	after := l.recovered(t)
	w.rolledOut(t, systemNamespace)
	w.rolledOut(t, driverNamespace)
	row := fmt.Sprintf("| %s | %.0f s | %s | %.1f s |\n", d.what, lasted.Seconds(), l.saw(t), after.Seconds())
	t.Log(row)
	l.check(t)
	l.end(t)
	return row
}

func killInTurn(t *testing.T, l *load) {
	t.Helper()
	for _, namespace := range []string{systemNamespace, driverNamespace} {
		for _, one := range l.pods(t, namespace) {
			l.replace(t, namespace, []string{one}, "--force", "--grace-period=0")
		}
	}
}

func killAll(t *testing.T, l *load) {
	t.Helper()
	for _, namespace := range []string{systemNamespace, driverNamespace} {
		l.kubectl(t, "-n", namespace, "delete", "pods", "--all", "--force", "--grace-period=0", "--wait=false")
	}
}

// drain evicts Cooper's Pods. Pods with a disruption budget are evicted when their replacements are ready,
// which requires another node or that this node is schedulable again.
func drain(t *testing.T, l *load) {
	t.Helper()
	node := strings.TrimPrefix(strings.TrimSpace(l.kubectl(t, "get", "nodes", "-o", "name")), "node/")
	budgets := l.kubectl(t, "get", "poddisruptionbudgets", "-A", "-o", "name") != ""
	done := make(chan error, 1)
	go func() {
		_, err := l.try(t.Context(), "", "drain", node, "--pod-selector=app.kubernetes.io/part-of=cosi", "--delete-emptydir-data", "--timeout="+waitTimeout.String())
		done <- err
	}()
	if !budgets {
		wantNoError(t, <-done)
		done <- nil
	}
	for _, namespace := range []string{systemNamespace, driverNamespace} {
		l.until(t, func(ctx context.Context) error {
			out, err := l.try(ctx, "", "-n", namespace, "get", "pods", "--field-selector=status.phase=Pending", "-o", "name")
			if err == nil && out == "" {
				err = errors.New("no Pod waits for a node")
			}
			return err
		})
	}
	l.kubectl(t, "uncordon", node)
	wantNoError(t, <-done)
}

func restartKubelet(t *testing.T, l *load) {
	t.Helper()
	wantNoError(t, l.node.RestartKubelet())
	// The node counts as ready until its heartbeats are missed. A new Pod shows that it works again.
	l.pod(t, l.ns, pod{name: "new", environment: "first-1"})
	l.wait(t, l.ns, "jsonpath={.status.phase}=Succeeded", "pod/new")
}

// handOver deletes the holder of a Lease and waits for another holder, three times.
func handOver(namespace, lease string) func(*testing.T, *load) {
	return func(t *testing.T, l *load) {
		t.Helper()
		const times = 3
		for range times {
			former := l.holder(t, lease)
			l.replace(t, namespace, []string{"pod/" + former}, "--wait=false")
			l.until(t, func(context.Context) error {
				if now := l.holder(t, lease); now == former || now == "" {
					return fmt.Errorf("the Lease %s is held by %q", lease, now)
				}
				return nil
			})
		}
	}
}

// holder returns the Pod that holds a Lease.
func (w *world) holder(t *testing.T, lease string) string {
	t.Helper()
	identity := w.kubectl(t, "-n", systemNamespace, "get", "lease", lease, "-o", "jsonpath={.spec.holderIdentity}")
	name, _, _ := strings.Cut(identity, "_")
	return name
}

func handOverDriver(t *testing.T, l *load) {
	t.Helper()
	former := l.change(t, driverNamespace, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(2)) })
	handOver(driverNamespace, "cosi-driver-s3.cooper.dev")(t, l)
	l.change(t, driverNamespace, func(d *appsv1.Deployment) { d.Spec.Replicas = former.Spec.Replicas })
}

// badImage gives the driver an image that crashes, and restores the previous image after three crashes.
func badImage(strategy appsv1.DeploymentStrategyType) func(*testing.T, *load) {
	return func(t *testing.T, l *load) {
		t.Helper()
		former := l.begin(t, driverNamespace, func(d *appsv1.Deployment) {
			d.Spec.Strategy = appsv1.DeploymentStrategy{Type: strategy}
			container(t, d, "driver").Image = image("e2e-client")
		})
		const counts = `jsonpath={.items[*].status['containerStatuses','initContainerStatuses'][?(@.name=="driver")].restartCount}`
		l.until(t, func(ctx context.Context) error {
			out, err := l.try(ctx, "", "-n", driverNamespace, "get", "pods", "-o", counts)
			if err == nil && !slices.Contains(strings.Fields(out), "3") {
				err = fmt.Errorf("the drivers began again %q times", out)
			}
			return err
		})
		l.begin(t, driverNamespace, func(d *appsv1.Deployment) {
			d.Spec.Strategy, d.Spec.Template = former.Spec.Strategy, former.Spec.Template
		})
	}
}

const (
	diskDriver    = "disk.cooper.dev"
	diskNamespace = "cosi-driver-disk"
)

// installOnSmallDisk installs a separate S3 driver that stores its credentials in a small volume.
func installOnSmallDisk(t *testing.T, w *world) {
	t.Helper()
	w.driver(t, driver{
		cloud: "s3", word: "disk", config: strings.ReplaceAll(driverConfig, "s3.cooper.dev", diskDriver),
		secret: map[string]string{"accessKeyID": rootID, "secretAccessKey": rootKey},
	})
	w.change(t, diskNamespace, func(d *appsv1.Deployment) {
		d.Spec.Replicas = new(int32(1)) // other replicas would have other volumes
		const volume = "credential-store"
		mount := corev1.VolumeMount{Name: volume, MountPath: "/store"}
		of := container(t, d, "driver")
		of.VolumeMounts = append(of.VolumeMounts, mount)
		for i := range of.Env {
			if of.Env[i].Name == "COOPER_CREDENTIAL_STORE" {
				of.Env[i].Value = "directory:/store/credentials"
			}
		}
		spec := &d.Spec.Template.Spec
		spec.Containers = append(spec.Containers, corev1.Container{
			Name: "disk", Image: image("e2e-client"), Args: []string{"stay"}, VolumeMounts: []corev1.VolumeMount{mount}, SecurityContext: of.SecurityContext,
		})
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: quantity("512Ki")},
		}})
	})
}

func fillDisk(t *testing.T, l *load) {
	t.Helper()
	inDisk := func(command, want string) {
		t.Helper()
		if got := l.kubectl(t, "-n", diskNamespace, "exec", "deployment/cosi-driver-disk", "-c", "disk", "--", "/e2e-client", command, "/store/full"); !strings.Contains(got, want) {
			t.Fatalf("e2e-client %s prints %q", command, got)
		}
	}
	inDisk("fill", "full")
	l.until(t, l.complained)
	inDisk("remove", "")
}

func changeClock(t *testing.T, l *load) {
	t.Helper()
	for i, ahead := range []string{"1m", "-1m", "0s"} {
		l.store(t, http.MethodPut, "clock", ahead)
		if ahead == "0s" {
			return
		}
		name := fmt.Sprintf("then-%d", i)
		wantNoError(t, l.ask(t.Context(), name))
		l.wait(t, l.ns, "condition=Provisioned", "bucketclaim/"+name, "bucketaccess/"+name)
	}
}
