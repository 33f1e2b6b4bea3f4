// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/controller"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/credstore/kube"
	"github.com/cooper-cosi/cooper/internal/ctrlmanager"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/lifecycle/cases"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/sanity/strict"
	"github.com/cooper-cosi/cooper/sidecar"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// never is longer than any test: only a watch can trigger a reconcile.
const never = time.Hour

// brief is a short timeout.
const brief = 200 * time.Millisecond

// graceful is how long a controller may take to stop.
const graceful = 20 * time.Second

// A setup configures a world. In the zero value, only watches trigger reconciles.
type setup struct {
	fake memdriver.Options
	// backoff after failures; zero disables retries.
	backoff reconciler.BackoffOptions
	// resync interval of both components; zero disables resyncs.
	resync time.Duration
	// poll is how often the sidecar reads a Secret that it waits for.
	poll time.Duration
	// watchSecrets makes the sidecar watch Secrets and gives it the role for this.
	watchSecrets bool
	// patience is how long an access may wait for its claims, and how long a claim may be in use after its
	// deletion, before the conditions report it. Zero means the default of the programs.
	patience time.Duration
	// lostClaimGrace is how long the Bucket of a lost claim is held; zero means indefinitely.
	lostClaimGrace time.Duration
	// workers and the background re-grants per second of the sidecar; zero means the default of the program.
	workers     int
	regrantRate float64
	// deadline of a driver call.
	deadline time.Duration
	// window is how long a refused call must not be repeated; zero means the default of the contract checker.
	window time.Duration
	// leases enables leader election.
	leases bool
	// programs runs the real programs instead of their managers in this process. They use their own backoff,
	// resync and poll settings.
	programs bool
	// scraped makes the programs serve their metrics.
	scraped bool
	// traced records the spans of controller, sidecar and driver.
	traced bool
	// crds replaces the CRDs of deploy/ unless nil.
	crds map[string][]byte
	// noGeneration means that the CRDs lack observedGeneration.
	noGeneration bool
	// wrap, if set, wraps the transport between the processes and the API server, behind the tape.
	wrap func(http.RoundTripper) http.RoundTripper
	// unguarded disables the admission policies for the world.
	unguarded bool
	// idle starts neither controller nor sidecar.
	idle bool
}

// shortTests are the tests with a world that run in the short tier. They cover each part of the lifecycle of
// a bucket.
var shortTests = []string{
	"TestTwoPhasesOfAnAccess", "TestOrderOfAnAccess", "TestClaimsThatShareABucket", "TestConditionsOfAnAccess",
	"TestLostBucketIsNotCreatedAgain", "TestImportBindsOnce", "TestConditionsOfAClaim",
	"TestTwoPhasesOfABucket", "TestBucketDeletedBeforeItsIDIsStored", "TestDeletionThatFails",
	"TestClaimInUse", "TestDeletionNeedsBothSigns", "TestRetain", "TestClaimRemovedByHand",
	"TestPolicyProtectsFinalizersAndAnnotations", "TestNoCredentialOutsideItsSecret", "TestNamespaceIsDeleted",
	"TestEvents", "TestMetrics",
	"TestHeldBucketIsReleasedWhenConfirmed",
	"TestRotationAndRevision", "TestSecretOfAnotherOwner", "TestGrantResponsesThatBreakTheContract", "TestRevocationThatFails",
	"TestAnImportKeepsTheBucketOfAnother", "TestUsersCannotSpeedUpTheDriver",
	"TestAccessWhoseFinalizerIsRemoved", "TestCopiedAccessSecret",
}

// covers declares the cases that a test covers. Of the tests that call it, only shortTests run in the short
// tier.
func covers(t *testing.T, ids ...string) {
	t.Helper()
	cases.Covers(t, ids...)
	fulltest.Named(t, shortTests)
}

// bothWays runs a test with a sidecar that may not watch Secrets and polls them as configured by o, and with
// one that watches them and never polls. The short tier runs only the first.
func bothWays(t *testing.T, o setup, test func(*testing.T, setup)) {
	t.Helper()
	watching := o
	watching.watchSecrets, watching.poll, watching.resync = true, 0, 0
	for name, way := range fulltest.Rows(t, map[string]setup{"Secrets by poll": o, "Secrets by watch": watching}, "Secrets by poll") {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, way) })
	}
}

