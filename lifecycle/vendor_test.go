// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	olddriver "github.com/cooper-cosi/cooper/testenv/olddriver/released"
)

// A vendorWorld is a world whose sidecar uses the program cosi-driver-adapter, which uses a driver that behaves as the
// released drivers of vendors do. The fake of the world is not used.
type vendorWorld struct {
	*world

	backend *olddriver.Store
	kube    string // address of the adapter's Kubernetes API
	adapter *exec.Cmd
	kill    func() // kills the vendor's driver

	mu        sync.Mutex
	held      string        // the call whose next response the driver holds
	got, open chan struct{} // closed when the driver has made the effect of that call, and when it may respond
}

func startVendor(t *testing.T, o setup) *vendorWorld {
	t.Helper()
	o.idle = true
	v := &vendorWorld{world: start(t, o), backend: olddriver.NewStore("admin", "password"), kube: freeport.ForTest(t).Address()}
	v.endpoint = "unix://" + filepath.Join(v.sockets, "adapter.sock")
	secret := filepath.Join(v.sockets, "secrets", "vendor", "admin")
	v.must(errors.Join(os.MkdirAll(secret, 0o700),
		os.WriteFile(filepath.Join(secret, olddriver.AccessKeyID), []byte("admin"), 0o600),
		os.WriteFile(filepath.Join(secret, olddriver.SecretAccessKey), []byte("password"), 0o600)))
	v.keepCredentials()
	v.runProgramOfAdapter()
	t.Cleanup(v.killAdapter)
	v.runDriver()
	t.Cleanup(func() { v.kill() })
	v.runController()
	v.runSidecar()
	named := map[string]string{olddriver.SecretNamespace: "vendor", olddriver.SecretName: "admin"}
	v.newClass("fast", func(c *cosiapi.BucketClassSpec) { c.Parameters = named })
	v.newAccessClass("keys", func(c *cosiapi.BucketAccessClassSpec) {
		c.Parameters = map[string]string{modesOfOldGrants: "objectData=ReadWrite", olddriver.SecretNamespace: "vendor", olddriver.SecretName: "admin"}
	})
	return v
}

func (v *vendorWorld) account() string { return filepath.Join(v.sockets, "account") }

// runProgramOfAdapter starts the program of the adapter, which needs no driver to start.
func (v *vendorWorld) runProgramOfAdapter() {
	v.t.Helper()
	v.adapter = exec.Command(filepath.Join(build(v.t), "cosi-driver-adapter"), "--endpoint="+v.endpoint, "--driver-address=unix://"+filepath.Join(v.sockets, "vendor.sock"),
		"--credential-store=sidecar:unix://"+filepath.Join(v.sockets, "credentials.sock"),
		"--kubernetes-api-dir="+v.account(), "--kubernetes-api-address="+v.kube, "--kubernetes-secrets-dir="+filepath.Join(v.sockets, "secrets"))
	v.adapter.Stdout = v.log.writer("adapter").Writer()
	v.adapter.Stderr = v.adapter.Stdout
	processtest.BindToTest(v.adapter)
	v.must(v.adapter.Start())
}

func (v *vendorWorld) killAdapter() {
	_ = v.adapter.Process.Kill() // it has not exited
	_ = v.adapter.Wait()         // always an error after a kill
}

// runDriver starts the vendor's driver as soon as there is a service account, as Kubernetes does by restarts.
func (v *vendorWorld) runDriver() {
	v.t.Helper()
	host, port, err := net.SplitHostPort(v.kube)
	v.must(err)
	v.eventually("the driver starts", func(context.Context) error {
		v.kill, err = olddriver.Start(v.t.Context(), olddriver.Options{
			Name: v.driver.Name(), Endpoint: "unix://" + filepath.Join(v.sockets, "vendor.sock"), Store: v.backend,
			KubernetesHost: host, KubernetesPort: port, AccountDir: v.account(), AfterEffect: v.afterEffect,
		})
		return err
	})
}

// hold makes the driver hold the response to its next call of a kind.
func (v *vendorWorld) hold(call string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.held, v.got, v.open = call, make(chan struct{}), make(chan struct{})
}

func (v *vendorWorld) afterEffect(ctx context.Context, call string) {
	v.mu.Lock()
	held, open := call == v.held, v.open
	if held {
		v.held = ""
		close(v.got)
	}
	v.mu.Unlock()
	if held {
		select {
		case <-open:
		case <-ctx.Done():
		}
	}
}

// disturb calls kill after the driver has made the effect of the held call and before it responds.
func (v *vendorWorld) disturb(kill func(*vendorWorld)) {
	v.t.Helper()
	select {
	case <-v.got:
	case <-time.After(patience()):
		v.t.Fatal("the driver did not get the call")
	}
	kill(v)
	close(v.open)
}

// keyOf returns the access key in the Secret of an access.
func (v *vendorWorld) keyOf(access *cosiapi.BucketAccess) string {
	v.t.Helper()
	return string(get(v.world, secret(access, 0)).Data["AWS_ACCESS_KEY_ID"])
}

// expectKeys fails the test unless the backend has only the keys of some accesses.
func (v *vendorWorld) expectKeys(accesses ...*cosiapi.BucketAccess) {
	v.t.Helper()
	var want []string
	for _, access := range accesses {
		want = append(want, v.keyOf(access))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, v.backend.Keys()); diff != "" {
		v.t.Errorf("keys in the backend:\n%s", diff)
	}
}

