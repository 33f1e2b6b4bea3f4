// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// bucketTags are requests of S3 Control for the tags of a bucket.
type bucketTags string

func (b bucketTags) request(method, query, body string) operation {
	if body != "" {
		body = `<TagResourceRequest xmlns="http://awss3control.amazonaws.com/doc/2018-08-20/">` + body + `</TagResourceRequest>`
	}
	return operation{
		method: method, path: "/v20180820/tags/arn%3Aaws%3As3%3A%3A%3A" + string(b) + query, headers: "X-Amz-Account-Id: 000000000000", body: body,
	}
}

func (b bucketTags) list() operation { return b.request(http.MethodGet, "", "") }

func (b bucketTags) untag(query string) operation { return b.request(http.MethodDelete, query, "") }

// tag takes pairs of a key and a value.
func (b bucketTags) tag(pairs ...string) operation {
	var tags strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		tags.WriteString("<Tag><Key>" + pairs[i] + "</Key><Value>" + pairs[i+1] + "</Value></Tag>")
	}
	return b.request(http.MethodPost, "", "<Tags>"+tags.String()+"</Tags>")
}

// TestControlTags covers what testdata/recordings/s3control.txt does not contain.
func TestControlTags(t *testing.T) {
	t.Parallel()
	const docs = bucketTags("docs")
	one, two := docs.tag("key1", "value1", "key2", "value2"), docs.tag("key3", "value3")
	readTags := operation{method: http.MethodGet, path: "/docs?tagging"}
	tests := map[string]struct {
		before []operation
		op     operation
		status int
		code   string
		says   string
	}{
		"a new bucket has no tags":               {nil, docs.list(), 200, "", "<Tags></Tags></ListTagsForResourceResult>"},
		"a value is replaced":                    {[]operation{one, docs.tag("key1", "x")}, docs.list(), 200, "", "<Key>key1</Key><Value>x</Value></Tag><Tag><Key>key2</Key>"},
		"several tags are removed":               {[]operation{one, two, docs.untag("?tagKeys=key1&tagKeys=key3")}, docs.list(), 200, "", "<Tags><Tag><Key>key2</Key><Value>value2</Value></Tag></Tags>"},
		"the last tag is removed":                {[]operation{two, docs.untag("?tagKeys=key3")}, readTags, 404, "NoSuchTagSet", ""},
		"GetBucketTagging reads them":            {[]operation{two}, readTags, 200, "", "<Key>key3</Key>"},
		"tags of PutBucketTagging are listed":    {[]operation{{method: http.MethodPut, path: "/docs?tagging", body: tagging}}, docs.list(), 200, "", "<Key>a</Key>"},
		"tags for access control are changed":    {[]operation{{method: http.MethodPut, path: "/docs?abac", body: `<AbacStatus><Status>Enabled</Status></AbacStatus>`}}, one, 204, "", ""},
		"no keys to remove":                      {nil, docs.untag(""), 400, "InvalidRequest", ""},
		"no tags to add":                         {nil, docs.request(http.MethodPost, "", "<Other/>"), 501, "NotImplemented", ""},
		"too many tags":                          {nil, docs.tag(manyTags(51)...), 400, "BadRequest", "greater than 50"},
		"too many tags, together with the first": {[]operation{docs.tag(manyTags(50)...)}, docs.tag("one", "more"), 400, "BadRequest", "greater than 50"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{Server: faketest.Open(t, s3fake.New, s3fake.Options{})}
			for _, op := range append([]operation{{method: http.MethodPut, path: "/docs"}}, tc.before...) {
				if got := w.send(t, w.Root(), op); got.Code >= http.StatusMultipleChoices {
					t.Fatalf("%s %s: %d %s", op.method, op.path, got.Code, got.Body)
				}
			}
			if got := w.send(t, w.Root(), tc.op); got.Code != tc.status || errorCode(got.Body.Bytes()) != tc.code || !strings.Contains(got.Body.String(), tc.says) {
				t.Errorf("%d %s, want %d %s %s", got.Code, got.Body, tc.status, tc.code, tc.says)
			}
		})
	}
}

