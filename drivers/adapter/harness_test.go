// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"

	"github.com/cooper-cosi/cooper/drivers/adapter/internal/vendor"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// contracts maps the generations of the fake to the contracts of the adapter.
var contracts = map[memdriver.Generation]string{memdriver.V1alpha1: V1alpha1, memdriver.Upstream: Upstream}

// A system is a vendor's driver with a credential store, behind adapters.
type system struct {
	*memdriver.Driver

	generation memdriver.Generation
	endpoint   string
	server     *memdriver.Server
	store      memory
	log        *logbook
}

// memory is the store of a test, which lists its entries.
type memory interface {
	credentials.Store
	Accounts() []string
}

// identified is a store with a fixed ID, which begins with that of idPrefix.
type identified struct{ memory }

func (identified) ID(context.Context) (string, error) { return "12345678000000000000000000000000", nil }

// idPrefix precedes the names in the IDs of all adapters with an identified store.
const idPrefix = IDPrefix + "12345678/"

func newSystem(t *testing.T, fake memdriver.Options) *system {
	t.Helper()
	store, ok := credentials.NewMemory().(memory)
	if !ok {
		t.Fatal("the store in memory does not list its entries")
	}
	s := &system{Driver: memdriver.New(fake), generation: fake.Speaks, endpoint: drivertest.Endpoint(t), store: identified{store}, log: &logbook{}}
	s.serve(t)
	return s
}

// serve starts the vendor's driver.
func (s *system) serve(t *testing.T) {
	t.Helper()
	server, err := s.Start(s.endpoint)
	if err != nil {
		t.Fatal(err)
	}
	s.server = server
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// adapter starts an adapter process on the store, which a crash may kill.
func (s *system) adapter(t *testing.T, crash *drivertest.Crash) *drivertest.Client {
	t.Helper()
	client, _ := s.process(t, crash)
	return client
}

func (s *system) process(t *testing.T, crash *drivertest.Crash) (*drivertest.Client, *Adapter) {
	t.Helper()
	options, store := Options{Address: s.endpoint, Contract: contracts[s.generation], Logger: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, credentials.Store(s.store)
	if crash != nil {
		store = crash.Store(store)
		options.dial = []grpc.DialOption{grpc.WithUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
			invoke grpc.UnaryInvoker, options ...grpc.CallOption,
		) error {
			if strings.HasSuffix(method, "DriverGetInfo") || strings.HasSuffix(method, "DriverGenerateBucketId") {
				return invoke(ctx, method, request, reply, conn, options...)
			}
			return crash.Call(method, func() error { return invoke(context.WithoutCancel(ctx), method, request, reply, conn, options...) })
		})}
	}
	driver, err := Connect(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := driver.Close(); err != nil {
			t.Error(err)
		}
	})
	a := New(driver, store)
	endpoint := drivertest.Endpoint(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() {
		ended <- driverkit.ServeRPCs(ctx, driver.Name(), a, driverkit.Options{Endpoint: endpoint, Logger: options.Logger})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serving the adapter: %v", err)
		}
	})
	return drivertest.Dial(t, endpoint), a
}

// empty fails the test if the backend or the store has anything.
func (s *system) empty(t *testing.T) {
	t.Helper()
	if left := s.Inventory(); len(left.Buckets)+len(left.Accounts) > 0 {
		t.Errorf("the backend still has %+v", left)
	}
	if left := s.store.Accounts(); len(left) > 0 {
		t.Errorf("the store still has %v", left)
	}
}

// modes is the class parameter of accesses to a v1alpha1 driver.
var modes = map[string]string{vendor.ModesParameter: "objectData=ReadWrite"}

// grantOf returns the request for an account with access to buckets.
func grantOf(name string, buckets ...string) *cosi.DriverGrantBucketAccessRequest {
	request := drivertest.GrantRequest(cosi.ObjectProtocol_S3, idPrefix+name, drivertest.Modes{Data: cosi.AccessMode_READ_WRITE}, buckets...)
	request.Parameters = modes
	return request
}

// wanted are the protocols of all requests.
var wanted = []*cosi.ObjectProtocol{{Type: cosi.ObjectProtocol_S3}}

// create creates a bucket by its name.
func create(ctx context.Context, client *drivertest.Client, name string) (*cosi.DriverCreateBucketResponse, error) {
	return client.DriverCreateBucket(ctx, &cosi.DriverCreateBucketRequest{BucketId: idPrefix + name, Protocols: wanted, Parameters: map[string]string{"tier": "fast"}})
}

func mustCreate(t *testing.T, client *drivertest.Client, name string) {
	t.Helper()
	if _, err := create(t.Context(), client, name); err != nil {
		t.Fatal(err)
	}
}

func mustDelete(t *testing.T, client *drivertest.Client, id string) {
	t.Helper()
	if err := client.Delete(t, id, nil); err != nil {
		t.Fatalf("delete %s: %v", id, err)
	}
}

func mustRevoke(t *testing.T, client *drivertest.Client, granted *cosi.DriverGrantBucketAccessRequest) {
	t.Helper()
	if err := client.Revoke(t, granted); err != nil {
		t.Fatalf("revoke %s: %v", granted.GetAccountId(), err)
	}
}

// imported imports a bucket by an ID.
func imported(ctx context.Context, client *drivertest.Client, id string) error {
	_, err := client.DriverGetBucket(ctx, &cosi.DriverGetBucketRequest{BucketId: id, Protocols: wanted, Parameters: map[string]string{"kept": "yes"}})
	return err
}

// logbook keeps the log of adapters.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// both runs a test with a driver of each generation.
func both(t *testing.T, test func(t *testing.T, generation memdriver.Generation)) {
	t.Helper()
	for generation := range contracts {
		t.Run(string(generation), func(t *testing.T) { t.Parallel(); test(t, generation) })
	}
}

var errNone = errors.New("no error")

// waiting ends the wait of Connect at its first log line.
type waiting struct{ cancel context.CancelFunc }

// Write implements io.Writer.
func (w *waiting) Write(p []byte) (int, error) {
	w.cancel()
	return len(p), nil
}

func (w *waiting) logger() *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
