// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/internal/credstore"
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
	if err != nil {
		t.Fatal(err)
	}
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
	drivertest.WantCode(t, w.Create(t, foreign, nil), codes.AlreadyExists, "left alone")
	drivertest.WantCode(t, w.Delete(t, foreign, nil), codes.FailedPrecondition, "mark")

	// Somebody else takes the name before us, mark and all, and lets us read it.
	forged := "bc-" + uuid.NewString()
	if err := on.Grant("somebody-else", "serviceAccount:"+on.AdminEmail(""), "roles/storage.admin"); err != nil {
		t.Fatal(err)
	}
	attributes, err := on.root(t).Bucket(id).Attrs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := on.root(t).Bucket(forged).Create(t.Context(), "somebody-else", &storage.BucketAttrs{Labels: attributes.Labels}); err != nil {
		t.Fatal(err)
	}
	drivertest.WantCode(t, w.Create(t, forged, map[string]string{"location": "EU"}), codes.AlreadyExists, "left alone")

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
		if err := put(t.Context(), root, id, fmt.Sprintf("key-%d", i%30)); err != nil {
			t.Fatal(err)
		}
	}
	drivertest.WantCode(t, w.Delete(t, id, nil), codes.FailedPrecondition, "not empty", "deleteNonEmpty")
	drivertest.WantCode(t, w.Delete(t, id, force), codes.OK)
	drivertest.WantCode(t, w.Delete(t, id, force), codes.OK)

	held := w.NewBucket(t, map[string]string{"retentionSeconds": "3600"})
	if err := put(t.Context(), root, held, "key"); err != nil {
		t.Fatal(err)
	}
	drivertest.WantCode(t, w.Delete(t, held, force), codes.FailedPrecondition, "protected")
	if left := len(w.google.Inventory().Buckets); left != 1 {
		t.Errorf("%d buckets are left", left)
	}
}

func TestGetBucket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	if err := w.google.root(t).Bucket("made-by-hand").Create(t.Context(), w.google.ProjectID(), &storage.BucketAttrs{Location: "EU"}); err != nil {
		t.Fatal(err)
	}
	describe := func(id string, parameters map[string]string) error {
		_, err := w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: id, Parameters: parameters})
		return err
	}
	drivertest.WantCode(t, describe("made-by-hand", map[string]string{"location": "eu"}), codes.OK)
	drivertest.WantCode(t, describe("made-by-hand", map[string]string{"location": "US", "versioning": "true"}), codes.AlreadyExists, "its location is EU", "no versioning")
	drivertest.WantCode(t, describe("nowhere", nil), codes.NotFound)
}

// TestKeys lets Google's client and an S3 client use what was granted, as users would.
func TestKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	bucket, other := w.NewBucket(t, nil), w.NewBucket(t, nil)
	before := w.google.Inventory()
	request := with(grantRequest(drivertest.NewAccount(), readWrite, bucket), "credentials", "both")
	granted := w.MustGrant(t, request)
	if again := w.MustGrant(t, request); !proto.Equal(granted, again) {
		t.Error("a repeated grant returns something else")
	}
	official, s3 := jsonClient(t, w.google, granted), hmacClient(t, w.google, granted)
	for name, err := range map[string]error{
		"put": put(t.Context(), official, bucket, "a"), "get": get(t.Context(), official, bucket, "a"),
		"S3 put": s3Put(t, s3, bucket, "b"), "S3 get": s3Get(t, s3, bucket, "b"), "S3 list": s3List(t, s3, bucket),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if found, err := s3.BucketExists(t.Context(), bucket); err != nil || !found {
		t.Errorf("the S3 client does not find the bucket: %v", err)
	}
	if got := httpStatus(put(t.Context(), official, other, "a")); got != 403 {
		t.Errorf("another bucket: status %d", got)
	}
	for range 2 {
		if err := w.Revoke(t, request); err != nil {
			t.Fatal(err)
		}
	}
	if got := httpStatus(get(t.Context(), official, bucket, "a")); got != 401 && got != 403 {
		t.Errorf("after revoke, with a token from before: status %d", got)
	}
	if got := httpStatus(get(t.Context(), jsonClient(t, w.google, granted), bucket, "a")); got == 0 {
		t.Error("after revoke the key still works")
	}
	if err := s3Get(t, s3, bucket, "b"); err == nil {
		t.Error("after revoke the HMAC pair still works")
	}
	after := w.google.Inventory()
	for i := range after.Buckets {
		before.Buckets[i].Objects, before.Buckets[i].Live = after.Buckets[i].Objects, after.Buckets[i].Live
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("revoke leaves something (-before +after)\n%s", diff)
	}
}

func TestCredentialsAreWhatTheClassAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	bucket := w.NewBucket(t, nil)
	for kind, want := range map[string]struct{ hmac, json bool }{"hmac": {true, false}, "json": {false, true}, "both": {true, true}} {
		given := w.MustGrant(t, with(grantRequest(drivertest.NewAccount(), readOnly, bucket), "credentials", kind)).GetCredentials().GetGcs()
		hmac := given.GetAccessId() != "" && given.GetAccessSecret() != ""
		key := given.GetClientEmail() != "" && given.GetClientId() != "" && given.GetPrivateKeyName() != "" && given.GetPrivateKey() != ""
		if hmac != want.hmac || key != want.json {
			t.Errorf("%s: HMAC %t, JSON %t", kind, hmac, key)
		}
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	bucket := w.NewBucket(t, nil)
	if err := put(t.Context(), w.google.root(t), bucket, "there"); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		modes                        drivertest.Modes
		read, list, write, overwrite bool
	}{
		"reading": {readOnly, true, true, false, false},
		"writing": {writeOnly, false, false, true, false},
		"both":    {readWrite, true, true, true, true},
	} {
		s3 := hmacClient(t, w.google, w.MustGrant(t, grantRequest(drivertest.NewAccount(), test.modes, bucket)))
		for action, one := range map[string]struct {
			err     error
			allowed bool
		}{
			"read":      {s3Get(t, s3, bucket, "there"), test.read},
			"list":      {s3List(t, s3, bucket), test.list},
			"write":     {s3Put(t, s3, bucket, "new-"+name), test.write},
			"overwrite": {s3Put(t, s3, bucket, "there"), test.overwrite},
		} {
			if (one.err == nil) != one.allowed {
				t.Errorf("%s: %s: %v", name, action, one.err)
			}
		}
	}
	_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(drivertest.NewAccount(), drivertest.Modes{Data: cosi.AccessMode_WRITE_ONLY, ObjectMetadata: cosi.AccessMode_READ_ONLY}, bucket))
	drivertest.WantCode(t, err, codes.InvalidArgument, "cannot be read without object data")
}

func TestRotation(t *testing.T) {
	t.Parallel()
	on := startGoogle(t, gcsfake.Options{})
	store := credstore.NewMemory()
	w := newWorld(t, on, worldOptions{store: store})
	bucket := w.NewBucket(t, nil)
	request := with(grantRequest(drivertest.NewAccount(), readWrite, bucket), "credentials", "both")
	var given []*cosi.DriverGrantBucketAccessResponse
	for _, rotation := range []string{"", "1", "2"} {
		request.Rotation = rotation
		granted := w.MustGrant(t, request)
		if restarted := newWorld(t, on, worldOptions{store: store}).MustGrant(t, request); !proto.Equal(granted, restarted) {
			t.Errorf("rotation %q: a restarted driver returns something else", rotation)
		}
		given = append(given, granted)
	}
	for i, works := range []bool{false, true, true} {
		s3, key := s3List(t, hmacClient(t, on, given[i]), bucket), get(t.Context(), jsonClient(t, on, given[i]), bucket, "none")
		if (s3 == nil) != works || (httpStatus(key) == 404 || strings.Contains(fmt.Sprint(key), "exist")) != works {
			t.Errorf("after two rotations, credential %d: HMAC %v, JSON %v", i, s3, key)
		}
	}
	drivertest.WantCode(t, w.Revoke(t, request), codes.OK)
	if accounts := on.Inventory().Accounts; len(accounts) != 0 {
		t.Errorf("left are %+v", accounts)
	}
}

func TestMultiBucket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	buckets := []string{w.NewBucket(t, nil), w.NewBucket(t, nil), w.NewBucket(t, nil)}
	request := grantRequest(drivertest.NewAccount(), readWrite, buckets...)
	s3 := hmacClient(t, w.google, w.MustGrant(t, request))
	for _, bucket := range buckets {
		if err := s3Put(t, s3, bucket, "key"); err != nil {
			t.Errorf("%s: %v", bucket, err)
		}
	}
	if accounts := w.google.Inventory().Accounts; len(accounts) != 1 {
		t.Errorf("%d accounts", len(accounts))
	}
	_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(request.GetAccountId(), readWrite, buckets[:2]...))
	drivertest.WantCode(t, err, codes.AlreadyExists, "other buckets")
	drivertest.WantCode(t, w.Delete(t, buckets[1], map[string]string{"deleteNonEmpty": "true"}), codes.OK)
	drivertest.WantCode(t, w.Revoke(t, request), codes.OK)
	for _, bucket := range w.google.Inventory().Buckets {
		for _, line := range bucket.Bindings {
			if strings.Contains(line, "serviceAccount:ba-") {
				t.Errorf("%s is left on %s", line, bucket.Name)
			}
		}
	}
}