func manyTags(n int) []string {
	var out []string
	for i := range n {
		out = append(out, "k"+strings.Repeat("x", i), "v")
	}
	return out
}

// TestControlTagConditions checks the conditions on the tags that a request adds or removes.
func TestControlTagConditions(t *testing.T) {
	t.Parallel()
	const docs = bucketTags("docs")
	tests := map[string]struct {
		condition string
		op        operation
		status    int
	}{
		"the value of a new tag":      {`"StringEquals":{"aws:RequestTag/team":"red"}`, docs.tag("team", "red"), 204},
		"another value of a new tag":  {`"StringEquals":{"aws:RequestTag/team":"red"}`, docs.tag("team", "blue"), 403},
		"the keys of new tags":        {`"ForAllValues:StringEquals":{"aws:TagKeys":["team"]}`, docs.tag("team", "red", "cost", "1"), 403},
		"the keys of removed tags":    {`"ForAllValues:StringEquals":{"aws:TagKeys":["team"]}`, docs.untag("?tagKeys=team"), 204},
		"other keys of removed tags":  {`"ForAllValues:StringEquals":{"aws:TagKeys":["team"]}`, docs.untag("?tagKeys=team&tagKeys=cost"), 403},
		"a tag that the bucket has":   {`"StringEquals":{"aws:ResourceTag/cost":"1"}`, docs.list(), 200},
		"a tag that the bucket lacks": {`"StringEquals":{"aws:ResourceTag/cost":"2"}`, docs.list(), 403},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{Server: faketest.Open(t, s3fake.New, s3fake.Options{})}
			caller := s3fake.Credentials{AccessKeyID: "AKIACALLER0000000000", SecretAccessKey: "secret"}
			wantNoError(t, w.ImportUser(s3fake.ImportedUser{
				Name: "caller", Credentials: caller,
				Policy: `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"s3:*","Resource":"*","Condition":{` + tc.condition + `}}}`,
			}))
			for _, op := range []operation{
				{method: http.MethodPut, path: "/docs"},
				docs.tag("cost", "1"),
				{method: http.MethodPut, path: "/docs?abac", body: `<AbacStatus><Status>Enabled</Status></AbacStatus>`},
			} {
				if got := w.send(t, w.Root(), op); got.Code >= http.StatusMultipleChoices {
					t.Fatalf("%s %s: %d %s", op.method, op.path, got.Code, got.Body)
				}
			}
			if got := w.send(t, caller, tc.op); got.Code != tc.status {
				t.Errorf("%d %s, want %d", got.Code, got.Body, tc.status)
			}
		})
	}
}

// TestControlHosts sends requests as the SDKs do: with the account in front of the host name.
func TestControlHosts(t *testing.T) {
	t.Parallel()
	w := &world{Server: faketest.Open(t, s3fake.New, s3fake.Options{Domains: []string{"s3.example.com"}})}
	root := aws.Credentials{AccessKeyID: w.Root().AccessKeyID, SecretAccessKey: w.Root().SecretAccessKey}
	if got := w.send(t, w.Root(), operation{method: http.MethodPut, path: "/docs"}); got.Code != http.StatusOK {
		t.Fatalf("create the bucket: %d %s", got.Code, got.Body)
	}
	for _, host := range []string{"localhost:9000", "000000000000.localhost:9000", "000000000000.s3.example.com", "000000000000.127.0.0.1.nip.io:9000", "000000000000.unknown.test"} {
		got := httptest.NewRecorder()
		w.ServeHTTP(got, signedRequest(t, "http://"+host, root, bucketTags("docs").list()))
		if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "<Tags></Tags>") {
			t.Errorf("%s: %d %s", host, got.Code, got.Body)
		}
		got = httptest.NewRecorder()
		w.ServeHTTP(got, signedRequest(t, "http://"+host, root, operation{method: http.MethodGet, path: "/v20180820/storagelens", headers: "X-Amz-Account-Id: 000000000000"}))
		if got.Code != http.StatusNotImplemented || errorCode(got.Body.Bytes()) != "NotImplemented" {
			t.Errorf("%s: another operation: %d %s, want NotImplemented", host, got.Code, got.Body)
		}
	}
}
