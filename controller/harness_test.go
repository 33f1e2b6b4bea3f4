// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // each manager has its own logger
	testenv.Main(m)
}

// never is longer than any test, so only watches can trigger a reconcile.
const never = time.Hour

// brief is a Patience that tests can wait for.
const brief = 200 * time.Millisecond

// A system is one namespace with a Controller that is restricted to it. The test acts as user, administrator and
// sidecar.
type system struct {
	*testenv.Env

	t *testing.T
	// namespace is the namespace of claims and accesses. It is also the driver's name and part of the names of all
	// cluster-scoped objects.
	namespace string
	user      string
	metrics   *prometheus.Registry
	// wrapClient, if set before run, wraps the Controller's client.
	wrapClient func(client.Client) client.Client
	// backoff, if set before run, is for tests of failing requests. In all other tests, only watches trigger a
	// reconcile.
	backoff reconciler.BackoffOptions
	// patience, if set before run, is the Patience of the Controller.
	patience time.Duration
}

// shortTests are the tests with a system that the short tier runs. They differ in what they cover.
var shortTests = []string{
	"TestAccessIsHandedOffInOneWrite", "TestAccessCreatedBeforeItsClaim", "TestLastAccessTakesTheMarkOff",
	"TestClaimGetsABucketInFourWrites", "TestRestartedControllerWritesNothing",
	"TestWritesOfTheWholeLife", "TestReadyBesideAnEarlierSidecar", "TestImport", "TestReferenceOfAnotherClaimsAccess", "TestUsersServeThemselves",
}

// newSystem creates a namespace and a user with exactly the Controller's roles. At its end, the test fails if the API
// server has refused a request of that user.
func newSystem(t *testing.T) *system {
	t.Helper()
	fulltest.Named(t, shortTests)
	env := testenv.Start(t, testenv.Options{})
	s := &system{Env: env, t: t, namespace: env.Namespace(), metrics: prometheus.NewRegistry(), backoff: reconciler.BackoffOptions{Base: never, Max: never}}
	s.user = "controller-" + s.namespace
	s.ApplyClusterRoles()
	s.Create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: deploy.ControllerRole},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: s.user}},
	})
	t.Cleanup(func() {
		for _, e := range env.Audit(controlplane.AuditFilter{User: s.user}) {
			if e.Code == 403 {
				t.Errorf("the Controller's roles do not allow it to %s %s/%s %s/%s", e.Verb, e.Resource, e.Subresource, e.Namespace, e.Name)
			}
		}
	})
	return s
}

// start calls newSystem and runs a Controller.
func start(t *testing.T) *system {
	t.Helper()
	s := newSystem(t)
	s.run()
	return s
}

// run starts a Controller. It stops at the end of the test or when the returned function is called.
func (s *system) run() (stop func()) {
	s.t.Helper()
	config := s.User(s.user)
	s.Eventually("the Controller's role counts", s.mayWork)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: s.Scheme(), Logger: s.logger(),
		Cache:     cache.Options{DefaultNamespaces: map[string]cache.Config{s.namespace: {}}},
		Metrics:   metricsserver.Options{BindAddress: "0"},
		NewClient: s.newClient,
	})
	if err != nil {
		s.t.Fatalf("manager: %v", err)
	}
	err = controller.Add(mgr, controller.Options{
		Scope: reconciler.Scope{Namespaces: []string{s.namespace}}, Registerer: s.metrics, Name: s.namespace,
		Resync: never, Backoff: s.backoff, Patience: s.patience, DeletionPatience: s.patience,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("controller: %v", err)
		}
	}
	s.t.Cleanup(stop)
	return stop
}

// mayWork checks whether the Controller's user has its role already, without a request that could be refused.
func (s *system) mayWork(ctx context.Context) error {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               s.user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: cosiapi.GroupName, Resource: "bucketclasses", Verb: "list"},
	}}
	if err := s.Client.Create(ctx, review); err != nil {
		return err
	}
	if !review.Status.Allowed {
		return errors.New("it does not: " + review.Status.Reason)
	}
	return nil
}

// logger collects the logs of the Controller and prints them if the test fails.
func (s *system) logger() logr.Logger {
	var mu sync.Mutex
	var lines []string
	s.t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		if s.t.Failed() {
			s.t.Logf("log of the Controller:\n%s", strings.Join(lines, "\n"))
		}
	})
	return funcr.New(func(prefix, args string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, prefix+" "+args)
	}, funcr.Options{Verbosity: 1})
}

func (s *system) newClient(config *rest.Config, options client.Options) (client.Client, error) {
	c, err := client.New(config, options)
	if err != nil || s.wrapClient == nil {
		return c, err
	}
	return s.wrapClient(c), nil
}

// settled waits until the Controller is idle: it creates a claim and an access and waits until they are reconciled,
// after everything else.
func (s *system) settled() {
	s.t.Helper()
	claim := s.claim(fmt.Sprintf("fence-%d", time.Now().UnixNano()), "no-such-class")
	s.Create(claim)
	access := s.access(claim.Name, "no-such-class", claim.Name)
	s.Create(access)
	s.untilCondition(claim, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForClass)
	s.untilCondition(access, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForClass)
	s.Delete(access)
	s.Delete(claim)
	s.Gone(access)
	s.Gone(claim)
}

// untilCondition waits until a claim or access has a condition.
func (s *system) untilCondition(obj client.Object, conditionType string, status metav1.ConditionStatus, reason conditions.Reason) {
	s.t.Helper()
	testenv.UntilCondition(s.Env, obj, metav1.Condition{Type: conditionType, Status: status, Reason: string(reason)})
}

// writes returns the Controller's successful writes as "verb resource/subresource name", oldest first. It omits Events
// and the objects of settled: the API server answers before it logs a request, so the last ones may be logged later.
func (s *system) writes() []string {
	s.t.Helper()
	var all []string
	for _, e := range s.Audit(controlplane.AuditFilter{User: s.user, WritesOnly: true}) {
		if e.Resource == "events" || strings.HasPrefix(e.Name, "fence-") {
			continue
		}
		resource := e.Resource
		if e.Subresource != "" {
			resource += "/" + e.Subresource
		}
		all = append(all, fmt.Sprintf("%s %s %s", e.Verb, resource, e.Name))
	}
	return all
}

// conflicts returns the number of the Controller's requests that failed with a conflict, except for the objects that
// settled deletes at once.
func (s *system) conflicts() int {
	s.t.Helper()
	return len(slices.DeleteFunc(s.Audit(controlplane.AuditFilter{User: s.user}), func(e controlplane.AuditEvent) bool {
		return e.Code != 409 || strings.HasPrefix(e.Name, "fence-")
	}))
}

// withoutCancel returns a context for cleanups, which run after the test's context has ended.
func withoutCancel(t *testing.T) context.Context {
	t.Helper()
	return context.WithoutCancel(t.Context())
}
