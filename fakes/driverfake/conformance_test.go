// SPDX-License-Identifier: Apache-2.0

package driverfake_test

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/cooper-cosi/cooper/fakes/driverfake"
	"github.com/cooper-cosi/cooper/internal/conformancetest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// TestConformance holds the driver that our own tests of the sidecar use against the conformance suite, with the process
// around it that memdriver has.
func TestConformance(t *testing.T) {
	t.Parallel()
	fake := &fakeBackend{bodies: map[string][]byte{}, state: filepath.Join(t.TempDir(), "state.json")}
	probers := map[cosi.ObjectProtocol_Type]sanity.Prober{}
	for _, protocol := range fakeProtocols() {
		probers[protocol] = fake
	}
	conformancetest.Test(t, "fakes/driverfake", sanity.Config{
		Launcher: memdriver.Launcher{NewServer: fake.newServer},
		Params: sanity.Params{
			Bucket: map[string]string{"tier": "hot"}, Incompatible: map[string]string{"tier": "cold"}, Invalid: map[string]string{"tier": "lukewarm"},
			Access: map[string]string{"note": "made"}, InvalidAccess: map[string]string{"note": "invalid"},
		},
		Authentication: []cosi.AuthenticationType_Type{cosi.AuthenticationType_KEY, cosi.AuthenticationType_SERVICE_ACCOUNT},
		ServiceAccount: sanity.ServiceAccount{Name: "app", Namespace: "default"},
		Rotation:       true,
		NonEmptyDelete: "refuse",
		Probers:        probers,
		Inventory:      fake.inventory,
		Fixture:        fake,
		Limits:         sanity.Limits{Settle: 2 * time.Second},
	})
}

// A driver of another generation hears so, and nothing is made in it.
func TestAnotherContractIsTold(t *testing.T) {
	t.Parallel()
	for speaks, says := range map[driverfake.Generation]string{
		driverfake.Upstream: "v1alpha2 as the upstream project means it", driverfake.V1alpha1: "test it with --contract v1alpha1",
	} {
		t.Run(string(speaks), func(t *testing.T) {
			t.Parallel()
			driver, err := driverfake.New(driverfake.Options{Speaks: speaks})
			if err != nil {
				t.Fatal(err)
			}
			launcher := memdriver.Launcher{NewServer: func() (*grpc.Server, error) { return driver.NewServer(), nil }}
			report, err := sanity.Run(t.Context(), sanity.Config{Launcher: launcher})
			if err != nil {
				t.Fatal(err)
			}
			for _, result := range report.Results {
				said := result.Reason
				if result.Failure != nil {
					said = result.Failure.Message
				}
				if result.Outcome == sanity.Passed || !strings.Contains(said, says) {
					t.Fatalf("%s: %v, %q, want that no case runs and each says %q", result.Case.ID, result.Outcome, said, says)
				}
			}
			for _, call := range driver.Calls(driverfake.CreateBucket, driverfake.GrantAccess) {
				t.Errorf("called: %+v", call)
			}
		})
	}
}

func fakeProtocols() []cosi.ObjectProtocol_Type {
	return []cosi.ObjectProtocol_Type{cosi.ObjectProtocol_S3, cosi.ObjectProtocol_AZURE}
}

// fakeBackend is what stands behind a driverfake.Driver: the driver of the moment, and the bodies
// of objects, of which the driver knows the names only.
type fakeBackend struct {
	state string

	mu     sync.Mutex
	driver *driverfake.Driver
	bodies map[string][]byte
}

// newServer starts the driver again on the state of the one before.
func (b *fakeBackend) newServer() (*grpc.Server, error) {
	driver, err := driverfake.New(driverfake.Options{
		Protocols: fakeProtocols(), StateFile: b.state,
		Parameters: map[string][]string{"tier": {"hot", "cold"}, "deleteNonEmpty": {"true", "false"}, "note": {"made"}},
	})
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.driver = driver
	return driver.NewServer(), nil
}

func (b *fakeBackend) now() *driverfake.Driver {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.driver
}

func (b *fakeBackend) inventory(context.Context) ([]sanity.Resource, error) {
	var found []sanity.Resource
	inventory := b.now().Inventory()
	for _, bucket := range inventory.Buckets {
		found = append(found, sanity.Resource{Kind: sanity.KindBucket, Name: bucket.ID})
	}
	for _, account := range inventory.Accounts {
		found = append(found, sanity.Resource{Kind: sanity.KindAccount, Name: account.ID})
		for _, key := range account.Keys {
			found = append(found, sanity.Resource{Kind: sanity.KindKey, Name: account.ID + "/" + key.ID})
		}
	}
	return found, nil
}

