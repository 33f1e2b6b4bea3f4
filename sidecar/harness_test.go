// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/sidecar"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	testenv.Main(m)
}

// never is longer than any test, so only watches can trigger a reconcile.
const never = time.Hour

// A system is one namespace with a driver and a Sidecar that are restricted to it. The test acts as user,
// administrator and Controller.
type system struct {
	*testenv.Env

	t *testing.T
	// namespace is the namespace of the accesses. It is also part of the names of all cluster-scoped objects.
	namespace string
	user      string
	metrics   *prometheus.Registry
	driver    *memdriver.Driver
	endpoint  string
	server    *memdriver.Server
	// options are the options of the Sidecars that run starts, and deadline is that of their calls.
	options  sidecar.Options
	deadline time.Duration
	// parameters are the parameters of access classes.
	parameters map[string]string
	// manager has the options of the Sidecars' managers, for leader election.
	manager sidecar.ManagerOptions
	// log receives the log of the Sidecars. Nil drops it.
	log func(string)
	// wrap changes how the Sidecars reach the API server.
	wrap func(*rest.Config) *rest.Config
	// refused reports that requests are refused on purpose, by a quota or missing permissions.
	refused bool
	// cancel stops the last Sidecar that run started.
	cancel context.CancelFunc
}

// shortTests are the tests with a system that the short tier runs. They differ in what they cover.
var shortTests = []string{
	"TestImportedBucketIsVerified", "TestDriverRestarts", "TestCredentialStoreDuringARPC", "TestDriverOfUpstream", "TestLeaderHandsOver",
	"TestLifecycle", "TestRightsInOneNamespace", "TestTooManyRequests", "TestRotationGrantsAgain",
}

// newSystem creates a namespace, a running driver, and a user with exactly the Sidecar's roles. At its end, the test
// fails if the API server has refused a request of that user, or if two calls for one ID ran at the same time.
func newSystem(t *testing.T, fake memdriver.Options) *system {
	t.Helper()
	fulltest.Named(t, shortTests)
	env := testenv.Start(t, testenv.Options{})
	s := &system{Env: env, t: t, namespace: env.Namespace(), metrics: prometheus.NewRegistry()}
	s.user = "system:serviceaccount:" + s.namespace + ":sidecar"
	s.ApplyClusterRoles()
	s.bind(deploy.SidecarRole)
	if fake.Name == "" {
		fake.Name = s.namespace + ".fake.cooper.dev"
	}
	s.driver, s.endpoint = memdriver.New(fake), "unix://"+filepath.Join(processtest.ShortTempDir(t), "d.sock")
	s.serve()
	s.options = sidecar.Options{
		Scope: reconciler.Scope{Namespaces: []string{s.namespace}}, Registerer: s.metrics,
		Resync: never, SecretPoll: never, Backoff: reconciler.BackoffOptions{Base: never, Max: never},
	}
	s.parameters = map[string]string{"plan": "basic"}
	t.Cleanup(s.judge)
	return s
}

// start calls newSystem and runs a Sidecar.
func start(t *testing.T, fake memdriver.Options) *system {
	t.Helper()
	s := newSystem(t, fake)
	s.run()
	return s
}

// judge fails the test if something happened that must not happen in any test.
func (s *system) judge() {
	for _, e := range s.Audit(controlplane.AuditFilter{User: s.user}) {
		if e.Code == 403 && !s.refused {
			s.t.Errorf("the Sidecar's roles do not allow it to %s %s/%s %s/%s", e.Verb, e.Resource, e.Subresource, e.Namespace, e.Name)
		}
	}
	if n := s.driver.MaxConcurrency(""); n > 1 {
		s.t.Errorf("%d calls for one ID ran at once", n)
	}
}

// serve runs the driver on its socket until stopServing or the end of the test.
func (s *system) serve() {
	s.t.Helper()
	server, err := s.driver.Start(s.endpoint)
	if err != nil {
		s.t.Fatal(err)
	}
	s.server = server
	s.t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			s.t.Error(err)
		}
	})
}

func (s *system) stopServing() {
	s.t.Helper()
	if err := s.server.Stop(); err != nil {
		s.t.Fatal(err)
	}
}

// run starts a Sidecar with its own connection to the driver. It stops at the end of the test or when the returned
// function is called.
func (s *system) run() (stop func()) {
	s.t.Helper()
	cancel, done := s.launch()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("sidecar: %v", err)
		}
	}
	s.t.Cleanup(stop)
	return stop
}

// launch is run for a Sidecar that may end on its own. The channel receives its error.
func (s *system) launch() (stop context.CancelFunc, ended <-chan error) {
	s.t.Helper()
	s.untilRolesCount()
	config := s.User(s.user)
	if s.wrap != nil {
		config = s.wrap(config)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	s.cancel = cancel
	logger := logr.Discard()
	if s.log != nil {
		logger = logrFunc(s.log)
	}
	driver, err := sidecar.Connect(ctx, sidecar.ConnectOptions{
		Address: s.endpoint, Deadline: s.deadline, InfoInterval: 100 * time.Millisecond, Registerer: s.metrics, Logger: logger,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	options := s.options
	options.Driver = driver
	manager := s.manager
	manager.Sidecar, manager.Logger = options, logger
	mgr, err := sidecar.NewManager(config, manager)
	if err != nil {
		s.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		err := mgr.Start(ctx)
		driver.Close()
		done <- err
	}()
	return cancel, done
}

// untilRolesCount waits until the API server knows the permissions of the Sidecar's user. It asks as administrator,
// because judge counts refused requests of the user.
func (s *system) untilRolesCount() {
	s.t.Helper()
	s.untilMay(true, authorizationv1.ResourceAttributes{Group: cosiapi.GroupName, Resource: "buckets", Verb: "list"})
	if s.options.WatchSecrets {
		s.untilMay(true, authorizationv1.ResourceAttributes{Resource: "secrets", Verb: "watch", Namespace: s.namespace})
	}
	if s.manager.LeaderNamespace != "" {
		s.untilMay(true, authorizationv1.ResourceAttributes{
			Group: "coordination.k8s.io", Resource: "leases", Verb: "update", Namespace: s.namespace, Name: sidecar.LeaseName(s.driver.Name()),
		})
	}
}

// bind gives the Sidecar's user a ClusterRole.
func (s *system) bind(role string) {
	s.t.Helper()
	s.Create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.user + "-" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: s.user}},
	})
}

