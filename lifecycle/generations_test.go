// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/drivers/adapter"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// modesOfOldGrants is the class parameter that declares the access modes which a driver of v1alpha1 grants.
const modesOfOldGrants = "cooper.dev/access-modes"

// old reports whether the driver of this world uses v1alpha1, behind an adapter.
func (w *world) old() bool { return w.setup.fake.Speaks == memdriver.V1alpha1 }

// vendorEndpoint returns the socket of the driver: behind the adapter, or that of the sidecar.
func (w *world) vendorEndpoint() string {
	if w.old() {
		return "unix://" + filepath.Join(w.sockets, "vendor.sock")
	}
	return w.endpoint
}

// runAdapter starts an adapter on a store, until the end of the test or until the returned function is called.
func (w *world) runAdapter(store credentials.Store) (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	logger := slog.New(slog.NewTextHandler(lineWriter{w.log, "adapter"}, nil))
	driver, err := adapter.Connect(ctx, adapter.Options{Address: w.vendorEndpoint(), Contract: adapter.V1alpha1, Logger: logger})
	if err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- driverkit.ServeRPCs(ctx, driver.Name(), adapter.New(driver, store), driverkit.Options{Endpoint: w.endpoint, Logger: logger})
	}()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("adapter: %v", err)
		}
		if err := driver.Close(); err != nil {
			w.t.Error(err)
		}
	}
	w.t.Cleanup(stop)
	return stop
}

// byVendor replaces the IDs in the status, which the adapter generates, by those of the driver behind it.
func byVendor(buckets []cosiapi.Bucket, accesses []cosiapi.BucketAccess) {
	rename := func(id *string, prefix string) {
		if rest, ours := strings.CutPrefix(*id, adapter.IDPrefix); ours {
			_, name, _ := strings.Cut(rest, "/")
			*id = prefix + name
		}
	}
	for i := range buckets {
		rename(&buckets[i].Status.BucketID, memdriver.OldBucketPrefix)
	}
	for i := range accesses {
		rename(&accesses[i].Status.AccountID, memdriver.OldAccountPrefix)
		for j := range accesses[i].Status.AccessedBuckets {
			rename(&accesses[i].Status.AccessedBuckets[j].BucketID, memdriver.OldBucketPrefix)
		}
	}
}

// TestCrashWithADriverOfV1alpha1 replays the flows that such a driver supports, with crashes of controller
// and sidecar. At any moment, Kubernetes has the ID of everything that the driver created. The tests of
// drivers/adapter crash the adapter.
func TestCrashWithADriverOfV1alpha1(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestCrash with a driver of v1alpha2")
	names := slices.DeleteFunc(flowNames(), func(name string) bool { return name == "an access to two" || name == "a rotation" })
	count := &tally{recorded: map[string]bool{}, replayed: map[string]bool{}}
	eachFlow(t, fulltest.Pick(t, names, fulltest.Tiers{Short: []string{"an access that leaves"}, Full: []string{"a claim", "an import"}}), func(t *testing.T, f flow) {
		f.recording = &recording{} // the writes differ for this driver
		replay(t, f, setup{fake: memdriver.Options{Speaks: memdriver.V1alpha1}}, count)
	})
}

// TestAccessThatV1alpha1CannotExpress requests features that v1alpha1 does not have. Nothing is created, the claims
// keep working, and everything can be deleted.
func TestAccessThatV1alpha1CannotExpress(t *testing.T) {
	t.Parallel()
	covers(t, "one-phase-cannot-express")
	w := start(t, setup{fake: memdriver.Options{Speaks: memdriver.V1alpha1}})
	w.newClass("fast")
	w.newAccessClass("keys", multiBucket)
	w.newAccessClass("unsaid", func(class *cosiapi.BucketAccessClassSpec) { delete(class.Parameters, modesOfOldGrants) })
	photos, _ := w.provisioned("photos", "fast")
	films, _ := w.provisioned("films", "fast")
	for reason, access := range map[string]*cosiapi.BucketAccess{
		"grants access to one bucket, not to 2": w.access("two", "keys", "photos", "films"),
		"not objectData=ReadOnly":               w.asking("reader", cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadOnly}),
		"not bucketMetadata=ReadOnly":           w.asking("looker", cosiapi.BucketAccessModes{BucketMetadata: cosiapi.BucketAccessModeReadOnly}),
		"must set the parameter " + modesOfOldGrants + " of the BucketAccessClass to the modes that the driver grants": w.access("unsaid", "unsaid", "photos"),
	} {
		w.create(access)
		said := w.condition(access, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.Terminal)
		if !strings.Contains(said, reason) {
			t.Errorf("want %q, got %s", reason, said)
		}
		w.delete(access)
		w.gone(access, secret(access, 0))
	}
	if calls := w.driver.Calls(memdriver.GrantAccess, memdriver.RevokeAccess); len(calls) != 0 {
		t.Errorf("nothing was made, and the driver was asked: %v", calls)
	}
	access := w.granted("app", "keys", "photos")
	w.consistent()
	w.delete(access, photos, films)
	w.gone(access, photos, films, bucketFor(photos), bucketFor(films))
	w.empty()
}

// asking returns an access to photos with the given modes, not created yet.
func (w *world) asking(name string, modes cosiapi.BucketAccessModes) *cosiapi.BucketAccess {
	access := w.access(name, "keys", "photos")
	access.Spec.BucketClaims[0].AccessModes = modes
	return access
}

// empty waits until nothing is left in the backend.
func (w *world) empty() {
	w.t.Helper()
	w.eventually("nothing is left in the backend", func(context.Context) error {
		if left := w.driver.Inventory(); len(left.Buckets)+len(left.Accounts) > 0 {
			return fmt.Errorf("there are %+v", left)
		}
		return nil
	})
}

// TestDeletedBeforeV1alpha1ReturnsTheID loses the response to each creation, replaces the adapter, and lets
// users delete the objects while the driver's IDs are unknown. No object may be deleted before its ID is known, and
// nothing may remain.
func TestDeletedBeforeV1alpha1ReturnsTheID(t *testing.T) {
	t.Parallel()
	covers(t, "one-phase-deleted-early")
	for _, lost := range []memdriver.RPC{memdriver.CreateBucket, memdriver.GrantAccess} {
		t.Run(string(lost), func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{backoff: patient(), fake: memdriver.Options{Speaks: memdriver.V1alpha1}})
			w.newClass("fast")
			w.newAccessClass("keys")
			find := w.driver.Script(memdriver.Fault{RPC: lost, Times: memdriver.Always, AfterEffect: true, Code: codes.Unavailable})
			claim, access := w.newClaim("photos", "fast"), w.access("app", "keys", "photos")
			w.create(access)
			w.awaitCalls(memdriver.Started(1), lost)
			w.stopAdapter()
			w.known()
			w.delete(access, claim)
			asked := len(w.driver.Calls(lost))
			w.stopAdapter = w.runAdapter(w.entries)
			w.awaitCalls(memdriver.Started(asked+1), lost)
			if bucket := bucketFor(claim); !w.exists(bucket) {
				t.Error("the Bucket went before its ID was known")
			}
			find()
			w.gone(access, secret(access, 0), claim, bucketFor(claim))
			w.empty()
		})
	}
}