// A world is a namespace with a controller, a driver and its sidecar that see nothing else. The test acts as
// users and administrators.
type world struct {
	*testenv.Env

	t         *testing.T
	setup     setup
	namespace string
	driver    *memdriver.Driver
	server    *memdriver.Server
	endpoint  string
	sockets   string
	// entries is the store of the adapter of an old driver, and stopAdapter stops that adapter.
	entries     credentials.Store
	stopAdapter func()
	// store is the credential store that sidecars serve, or nil.
	store *kube.Server
	// rules checks the sidecar's calls against the contract.
	rules *strict.Checker
	tape  *tape
	lags  *lags
	log   *logbook
	// spans are the recorded spans of a traced world.
	spans *tracetest.SpanRecorder
	// metrics are the registries of all processes, the latest last.
	metrics map[string][]*prometheus.Registry

	// lives are the processes.
	lives *lives
	// end is the test at the end of which processes stop.
	end *testing.T
	// died, if set, ends the goroutine that waits in this world when it is closed.
	died <-chan struct{}
}

// lives are the processes of a world.
type lives struct {
	mu sync.Mutex
	// processes are the latest process of each component.
	processes map[string]*process
	all       []*process
	started   int
	// first are the other processes of the same world, for a second controller, or nil.
	first *lives
}

// root returns the lives that count and record all processes of the world.
func (l *lives) root() *lives {
	if l.first != nil {
		return l.first
	}
	return l
}

// add records a process as the latest of its component.
func (l *lives) add(p *process) {
	l.mu.Lock()
	l.processes[p.who] = p
	l.mu.Unlock()
	root := l.root()
	root.mu.Lock()
	defer root.mu.Unlock()
	root.all = append(root.all, p)
}

// next returns the next number.
func (l *lives) next() int {
	root := l.root()
	root.mu.Lock()
	defer root.mu.Unlock()
	root.started++
	return root.started
}

// start creates a world with a controller and a sidecar. At its end, the test fails if an invariant of all
// worlds was violated.
func start(t *testing.T, o setup) *world {
	t.Helper()
	env := testenv.Start(t, testenv.Options{CRDs: o.crds})
	w := &world{
		Env: env, t: t, setup: o, namespace: newNamespace(t, env, o.unguarded), tape: &tape{}, lags: &lags{}, log: &logbook{},
		spans: tracetest.NewSpanRecorder(), metrics: map[string][]*prometheus.Registry{}, lives: &lives{processes: map[string]*process{}}, end: t,
	}
	w.log.showIfFailed(t)
	if o.fake.Name == "" {
		w.setup.fake.Name = w.namespace + ".fake.cooper.dev"
	}
	w.applyRoles()
	w.sockets = processtest.ShortTempDir(t)
	w.rules = strict.New(strict.Options{Window: o.window})
	w.setup.fake.ServerOptions = []grpc.ServerOption{grpc.StatsHandler(otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(w.tracer()), otelgrpc.WithPropagators(propagation.TraceContext{})))}
	if !w.old() { // the rules apply only to v1alpha2
		w.setup.fake.ServerOptions = append(w.setup.fake.ServerOptions, w.rules.ServerOptions()...)
	}
	w.endpoint = "unix://" + filepath.Join(w.sockets, "driver.sock")
	w.startDriver()
	t.Cleanup(func() {
		if err := w.server.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.judge)
	t.Cleanup(w.emptied)
	if !o.idle {
		w.runController()
		w.runSidecar()
	}
	return w
}

// startDriver starts the driver of the setup.
func (w *world) startDriver() {
	w.t.Helper()
	w.driver = memdriver.New(w.setup.fake)
	server, err := w.driver.Start(w.vendorEndpoint())
	w.must(err)
	w.server = server
	if w.old() {
		w.entries = credentials.NewMemory()
		w.stopAdapter = w.runAdapter(w.entries)
	}
}

// newNamespace creates a namespace that is not deleted until the control plane ends. Leftovers in it do not
// affect other tests, and deleting it would cost the namespace controller more requests than most tests make.
func newNamespace(t *testing.T, env *testenv.Env, unguarded bool) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "world-"}}
	if unguarded {
		namespace.Labels = map[string]string{unguardedLabel: ""}
	}
	if err := env.Client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

