// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

const readWrite = policy.Read | policy.Write

// grants flattens a document to "action resource" lines.
func grants(t *testing.T, buckets ...policy.Bucket) []string {
	t.Helper()
	text, err := policy.Build(policy.Dialect{Partition: "aws"}, buckets)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Statement []struct {
			Effect   string   `json:"Effect"`
			Action   []string `json:"Action"`
			Resource []string `json:"Resource"`
		} `json:"Statement"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, statement := range doc.Statement {
		if statement.Effect != "Allow" {
			t.Errorf("effect %q", statement.Effect)
		}
		for _, action := range statement.Action {
			for _, resource := range statement.Resource {
				lines = append(lines, action+" "+strings.TrimPrefix(resource, "arn:aws:s3:::"))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func TestBuildAllowsExactlyTheMode(t *testing.T) {
	t.Parallel()
	read := []string{"s3:GetBucketLocation b", "s3:GetObject b/*", "s3:GetObjectVersion b/*", "s3:ListBucket b", "s3:ListBucketVersions b"}
	write := []string{
		"s3:AbortMultipartUpload b/*", "s3:DeleteObject b/*", "s3:GetBucketLocation b", "s3:ListBucketMultipartUploads b",
		"s3:ListMultipartUploadParts b/*", "s3:PutObject b/*",
	}
	readTags := []string{
		"s3:GetObjectAttributes b/*", "s3:GetObjectLegalHold b/*", "s3:GetObjectRetention b/*", "s3:GetObjectTagging b/*",
		"s3:GetObjectVersionTagging b/*",
	}
	writeTags := []string{
		"s3:DeleteObjectTagging b/*", "s3:DeleteObjectVersionTagging b/*", "s3:PutObjectTagging b/*", "s3:PutObjectVersionTagging b/*",
	}
	readBucket := []string{
		"s3:GetBucketCORS b", "s3:GetBucketLocation b", "s3:GetBucketObjectLockConfiguration b", "s3:GetBucketOwnershipControls b",
		"s3:GetBucketPublicAccessBlock b", "s3:GetBucketTagging b", "s3:GetBucketVersioning b", "s3:GetEncryptionConfiguration b",
		"s3:GetLifecycleConfiguration b",
	}
	tests := map[string]struct {
		access policy.Access
		want   [][]string
	}{
		"reading data reads and lists, nothing else":   {policy.Access{ObjectData: policy.Read}, [][]string{read}},
		"writing data neither reads nor lists objects": {policy.Access{ObjectData: policy.Write}, [][]string{write}},
		"both directions are the union":                {policy.Access{ObjectData: readWrite}, [][]string{read, write}},
		"reading tags comes only when asked":           {policy.Access{ObjectData: policy.Read, ObjectMetadata: policy.Read}, [][]string{read, readTags}},
		"writing tags comes only when asked":           {policy.Access{ObjectData: policy.Write, ObjectMetadata: policy.Write}, [][]string{write, writeTags}},
		"everything that can be asked":                 {policy.Access{ObjectData: readWrite, ObjectMetadata: readWrite, BucketMetadata: policy.Read}, [][]string{read, write, readTags, writeTags, readBucket}},
		"bucket metadata alone shows no objects":       {policy.Access{BucketMetadata: policy.Read}, [][]string{readBucket}},
		"written data with tags that stay read-only":   {policy.Access{ObjectData: readWrite, ObjectMetadata: policy.Read}, [][]string{read, write, readTags}},
		"a drop box without the permission to delete":  {policy.Access{ObjectData: policy.Write, NoDelete: true}, [][]string{slices.DeleteFunc(slices.Clone(write), func(s string) bool { return s == "s3:DeleteObject b/*" })}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := slices.Concat(test.want...)
			slices.Sort(want)
			want = slices.Compact(want)
			if diff := cmp.Diff(want, grants(t, policy.Bucket{Name: "b", Access: test.access})); diff != "" {
				t.Errorf("document differs (-want +got):\n%s", diff)
			}
			if err := test.access.Check(); err != nil {
				t.Errorf("Check refuses it: %v", err)
			}
		})
	}
}

func TestBuildNeverAllowsWhatChangesTheBucket(t *testing.T) {
	t.Parallel()
	for _, data := range []policy.Direction{0, policy.Read, policy.Write, readWrite} {
		for _, metadata := range []policy.Direction{0, policy.Read, policy.Write, readWrite} {
			access := policy.Access{ObjectData: data, ObjectMetadata: metadata, BucketMetadata: policy.Read}
			for _, grant := range grants(t, policy.Bucket{Name: "b", Access: access}) {
				action, _, _ := strings.Cut(grant, " ")
				for _, forbidden := range []string{"*", "Bypass", "DeleteObjectVersion", "DeleteBucket", "PutBucket", "Acl", "Policy", "Replicat"} {
					if strings.Contains(action, forbidden) && action != "s3:DeleteObjectVersionTagging" {
						t.Errorf("data %d, metadata %d: allows %s", data, metadata, grant)
					}
				}
			}
		}
	}
}

func TestBuildGroupsAndOrders(t *testing.T) {
	t.Parallel()
	read, write := policy.Access{ObjectData: policy.Read}, policy.Access{ObjectData: policy.Write}
	buckets := []policy.Bucket{{Name: "c", Access: read}, {Name: "a", Access: write}, {Name: "b", Access: read}}
	first, err := policy.Build(policy.Dialect{Partition: "aws-cn"}, buckets)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(buckets)
	second, err := policy.Build(policy.Dialect{Partition: "aws-cn"}, buckets)
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Errorf("the order of buckets changes the document:\n%s\n%s", first, second)
	}
	want := `["arn:aws-cn:s3:::b/*","arn:aws-cn:s3:::c/*"]`
	if !strings.Contains(first, want) || strings.Count(first, `"Effect"`) != 4 {
		t.Errorf("document has no shared statement %s, or not four statements:\n%s", want, first)
	}
}

func TestBuildAllowsKeysOfEncryptedBuckets(t *testing.T) {
	t.Parallel()
	const readKey, writeKey = "arn:aws:kms:eu-west-1:1:key/r", "arn:aws:kms:eu-west-1:1:key/w"
	got := grants(t,
		policy.Bucket{Name: "r", Access: policy.Access{ObjectData: policy.Read}, KMSKey: readKey},
		policy.Bucket{Name: "r2", Access: policy.Access{ObjectData: policy.Read}, KMSKey: readKey},
		policy.Bucket{Name: "w", Access: policy.Access{ObjectData: policy.Write}, KMSKey: writeKey},
		policy.Bucket{Name: "m", Access: policy.Access{BucketMetadata: policy.Read}, KMSKey: readKey},
	)
	got = slices.DeleteFunc(got, func(s string) bool { return !strings.HasPrefix(s, "kms:") })
	want := []string{"kms:Decrypt " + readKey, "kms:Decrypt " + writeKey, "kms:GenerateDataKey " + writeKey}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("key statements differ (-want +got):\n%s", diff)
	}
}

func TestBuildNamesTheAccountAndTheUseOfKeys(t *testing.T) {
	t.Parallel()
	const key = "arn:aws:kms:eu-west-1:111122223333:key/k"
	text, err := policy.Build(policy.Dialect{Partition: "aws", Account: "111122223333"}, []policy.Bucket{
		{Name: "a", Access: policy.Access{ObjectData: policy.Read}, KMSKey: key}, {Name: "b", Access: policy.Access{ObjectData: policy.Read}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for want, times := range map[string]int{
		`"Condition":{"StringEquals":{"aws:ResourceAccount":["111122223333"]}}`: 2,
		`"Resource":["` + key + `"],"Condition":{"StringLike":{"kms:EncryptionContext:aws:s3:arn":["arn:aws:s3:::a","arn:aws:s3:::a/*"],"kms:ViaService":["s3.eu-west-1.amazonaws.com*"]}}`: 1,
	} {
		if strings.Count(text, want) != times {
			t.Errorf("want %d times %s in\n%s", times, want, text)
		}
	}
}

func TestKMSResource(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab"
	for name, test := range map[string]struct{ account, key, want string }{
		"none":                              {"1", "", ""},
		"its ARN":                           {"1", arn, arn},
		"its ID":                            {"111122223333", "1234abcd-12ab", arn},
		"its ID, where no account is known": {"", "1234abcd-12ab", "arn:aws:kms:eu-west-1:*:key/1234abcd-12ab"},
		"an alias":                          {"1", "alias/photos", "refused"},
		"the ARN of an alias":               {"1", "arn:aws:kms:eu-west-1:111122223333:alias/photos", "refused"},
		"a pattern of IDs":                  {"1", "*", "refused"},
		"a pattern of keys":                 {"1", "arn:aws:kms:eu-west-1:111122223333:key/*", "refused"},
		"a pattern of accounts":             {"1", "arn:aws:kms:eu-west-1:*:key/1234abcd-12ab", "refused"},
		"a key of another region":           {"1", "arn:aws:kms:eu-west-2:111122223333:key/1234abcd-12ab", "refused"},
		"an invalid key":                    {"1", "arn:aws:s3:::bucket", "refused"},
		"a variable":                        {"1", "${aws:username}", "refused"},
	} {
		got, err := policy.KMSResource("aws", "eu-west-1", test.account, test.key)
		if err != nil {
			got = "refused"
		}
		if got != test.want {
			t.Errorf("%s: %q (%v), want %q", name, got, err, test.want)
		}
	}
}

// TestSizes pins the number of buckets with names of 39 bytes that fit into the limits of IAM.
func TestSizes(t *testing.T) {
	t.Parallel()
	for count, limit := range map[int]int{13: 2048, 49: 6144} {
		var buckets []policy.Bucket
		for i := range count {
			buckets = append(buckets, policy.Bucket{Name: fmt.Sprintf("bc-%036d", i), Access: policy.Access{ObjectData: readWrite}})
		}
		text, err := policy.Build(policy.Dialect{Partition: "aws", Account: "111122223333"}, buckets)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > limit {
			t.Errorf("%d buckets take %d bytes, more than %d", count, len(text), limit)
		}
	}
}

// TestBuildAllowsDeletionAtTheBucket checks policies for stores that require permission on the bucket to delete
// several objects.
func TestBuildAllowsDeletionAtTheBucket(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		access policy.Access
		want   bool
	}{
		"writing":                  {policy.Access{ObjectData: policy.Write}, true},
		"writing and reading":      {policy.Access{ObjectData: readWrite}, true},
		"writing without deletion": {policy.Access{ObjectData: readWrite, NoDelete: true}, false},
		"reading":                  {policy.Access{ObjectData: policy.Read, BucketMetadata: policy.Read}, false},
	} {
		for _, asks := range []bool{true, false} {
			text, err := policy.Build(policy.Dialect{Partition: "aws", DeletesAtBucket: asks}, []policy.Bucket{{Name: "b", Access: test.access}})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(text, `"s3:DeleteObject"],"Resource":["arn:aws:s3:::b"]`); got != (test.want && asks) {
				t.Errorf("%s, at a store that asks (%t): %s", name, asks, text)
			}
		}
	}
}

func TestBuildDeniesSessions(t *testing.T) {
	t.Parallel()
	text, err := policy.Build(policy.Dialect{Partition: "aws", NoSessions: true}, []policy.Bucket{{Name: "b", Access: policy.Access{BucketMetadata: policy.Read}}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"Effect":"Deny","Action":["s3:*"],"Resource":["*"],"Condition":{"DateGreaterThan":{"aws:TokenIssueTime":["1970-01-01T00:00:00Z"]}}}]}`
	if !strings.HasSuffix(text, want) {
		t.Errorf("%s, want it to end in %s", text, want)
	}
}

