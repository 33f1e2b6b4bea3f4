// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

const (
	virginia = "https://s3.amazonaws.com"
	ireland  = "https://s3.eu-west-1.amazonaws.com"
	oregon   = "https://s3.us-west-2.amazonaws.com"
)

// inIreland is the configuration of a bucket in eu-west-1.
const inIreland = "<CreateBucketConfiguration><LocationConstraint>eu-west-1</LocationConstraint></CreateBucketConfiguration>"

// TestRegions sends requests for buckets of several regions to one server. The recordings cover their creation.
func TestRegions(t *testing.T) {
	t.Parallel()
	w := &world{Server: faketest.Open(t, s3fake.New, s3fake.Options{Domains: []string{"s3.amazonaws.com"}}), known: map[string]string{}}
	for _, step := range []operation{
		{method: "PUT", path: virginia + "/classic"},
		{method: "PUT", path: virginia + "/irish", body: inIreland},
		{method: "PUT", path: ireland + "/irish/k", body: "x"},
		{method: "PUT", path: ireland + "/irish/sealed", headers: "X-Amz-Server-Side-Encryption: aws:kms", body: "x"},
	} {
		if got := w.send(t, w.Root(), step); got.Code != http.StatusOK {
			t.Fatalf("set up %s: %d %s", step.path, got.Code, got.Body)
		}
	}
	get := func(url string) operation { return operation{method: "GET", path: url} }
	tests := map[string]struct {
		op     operation
		status int
		region string
		says   string
	}{
		"the bucket's region":                       {get(ireland + "/irish/k"), 200, "", "x"},
		"the classic region, by path":               {get(virginia + "/irish/k"), 301, "eu-west-1", "<Code>PermanentRedirect</Code>"},
		"the classic region, by the name of a host": {get("https://irish.s3.amazonaws.com/k"), 400, "eu-west-1", "the region 'us-east-1' is wrong; expecting 'eu-west-1'</Message><Region>eu-west-1</Region>"},
		"a third region":                            {get(oregon + "/irish/k"), 301, "eu-west-1", "<Endpoint>s3.us-west-2.amazonaws.com</Endpoint><Bucket>irish</Bucket>"},
		"the classic bucket from a region":          {get(ireland + "/classic"), 301, "us-east-1", "PermanentRedirect"},
		"HEAD of a bucket in another region":        {operation{method: "HEAD", path: virginia + "/irish"}, 301, "eu-west-1", ""},
		"a region that does not exist":              {get("https://s3.mars-1.amazonaws.com/irish/k"), 400, "", "the region 'mars-1' is wrong; expecting 'us-east-1'"},
		"the location, asked in the classic region": {get(virginia + "/irish?location"), 200, "", "eu-west-1</LocationConstraint>"},
		"the location, asked in a third region":     {get(oregon + "/irish?location"), 301, "eu-west-1", "PermanentRedirect"},
		"all buckets, from a region":                {get(oregon + "/?prefix=c"), 200, "", "<BucketRegion>us-east-1</BucketRegion>"},
		"the buckets of a region":                   {get(virginia + "/?bucket-region=eu-west-1&max-buckets=1"), 200, "", "<Name>irish</Name>"},
		"a missing bucket, from a region":           {get(oregon + "/missing"), 404, "", "NoSuchBucket"},
		"a listing":                                 {get(ireland + "/irish?list-type=2"), 200, "eu-west-1", "<Key>k</Key>"},
		"a copy from another region":                {operation{method: "PUT", path: virginia + "/classic/copy", headers: "X-Amz-Copy-Source: irish/k"}, 200, "", "<CopyObjectResult"},
		"an empty location, in a region":            {operation{method: "PUT", path: ireland + "/fresh", body: "<CreateBucketConfiguration><LocationConstraint/></CreateBucketConfiguration>"}, 400, "", "MalformedXML"},
		"the same bucket again, in its region":      {operation{method: "PUT", path: ireland + "/irish", body: inIreland}, 409, "", "BucketAlreadyOwnedByYou"},
		"the same bucket again, in another":         {operation{method: "PUT", path: virginia + "/irish"}, 409, "", "BucketAlreadyOwnedByYou"},
		"the same bucket again, in the classic":     {operation{method: "PUT", path: virginia + "/classic"}, 200, "", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.send(t, w.Root(), tc.op)
			if region := got.Header().Get("X-Amz-Bucket-Region"); got.Code != tc.status || region != tc.region || !strings.Contains(got.Body.String(), tc.says) {
				t.Errorf("got %d in %q, want %d in %q with %q\n%s", got.Code, region, tc.status, tc.region, tc.says, got.Body)
			}
		})
	}
	if key := w.send(t, w.Root(), operation{method: "HEAD", path: ireland + "/irish/sealed"}).Header().Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"); !strings.HasPrefix(key, "arn:aws:kms:eu-west-1:") {
		t.Errorf("the key of the region is %q", key)
	}
}

