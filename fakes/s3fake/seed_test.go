// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// seed is a reader by a managed policy, a writer by an inline one, and a bucket that lets the reader put one object.
const seed = `
policies:
- name: readers
  document:
    Version: "2012-10-17"
    Statement: [{Effect: Allow, Action: "s3:GetObject", Resource: "arn:aws:s3:::photos/*"}]
users:
- name: reader
  accessKeyID: AKIAREADER0000000000
  secretAccessKey: reader-secret
  policies: ["arn:aws:iam::000000000000:policy/readers"]
- name: writer
  accessKeyID: AKIAWRITER0000000000
  secretAccessKey: writer-secret
  policy:
    Version: "2012-10-17"
    Statement: [{Effect: Allow, Action: "s3:PutObject", Resource: "arn:aws:s3:::photos/*"}]
buckets:
- name: logs
- name: photos
  versioning: true
  policy:
    Version: "2012-10-17"
    Statement:
    - {Effect: Allow, Principal: {AWS: "arn:aws:iam::000000000000:user/reader"}, Action: "s3:PutObject", Resource: "arn:aws:s3:::photos/mine"}
`

// TestSeed tries what the seed allows and what it does not, and repeats this after a reset.
func TestSeed(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{})
	for range 2 { // the second time it is there already
		wantNoError(t, f.Seed([]byte(seed)))
	}
	want := f.Inventory()
	photos := aws.String("photos")
	reader := f.s3(s3fake.Credentials{AccessKeyID: "AKIAREADER0000000000", SecretAccessKey: "reader-secret"})
	writer := f.s3(s3fake.Credentials{AccessKeyID: "AKIAWRITER0000000000", SecretAccessKey: "writer-secret"})
	for range 2 {
		for _, step := range []struct {
			what   string
			client *s3.Client
			key    string
			want   string
		}{
			{"the writer puts", writer, "cat", ""},
			{"the reader puts", reader, "cat", "AccessDenied"},
			{"the reader puts its own", reader, "mine", ""},
		} {
			_, err := step.client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: photos, Key: aws.String(step.key), Body: strings.NewReader("x")})
			if got := refusalOf(err); got != step.want {
				t.Errorf("%s: %v, want %q", step.what, err, step.want)
			}
		}
		if _, err := reader.GetObject(t.Context(), &s3.GetObjectInput{Bucket: photos, Key: aws.String("cat")}); err != nil {
			t.Error(err)
		}
		wantNoError(t, f.Faults.Add(fault.Rule{Code: "SlowDown"}))
		wantNoError(t, f.Reset())
		if diff := cmp.Diff(want, f.Inventory(), cmpopts.EquateEmpty()); diff != "" || len(f.Calls()) > 0 {
			t.Errorf("after a reset there are %d calls, and (-want +got):\n%s", len(f.Calls()), diff)
		}
	}
}

func TestBadSeeds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ seed, want string }{
		"a field that is not known":      {"bucket: [{name: photos}]", `unknown field "bucket"`},
		"a name that no bucket has":      {"buckets: [{name: A_B}]", "bucket A_B of the seed: InvalidBucketName"},
		"a user without a key":           {"users: [{name: u}]", "user u of the seed: set accessKeyID"},
		"a policy that is none":          {"policies: [{name: p, document: {}}]", "policy p of the seed: MalformedPolicy"},
		"a policy that nobody has made":  {`users: [{name: u, accessKeyID: A, secretAccessKey: S, policies: ["arn:aws:iam::000000000000:policy/p"]}]`, "NoSuchEntity"},
		"an object without a name":       {"buckets: [{name: photos, objects: [{content: meow}]}]", "of bucket photos of the seed: name is empty"},
		"a content that is there twice":  {"buckets: [{name: photos, objects: [{name: cat, content: meow, base64: AAEC}]}]", "object cat of bucket photos of the seed: content, base64 and file are mutually exclusive"},
		"a file that is not there":       {"buckets: [{name: photos, objects: [{name: cat, file: /nowhere}]}]", "read the content"},
		"a public policy, as is blocked": {`buckets: [{name: photos, policy: {Statement: [{Effect: Allow, Principal: "*", Action: "s3:GetObject", Resource: "arn:aws:s3:::photos/*"}]}}]`, "the policy is public"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := start(t, s3fake.Options{}).Seed([]byte(test.seed))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestWhatIsKeptIsNotReset checks that a data directory cannot be reset.
func TestWhatIsKeptIsNotReset(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{Dir: t.TempDir()})
	if err := f.Reset(); err == nil || !strings.Contains(err.Error(), "a data directory") {
		t.Errorf("got %v", err)
	}
}

// TestSeedObjects reads objects of a seed, which is applied twice and does not change existing ones.
func TestSeedObjects(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{})
	file := filepath.Join(t.TempDir(), "dog")
	wantNoError(t, os.WriteFile(file, []byte("woof"), 0o600))
	document := `
buckets:
- name: photos
  objects:
  - {name: "cats/tom & co", content: meow, contentType: text/plain, metadata: {owner: me}}
  - {name: binary, base64: AAEC}
  - {name: dog, file: ` + file + `}
  - {name: empty}
`
	for range 2 {
		wantNoError(t, f.Seed([]byte(document)))
	}
	root := f.s3(f.Root())
	for key, want := range map[string]string{"cats/tom & co": "meow", "binary": "\x00\x01\x02", "dog": "woof", "empty": ""} {
		out, err := root.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("photos"), Key: aws.String(key)})
		wantNoError(t, err)
		raw, err := io.ReadAll(out.Body)
		if err != nil || string(raw) != want {
			t.Errorf("%s is %q, want %q: %v", key, raw, want, err)
		}
		if key == "cats/tom & co" && (aws.ToString(out.ContentType) != "text/plain" || out.Metadata["owner"] != "me") {
			t.Errorf("%s has the type %s and the metadata %v", key, aws.ToString(out.ContentType), out.Metadata)
		}
	}
	_, err := root.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("photos"), Key: aws.String("dog"), Body: strings.NewReader("changed")})
	wantNoError(t, err)
	wantNoError(t, f.Seed([]byte(document)))
	out, err := root.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String("photos"), Key: aws.String("dog")})
	if err != nil || *out.ContentLength != int64(len("changed")) {
		t.Errorf("the seed has changed an object: %v", err)
	}
}

// TestSeedOfAnEncryptedBucket applies a seed to a bucket whose default encryption uses a KMS key, as a restart with the same
// seed does.
func TestSeedOfAnEncryptedBucket(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]*string{"AWS's own key": nil, "another key": aws.String("1234abcd-12ab-34cd-56ef-1234567890ab")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, s3fake.Options{})
			wantNoError(t, f.Seed([]byte("buckets: [{name: photos}]")))
			_, err := f.s3(f.Root()).PutBucketEncryption(t.Context(), &s3.PutBucketEncryptionInput{
				Bucket: aws.String("photos"), ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{Rules: []types.ServerSideEncryptionRule{
					{ApplyServerSideEncryptionByDefault: &types.ServerSideEncryptionByDefault{SSEAlgorithm: types.ServerSideEncryptionAwsKms, KMSMasterKeyID: key}},
				}},
			})
			wantNoError(t, err)
			wantNoError(t, f.Seed([]byte("buckets: [{name: photos, objects: [{name: cat, content: meow}]}]")))
			out, err := f.s3(f.Root()).HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String("photos"), Key: aws.String("cat")})
			wantNoError(t, err)
			if out.ServerSideEncryption != types.ServerSideEncryptionAwsKms {
				t.Errorf("the object is encrypted with %q", out.ServerSideEncryption)
			}
		})
	}
}
