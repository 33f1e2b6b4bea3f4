// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/adapter/kubeapi"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// TestBucketObjects looks up buckets as the driver does during a call.
func TestBucketObjects(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1, NamesAsIDs: true})
	client, a := s.process(t, nil)
	if err := s.AddBucket("photos"); err != nil {
		t.Fatal(err)
	}
	if err := imported(t.Context(), client, "photos"); err != nil {
		t.Fatal(err)
	}
	mustCreate(t, client, "bc-1")
	for name, tc := range map[string]struct {
		bucket string
		want   kubeapi.Bucket
		found  bool
	}{
		"by name": {"bc-1", kubeapi.Bucket{
			Name: "bc-1", ID: "bc-1", Driver: "memory.cooper.dev", Parameters: map[string]string{"tier": "fast"}, Protocols: []string{"S3"},
		}, true},
		"an import": {"photos", kubeapi.Bucket{
			Name: "photos", ID: "photos", Driver: "memory.cooper.dev", Parameters: map[string]string{"kept": "yes"}, Protocols: []string{"S3"},
		}, true},
		"none": {"bc-2", kubeapi.Bucket{Name: "bc-2", ID: "bc-2", Driver: "memory.cooper.dev"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, found, err := a.Bucket(t.Context(), tc.bucket)
			if diff := cmp.Diff(tc.want, got); diff != "" || found != tc.found || err != nil {
				t.Errorf("found %t, %v (-want, +got):\n%s", found, err, diff)
			}
		})
	}
}

// TestBucketObjectDuringACall looks up buckets that have no entry yet, or none by that name.
func TestBucketObjectDuringACall(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1})
	client, a := s.process(t, nil)
	look := func(ctx context.Context, name string) string {
		found, ok, err := a.Bucket(ctx, name)
		if !ok || err != nil {
			t.Errorf("Bucket(%s) = %v, %t, %v", name, found, ok, err)
		}
		return found.ID + " " + found.Parameters["tier"]
	}
	var got []string
	memdriver.On(s.Driver, func(ctx context.Context, request *v1alpha1.DriverCreateBucketRequest) error {
		got = append(got, look(ctx, request.GetName()))
		return nil
	})
	memdriver.On(s.Driver, func(ctx context.Context, request *v1alpha1.DriverDeleteBucketRequest) error {
		got = append(got, look(ctx, request.GetBucketId()))
		return nil
	})
	mustCreate(t, client, "bc-1")
	mustDelete(t, client, "cosi/12345678/bc-1")
	if err := client.Delete(t, "bc-older", map[string]string{"tier": "slow"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{" fast", "old-bc-1 fast", "bc-older slow"}, got); diff != "" {
		t.Errorf("IDs and parameters (-want, +got):\n%s", diff)
	}
	if _, found, err := a.Bucket(t.Context(), "bc-older"); found || err != nil {
		t.Errorf("after the call: %t, %v", found, err)
	}
}

// TestBucketObjectDuringSeveralCalls looks up a bucket without an entry, while several calls for it are running.
func TestBucketObjectDuringSeveralCalls(t *testing.T) {
	t.Parallel()
	var calls running
	slow, fast := map[string]string{"tier": "slow"}, map[string]string{"tier": "fast"}
	endFirst, endSecond := calls.begin([]string{"bc-1", "bc-2"}, slow), calls.begin([]string{"bc-1"}, fast)
	if got, _, err := calls.parameters("bc-1"); err == nil {
		t.Errorf("two calls with different parameters: got those of one, %v", got)
	}
	endSecond()
	endSame := calls.begin([]string{"bc-1"}, slow)
	if got, found, err := calls.parameters("bc-1"); !found || err != nil || got["tier"] != "slow" {
		t.Errorf("two calls with the same parameters: %v, %t, %v", got, found, err)
	}
	endFirst()
	endSame()
	for _, bucket := range []string{"bc-1", "bc-2"} {
		if got, found, err := calls.parameters(bucket); found || err != nil {
			t.Errorf("%s after the calls: %v, %t, %v", bucket, got, found, err)
		}
	}
}

// TestDamagedEntry changes an entry by hand. The error does not quote its content.
func TestDamagedEntry(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1})
	client := s.adapter(t, nil)
	mustCreate(t, client, "bc-1")
	kept, err := s.store.Get(t.Context(), "bucket bc-1")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(kept.Current.Secret.Reveal(), `"old-bc-1"`) {
		t.Errorf("the entry lacks the driver's ID: %s", kept.Current.Secret.Reveal())
	}
	kept.Current.Secret = cosi.NewSecret(`{"request": {"bucketId": "key`)
	if _, err := s.store.Put(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	_, err = create(t.Context(), client, "bc-1")
	drivertest.WantCode(t, err, codes.FailedPrecondition, "is damaged")
	if strings.Contains(s.log.String(), "bucketId\": \"key") {
		t.Errorf("the log quotes the entry:\n%s", s.log)
	}
}

// TestLongIDs lets the driver return IDs, and imports an ID, of which the store could not keep the entry.
func TestLongIDs(t *testing.T) {
	t.Parallel()
	for _, k := range []kind{bucketKind, accountKind} {
		if err := cosi.ValidateEntryName(k.owned(strings.Repeat("x", maxDriverID))); err != nil {
			t.Errorf("the entry of the longest ID of a driver: %v", err)
		}
	}
	s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1})
	client, long := s.adapter(t, nil), strings.Repeat("x", maxDriverID+1)
	foundAs(s, long)
	_, err := create(t.Context(), client, "bc-1")
	drivertest.WantCode(t, err, codes.Internal, "its ID has 2038 bytes instead of 1 to 2037")
	drivertest.WantCode(t, imported(t.Context(), client, long), codes.InvalidArgument, "the adapter supports 2037")
}

// TestEntriesInADirectory keeps entries of any ID in the store of a directory.
func TestEntriesInADirectory(t *testing.T) {
	t.Parallel()
	store, err := credentials.OpenDirectory(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"arn:aws:s3:::photos/2026 x", strings.Repeat("x", 1000)} {
		if err := writeEntry(t.Context(), store, &bucketEntry{key: bucketKind.owned(id), name: "bc-1"}); err != nil {
			t.Fatal(err)
		}
		a := &Adapter{store: store}
		if owns, err := a.owns(t.Context(), bucketKind, id, "bc-1"); !owns || err != nil {
			t.Errorf("owns(%s) = %t, %v", id, owns, err)
		}
	}
}
