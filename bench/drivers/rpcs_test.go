// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// asStore makes the test binary serve the store of a cloud.
const asStore = "COOPER_TEST_BENCH_STORE"

func TestMain(m *testing.M) {
	name := os.Getenv(asStore)
	if name == "" {
		m.Run()
		return
	}
	if err := serveStore(name, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// world is a driver that serves at a socket, with a store in another process.
type world struct {
	*drivertest.Client

	protocol cosi.ObjectProtocol_Type
}

func newWorld(t testing.TB, name string) *world {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	at, end, err := startStore(t.Context(), t.TempDir(), "env", asStore+"="+name, self)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	driver, err := clouds[name].driver("bench.cooper.dev", at)
	if err != nil {
		t.Fatal(err)
	}
	return &world{Client: drivertest.Serve(t, driver, driverkit.Options{}), protocol: clouds[name].protocol}
}

// A subject is a bucket and its access.
type subject struct{ uuid, bucket, account string }

func (w *world) request(of *subject) *cosi.DriverGrantBucketAccessRequest {
	return drivertest.GrantRequest(w.protocol, of.account, drivertest.Modes{Data: cosi.AccessMode_READ_WRITE}, of.bucket)
}

func (w *world) protocols() []*cosi.ObjectProtocol {
	return []*cosi.ObjectProtocol{{Type: w.protocol}}
}

func (w *world) generateBucket(ctx context.Context, of *subject) error {
	response, err := w.DriverGenerateBucketId(ctx, &cosi.DriverGenerateBucketIdRequest{Name: "bc-" + of.uuid, Protocols: w.protocols()})
	of.bucket = response.GetBucketId()
	return err
}

func (w *world) createBucket(ctx context.Context, of *subject) error {
	_, err := w.DriverCreateBucket(ctx, &cosi.DriverCreateBucketRequest{BucketId: of.bucket, Protocols: w.protocols()})
	return err
}

func (w *world) getBucket(ctx context.Context, of *subject) error {
	_, err := w.DriverGetBucket(ctx, &cosi.DriverGetBucketRequest{BucketId: of.bucket, Protocols: w.protocols()})
	return err
}

func (w *world) generateAccess(ctx context.Context, of *subject) error {
	grant := w.request(of)
	response, err := w.DriverGenerateBucketAccessId(ctx, &cosi.DriverGenerateBucketAccessIdRequest{
		AccountName: "ba-" + of.uuid, Protocol: grant.GetProtocol(), AuthenticationType: grant.GetAuthenticationType(), Buckets: grant.GetBuckets(),
	})
	of.account = response.GetAccountId()
	return err
}

func (w *world) grant(ctx context.Context, of *subject) error {
	_, err := w.DriverGrantBucketAccess(ctx, w.request(of))
	return err
}

func (w *world) revoke(ctx context.Context, of *subject) error {
	_, err := w.DriverRevokeBucketAccess(ctx, drivertest.RevokeRequest(w.request(of)))
	return err
}

func (w *world) deleteBucket(ctx context.Context, of *subject) error {
	_, err := w.DriverDeleteBucket(ctx, &cosi.DriverDeleteBucketRequest{BucketId: of.bucket})
	return err
}

// life are the RPCs in the lifecycle of a bucket and its access. Repeated calls find nothing to do.
var life = []struct {
	name string
	call func(*world, context.Context, *subject) error
}{
	{"DriverGenerateBucketId", (*world).generateBucket},
	{"DriverCreateBucket", (*world).createBucket},
	{"DriverCreateBucket again", (*world).createBucket},
	{"DriverGetBucket", (*world).getBucket},
	{"DriverGenerateBucketAccessId", (*world).generateAccess},
	{"DriverGrantBucketAccess", (*world).grant},
	{"DriverGrantBucketAccess again", (*world).grant},
	{"DriverRevokeBucketAccess", (*world).revoke},
	{"DriverDeleteBucket", (*world).deleteBucket},
}

// BenchmarkRPCs measures each RPC of each driver over its socket. Time includes the store, which is a
// separate process; memory is that of the driver and the gRPC client. The preparation of a call is not
// measured.
func BenchmarkRPCs(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(clouds)) {
		w := newWorld(b, name)
		for n, rpc := range life {
			b.Run(name+"/"+rpc.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					of := &subject{uuid: uuid.NewString()}
					for _, earlier := range life[:n] {
						if err := earlier.call(w, b.Context(), of); err != nil {
							b.Fatalf("%s: %v", earlier.name, err)
						}
					}
					b.StartTimer()
					if err := rpc.call(w, b.Context(), of); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func TestEveryRPCOfTheBenchmarksWorks(t *testing.T) {
	t.Parallel()
	for name := range clouds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, of := newWorld(t, name), &subject{uuid: uuid.NewString()}
			for _, rpc := range life {
				if err := rpc.call(w, t.Context(), of); err != nil {
					t.Errorf("%s: %v", rpc.name, err)
				}
			}
		})
	}
}
