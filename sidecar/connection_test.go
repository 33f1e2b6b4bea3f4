// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/sidecar"
	"github.com/cooper-cosi/cooper/testenv"
)

// lines collects a log.
type lines struct {
	mu  sync.Mutex
	all []string
	// more, if set, receives a value after lines were added. It has a buffer of one.
	more chan struct{}
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
	select {
	case l.more <- struct{}{}:
	default:
	}
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, line := range l.all {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

func TestConnectAddress(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ address, message string }{
		"none":            {"", "no endpoint is set"},
		"a TCP address":   {"tcp://127.0.0.1:80", "not a UNIX socket address"},
		"a bare path":     {"/run/driver.sock", "not a UNIX socket address"},
		"a relative path": {"unix://run/driver.sock", "three slashes"},
		"not a .sock":     {"unix:///run/driver.socket", "does not end with a name and .sock"},
		"only a suffix":   {"unix:///run/.sock", "does not end with a name and .sock"},
		"a path too long": {"unix:///" + strings.Repeat("d", 103) + ".sock", "allows 107"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := sidecar.Connect(t.Context(), sidecar.ConnectOptions{Address: tc.address})
			if err == nil || !strings.Contains(err.Error(), tc.message) {
				t.Errorf("want an error with %q, got %v", tc.message, err)
			}
		})
	}
}

func TestConnectLogsTheWaitForTheDriverOnce(t *testing.T) {
	t.Parallel()
	endpoint := "unix://" + filepath.Join(processtest.ShortTempDir(t), "d.sock")
	log := &lines{more: make(chan struct{}, 1)}
	type result struct {
		driver *sidecar.Driver
		err    error
	}
	connected := make(chan result, 1)
	go func() {
		driver, err := sidecar.Connect(t.Context(), sidecar.ConnectOptions{Address: endpoint, Logger: logrFunc(log.add)})
		connected <- result{driver, err}
	}()
	for log.count("Waiting for the driver") == 0 {
		<-log.more
	}
	fake := memdriver.New(memdriver.Options{Name: "late.example.com"})
	server, err := fake.Start(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	got := <-connected
	if got.err != nil {
		t.Fatal(got.err)
	}
	if got.driver.Name() != "late.example.com" {
		t.Errorf("name: got %q", got.driver.Name())
	}
	if n := log.count("Waiting for the driver"); n != 1 {
		t.Errorf("it said %d times that it waits: %v", n, log.all)
	}
	got.driver.Close()
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}

func TestConnectGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	endpoint := "unix://" + filepath.Join(processtest.ShortTempDir(t), "d.sock")
	_, err := sidecar.Connect(ctx, sidecar.ConnectOptions{Address: endpoint})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), endpoint) {
		t.Errorf("want the address and the end of the context, got %v", err)
	}
}

// A driver that hangs in DriverGetInfo is not ready, until it responds.
func TestDriverThatDoesNotRespondIsNotReady(t *testing.T) {
	t.Parallel()
	endpoint := "unix://" + filepath.Join(processtest.ShortTempDir(t), "d.sock")
	fake := memdriver.New(memdriver.Options{})
	server, err := fake.Start(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	log := &lines{more: make(chan struct{}, 1)}
	driver, err := sidecar.Connect(t.Context(), sidecar.ConnectOptions{
		Address: endpoint, Deadline: 50 * time.Millisecond, InfoInterval: 5 * time.Millisecond, Logger: logrFunc(log.add),
	})
	if err != nil {
		t.Fatal(err)
	}
	until := func(ready bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for tick := time.Tick(time.Millisecond); (driver.Connected() == nil) != ready; {
			select {
			case <-tick:
			case <-ctx.Done():
				t.Fatalf("ready: want %v, got %v", ready, driver.Connected())
			}
		}
	}
	until(true)
	hold := make(chan struct{})
	mend := fake.Script(memdriver.Fault{RPC: memdriver.GetInfo, Hold: hold, Times: memdriver.Always})
	until(false)
	if err := driver.Connected(); err != nil && !strings.Contains(err.Error(), endpoint) {
		t.Errorf("it does not say which driver: %v", err)
	}
	mend()
	close(hold)
	until(true)
	driver.Close()
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}

func TestDriverRestarts(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	s.readyBucket()
	s.stopServing()
	b := s.bucket()
	s.Create(b)
	s.placeless(s.untilCondition(b, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.Retrying))
	s.serve()
	s.ready(b)
}

// placeless fails the test if a message, which users read, contains the path of the socket.
func (s *system) placeless(message string) {
	s.t.Helper()
	if strings.Contains(message, strings.TrimPrefix(s.endpoint, "unix://")) {
		s.t.Errorf("users read where the socket is: %s", message)
	}
}

// A driver that is being stopped finishes its running calls, as the Pod of a driver does. Their results are recorded,
// and they are not repeated.
func TestStoppingDriverEndsItsCallsFirst(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	log := &lines{more: make(chan struct{}, 1)}
	s.log = log.add
	s.stopServing()
	listener, err := net.Listen("unix", strings.TrimPrefix(s.endpoint, "unix://"))
	if err != nil {
		t.Fatal(err)
	}
	server, stopped := s.driver.NewServer(), make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	s.run()
	hold := make(chan struct{})
	s.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Hold: hold})
	b := s.bucket()
	s.Create(b)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if _, err := s.driver.Await(ctx, memdriver.Started(1), memdriver.CreateBucket); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		server.GracefulStop()
	}()
	for log.count("Lost the connection to the driver") == 0 {
		select {
		case <-log.more:
		case <-ctx.Done():
			t.Fatal("the sidecar does not notice that the driver stops")
		}
	}
	close(hold)
	<-ended
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	testenv.Until(s.Env, b, "the outcome of the call is recorded", func(b *cosiapi.Bucket) error {
		c := testenv.Condition(b, cosiapi.ConditionProvisionFailed)
		if c.Status == metav1.ConditionTrue {
			t.Fatalf("the call was cut off: %s", c.Message)
		}
		if c.Status != metav1.ConditionFalse {
			return errors.New("it is not")
		}
		return nil
	})
	s.serve()
	s.ready(b)
	if n := len(s.driver.Calls(memdriver.CreateBucket)); n != 1 {
		t.Errorf("DriverCreateBucket: want 1 call, got %d", n)
	}
}

