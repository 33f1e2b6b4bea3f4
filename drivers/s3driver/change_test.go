// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// changed returns an update that sets some parameters of a bucket with the given ones, and removes those that are empty.
func changed(parameters, values map[string]string) *cosi.BucketUpdate {
	all := maps.Clone(parameters)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, values)
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return &cosi.BucketUpdate{Changed: slices.Sorted(maps.Keys(values)), Parameters: all}
}

func callChange(ctx context.Context, driver driverkit.Driver, names names) error {
	update := changed(crashParameters, map[string]string{"lifecycle": oneRule, "cors": ""})
	_, err := driver.CreateBucket(ctx, driverkit.CreateBucketRequest{
		BucketID: names.bucket, Parameters: crashParameters, Update: &driverkit.BucketUpdate{Changed: update.GetChanged(), Parameters: update.GetParameters()},
	})
	return err
}

// verifyChanged checks that the bucket has the change, also after a repeated creation.
func verifyChanged(t *testing.T, run *run) {
	t.Helper()
	mustSucceed(t, callCreate(t.Context(), run.driver, run.names))
	root := s3Client(run.target.backend.Endpoint, "us-east-1", run.target.rootID, run.target.rootSecret)
	if days := expiry(t, root, run.bucket); days != 7 {
		t.Errorf("objects expire after %d days, want 7", days)
	}
	verifyCreated(t, run)
}

// expiry returns the days after which the bucket's only lifecycle rule deletes objects, or 0 if it has no rule.
func expiry(t *testing.T, client *s3.Client, bucket string) int32 {
	t.Helper()
	out, err := client.GetBucketLifecycleConfiguration(t.Context(), &s3.GetBucketLifecycleConfigurationInput{Bucket: &bucket})
	if err != nil {
		if code := apiCode(t, err); code != "NoSuchLifecycleConfiguration" {
			t.Fatal(err)
		}
		return 0
	}
	if len(out.Rules) != 1 || out.Rules[0].Expiration == nil {
		t.Fatalf("the rules are %+v", out.Rules)
	}
	return aws.ToInt32(out.Rules[0].Expiration.Days)
}

// TestChangeOfParameters changes parameters of an existing bucket. Each repeated creation must accept the change.
func TestChangeOfParameters(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	w := newWorld(t, on, worldOptions{})
	parameters := map[string]string{"versioning": "true", "lifecycle": oneRule, "cors": oneOrigin}
	bucket, root := w.NewBucket(t, parameters), w.root()
	change := func(id string, values map[string]string) error {
		_, err := w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: id, Parameters: parameters, Update: changed(parameters, values)})
		return err
	}
	has := func(days int32, origins int) {
		t.Helper()
		mustSucceed(t, w.Create(t, bucket, parameters))
		if got := expiry(t, root, bucket); got != days {
			t.Errorf("objects expire after %d days, want %d", got, days)
		}
		cors, err := root.GetBucketCors(t.Context(), &s3.GetBucketCorsInput{Bucket: &bucket})
		if origins == 0 && err != nil && apiCode(t, err) == "NoSuchCORSConfiguration" {
			return
		}
		if err != nil || len(cors.CORSRules) != origins {
			t.Errorf("the CORS rules are %+v, %v, want %d", cors, err, origins)
		}
	}
	has(7, 1)
	mustSucceed(t, change(bucket, map[string]string{"lifecycle": otherRule}))
	has(8, 1)
	mustSucceed(t, change(bucket, map[string]string{"lifecycle": "", "cors": ""}))
	has(0, 0)
	mustSucceed(t, change(bucket, map[string]string{"lifecycle": "", "cors": ""})) // there is nothing to remove
	mustSucceed(t, change(bucket, map[string]string{"lifecycle": oneRule}))
	has(7, 0)

	drivertest.WantCode(t, change(bucket, map[string]string{"lifecycle": "{"}), codes.InvalidArgument, "parameter lifecycle")
	drivertest.WantCode(t, change(bucket, map[string]string{"quota": "1Gi"}), codes.InvalidArgument, "parameter quota", "does not support quotas")
	drivertest.WantCode(t, change(bucket, map[string]string{"versioning": ""}), codes.InvalidArgument, "parameter versioning cannot be changed")
	mustSucceed(t, server.Faults.Add(fault.Rule{Operation: "PutBucketLifecycleConfiguration", Code: "InvalidRequest", Status: http.StatusBadRequest, Times: 1}))
	drivertest.WantCode(t, change(bucket, map[string]string{"lifecycle": otherRule}), codes.InvalidArgument, "parameter lifecycle")
	has(7, 0)

	drivertest.WantCode(t, change("bc-"+drivertest.NewAccount(), map[string]string{"lifecycle": otherRule}), codes.NotFound, "no longer exists")
	foreign := "bc-" + drivertest.NewAccount()
	_, err := root.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &foreign})
	mustSucceed(t, err)
	drivertest.WantCode(t, change(foreign, map[string]string{"lifecycle": otherRule}), codes.AlreadyExists, "was not created by this driver")
	if days := expiry(t, root, foreign); days != 0 {
		t.Error("a bucket of another owner was changed")
	}
	_, err = w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket, Update: changed(nil, map[string]string{"lifecycle": otherRule})})
	drivertest.WantCode(t, err, codes.AlreadyExists, "other parameters")
	mustSucceed(t, w.Delete(t, bucket, parameters))
}
