// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// TestStaleReads changes something and reads it until it is seen: at the third call with a lag of two, or once the time
// has passed.
func TestStaleReads(t *testing.T) {
	t.Parallel()
	user, docs := aws.String("u"), aws.String("docs")
	for name, test := range map[string]struct {
		operation    string
		change, read func(context.Context, *iam.Client, *s3.Client) (bool, error)
	}{
		"a user": {"iam:GetUser", func(ctx context.Context, client *iam.Client, _ *s3.Client) (bool, error) {
			_, err := client.CreateUser(ctx, &iam.CreateUserInput{UserName: user})
			return true, err
		}, func(ctx context.Context, client *iam.Client, _ *s3.Client) (bool, error) {
			_, err := client.GetUser(ctx, &iam.GetUserInput{UserName: user})
			return err == nil, nil
		}},
		"a list of keys": {"iam:List*", func(ctx context.Context, client *iam.Client, _ *s3.Client) (bool, error) {
			_, err := client.CreateAccessKey(ctx, &iam.CreateAccessKeyInput{UserName: aws.String("known")})
			return true, err
		}, func(ctx context.Context, client *iam.Client, _ *s3.Client) (bool, error) {
			out, err := client.ListAccessKeys(ctx, &iam.ListAccessKeysInput{UserName: aws.String("known")})
			return err == nil && len(out.AccessKeyMetadata) == 2, err
		}},
		"a list of buckets": {"ListBuckets", func(ctx context.Context, _ *iam.Client, client *s3.Client) (bool, error) {
			_, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: docs})
			return true, err
		}, func(ctx context.Context, _ *iam.Client, client *s3.Client) (bool, error) {
			out, err := client.ListBuckets(ctx, &s3.ListBucketsInput{})
			return err == nil && len(out.Buckets) == 1, err
		}},
	} {
		for lag, rule := range map[string]fault.Rule{"of calls": {Lag: 2}, "of time": {LagTime: fault.Duration(time.Minute)}} {
			t.Run(name+", by a lag "+lag, func(t *testing.T) {
				t.Parallel()
				clock := time.Now()
				f := start(t, s3fake.Options{Past: true, Now: func() time.Time { return clock }})
				iams, s3s := f.iam(f.Root()), f.s3(f.Root())
				wantNoError(t, f.ImportUser(s3fake.ImportedUser{Name: "known", Credentials: s3fake.Credentials{AccessKeyID: "AKIAKNOWN0KNOWN0KNOW", SecretAccessKey: "s"}}))
				rule.Operation, rule.Effect = test.operation, fault.Stale
				wantNoError(t, f.Faults.Add(rule))
				if _, err := test.change(t.Context(), iams, s3s); err != nil {
					t.Fatal(err)
				}
				for read := 1; read <= 3; read++ {
					seen, err := test.read(t.Context(), iams, s3s)
					if err != nil || seen != (read == 3) {
						t.Errorf("read %d sees the change: %v, %v", read, seen, err)
					}
					if rule.LagTime > 0 {
						clock = clock.Add(30 * time.Second)
					}
				}
			})
		}
	}
}