// judge fails the test if an invariant of all worlds was violated.
func (w *world) judge() {
	arrived := map[string]int{}
	for who, user := range map[string]string{theController: w.user(theController), theSidecar: w.user(theSidecar)} {
		for _, e := range w.Audit(controlplane.AuditFilter{User: user}) {
			arrived[e.UserAgent]++
			if e.Code == 403 && !(e.Verb == "create" && e.Namespace == w.namespace && w.terminating()) { // expected in a terminating namespace, where nothing may be created
				w.t.Errorf("the roles of the %s do not allow it to %s %s/%s %s/%s", who, e.Verb, e.Resource, e.Subresource, e.Namespace, e.Name)
			}
		}
	}
	w.fenced(arrived)
	for _, reason := range w.tape.written() {
		if r := conditions.Reason(reason); r.Owner() == conditions.Unowned && r != conditions.Initial {
			w.t.Errorf("the reason %q of a condition is not in the list", reason)
		}
	}
	for _, contradiction := range w.tape.contradictions {
		w.t.Error(contradiction)
	}
	for _, violation := range w.rules.Violations() {
		w.t.Errorf("the sidecar breaks a rule of the contract: %s", violation)
	}
	if n := w.driver.MaxConcurrency(""); n > 1 {
		w.t.Errorf("%d calls for one ID ran at once", n)
	}
}

// fenced fails the test if the API server and the driver received more from a process than it had sent before
// it died.
func (w *world) fenced(arrived map[string]int) {
	left, called := map[string]int{}, 0
	for _, p := range w.lives.all {
		asked, calls := p.sent()
		left[p.life], called = asked, called+calls
	}
	for life, n := range arrived {
		if n > left[life] {
			w.t.Errorf("%d requests came from %q, and %d had left it while it lived", n, life, left[life])
		}
	}
	if n := len(w.driver.Calls()); n > called && !w.old() { // an adapter makes calls of its own
		w.t.Errorf("the driver got %d calls, and %d had left a sidecar while it lived", n, called)
	}
}

// user returns the user name of a component in this world, which is that of a service account in its
// namespace.
func (w *world) user(who string) string { return "system:serviceaccount:" + w.namespace + ":" + who }

// runController starts a controller. It stops at the end of the test.
func (w *world) runController() *process {
	w.t.Helper()
	p, config := w.prepare(theController)
	if w.setup.programs {
		w.runProgram(p, config)
		return p
	}
	o := controller.ManagerOptions{
		Controller: controller.Options{
			Scope: w.scope(), Registerer: w.registry(theController), Name: w.namespace,
			Resync: orNever(w.setup.resync), Backoff: w.backoff(), Patience: w.setup.patience, DeletionPatience: w.setup.patience, TracerProvider: w.tracer(),
			LostClaimGrace: w.setup.lostClaimGrace,
		},
		Logger: w.logger(theController), GracePeriod: graceful,
	}
	if w.setup.leases {
		o.LeaderNamespace = w.namespace
	}
	mgr, err := controller.NewManager(config, o)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	p.cancel = cancel
	p.run(ctx, mgr)
	return p
}