// TestBuildDeniesOtherBuckets checks policies for stores where the owner of an object or bucket can give others
// access.
func TestBuildDeniesOtherBuckets(t *testing.T) {
	t.Parallel()
	text, err := policy.Build(policy.Dialect{Partition: "aws", Denied: []string{"s3:GetObject"}, Elsewhere: true}, []policy.Bucket{
		{Name: "b", Access: policy.Access{ObjectData: policy.Read}}, {Name: "a", Access: policy.Access{BucketMetadata: policy.Read}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"Effect":"Deny","Action":["s3:GetObject"],"Resource":["arn:aws:s3:::a/*"]}`,
		`{"Effect":"Deny","Action":["s3:GetObject"],"NotResource":["arn:aws:s3:::a","arn:aws:s3:::a/*","arn:aws:s3:::b","arn:aws:s3:::b/*"]}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	const ours = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject","s3:PutObject"],"Resource":["arn:aws:s3:::b/*"]}]}`
	for name, test := range map[string]struct {
		other string
		want  bool
	}{
		"the same bytes":             {ours, true},
		"another order of lists":     {strings.Replace(ours, `"s3:GetObject","s3:PutObject"`, `"s3:PutObject","s3:GetObject"`, 1), true},
		"a string for a list of one": {strings.Replace(ours, `["arn:aws:s3:::b/*"]`, `"arn:aws:s3:::b/*"`, 1), true},
		"an additional action":       {strings.Replace(ours, `"s3:PutObject"`, `"s3:PutObject","s3:DeleteObject"`, 1), false},
		"another effect":             {strings.Replace(ours, "Allow", "Deny", 1), false},
		"text that is not JSON":      {"", false},
	} {
		if got := policy.Same([]byte(ours), []byte(test.other)); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