// bindLeader gives the Sidecar's user, in the namespace of the test, the permissions that it has in the system
// namespace: to use the Lease of its driver.
func (s *system) bindLeader() {
	s.t.Helper()
	manifest, err := deploy.DriverLease(s.driver.Name())
	if err != nil {
		s.t.Fatal(err)
	}
	s.createAll(manifest)
	s.bindIn(s.namespace, "Role", deploy.DriverLeaderRole(s.driver.Name()))
}

// bindCredentials lets the Sidecar's user keep a credential store in the namespace of the test, with the Role that it
// has in the driver's namespace.
func (s *system) bindCredentials() {
	s.t.Helper()
	manifest, err := deploy.DriverCredentials(s.namespace)
	if err != nil {
		s.t.Fatal(err)
	}
	s.createAll(manifest)
	s.bindIn(s.namespace, "Role", deploy.DriverCredentialsRole)
}

// createAll creates the objects of a manifest in the namespace of the test.
func (s *system) createAll(manifest []byte) {
	s.t.Helper()
	for document := range strings.SplitSeq(string(manifest), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			s.t.Fatal(err)
		}
		object.SetNamespace(s.namespace)
		s.Create(object)
	}
}

// bindIn gives the Sidecar's user a Role or ClusterRole in one namespace.
func (s *system) bindIn(namespace, kind, role string) {
	s.t.Helper()
	s.Create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: s.user + "-" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: s.user}},
	})
}

// untilCondition waits until a Bucket or access has a condition, and returns its message.
func (s *system) untilCondition(obj client.Object, conditionType string, status metav1.ConditionStatus, reason conditions.Reason) string {
	s.t.Helper()
	return testenv.UntilCondition(s.Env, obj, metav1.Condition{Type: conditionType, Status: status, Reason: string(reason)})
}

// ready waits until a Bucket or access is provisioned.
func (s *system) ready(obj client.Object) {
	s.t.Helper()
	s.untilCondition(obj, cosiapi.ConditionProvisioned, metav1.ConditionTrue, conditions.Provisioned)
}

// calls returns the RPCs that the driver received, except DriverGetInfo, oldest first.
func (s *system) calls() []memdriver.RPC {
	var rpcs []memdriver.RPC
	for _, call := range s.driver.Calls() {
		if call.RPC != memdriver.GetInfo {
			rpcs = append(rpcs, call.RPC)
		}
	}
	return rpcs
}

// await waits until n calls of an RPC have ended.
func (s *system) await(rpc memdriver.RPC, n int) []memdriver.Call {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 3*time.Minute)
	defer cancel()
	calls, err := s.driver.Await(ctx, memdriver.Finished(n), rpc)
	if err != nil {
		s.t.Fatalf("waiting for %d calls of %s: %v, got %d", n, rpc, err, len(calls))
	}
	return calls
}

// writes returns the Sidecar's successful writes, without Events, as "verb resource/subresource", oldest first.
func (s *system) writes() []string {
	s.t.Helper()
	var writes []string
	for _, e := range s.Audit(controlplane.AuditFilter{User: s.user, WritesOnly: true}) {
		if e.Resource == "events" || e.Resource == "leases" {
			continue
		}
		writes = append(writes, strings.TrimSuffix(e.Verb+" "+e.Resource+"/"+e.Subresource, "/"))
	}
	return writes
}

// The writes of the Sidecar for a Bucket and for an access to it.
var (
	writesOfBucket = []string{"patch buckets", "patch buckets/status", "patch buckets/status"}
	writesOfAccess = []string{"create secrets", "patch bucketaccesses/status", "patch secrets", "patch bucketaccesses/status"}
)

// untilWrites waits until the Sidecar has made exactly these writes.
func (s *system) untilWrites(want ...string) {
	s.t.Helper()
	s.UntilWrites(s.writes, 0, want...)
}

// settled waits until the Sidecar is idle: it creates a Bucket and waits until it is reconciled, after everything
// else.
func (s *system) settled() {
	s.t.Helper()
	fence := s.bucket()
	fence.Spec.ExistingBucketID, fence.Spec.DeletionPolicy = "fence", cosiapi.DeletionPolicyRetain
	fence.Spec.BucketClaimRef.UID = ""
	remove := s.driver.Script(memdriver.Fault{RPC: memdriver.GetBucket, ID: "fence", Times: memdriver.Always, Code: 5})
	defer remove()
	s.Create(fence)
	s.untilCondition(fence, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.Retrying)
	s.Delete(fence)
	s.Gone(fence)
}