// runSidecar starts a sidecar with its own connection to the driver. It stops at the end of the test.
func (w *world) runSidecar() *process {
	w.t.Helper()
	p, config := w.prepare(theSidecar)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	p.cancel = cancel
	socket := filepath.Join(w.sockets, fmt.Sprintf("proxy-%d.sock", w.next()))
	passes, err := newProxy(p, socket, w.endpoint)
	if err != nil {
		w.t.Fatal(err)
	}
	p.proxy = passes
	if w.setup.programs {
		cancel()
		w.runProgram(p, config, "--driver-address=unix://"+socket, "--owner="+w.namespace+"/driver", fmt.Sprintf("--watch-secrets=%t", w.setup.watchSecrets))
		return p
	}
	registry := w.registry(theSidecar)
	driver, err := sidecar.Connect(ctx, sidecar.ConnectOptions{
		Address: "unix://" + socket, Deadline: w.setup.deadline, InfoInterval: 200 * time.Millisecond,
		Registerer: registry, Logger: w.logger(theSidecar), TracerProvider: w.tracer(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	p.driver = driver
	o := sidecar.ManagerOptions{
		Sidecar: sidecar.Options{
			Driver: driver, Scope: w.scope(), Registerer: registry,
			Resync: orNever(w.setup.resync), SecretPoll: orNever(w.setup.poll), Backoff: w.backoff(),
			WatchSecrets: w.setup.watchSecrets, TracerProvider: w.tracer(),
			Workers: w.setup.workers, RegrantRate: w.setup.regrantRate,
		},
		Logger: w.logger(theSidecar), CredentialStore: w.store,
	}
	if w.setup.leases {
		o.LeaderNamespace, o.Owner = w.namespace, w.namespace+"/driver"
		o.Lease = ctrlmanager.LeaseTimes{Duration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 500 * time.Millisecond}
	}
	mgr, err := sidecar.NewManager(config, o)
	if err != nil {
		w.t.Fatal(err)
	}
	p.run(ctx, mgr)
	return p
}

// prepare creates a process without a manager, and its client configuration.
func (w *world) prepare(who string) (*process, *rest.Config) {
	w.t.Helper()
	w.untilAllowed(who)
	p := &process{who: who, tape: w.tape, lags: w.lags, life: fmt.Sprintf("%s-%s-%d", who, w.namespace, w.next()), ended: make(chan struct{})}
	config := rest.CopyConfig(w.User(w.user(who)))
	if w.setup.wrap != nil {
		config.Wrap(w.setup.wrap)
	}
	config.Wrap(func(next roundTripper) roundTripper { return &transport{process: p, next: next} })
	w.lives.add(p)
	w.end.Cleanup(func() {
		if p.cancel == nil {
			return
		}
		if err := p.stop(); err != nil {
			w.end.Errorf("%s: %v", who, err)
		}
	})
	return p, config
}

// stop gracefully stops the latest process of a component.
func (w *world) stop(who string) {
	w.t.Helper()
	if err := w.process(who).stop(); err != nil {
		w.t.Errorf("%s: %v", who, err)
	}
}

func (w *world) process(who string) *process {
	w.lives.mu.Lock()
	defer w.lives.mu.Unlock()
	return w.lives.processes[who]
}

func (w *world) next() int { return w.lives.next() }

func (w *world) scope() reconciler.Scope { return reconciler.Scope{Namespaces: []string{w.namespace}} }

// tracer returns the tracer provider of all processes in a world.
func (w *world) tracer() trace.TracerProvider {
	if !w.setup.traced {
		return noop.NewTracerProvider()
	}
	return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(w.spans))
}

func (w *world) registry(who string) *prometheus.Registry {
	r := prometheus.NewRegistry()
	w.lives.mu.Lock()
	defer w.lives.mu.Unlock()
	w.metrics[who] = append(w.metrics[who], r)
	return r
}

func (w *world) backoff() reconciler.BackoffOptions {
	if w.setup.backoff == (reconciler.BackoffOptions{}) {
		return reconciler.BackoffOptions{Base: never, Max: never}
	}
	return w.setup.backoff
}

func orNever(d time.Duration) time.Duration {
	if d == 0 {
		return never
	}
	return d
}

// eventually is Eventually with the timeout of this package.
func (w *world) eventually(what string, check func(context.Context) error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience())
	defer cancel()
	err := controlplane.Until(ctx, func(ctx context.Context) error {
		select {
		case <-w.died:
			runtime.Goexit() // the process that should do this is dead
		default:
		}
		return check(ctx)
	})
	if err != nil {
		w.t.Fatalf("waiting until %s: %v\nrequests so far:\n%s", what, err, strings.Join(w.tape.done(func(entry) bool { return true }), "\n"))
	}
}

// A logbook collects the logs of all processes in a world.
type logbook struct {
	mu    sync.Mutex
	lines []string
}

// shown is how many lines of the log a failed test prints.
const shown = 150

func (w *world) logger(who string) logr.Logger {
	return funcr.New(func(prefix, args string) {
		w.log.mu.Lock()
		defer w.log.mu.Unlock()
		w.log.lines = append(w.log.lines, who+" "+prefix+" "+args)
	}, funcr.Options{Verbosity: 2})
}

func (l *logbook) showIfFailed(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !t.Failed() {
			return
		}
		lines := l.lines
		if os.Getenv("COOPER_LIFECYCLE_LOG") == "" {
			lines = lines[max(0, len(lines)-shown):]
		}
		t.Logf("the end of the log (COOPER_LIFECYCLE_LOG=1 shows all):\n%s", strings.Join(lines, "\n"))
	})
}

// writer returns a logger for programs and servers that write lines.
func (l *logbook) writer(who string) *log.Logger { return log.New(lineWriter{l, who}, "", 0) }

type lineWriter struct {
	book *logbook
	who  string
}

// Write implements io.Writer.
func (w lineWriter) Write(p []byte) (int, error) {
	w.book.mu.Lock()
	defer w.book.mu.Unlock()
	w.book.lines = append(w.book.lines, w.who+" "+string(p))
	return len(p), nil
}

// count returns the number of lines that contain a text.
func (l *logbook) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// text returns all lines.
func (l *logbook) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// must fails the test if a request of an administrator or user failed.
func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// errNot is returned by a check that has no further details.
var errNot = errors.New("it is not so")