// TestRequestedRegion evaluates the region of the endpoint in policies.
func TestRequestedRegion(t *testing.T) {
	t.Parallel()
	w := &world{Server: faketest.Open(t, s3fake.New, s3fake.Options{}), known: map[string]string{}}
	c := s3fake.Credentials{AccessKeyID: "AKIAIRISH", SecretAccessKey: "secret"}
	policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:RequestedRegion":"eu-west-1"}}}]}`
	wantNoError(t, w.ImportUser(s3fake.ImportedUser{Name: "irish", Credentials: c, Policy: policy}))
	for url, want := range map[string]int{ireland: 200, virginia: 403} {
		if got := w.send(t, c, operation{method: "PUT", path: url + "/irish", body: inIreland}); got.Code != want {
			t.Errorf("%s: %d, want %d: %s", url, got.Code, want, got.Body)
		}
	}
}

// TestKMSKeysOfARegion names keys that do not exist, as was recorded.
func TestKMSKeysOfARegion(t *testing.T) {
	t.Parallel()
	const id = "134f2428-cec1-4b25-a1ae-9048164dba47"
	w := &world{Server: faketest.Open(t, s3fake.New, s3fake.Options{KMSKeys: []string{}}), known: map[string]string{}}
	w.send(t, w.Root(), operation{method: "PUT", path: virginia + "/irish", body: inIreland})
	for key, want := range map[string]string{
		"fake-key-id": "Invalid keyId 'fake-key-id'",
		id:            "Key 'arn:aws:kms:eu-west-1:000000000000:key/" + id + "' does not exist",
		"arn:aws:kms:us-west-2:000000000000:key/" + id: "Invalid arn us-west-2",
	} {
		got := w.send(t, w.Root(), operation{method: "PUT", path: ireland + "/irish/k", headers: "X-Amz-Server-Side-Encryption: aws:kms\nX-Amz-Server-Side-Encryption-Aws-Kms-Key-Id: " + key})
		if body := got.Body.String(); got.Code != http.StatusBadRequest || !strings.Contains(body, "<Code>KMS.NotFoundException</Code><Message>"+want+"<") {
			t.Errorf("%s: %d %s, want %q", key, got.Code, body, want)
		}
	}
}

// TestRegionsWithTheSDK creates a bucket in another region than the server's, and reads it after a restart.
func TestRegionsWithTheSDK(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := start(t, s3fake.Options{Dir: dir})
	input := &s3.CreateBucketInput{Bucket: aws.String("irish"), CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraintEuWest1}}
	_, err := f.s3(f.Root()).CreateBucket(t.Context(), input, func(o *s3.Options) { o.Region = "eu-west-1" })
	wantNoError(t, err)
	_, err = f.s3(f.Root()).ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: input.Bucket})
	if got := code(t, err); got != "PermanentRedirect" {
		t.Errorf("in the server's region: %q", got)
	}
	head, err := f.s3(f.Root()).HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: input.Bucket}, func(o *s3.Options) { o.Region = "eu-west-1" })
	wantNoError(t, err)
	if got := aws.ToString(head.BucketRegion); got != "eu-west-1" {
		t.Errorf("the region is %q", got)
	}
	server := f.Server
	wantNoError(t, server.Close())
	w := &world{Server: faketest.Open(t, s3fake.New, s3fake.Options{Dir: dir}), known: map[string]string{}}
	if got := w.send(t, w.Root(), operation{method: "GET", path: ireland + "/irish?location"}); !strings.Contains(got.Body.String(), ">eu-west-1<") {
		t.Errorf("after a restart: %d %s", got.Code, got.Body)
	}
}
