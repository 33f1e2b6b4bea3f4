// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
	"github.com/cooper-cosi/cooper/testenv/system"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// wantNoError ends the test if there is an error.
func wantNoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func TestTheControllerWorksInItsNamespaceAndCanBeRestarted(t *testing.T) {
	t.Parallel()
	s := systemtest.Start(t, system.Options{})
	class := newClass(s.Namespace)
	first := newClaim(s.Namespace, "first", class)
	foreign := newClaim(s.Env.Namespace(), "foreign", class)
	s.Create(class, foreign, first)
	waitBound(t, s, first)

	s.StopComponent(s.Controller())
	second := newClaim(s.Namespace, "second", class)
	s.Create(second)
	s.StartComponent(s.Controller())
	waitBound(t, s, second)

	wantNoError(t, s.Client().Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign))
	if len(foreign.Finalizers) > 0 || foreign.Status.BoundBucketName != "" {
		t.Errorf("a claim outside of the system's namespaces was worked on: %+v", foreign)
	}
}

func TestTheControllerHasOnlyTheRightsOfItsRole(t *testing.T) {
	t.Parallel()
	s := systemtest.Start(t, system.Options{})
	user := "system:serviceaccount:cosi-system:cosi-controller-" + s.Namespace
	c := s.Env.ClientFor(s.Env.User(user))
	if err := c.List(t.Context(), &cosiapi.BucketClaimList{}); err != nil {
		t.Errorf("it may not list claims: %v", err)
	}
	if err := c.List(t.Context(), &corev1.SecretList{}, client.InNamespace(s.Namespace)); !apierrors.IsForbidden(err) {
		t.Errorf("list Secrets: %v, want forbidden", err)
	}
	class := newClass(s.Namespace)
	claim := newClaim(s.Namespace, "photos", class)
	s.Create(class, claim)
	waitBound(t, s, claim)
	s.Env.Eventually("its writes are recorded under its name", func(context.Context) error {
		writes := s.Env.Audit(controlplane.AuditFilter{User: user, WritesOnly: true, Resources: []string{"bucketclaims", "buckets"}})
		if len(writes) == 0 {
			return errors.New("no write of " + user)
		}
		return nil
	})
}

func TestADriverServesOnAShortSocketUntilItIsStopped(t *testing.T) {
	t.Parallel()
	_, part := systemtest.NewDriver(t, memdriver.Options{})
	name := part.Name
	s := systemtest.Start(t, system.Options{Drivers: []system.Driver{part}})
	path := strings.TrimPrefix(s.Endpoint(name), "unix://")
	if len(path) > 60 || filepath.Ext(path) != ".sock" {
		t.Errorf("the socket is %q", path)
	}
	if err := dial(t, path); err != nil {
		t.Error(err)
	}
	s.StopComponent(s.Driver(name))
	if err := dial(t, path); err == nil {
		t.Error("a stopped driver still accepts connections")
	}
	s.StartComponent(s.Driver(name))
	if err := dial(t, path); err != nil {
		t.Error(err)
	}
	wantNoError(t, s.Stop())
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of sockets is still there (%v)", err)
	}
}

func TestADriverThatFailsFailsTheStart(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	_, err := system.Start(t.Context(), system.Options{
		ControlPlane: env.ControlPlane, Namespaces: []string{env.Namespace()}, Name: "fails",
		Drivers: []system.Driver{{
			Name:  "broken.example.com",
			Serve: func(context.Context, string) error { return errors.New("no disk") },
		}},
	})
	wantParts(t, err, "the driver broken.example.com did not start: no disk")
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	of := func(drivers ...system.Driver) system.Options { return system.Options{Drivers: drivers} }
	tests := map[string]struct {
		options system.Options
		want    string
	}{
		"a driver without a name":         {of(system.Driver{Serve: listen}), "has no name"},
		"two drivers of one name":         {of(system.Driver{Name: "a", Serve: listen}, system.Driver{Name: "a", Serve: listen}), "two drivers have the name a"},
		"neither Serve nor Endpoint":      {of(system.Driver{Name: "a"}), "needs exactly one of Serve and Endpoint"},
		"both Serve and Endpoint are set": {of(system.Driver{Name: "a", Serve: listen, Endpoint: "unix:///a.sock"}), "needs exactly one of"},
		"Leases that others may hold":     {system.Options{HoldLeases: true, ControlPlane: &controlplane.ControlPlane{}}, "starts its own control plane"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := system.Start(t.Context(), tc.options)
			wantParts(t, err, tc.want)
		})
	}
}

func TestASystemOnItsOwnControlPlaneStopsIt(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "the tests of testenv/controlplane start and stop control planes")
	s, err := system.Start(t.Context(), system.Options{})
	wantNoError(t, err)
	if err := s.Client().List(t.Context(), &cosiapi.BucketList{}); err != nil {
		t.Error(err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if err := s.Client().List(t.Context(), &cosiapi.BucketList{}); err == nil {
		t.Error("its control plane still responds")
	}
}

func TestAWaitThatEndsTellsWhatItSaw(t *testing.T) {
	t.Parallel()
	s := systemtest.Start(t, system.Options{})
	claim := newClaim(s.Namespace, "photos", newClass("missing-"+s.Namespace))
	s.Create(claim)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := system.WaitCondition(ctx, &untilReported{Client: s.Client(), end: cancel}, claim, cosiapi.ConditionProvisioned, metav1.ConditionTrue)
	wantParts(t, err, s.Namespace+"/photos is not Provisioned=True", "Provisioned=Unknown")
}

// untilReported ends a wait at the read after the first one that shows the condition Provisioned.
type untilReported struct {
	client.Client

	end   context.CancelFunc
	shown bool
}

func (c *untilReported) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, key, obj, opts...)
	if c.shown {
		c.end()
	}
	c.shown = testenv.Condition(obj, cosiapi.ConditionProvisioned).Status != ""
	return err
}

// listen serves a driver whose socket never accepts connections.
func listen(context.Context, string) error { return nil }

func dial(t *testing.T, path string) error {
	t.Helper()
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path)
	if err != nil {
		return err
	}
	return connection.Close()
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

func newClass(name string) *cosiapi.BucketClass {
	return &cosiapi.BucketClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       cosiapi.BucketClassSpec{DriverName: "listener.example.com", DeletionPolicy: cosiapi.DeletionPolicyRetain},
	}
}

func newClaim(namespace, name string, class *cosiapi.BucketClass) *cosiapi.BucketClaim {
	return &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: class.Name, Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
	}
}

// waitBound waits until the controller has bound the claim to a Bucket.
func waitBound(t *testing.T, s *systemtest.System, claim *cosiapi.BucketClaim) {
	t.Helper()
	s.Env.Eventually("claim "+claim.Name+" is bound", func(ctx context.Context) error {
		if err := s.Client().Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if claim.Status.BoundBucketName == "" {
			return fmt.Errorf("finalizers %q, status %+v", claim.Finalizers, claim.Status)
		}
		return nil
	})
}
