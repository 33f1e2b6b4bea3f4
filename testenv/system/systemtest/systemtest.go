// SPDX-License-Identifier: Apache-2.0

// Package systemtest starts whole COSI systems on the shared control plane of a test binary. It extends
// package system only with a namespace for each test, failure messages and cleanup.
package systemtest

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/system"
)

// waitTimeout limits waits. It is long because it only delays failures.
const waitTimeout = 2 * time.Minute

// System is a system of one test.
type System struct {
	*system.System

	// Env is the test's view of the control plane.
	Env *testenv.Env
	// Namespace is the test's namespace. The system is limited to it unless the options name others.
	Namespace string

	tb testing.TB
}

// Start starts a system with its own namespace on the shared control plane, and stops it at the end of the
// test.
func Start(tb testing.TB, o system.Options) *System {
	tb.Helper()
	return StartOn(tb, testenv.Start(tb, testenv.Options{}), o)
}

// StartOn is Start on the control plane of env, which may be private.
func StartOn(tb testing.TB, env *testenv.Env, o system.Options) *System {
	tb.Helper()
	s := &System{Env: env, Namespace: env.Namespace(), tb: tb}
	o.ControlPlane = env.ControlPlane
	if o.Namespaces == nil {
		o.Namespaces = []string{s.Namespace}
	}
	if o.Name == "" {
		o.Name = s.Namespace
	}
	started, err := system.Start(tb.Context(), o)
	if err != nil {
		tb.Fatalf("system: %v", err)
	}
	tb.Cleanup(func() {
		if err := started.Stop(); err != nil {
			tb.Errorf("system: %v", err)
		}
	})
	s.System = started
	return s
}

// NewDriver returns an in-memory driver and its configuration for a system. If the options set no name, the
// driver gets a unique one. This matters because Buckets are cluster-scoped, and every system with a driver of
// that name could serve them.
func NewDriver(tb testing.TB, o memdriver.Options) (*memdriver.Driver, system.Driver) {
	tb.Helper()
	if o.Name == "" {
		o.Name = "d" + strings.ToLower(rand.Text()) + ".example.com"
	}
	driver := memdriver.New(o)
	return driver, system.Driver{Name: driver.Name(), Serve: driver.Serve}
}

// Create creates the objects as an administrator.
func (s *System) Create(objects ...client.Object) {
	s.tb.Helper()
	for _, object := range objects {
		if err := s.Client().Create(s.tb.Context(), object); err != nil {
			s.tb.Fatalf("cannot create %T %s: %v", object, client.ObjectKeyFromObject(object), err)
		}
	}
}

// WaitCondition waits until object has the condition with status True for its generation. It reads the object
// into object.
func (s *System) WaitCondition(object client.Object, condition string) {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(s.tb.Context(), waitTimeout)
	defer cancel()
	if err := system.WaitCondition(ctx, s.Client(), object, condition, metav1.ConditionTrue); err != nil {
		s.tb.Fatal(err)
	}
}

// Delete deletes object and waits until it no longer exists.
func (s *System) Delete(object client.Object) {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(s.tb.Context(), waitTimeout)
	defer cancel()
	if err := client.IgnoreNotFound(s.Client().Delete(ctx, object)); err != nil {
		s.tb.Fatalf("cannot delete %T %s: %v", object, client.ObjectKeyFromObject(object), err)
	}
	if err := system.WaitGone(ctx, s.Client(), object); err != nil {
		s.tb.Fatal(err)
	}
}

// Restart stops the component and starts it again.
func (s *System) Restart(component *system.Component) {
	s.tb.Helper()
	s.StopComponent(component)
	s.StartComponent(component)
}

// StopComponent stops the component.
func (s *System) StopComponent(component *system.Component) {
	s.tb.Helper()
	if err := component.Stop(); err != nil {
		s.tb.Fatal(err)
	}
}

// StartComponent starts the component and returns when it works.
func (s *System) StartComponent(component *system.Component) {
	s.tb.Helper()
	if err := component.Start(s.tb.Context()); err != nil {
		s.tb.Fatal(err)
	}
}