// BucketID implements sanity.Fixture.
func (b *fakeBackend) BucketID(name string) string { return name }

// MakeBucket implements sanity.Fixture.
func (b *fakeBackend) MakeBucket(_ context.Context, name string) error {
	return b.now().AddBucket(name)
}

// RemoveBucket implements sanity.Fixture.
func (b *fakeBackend) RemoveBucket(_ context.Context, name string) error {
	return b.now().RemoveBucket(name)
}

// TakeName implements sanity.ForeignFixture: the driver adopts no bucket that it did not make.
func (b *fakeBackend) TakeName(ctx context.Context, id string) error { return b.MakeBucket(ctx, id) }

// FreeName implements sanity.ForeignFixture.
func (b *fakeBackend) FreeName(ctx context.Context, id string) error { return b.RemoveBucket(ctx, id) }

// Try implements sanity.Prober.
func (b *fakeBackend) Try(_ context.Context, attempt sanity.Attempt) (sanity.Outcome, error) {
	operation := map[sanity.Action]driverfake.Operation{
		sanity.GetObject: driverfake.ReadObject, sanity.ListObjects: driverfake.ReadObject,
		sanity.PutObject: driverfake.WriteObject, sanity.DeleteObject: driverfake.WriteObject,
		sanity.GetObjectTags: driverfake.ReadObjectMetadata, sanity.SetObjectTags: driverfake.WriteObjectMetadata,
		sanity.GetBucketTags: driverfake.ReadBucketMetadata, sanity.SetBucketPolicy: driverfake.WriteBucketMetadata,
		sanity.DeleteBucket: driverfake.WriteBucketMetadata,
	}[attempt.Action]
	driver := b.now()
	outcome := outcomeOf(driver.Works(attempt.Credentials, attempt.BucketID, operation))
	if outcome.Verdict != sanity.Allowed {
		return outcome, nil
	}
	return b.do(driver, attempt)
}

// outcomeOf reads what the store says about an attempt.
func outcomeOf(refusal error) sanity.Outcome {
	switch {
	case refusal == nil:
		return sanity.Outcome{Verdict: sanity.Allowed}
	case errors.Is(refusal, driverfake.ErrNoBucket):
		return sanity.Outcome{Verdict: sanity.Missing, Detail: refusal.Error()}
	default:
		return sanity.Outcome{Verdict: sanity.Refused, Detail: refusal.Error()}
	}
}

// do does what was found to be allowed.
func (b *fakeBackend) do(driver *driverfake.Driver, attempt sanity.Attempt) (sanity.Outcome, error) {
	outcome := sanity.Outcome{Verdict: sanity.Allowed}
	b.mu.Lock()
	defer b.mu.Unlock()
	object := attempt.BucketID + "/" + attempt.Key
	inventory := driver.Inventory().Buckets
	at := slices.IndexFunc(inventory, func(bucket driverfake.Bucket) bool { return bucket.ID == attempt.BucketID })
	if at < 0 {
		return sanity.Outcome{Verdict: sanity.Missing}, nil
	}
	switch attempt.Action {
	case sanity.PutObject:
		b.bodies[object] = slices.Clone(attempt.Body)
		return outcome, driver.PutObject(attempt.BucketID, attempt.Key)
	case sanity.GetObject, sanity.GetObjectTags:
		outcome.Body = slices.Clone(b.bodies[object])
		if !slices.Contains(inventory[at].Objects, attempt.Key) {
			outcome.Verdict = sanity.Missing
		}
	case sanity.ListObjects:
		outcome.Keys = slices.Sorted(slices.Values(inventory[at].Objects))
	case sanity.DeleteObject:
		return outcome, b.removeObject(driver, inventory[at], attempt.Key)
	case sanity.DeleteBucket:
		return outcome, driver.RemoveBucket(attempt.BucketID)
	case sanity.SetObjectTags, sanity.GetBucketTags, sanity.SetBucketPolicy:
	}
	return outcome, nil
}

// removeObject empties the bucket and puts the others back. The caller holds b.mu.
func (b *fakeBackend) removeObject(driver *driverfake.Driver, bucket driverfake.Bucket, key string) error {
	maps.DeleteFunc(b.bodies, func(object string, _ []byte) bool { return object == bucket.ID+"/"+key })
	err := driver.RemoveObjects(bucket.ID)
	for _, other := range bucket.Objects {
		if other != key {
			err = errors.Join(err, driver.PutObject(bucket.ID, other))
		}
	}
	return err
}