func TestDriverComesBackUnderAnotherName(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	log := &lines{}
	s.log = log.add
	s.run()
	name := s.driver.Name()
	b := s.bucket()
	s.stopServing()
	s.driver.SetInfo(func(info *cosi.DriverGetInfoResponse) { info.Name = "impostor.example.com" })
	s.serve()
	// Until then, the Bucket would report the lost connection, and nothing would repeat the call.
	s.Eventually("the Sidecar has found the impostor", func(context.Context) error {
		if log.count("impostor.example.com") == 0 {
			return errors.New("its log does not name it")
		}
		return nil
	})
	s.Create(b)
	testenv.Until(s.Env, b, "the Bucket reports the problem", func(b *cosiapi.Bucket) error {
		message := testenv.Condition(b, cosiapi.ConditionProvisionFailed).Message
		if !strings.Contains(message, "impostor.example.com") {
			return fmt.Errorf("it says %q", message)
		}
		s.placeless(message)
		return nil
	})
	if calls := s.calls(); len(calls) > 0 {
		t.Errorf("the impostor was called: %v", calls)
	}
	s.stopServing()
	s.driver.SetInfo(func(info *cosi.DriverGetInfoResponse) { info.Name = name })
	s.serve()
	s.ready(b)
}

func TestDriverOfAnotherVersion(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	s.options.Resync = 50 * time.Millisecond
	s.run()
	fix := s.driver.Script(memdriver.Fault{RPC: memdriver.GenerateBucketID, Code: codes.Unimplemented, Times: memdriver.Always})
	b := s.bucket()
	s.Create(b)
	message := s.untilCondition(b, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.DriverIncompatible)
	for _, part := range []string{"DriverGenerateBucketId", "run cosi-driver-adapter between the sidecar and the driver"} {
		if !strings.Contains(message, part) {
			t.Errorf("the message lacks %q: %s", part, message)
		}
	}
	s.settled()
	if n := len(s.driver.CallsFor(b.Name)); n != 1 {
		t.Errorf("want 1 call until the driver reconnects, got %d", n)
	}
	fix()
	s.stopServing()
	s.serve()
	s.ready(b)
}

func TestHangingDriverMeetsDeadline(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	s.deadline = 300 * time.Millisecond
	s.run()
	s.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Hold: make(chan struct{})})
	b := s.bucket()
	s.Create(b)
	message := s.untilCondition(b, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.Retrying)
	if !strings.Contains(message, "DeadlineExceeded") {
		t.Errorf("the message does not name the deadline: %s", message)
	}
}

func TestHandOverRecordsCallThatRuns(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	stop := s.run()
	hold := make(chan struct{})
	s.driver.Script(memdriver.Fault{RPC: memdriver.GenerateBucketID, Hold: hold})
	b := s.bucket()
	s.Create(b)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if _, err := s.driver.Await(ctx, memdriver.Started(1), memdriver.GenerateBucketID); err != nil {
		t.Fatal(err)
	}
	s.cancel()
	close(hold)
	stop()
	if testenv.Get(s.Env, b).Status.BucketID == "" {
		t.Error("the ID was lost")
	}
	if n := len(s.driver.Calls(memdriver.CreateBucket)); n > 0 {
		t.Error("a sidecar that stops began another call")
	}
	s.run()
	s.ready(b)
	if n := len(s.driver.Calls(memdriver.GenerateBucketID)); n != 1 {
		t.Errorf("DriverGenerateBucketId: want 1 call, got %d", n)
	}
}

// The driver may be replaced while the account of an orphaned access waits for its revocation: the access is in no cache,
// and is still revoked by the new version.
func TestOrphanedAccessIsRevokedByAnotherVersionOfTheDriver(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	a := s.readyAccess(s.readyBucket())
	fix := s.driver.Script(memdriver.Fault{RPC: memdriver.RevokeAccess, Code: codes.Unimplemented, Times: memdriver.Always})
	s.Delete(a)
	testenv.Change(s.Env, a, func(a *cosiapi.BucketAccess) { cosiapi.RemoveProtection(a) })
	s.Gone(a)
	s.await(memdriver.RevokeAccess, 1)
	s.settled()
	fix()
	s.stopServing()
	s.serve()
	s.Eventually("the account is revoked", func(context.Context) error {
		if len(s.driver.Inventory().Accounts) > 0 {
			return errors.New("it exists")
		}
		return nil
	})
}