// expectNothing waits until nothing is left in the backend and in the credential store.
func (v *vendorWorld) expectNothing() {
	v.t.Helper()
	v.eventually("nothing is left in the backend and the credential store", func(ctx context.Context) error {
		left := slices.Concat(v.backend.Buckets(), v.backend.Keys())
		secrets := &corev1.SecretList{}
		if err := v.Client.List(ctx, secrets, client.InNamespace(v.namespace)); err != nil {
			return err
		}
		for _, s := range secrets.Items {
			if strings.HasPrefix(s.Name, "cosi-credential-") && !strings.HasPrefix(s.Name, "cosi-credential-store-") {
				left = append(left, s.Name)
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("there are %q", left)
		}
		return nil
	})
}

// TestReleasedDriver runs the whole lifecycle with a driver that behaves as the released drivers of vendors do.
func TestReleasedDriver(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "the adapter's own tests use the fake driver")
	v := startVendor(t, setup{backoff: patient(), watchSecrets: true})
	photos, _ := v.provisioned("photos", "fast")
	app := v.granted("app", "keys", "photos")
	report := v.granted("report", "keys", "photos")
	v.expectKeys(app, report)

	before := v.keyOf(app)
	change(v.world, secret(app, 0), func(s *corev1.Secret) { s.Data["AWS_ACCESS_KEY_ID"] = []byte("forged") })
	until(v.world, secret(app, 0), "the Secret is repaired", func(s *corev1.Secret) error {
		if got := string(s.Data["AWS_ACCESS_KEY_ID"]); got != before {
			return fmt.Errorf("the key is %q, not %q", got, before)
		}
		return nil
	})
	v.expectKeys(app, report)

	change(v.world, app, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "once") })
	said := v.condition(app, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.Terminal)
	if !strings.Contains(said, "cannot rotate a credential") {
		t.Errorf("want the refused rotation, got %s", said)
	}
	change(v.world, app, func(a *cosiapi.BucketAccess) { delete(a.Annotations, cosiapi.RotateAnnotation) })
	v.condition(app, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse)
	v.expectKeys(app, report)

	reader := v.asking("reader", cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadOnly})
	v.create(reader)
	said = v.condition(reader, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.Terminal)
	if !strings.Contains(said, "not objectData=ReadOnly") {
		t.Errorf("want the refused access mode, got %s", said)
	}
	v.expectKeys(app, report)

	v.delete(reader, app, report, photos)
	v.gone(reader, app, report, photos, bucketFor(photos))
	v.expectNothing()
}

// TestReleasedDriverDeletionOrders deletes a claim with two accesses in different orders.
func TestReleasedDriverDeletionOrders(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "the adapter's own tests use the fake driver")
	v := startVendor(t, setup{backoff: patient()})
	for name, order := range map[string][]int{
		"the accesses first":                  {1, 2, 0},
		"the claim first":                     {0, 1, 2},
		"the claim between the two accesses":  {1, 0, 2},
		"everything at once":                  nil,
		"the later access and then the other": {2, 1, 0},
	} {
		claimName := strings.ReplaceAll(strings.ReplaceAll(name, "the ", ""), " ", "-")
		claim, _ := v.provisioned(claimName, "fast")
		all := []client.Object{claim, v.granted(claimName+"-a", "keys", claimName), v.granted(claimName+"-b", "keys", claimName)}
		if order == nil {
			v.delete(all...)
		}
		for _, i := range order {
			v.delete(all[i])
			if i > 0 {
				v.gone(all[i])
			}
		}
		v.gone(append(all, bucketFor(claim))...)
		v.expectNothing()
	}
}

// TestReleasedDriverIsKilled kills each process after the effect of each call and before its response. The same objects
// are then completed and deleted, and nothing is left.
func TestReleasedDriverIsKilled(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "the adapter's own tests crash at each of its calls")
	for name, kill := range map[string]func(v *vendorWorld){
		"the driver":              func(v *vendorWorld) { v.kill(); v.runDriver() },
		"the adapter":             func(v *vendorWorld) { v.killAdapter(); v.runProgramOfAdapter() },
		"the adapter, the driver": func(v *vendorWorld) { v.killAdapter(); v.kill(); v.runProgramOfAdapter(); v.runDriver() },
		"the sidecar": func(v *vendorWorld) {
			dead := v.process(theSidecar)
			dead.die()
			dead.awaitEnd()
			v.runSidecar()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := startVendor(t, setup{backoff: patient()})
			for i, call := range []string{"DriverCreateBucket", "DriverGrantBucketAccess", "DriverRevokeBucketAccess", "DriverDeleteBucket"} {
				v.hold(call)
				claim, access := v.newClaim(fmt.Sprint("photos-", i), "fast"), v.access(fmt.Sprint("app-", i), "keys", fmt.Sprint("photos-", i))
				v.create(access)
				if i < 2 {
					v.disturb(kill)
				}
				v.ready(claim, access)
				v.delete(access, claim)
				if i >= 2 {
					v.disturb(kill)
				}
				v.gone(access, claim, bucketFor(claim))
				v.expectNothing()
			}
		})
	}
}