// TestParallelGrants grants 16 accesses to one bucket at a time, by two driver processes: every
// binding is there, and the administrator's own are as they were.
func TestParallelGrants(t *testing.T) {
	t.Parallel()
	on := startGoogle(t, gcsfake.Options{})
	store := credstore.NewMemory()
	worlds := []*world{newWorld(t, on, worldOptions{store: store}), newWorld(t, on, worldOptions{store: store})}
	bucket := worlds[0].NewBucket(t, nil)
	foreign := bindings(on, bucket)
	var group sync.WaitGroup
	requests := make([]*cosi.DriverGrantBucketAccessRequest, 16)
	for i := range requests {
		requests[i] = grantRequest(drivertest.NewAccount(), readWrite, bucket)
		group.Go(func() {
			granted, err := worlds[i%2].DriverGrantBucketAccess(t.Context(), requests[i])
			if err != nil {
				t.Error(err)
				return
			}
			if err := s3Put(t, hmacClient(t, on, granted), bucket, fmt.Sprint(i)); err != nil {
				t.Errorf("grant %d: %v", i, err)
			}
		})
	}
	group.Wait()
	if got := len(bindings(on, bucket)) - len(foreign); got != 2*len(requests) {
		t.Errorf("%d bindings for %d accesses of two roles", got, len(requests))
	}
	for i, request := range requests {
		group.Go(func() {
			if err := worlds[i%2].Revoke(t, request); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if diff := cmp.Diff(foreign, bindings(on, bucket)); diff != "" {
		t.Errorf("bindings of others changed (-before +after)\n%s", diff)
	}
}

func bindings(on google, bucket string) []string {
	for _, one := range on.Inventory().Buckets {
		if one.Name == bucket {
			return one.Bindings
		}
	}
	return nil
}

// TestForeignConditionsSurvive makes sure that no edit loses what an administrator wrote.
func TestForeignConditionsSurvive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	bucket := w.NewBucket(t, nil)
	email, err := w.google.NewAccount("", "administrators-own")
	if err != nil {
		t.Fatal(err)
	}
	handle := w.google.root(t).Bucket(bucket).IAM().V3()
	policy, err := handle.Policy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	policy.Bindings = append(policy.Bindings, conditional("roles/storage.objectViewer", "serviceAccount:"+email))
	if err := handle.SetPolicy(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	before := bindings(w.google, bucket)
	request := grantRequest(drivertest.NewAccount(), readOnly, bucket)
	w.MustGrant(t, request)
	drivertest.WantCode(t, w.Revoke(t, request), codes.OK)
	if diff := cmp.Diff(before, bindings(w.google, bucket)); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
}

// TestLostStore keeps the keys of an account alive whose store is not the driver's.
func TestLostStore(t *testing.T) {
	t.Parallel()
	on := startGoogle(t, gcsfake.Options{})
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	request := grantRequest(drivertest.NewAccount(), readWrite, bucket)
	granted := w.MustGrant(t, request)
	stranger := newWorld(t, on, worldOptions{})
	_, err := stranger.DriverGrantBucketAccess(t.Context(), request)
	drivertest.WantCode(t, err, codes.FailedPrecondition, "credential store lost", "gcloud iam service-accounts update")
	drivertest.WantCode(t, stranger.Revoke(t, request), codes.FailedPrecondition, "credential store lost")
	if err := s3Put(t, hmacClient(t, on, granted), bucket, "key"); err != nil {
		t.Errorf("the delivered key does not work any more: %v", err)
	}
	elsewhere := newWorld(t, on, worldOptions{store: w.store, config: func(c *gcsdriver.Config) { c.DriverName = "other.example.com" }})
	_, err = elsewhere.DriverGrantBucketAccess(t.Context(), request)
	drivertest.WantCode(t, err, codes.AlreadyExists, "left alone")
}

// TestAccountIsGone revokes an access whose service account an administrator deleted.
func TestAccountIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	bucket := w.NewBucket(t, nil)
	before := bindings(w.google, bucket)
	request := grantRequest(drivertest.NewAccount(), readWrite, bucket)
	w.MustGrant(t, request)
	removeAccount(t, w.google, w.google.Inventory().Accounts[0].Email)
	if text := strings.Join(bindings(w.google, bucket), "\n"); !strings.Contains(text, "deleted:serviceAccount:ba-") {
		t.Fatalf("the bindings are\n%s", text)
	}
	drivertest.WantCode(t, w.Revoke(t, request), codes.OK)
	if diff := cmp.Diff(before, bindings(w.google, bucket)); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
}

func TestIDsNameTheBackend(t *testing.T) {
	t.Parallel()
	on := startGoogle(t, gcsfake.Options{Projects: []gcsfake.Project{{ID: gcsfake.DefaultProject}, {ID: "second-project"}}})
	if err := on.Grant("second-project", "serviceAccount:"+on.AdminEmail(""), "roles/storage.admin", "roles/iam.serviceAccountAdmin", "roles/storage.hmacKeyAdmin"); err != nil {
		t.Fatal(err)
	}
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

func TestDescriptionTellsWhoseTheAccountIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	request := grantRequest(drivertest.NewAccount(), readOnly, w.NewBucket(t, nil))
	w.MustGrant(t, request)
	account := w.google.Inventory().Accounts[0]
	name, _, _ := strings.Cut(account.Email, "@")
	text, err := json.Marshal(account)
	if err != nil {
		t.Fatal(err)
	}
	if len(name) != 29 || !strings.HasPrefix(account.Description, "cosi:"+request.GetAccountId()+";") || !strings.HasSuffix(account.Description, ";gcs.cooper.dev") {
		t.Errorf("the account is %s", text)
	}
}
