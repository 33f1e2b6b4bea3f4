// SPDX-License-Identifier: Apache-2.0

// Package testenv gives tests a real Kubernetes API server with Cooper's API installed, without a cluster or
// Docker.
//
// Start returns an Env. It provides an administrator's client, unique namespaces, users with the permissions
// that the test grants, and functions that wait (Until, Gone). All tests of a test binary share one control
// plane, and use different namespaces. Main stops the control plane. Code that does not need the testing
// package belongs in testenv/controlplane and testenv/system.
package testenv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

// waitTimeout limits waits. It is long because it only delays failures.
const waitTimeout = 2 * time.Minute

// Options select the control plane of a test. The zero value is the shared one.
type Options struct {
	// Private starts a control plane for this test only, because the test would affect others. The control
	// plane is stopped at the end of the test.
	Private bool
	// AdmissionPlugins are enabled in addition to Kubernetes' defaults, in a control plane for this test
	// only.
	AdmissionPlugins []string
	// CRDs replace Cooper's CustomResourceDefinitions, in a control plane for this test only. The keys are
	// names for messages.
	CRDs map[string][]byte
}

// Env is one test's view of a control plane.
type Env struct {
	// ControlPlane is the control plane. A test may stop it only if it is private.
	ControlPlane *controlplane.ControlPlane
	// Client has all permissions and no cache.
	Client client.Client

	tb     testing.TB
	scheme *runtime.Scheme
	// began is the end of the audit log at the start of the test.
	began int64
}

// shared is the control plane of the test binary. Its processes always end with the test binary (see
// controlplane); Main also removes its files.
var shared struct {
	sync.Mutex

	controlPlane *controlplane.ControlPlane
	err          error
}

// quietOnce sets a logger for libraries. Without one, controller-runtime prints a stack trace after 30
// seconds. Only the first call has an effect: tests that want the libraries' logs call SetLogger in TestMain.
// Setting it concurrently is not safe.
var quietOnce = sync.OnceFunc(func() { log.SetLogger(logr.Discard()) })

// Main runs the tests of a package and then stops the shared control plane. Call it from TestMain:
//
//	func TestMain(m *testing.M) { testenv.Main(m) }
//
// Packages without a TestMain leave a temporary directory, which the next start removes.
func Main(m *testing.M) {
	m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.controlPlane == nil {
		return
	}
	if err := shared.controlPlane.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "testenv:", err)
	}
}

// Start returns a control plane with Cooper's CRDs, RBAC and an audit log. The first call in a test binary
// starts the control plane. The first call on a machine may also download or build its executables, with
// progress on standard error.
func Start(tb testing.TB, o Options) *Env {
	tb.Helper()
	cp, err := controlPlaneFor(tb, o)
	if err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	scheme, err := reconciler.NewScheme()
	if err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	e := &Env{ControlPlane: cp, tb: tb, scheme: scheme, began: cp.AuditEnd()}
	e.Client = e.ClientFor(cp.Config())
	return e
}

func controlPlaneFor(tb testing.TB, o Options) (*controlplane.ControlPlane, error) {
	tb.Helper()
	if o.Private || o.CRDs != nil || o.AdmissionPlugins != nil {
		cp, err := startControlPlane(tb.Context(), o)
		if err == nil {
			tb.Cleanup(func() {
				if err := cp.Stop(); err != nil {
					tb.Errorf("testenv: %v", err)
				}
			})
		}
		return cp, err
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.controlPlane == nil && shared.err == nil {
		// It must outlive the first test.
		shared.controlPlane, shared.err = startControlPlane(context.WithoutCancel(tb.Context()), o)
	}
	return shared.controlPlane, shared.err
}

func startControlPlane(ctx context.Context, o Options) (*controlplane.ControlPlane, error) {
	if o.CRDs == nil {
		var err error
		if o.CRDs, err = deploy.CRDs(); err != nil {
			return nil, err
		}
	}
	quietOnce()
	return controlplane.Start(ctx, controlplane.Options{
		Binaries:         binaries.Options{Progress: os.Stderr},
		CRDs:             o.CRDs,
		Audit:            true,
		AdmissionPlugins: o.AdmissionPlugins,
	})
}

// Scheme contains the types of Kubernetes and of api/v1alpha2. Each Env has its own.
func (e *Env) Scheme() *runtime.Scheme { return e.scheme }

// Config returns an administrator's client configuration.
func (e *Env) Config() *rest.Config { return e.ControlPlane.Config() }

// User returns the client configuration of the user name in groups. RBAC determines its permissions.
func (e *Env) User(name string, groups ...string) *rest.Config {
	e.tb.Helper()
	config, err := e.ControlPlane.User(name, groups...)
	if err != nil {
		e.tb.Fatalf("testenv: %v", err)
	}
	return config
}

// ClientFor returns an uncached client for config.
func (e *Env) ClientFor(config *rest.Config) client.Client {
	e.tb.Helper()
	c, err := client.New(config, client.Options{Scheme: e.scheme})
	if err != nil {
		e.tb.Fatalf("testenv: cannot create a client: %v", err)
	}
	return c
}

// Namespace creates a namespace with a unique name, deletes it at the end of the test, and returns the name.
// The test does not wait for the deletion, which takes five seconds.
func (e *Env) Namespace() string {
	e.tb.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := e.Client.Create(e.tb.Context(), ns); err != nil {
		e.tb.Fatalf("testenv: cannot create a namespace: %v", err)
	}
	e.tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(e.tb.Context()), waitTimeout)
		defer cancel()
		if err := client.IgnoreNotFound(e.Client.Delete(ctx, ns)); err != nil {
			e.tb.Errorf("testenv: cannot delete the namespace %s: %v", ns.Name, err)
		}
	})
	return ns.Name
}

// Kubeconfig writes a kubeconfig file for config with the given default namespace, and returns its path.
func (e *Env) Kubeconfig(config *rest.Config, namespace string) string {
	e.tb.Helper()
	path := filepath.Join(e.tb.TempDir(), "kubeconfig")
	if err := controlplane.WriteKubeconfig(path, config, namespace); err != nil {
		e.tb.Fatalf("testenv: %v", err)
	}
	return path
}

// Audit returns the requests recorded since Start that f selects, oldest first. A request is recorded shortly
// after its response: use Eventually to wait for the event of a recent response.
func (e *Env) Audit(f controlplane.AuditFilter) []controlplane.AuditEvent {
	e.tb.Helper()
	f.From = max(f.From, e.began)
	events, err := e.ControlPlane.AuditEvents(f)
	if err != nil {
		e.tb.Fatalf("testenv: %v", err)
	}
	return events
}

// UntilWrites waits until the writes that written returns, without the first ones, equal want. first is the
// number of writes to ignore. written must read the audit log, which is slightly behind the objects.
func (e *Env) UntilWrites(written func() []string, first int, want ...string) {
	e.tb.Helper()
	e.Eventually("the audit log shows the writes", func(context.Context) error {
		all := written()
		if diff := cmp.Diff(want, all[min(first, len(all)):]); diff != "" {
			return fmt.Errorf("writes (-want +got):\n%s", diff)
		}
		return nil
	})
}

// Eventually calls check until it returns nil, and fails the test with its last error after two minutes. what
// describes the expected state.
func (e *Env) Eventually(what string, check func(context.Context) error) {
	e.tb.Helper()
	ctx, cancel := context.WithTimeout(e.tb.Context(), waitTimeout)
	defer cancel()
	if err := controlplane.Until(ctx, check); err != nil {
		e.tb.Fatalf("waiting until %s: %v", what, err)
	}
}
