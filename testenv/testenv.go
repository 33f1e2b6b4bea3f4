// SPDX-License-Identifier: Apache-2.0

// Package testenv gives tests a real Kubernetes API server with Cooper's API installed, without a cluster, Docker or
// a download of binaries.
//
// Start returns an Env: the administrator's client, a namespace of the test's own, users with the rights that a test
// gives them, and waits that watch (Until, Gone). All tests of one test binary share one control plane and keep apart
// by namespaces; Main stops it. It must stay thin: what works without the testing package belongs to
// testenv/controlplane and testenv/system.
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

// waitTimeout is for what a test waits for; it is generous because it only delays failures.
const waitTimeout = 2 * time.Minute

// Options say which control plane a test needs. The zero value is the shared one.
type Options struct {
	// Private starts a control plane for this test alone, for what would disturb others. It is stopped at the end of
	// the test.
	Private bool
	// AdmissionPlugins are enabled in addition to those that Kubernetes enables by default, in a control plane for this
	// test alone.
	AdmissionPlugins []string
	// CRDs are the manifests of other CustomResourceDefinitions than those of Cooper, by a name for messages, in a
	// control plane for this test alone.
	CRDs map[string][]byte
}

// Env is one test's view of a control plane.
type Env struct {
	// Plane is the control plane; a test may stop it only if it is private.
	ControlPlane *controlplane.ControlPlane
	// Client acts as an administrator who may do everything. It has no cache.
	Client client.Client

	tb     testing.TB
	scheme *runtime.Scheme
	// began is the end of the audit log when the test began.
	began int64
}

// shared is the control plane of the test binary. Its processes end with the test binary in any case (see
// controlplane); Main also removes its files at once.
var shared struct {
	sync.Mutex

	controlPlane *controlplane.ControlPlane
	err          error
}

// quietOnce gives the libraries a logger. Without one, controller-runtime prints a stack trace once the test binary is
// half a minute old. The first one counts: who wants the libraries' log calls SetLogger in TestMain. It may be set by
// one goroutine at a time alone.
var quietOnce = sync.OnceFunc(func() { log.SetLogger(logr.Discard()) })

// Main runs the tests of a package and then stops the shared control plane: func TestMain(m *testing.M) {
// testenv.Main(m) }. Packages without a TestMain leave only a temporary directory, which the next start removes.
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

// Start returns a control plane with Cooper's CRDs, RBAC and an audit log. The first test of a binary starts it, and
// the first of a user builds it, which is told on standard error.
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
		// It outlives the test that happens to be the first.
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

// Scheme knows the kinds of Kubernetes and of api/v1alpha2. It is this Env's own.
func (e *Env) Scheme() *runtime.Scheme { return e.scheme }

// Config is how an administrator reaches the API server.
func (e *Env) Config() *rest.Config { return e.ControlPlane.Config() }

// User is how the user name in groups reaches the API server. It may do nothing but what RBAC grants.
func (e *Env) User(name string, groups ...string) *rest.Config {
	e.tb.Helper()
	config, err := e.ControlPlane.User(name, groups...)
	if err != nil {
		e.tb.Fatalf("testenv: %v", err)
	}
	return config
}

// ClientFor returns a client without a cache that acts as config says.
func (e *Env) ClientFor(config *rest.Config) client.Client {
	e.tb.Helper()
	c, err := client.New(config, client.Options{Scheme: e.scheme})
	if err != nil {
		e.tb.Fatalf("testenv: client: %v", err)
	}
	return c
}

// Namespace creates a namespace with a name of its own, deletes it at the end of the test and returns the name. The
// test does not wait until it is gone, which takes five seconds.
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

// Kubeconfig writes a kubeconfig file for config with namespace as the default one, and returns its path.
func (e *Env) Kubeconfig(config *rest.Config, namespace string) string {
	e.tb.Helper()
	path := filepath.Join(e.tb.TempDir(), "kubeconfig")
	if err := controlplane.WriteKubeconfig(path, config, namespace); err != nil {
		e.tb.Fatalf("testenv: %v", err)
	}
	return path
}

// Audit returns the requests recorded since Start that f selects, oldest first. A request is recorded just after its
// response: wait with Eventually for the event of a response that has only just come.
func (e *Env) Audit(f controlplane.AuditFilter) []controlplane.AuditEvent {
	e.tb.Helper()
	f.From = max(f.From, e.began)
	events, err := e.ControlPlane.AuditEvents(f)
	if err != nil {
		e.tb.Fatalf("testenv: %v", err)
	}
	return events
}

// UntilWrites waits until what is written after the first writes is this. written reads it of the audit log, which has a
// write a little later than the object.
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

// Eventually calls check until it returns nil, and fails the test with its last error after two minutes. what says what
// is waited for.
func (e *Env) Eventually(what string, check func(context.Context) error) {
	e.tb.Helper()
	ctx, cancel := context.WithTimeout(e.tb.Context(), waitTimeout)
	defer cancel()
	if err := controlplane.Until(ctx, check); err != nil {
		e.tb.Fatalf("waiting until %s: %v", what, err)
	}
}
