// SPDX-License-Identifier: Apache-2.0

package params_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/params"
)

// parse validates values like the kit and then parses them.
func parse(values driverkit.Values) (params.Bucket, error) {
	for key, value := range values {
		parameter, known := params.BucketParameters()[key]
		if !known {
			return params.Bucket{}, fmt.Errorf("parameter %q is unknown", key)
		}
		if parameter.Check == nil {
			continue
		}
		if err := parameter.Check(value); err != nil {
			return params.Bucket{}, fmt.Errorf("parameter %s %w", key, err)
		}
	}
	return params.ParseBucket(values)
}

func TestParseBucket(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		values driverkit.Values
		want   params.Bucket
	}{
		"nothing asks for nothing": {nil, params.Bucket{}},
		"plain values": {
			driverkit.Values{"backend": "b", "namePrefix": "p-", "region": "eu-west-1", "versioning": "true", "deleteNonEmpty": "true"},
			params.Bucket{Backend: "b", NamePrefix: "p-", Region: "eu-west-1", Versioning: true, DeleteNonEmpty: true},
		},
		"object lock includes versioning": {
			driverkit.Values{"objectLock": "true"},
			params.Bucket{ObjectLock: true, Versioning: true},
		},
		"default retention": {
			driverkit.Values{"objectLock": "true", "objectLockMode": "GOVERNANCE", "objectLockDays": "30"},
			params.Bucket{
				ObjectLock: true, Versioning: true,
				Retention: &types.DefaultRetention{Mode: types.ObjectLockRetentionModeGovernance, Days: aws.Int32(30)},
			},
		},
		"encryption with a key": {
			driverkit.Values{"encryption": "SSE-KMS", "kmsKeyID": "arn:aws:kms:eu-west-1:1:key/k"},
			params.Bucket{Encryption: params.EncryptionKMS, KMSKey: "arn:aws:kms:eu-west-1:1:key/k"},
		},
		"lifecycle in the form of the AWS CLI": {
			driverkit.Values{"lifecycle": `{"Rules":[{"ID":"r","Status":"Enabled","Filter":{"Prefix":"tmp/"},"Expiration":{"Days":1}}]}`},
			params.Bucket{Lifecycle: &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{{
				ID: aws.String("r"), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String("tmp/")},
				Expiration: &types.LifecycleExpiration{Days: aws.Int32(1)},
			}}}},
		},
		"CORS in the form of the AWS CLI": {
			driverkit.Values{"cors": `{"CORSRules":[{"AllowedMethods":["GET"],"AllowedOrigins":["*"]}]}`},
			params.Bucket{CORS: &types.CORSConfiguration{CORSRules: []types.CORSRule{{AllowedMethods: []string{"GET"}, AllowedOrigins: []string{"*"}}}}},
		},
		"the default event types": {
			driverkit.Values{"eventQueue": "arn:aws:sqs:us-east-1:1:q"},
			params.Bucket{Events: &types.QueueConfiguration{
				Id: aws.String("cosi"), QueueArn: aws.String("arn:aws:sqs:us-east-1:1:q"), Events: []types.Event{"s3:ObjectCreated:*", "s3:ObjectRemoved:*"},
			}},
		},
		"event types in a fixed order": {
			driverkit.Values{"eventQueue": "arn:minio:sqs::q:webhook", "eventTypes": "s3:ObjectTagging:*, s3:ObjectCreated:Put,s3:ObjectTagging:*"},
			params.Bucket{Events: &types.QueueConfiguration{
				Id: aws.String("cosi"), QueueArn: aws.String("arn:minio:sqs::q:webhook"), Events: []types.Event{"s3:ObjectCreated:Put", "s3:ObjectTagging:*"},
			}},
		},
		"tags in a fixed order": {
			driverkit.Values{"tags": `{"team":"Käse","a":"1"}`},
			params.Bucket{Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("team"), Value: aws.String("Käse")}}},
		},
		"quota with a binary unit":  {driverkit.Values{"quota": "10Gi"}, params.Bucket{Quota: 10 << 30}},
		"quota with a decimal unit": {driverkit.Values{"quota": "5M"}, params.Bucket{Quota: 5_000_000}},
		"quota of objects":          {driverkit.Values{"quotaObjects": "1000"}, params.Bucket{QuotaObjects: 1000}},
		"quota in bytes":            {driverkit.Values{"quota": "1000"}, params.Bucket{Quota: 1000}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(test.values)
			if err != nil {
				t.Fatal(err)
			}
			ignored := cmpopts.IgnoreUnexported(types.DefaultRetention{}, types.Tag{}, types.BucketLifecycleConfiguration{}, types.LifecycleRule{},
				types.LifecycleRuleFilter{}, types.LifecycleExpiration{}, types.CORSConfiguration{}, types.CORSRule{}, types.QueueConfiguration{})
			if diff := cmp.Diff(test.want, got, ignored, cmpopts.IgnoreFields(params.Bucket{}, "Hash")); diff != "" {
				t.Errorf("parsed differently (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseBucketRefuses(t *testing.T) {
	t.Parallel()
	manyTags := `{"k0":"v"`
	for i := range params.MaxTags {
		manyTags += fmt.Sprintf(`,"k%d":"v"`, i+1)
	}
	tests := map[string]struct {
		values driverkit.Values
		want   string
	}{
		"an unknown key":                 {driverkit.Values{"versionning": "true"}, "unknown"},
		"an invalid boolean":             {driverkit.Values{"versioning": "yes"}, "true, false"},
		"a prefix with capitals":         {driverkit.Values{"namePrefix": "Team"}, "lower-case"},
		"a prefix that is too long":      {driverkit.Values{"namePrefix": strings.Repeat("p", 24)}, "1 to 23"},
		"a prefix that S3 reserves":      {driverkit.Values{"namePrefix": "xn--a"}, "reserves"},
		"a retention without its length": {driverkit.Values{"objectLock": "true", "objectLockMode": "COMPLIANCE"}, "require each other"},
		"a retention without the lock":   {driverkit.Values{"objectLockMode": "COMPLIANCE", "objectLockDays": "1"}, "requires that objectLock is true"},
		"a retention of no days":         {driverkit.Values{"objectLock": "true", "objectLockMode": "COMPLIANCE", "objectLockDays": "0"}, "from 1"},
		"a lock without versions":        {driverkit.Values{"objectLock": "true", "versioning": "false"}, "requires versioning"},
		"an encryption that is none":     {driverkit.Values{"encryption": "AES256"}, "SSE-S3, SSE-KMS"},
		"a key without its encryption":   {driverkit.Values{"kmsKeyID": "k"}, "SSE-KMS"},
		"an alias of a key":              {driverkit.Values{"encryption": "SSE-KMS", "kmsKeyID": "alias/k"}, "alias"},
		"a lifecycle that is no JSON":    {driverkit.Values{"lifecycle": "30 days"}, "JSON"},
		"a lifecycle with a typo":        {driverkit.Values{"lifecycle": `{"Rulez":[]}`}, "Rulez"},
		"a lifecycle with more behind":   {driverkit.Values{"lifecycle": `{"Rules":[]} x`}, "after the JSON"},
		"two rules with one ID":          {driverkit.Values{"lifecycle": `{"Rules":[{"ID":"old"},{"ID":"old"}]}`}, `several rules with the ID "old"`},
		"a rule with both filters":       {driverkit.Values{"lifecycle": `{"Rules":[{"ID":"tmp","Prefix":"","Filter":{"Prefix":""}}]}`}, `Filter and Prefix in rule "tmp"`},
		"an expiration of no days":       {driverkit.Values{"lifecycle": `{"Rules":[{"Expiration":{"Days":0}}]}`}, `expiration of 0 days in rule "number 1"`},
		"too many CORS rules":            {driverkit.Values{"cors": `{"CORSRules":[{}` + strings.Repeat(",{}", 100) + `]}`}, "101 rules"},
		"a CORS with a typo":             {driverkit.Values{"cors": `{"Rules":[]}`}, "Rules"},
		"a queue that is no ARN":         {driverkit.Values{"eventQueue": "uploads"}, "must be the ARN of a queue"},
		"a topic":                        {driverkit.Values{"eventQueue": "arn:aws:sns:us-east-1:1:uploads"}, "must be the ARN of a queue"},
		"a queue without a name":         {driverkit.Values{"eventQueue": "arn:aws:sqs:us-east-1:1:"}, "must be the ARN of a queue"},
		"an unknown event type":          {driverkit.Values{"eventQueue": "arn:aws:sqs:us-east-1:1:q", "eventTypes": "s3:ObjectCreated:*,s3:ObjectMoved:*"}, `contains "s3:ObjectMoved:*"`},
		"an empty event type":            {driverkit.Values{"eventQueue": "arn:aws:sqs:us-east-1:1:q", "eventTypes": "s3:ObjectCreated:*,"}, `contains ""`},
		"event types without a queue":    {driverkit.Values{"eventTypes": "s3:ObjectCreated:*"}, "requires eventQueue"},
		"tags that are no object":        {driverkit.Values{"tags": "team=a"}, "JSON object"},
		"a tag of the driver":            {driverkit.Values{"tags": `{"cosi-driver":"me"}`}, "reserved"},
		"a tag of AWS":                   {driverkit.Values{"tags": `{"AWS:x":"me"}`}, "reserved"},
		"a tag with a control character": {driverkit.Values{"tags": "{\"a\\u0007\":\"b\"}"}, "allowed are"},
		"too many tags":                  {driverkit.Values{"tags": manyTags + "}"}, "41 tags"},
		"a quota that is no number":      {driverkit.Values{"quota": "big"}, "whole number"},
		"a quota of an unknown unit":     {driverkit.Values{"quota": "1KiB"}, "whole number"},
		"a quota of mixed units":         {driverkit.Values{"quota": "1GiMi"}, "whole number"},
		"a quota over all bounds":        {driverkit.Values{"quota": "99999999Pi"}, "whole number"},
		"a quota of no objects":          {driverkit.Values{"quotaObjects": "0"}, "positive whole number"},
		"a negative quota":               {driverkit.Values{"quota": "-1"}, "whole number"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := parse(test.values); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want %q", err, test.want)
			}
		})
	}
}

func TestHashTellsBucketsApart(t *testing.T) {
	t.Parallel()
	hash := func(values driverkit.Values) string {
		got, err := parse(values)
		if err != nil {
			t.Fatal(err)
		}
		return got.Hash
	}
	plain := hash(nil)
	for name, values := range map[string]driverkit.Values{
		"the part of the name": {"namePrefix": "p", "backend": "b"},
		"the deletion":         {"deleteNonEmpty": "true"},
	} {
		if hash(values) != plain {
			t.Errorf("%s changes the hash", name)
		}
	}
	if hash(driverkit.Values{"versioning": "true"}) == plain {
		t.Error("versioning does not change the hash")
	}
}

func FuzzParseBucket(f *testing.F) {
	for key := range params.BucketParameters() {
		f.Add(key, "true")
		f.Add(key, `{"Rules":[]}`)
		f.Add(key, "10Gi")
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		first, err := parse(driverkit.Values{key: value})
		if err != nil {
			return
		}
		second, err := parse(driverkit.Values{key: value})
		if err != nil || first.Hash != second.Hash {
			t.Errorf("parsing %q=%q twice: %v", key, value, err)
		}
	})
}
