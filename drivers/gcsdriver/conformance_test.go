// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"google.golang.org/api/iterator"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/internal/testing/conformancetest"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/sanitytest"
)

// TestConformanceWithLaggingReads is TestConformance with stale reads of everything that Google does not document as
// consistent: service accounts and keys. Buckets and their lists are consistent.
func TestConformanceWithLaggingReads(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "the same without a lag")
	on := startProjects(t, gcsfake.Options{Past: true})
	for _, operation := range []string{"iam.*.get", "iam.*.list", "storage.projects.hmacKeys.*"} {
		mustSucceed(t, on.Faults.Add(fault.Rule{Operation: operation, Effect: fault.Stale, LagTime: fault.Duration(200 * time.Millisecond)}))
	}
	config := conformance(t, on, sanitytest.Build(t, "github.com/cooper-cosi/cooper/cmd/cosi-driver-gcs"))
	config.Environment = append(config.Environment, "GCS_DRIVER_READ_LAG=600ms")
	config.Params.Access = map[string]string{"credentials": "hmac"}
	// Finding that something is missing takes the read lag, in sequential calls.
	config.Limits = sanity.Limits{Repeats: 3, Operations: 40, Concurrency: 8, Parallel: 16}
	conformancetest.Test(t, "cosi-driver-gcs on gcsfake, with lagging reads", config)
}

// TestConformance holds the built command against the conformance suite, with each kind of keys. The driver has the rights
// of the documentation.
func TestConformance(t *testing.T) {
	t.Parallel()
	binary := sanitytest.Build(t, "github.com/cooper-cosi/cooper/cmd/cosi-driver-gcs")
	for _, credentials := range fulltest.Pick(t, []string{"hmac", "json"}, fulltest.Tiers{Short: []string{"hmac"}}) {
		t.Run(credentials, func(t *testing.T) {
			t.Parallel()
			config := conformance(t, startProjects(t, gcsfake.Options{}), binary)
			config.Params.Access = map[string]string{"credentials": credentials}
			if credentials == "json" {
				// Creating a service account key takes a while, so tests with many repetitions use HMAC keys.
				config.Limits = sanity.Limits{Repeats: 3, Operations: 40, Concurrency: 8}
			}
			conformancetest.Test(t, "cosi-driver-gcs on gcsfake, with "+strings.ToUpper(credentials)+" keys", config)
		})
	}
}

// TestConformanceByV1Alpha1 is TestConformance with the older contract, whose workloads only support S3 clients.
func TestConformanceByV1Alpha1(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestConformance in drivers/s3driver runs it by v1alpha1")
	config := sanitytest.ByV1Alpha1(conformance(t, startProjects(t, gcsfake.Options{}), sanitytest.Build(t, "github.com/cooper-cosi/cooper/cmd/cosi-driver-gcs")))
	config.Probers = sanity.Probers(sanity.ProberOptions{})
	config.Params.InvalidAccess = map[string]string{"credentials": "json"}
	conformancetest.Test(t, "cosi-driver-gcs on gcsfake, by v1alpha1", config)
}

func conformance(t *testing.T, on google, binary string) sanity.Config {
	t.Helper()
	broken := sanitytest.NewBackend(t, on.URL(), refuseLogin)
	// The driver logs in at the address that can fail.
	file := ownAccount(t, on, rights(t)...)
	key, err := os.ReadFile(file)
	mustSucceed(t, err)
	mustSucceed(t, os.WriteFile(file, bytes.ReplaceAll(key, []byte(on.URL()), []byte(broken.URL)), 0o600))
	return sanity.Config{
		Launcher: sanity.Exec{Command: []string{binary}},
		Environment: []string{
			"GCS_DRIVER_PROJECT=" + on.ProjectID(),
			"GCS_DRIVER_ENDPOINT=" + broken.URL,
			"GCS_DRIVER_CREDENTIALS_FILE=" + file,
			"COOPER_CREDENTIAL_STORE=directory:" + t.TempDir(),
			"COOPER_LOG_LEVEL=debug",
		},
		Params: sanity.Params{
			Bucket:        map[string]string{"labels": `{"team":"a"}`},
			Incompatible:  map[string]string{"labels": `{"team":"b"}`},
			Invalid:       map[string]string{"versioning": "perhaps"},
			InvalidAccess: map[string]string{"credentials": "perhaps"},
		},
		Rotation:       true,
		NonEmptyDelete: "refuse",
		Probers:        map[cosi.ObjectProtocol_Type]sanity.Prober{cosi.ObjectProtocol_GCS: sanity.Probers(sanity.ProberOptions{GCSEndpoint: on.URL()})[cosi.ObjectProtocol_GCS]},
		Inventory:      func(context.Context) ([]sanity.Resource, error) { return resources(on), nil },
		Fixture:        fixture{on.root(t), on.ProjectID()},
		Backend:        broken,
	}
}

func resources(on google) []sanity.Resource {
	var found []sanity.Resource
	add := func(kind, name string) { found = append(found, sanity.Resource{Kind: kind, Name: name}) }
	held := on.Inventory()
	for _, account := range held.Accounts {
		add(sanity.KindAccount, account.Email)
		for _, key := range account.Keys {
			add(sanity.KindKey, account.Email+" "+key)
		}
		for id := range account.HMAC {
			add(sanity.KindKey, account.Email+" "+id)
		}
	}
	for _, bucket := range held.Buckets {
		add(sanity.KindBucket, bucket.Name)
		for _, binding := range ofCosi(bucket.Bindings) {
			add(sanity.KindPolicy, bucket.Name+" "+binding)
		}
	}
	return found
}

// fixture makes buckets as the project's administrator does.
type fixture struct {
	root    *storage.Client
	project string
}

var _ sanity.ForeignFixture = fixture{}

func (fixture) BucketID(name string) string { return name }

func (f fixture) MakeBucket(ctx context.Context, name string) error {
	return f.root.Bucket(name).Create(ctx, f.project, &storage.BucketAttrs{UniformBucketLevelAccess: storage.UniformBucketLevelAccess{Enabled: true}})
}

func (f fixture) RemoveBucket(ctx context.Context, name string) error {
	objects := f.root.Bucket(name).Objects(ctx, &storage.Query{Versions: true})
	for {
		object, err := objects.Next()
		if errors.Is(err, iterator.Done) {
			break
		}
		if errors.Is(err, storage.ErrBucketNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f.root.Bucket(name).Object(object.Name).Generation(object.Generation).Delete(ctx); err != nil {
			return err
		}
	}
	err := f.root.Bucket(name).Delete(ctx)
	if httpStatus(err) == http.StatusNotFound {
		return nil
	}
	return err
}

func (f fixture) TakeName(ctx context.Context, id string) error { return f.MakeBucket(ctx, id) }

func (f fixture) FreeName(ctx context.Context, id string) error { return f.RemoveBucket(ctx, id) }

// refuseLogin responds as Cloud Storage does to a token that it does not know.
func refuseLogin(w http.ResponseWriter) {
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = w.Write([]byte(`{"error": {"code": 401, "message": "Invalid Credentials", "errors": [{"reason": "authError"}]}}`))
}
