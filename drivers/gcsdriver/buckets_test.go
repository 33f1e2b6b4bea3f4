// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func TestBucketHasEverythingThatWasAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{config: func(c *gcsdriver.Config) { c.Cluster = "prod" }})
	const kmsKey = "projects/p/locations/europe-west1/keyRings/r/cryptoKeys/k"
	id := w.NewBucket(t, map[string]string{
		"namePrefix": "team-", "location": "europe-west1", "storageClass": "NEARLINE", "versioning": "true",
		"softDeleteSeconds": "0", "labels": `{"team":"a"}`, "retentionSeconds": "60", "kmsKeyName": kmsKey,
		"lifecycle": `{"rule":[{"action":{"type":"Delete"},"condition":{"age":30}}]}`, "cors": `[{"origin":["*"],"method":["GET"]}]`,
	})
	attributes, err := w.google.root(t).Bucket(id).Attrs(t.Context())
	mustSucceed(t, err)
	if !strings.HasPrefix(attributes.Name, "team-bc-") || attributes.Location != "EUROPE-WEST1" || attributes.StorageClass != "NEARLINE" || !attributes.VersioningEnabled ||
		!attributes.UniformBucketLevelAccess.Enabled || attributes.PublicAccessPrevention != storage.PublicAccessPreventionEnforced ||
		attributes.SoftDeletePolicy.RetentionDuration != 0 || len(attributes.Lifecycle.Rules) != 1 || len(attributes.CORS) != 1 {
		t.Errorf("the bucket is %+v", attributes)
	}
	if attributes.RetentionPolicy == nil || attributes.RetentionPolicy.RetentionPeriod != time.Minute || attributes.Encryption == nil || attributes.Encryption.DefaultKMSKeyName != kmsKey {
		t.Errorf("retention is %+v, encryption %+v", attributes.RetentionPolicy, attributes.Encryption)
	}
	labels := attributes.Labels
	if labels["cosi-driver"] != "gcs_cooper_dev" || labels["cosi-cluster"] != "prod" || len(labels["cosi-params"]) != 32 || labels["team"] != "a" {
		t.Errorf("its labels are %v", labels)
	}
	if inserted := operations(w.google, "storage.buckets.insert"); inserted != 1 {
		t.Errorf("%d inserts", inserted)
	}
	if updated := operations(w.google, "storage.buckets.patch") + operations(w.google, "storage.buckets.update"); updated != 0 {
		t.Errorf("%d updates", updated)
	}
}

// operations counts the calls of an operation.
func operations(on google, name string) int {
	count := 0
	for _, call := range on.Calls() {
		if call.Operation == name {
			count++
		}
	}
	return count
}

func TestBucketsOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	on := startGoogle(t, gcsfake.Options{Projects: []gcsfake.Project{{ID: gcsfake.DefaultProject}, {ID: "somebody-else"}}})
	w := newWorld(t, on, worldOptions{})
	id := w.NewBucket(t, map[string]string{"location": "EU"})
	drivertest.WantCode(t, w.Create(t, id, map[string]string{"location": "EU"}), codes.OK)
	drivertest.WantCode(t, w.Create(t, id, map[string]string{"location": "US"}), codes.AlreadyExists, "other parameters")
	foreign := "bc-" + uuid.NewString()
	if err := on.root(t).Bucket(foreign).Create(t.Context(), on.ProjectID(), nil); err != nil {
		t.Fatal(err)
	}
	drivertest.WantCode(t, w.Create(t, foreign, nil), codes.AlreadyExists, "does not change it")
	drivertest.WantCode(t, w.Delete(t, foreign, nil), codes.FailedPrecondition, "mark")

	// An attacker creates the bucket first, with the mark, and allows the driver to read it.
	forged := "bc-" + uuid.NewString()
	mustSucceed(t, on.Grant("somebody-else", "serviceAccount:"+on.AdminEmail(""), "roles/storage.admin"))
	attributes, err := on.root(t).Bucket(id).Attrs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := on.root(t).Bucket(forged).Create(t.Context(), "somebody-else", &storage.BucketAttrs{Labels: attributes.Labels}); err != nil {
		t.Fatal(err)
	}
	drivertest.WantCode(t, w.Create(t, forged, map[string]string{"location": "EU"}), codes.AlreadyExists, "does not change it")
	_, err = w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: forged})
	drivertest.WantCode(t, err, codes.AlreadyExists, "does not belong to project")
	_, err = w.DriverGrantBucketAccess(t.Context(), grantRequest(drivertest.NewAccount(), readWrite, forged))
	drivertest.WantCode(t, err, codes.AlreadyExists, "does not belong to project")
	drivertest.WantCode(t, w.Delete(t, forged, map[string]string{"deleteNonEmpty": "true"}), codes.FailedPrecondition, "does not belong to project")

	for name, text := range map[string]string{"www.example.com": "domain", "goog-1": "reserves", "a-google-b": "reserves"} {
		drivertest.WantCode(t, w.Create(t, name, nil), codes.InvalidArgument, text)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	force := map[string]string{"deleteNonEmpty": "true"}
	id := w.NewBucket(t, map[string]string{"versioning": "true"})
	root := w.google.root(t)
	for i := range 40 {
		mustSucceed(t, put(t.Context(), root, id, fmt.Sprintf("key-%d", i%30)))
	}
	drivertest.WantCode(t, w.Delete(t, id, nil), codes.FailedPrecondition, "not empty", "deleteNonEmpty")
	drivertest.WantCode(t, w.Delete(t, id, force), codes.OK)
	drivertest.WantCode(t, w.Delete(t, id, force), codes.OK)

	held := w.NewBucket(t, map[string]string{"retentionSeconds": "3600"})
	mustSucceed(t, put(t.Context(), root, held, "key"))
	drivertest.WantCode(t, w.Delete(t, held, force), codes.FailedPrecondition, "protected")
	if left := len(w.google.Inventory().Buckets); left != 1 {
		t.Errorf("%d buckets are left", left)
	}
}

func TestGetBucket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	mustSucceed(t, w.google.root(t).Bucket("made-by-hand").Create(t.Context(), w.google.ProjectID(), &storage.BucketAttrs{Location: "EU"}))
	describe := func(id string, parameters map[string]string) error {
		_, err := w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: id, Parameters: parameters})
		return err
	}
	drivertest.WantCode(t, describe("made-by-hand", map[string]string{"location": "eu"}), codes.OK)
	drivertest.WantCode(t, describe("made-by-hand", map[string]string{"location": "US", "versioning": "true"}), codes.AlreadyExists, "its location is EU", "versioning is not enabled")
	drivertest.WantCode(t, describe("nowhere", nil), codes.NotFound)
}

func TestIDsNameTheBackend(t *testing.T) {
	t.Parallel()
	on := startGoogle(t, gcsfake.Options{Projects: []gcsfake.Project{{ID: gcsfake.DefaultProject}, {ID: "second-project"}}})
	mustSucceed(t, on.Grant("second-project", "serviceAccount:"+on.AdminEmail(""), "roles/storage.admin", "roles/iam.serviceAccountAdmin", "roles/storage.hmacKeyAdmin"))
	w := newWorld(t, on, worldOptions{config: func(c *gcsdriver.Config) {
		second := c.Backends["main"]
		second.Project = "second-project"
		c.Backends["second"], c.DefaultBackend = second, "main"
	}})
	first, second := w.NewBucket(t, nil), w.NewBucket(t, map[string]string{"backend": "second"})
	if !strings.HasPrefix(second, "second.bc-") {
		t.Errorf("the bucket ID is %q", second)
	}
	request := grantRequest("second."+drivertest.NewAccount(), readWrite, second)
	granted := w.MustGrant(t, request)
	info := granted.GetBuckets()[0].GetBucketInfo().GetGcs()
	if info.GetProjectId() != "second-project" || "second."+info.GetBucketName() != second {
		t.Errorf("the bucket is %v", info)
	}
	if err := s3Put(t, hmacClient(t, on, granted), info.GetBucketName(), "key"); err != nil {
		t.Error(err)
	}
	_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(drivertest.NewAccount(), readWrite, first, second))
	drivertest.WantCode(t, err, codes.OutOfRange, "different backends")
	drivertest.WantCode(t, w.Revoke(t, request), codes.OK)
}
