// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"
)

// ambiguous is a request with a duplicate or an unreadable part. Ignoring part of it would do something else than
// requested.
type ambiguous struct {
	service string
	op      operation
	status  int
	code    string
}

// ambiguities are requests that no client library sends. Codes are those of "Error responses" in the Amazon S3 API
// Reference and of "Common errors" in the IAM API Reference; DuplicateHeaderName is S3's according to users' reports.
func ambiguities() map[string]ambiguous {
	const path, sum = "/docs/k", "X-Amz-Checksum-Crc32: AAAAAA=="
	const associations = "/clusters/dev/pod-identity-associations"
	form := func(body string) operation {
		return operation{method: http.MethodPost, path: "/", body: body, headers: "Content-Type: application/x-www-form-urlencoded"}
	}
	put := func(headers string) operation {
		return operation{method: http.MethodPut, path: path, headers: headers, body: "x"}
	}
	return map[string]ambiguous{
		"a version that cannot be read":             {"s3", operation{method: http.MethodDelete, path: path + "?versionId=%zz"}, 400, "InvalidURI"},
		"a name that cannot be read":                {"s3", operation{method: http.MethodDelete, path: path + "?version%zzId=null"}, 400, "InvalidURI"},
		"half an escape":                            {"s3", operation{method: http.MethodDelete, path: path + "?versionId=null&x=%"}, 400, "InvalidURI"},
		"two versions":                              {"s3", operation{method: http.MethodDelete, path: path + "?versionId=null&versionId=null"}, 400, "InvalidArgument"},
		"two sub-resources of one name":             {"s3", operation{method: http.MethodDelete, path: "/docs?policy&policy"}, 400, "InvalidArgument"},
		"two ACLs":                                  {"s3", put("X-Amz-Acl: private\nX-Amz-Acl: public-read"), 400, "DuplicateHeaderName"},
		"two sources":                               {"s3", operation{method: http.MethodPut, path: path, headers: "X-Amz-Copy-Source: docs/a\nX-Amz-Copy-Source: docs/b"}, 400, "DuplicateHeaderName"},
		"a source with an unknown parameter":        {"s3", operation{method: http.MethodPut, path: path, headers: "X-Amz-Copy-Source: docs/governed?version=1"}, 400, "InvalidArgument"},
		"a source with a parameter before":          {"s3", operation{method: http.MethodPut, path: path, headers: "X-Amz-Copy-Source: docs/governed?a=b&versionId=null"}, 400, "InvalidArgument"},
		"two checksums of one kind":                 {"s3", put(sum + "\n" + sum), 400, "DuplicateHeaderName"},
		"two digests":                               {"s3", put("Content-Md5: 1B2M2Y8AsgTpgAmY7PhCfg==\nContent-Md5: nhB9nTcrtoJr2B01QqQZ1g=="), 400, "DuplicateHeaderName"},
		"two content types":                         {"s3", put("Content-Type: text/plain\nContent-Type: text/html"), 400, "DuplicateHeaderName"},
		"two ranges":                                {"s3", operation{method: http.MethodGet, path: path, headers: "Range: bytes=0-0\nRange: bytes=1-1"}, 400, "DuplicateHeaderName"},
		"two dates of a condition":                  {"s3", operation{method: http.MethodGet, path: path, headers: "If-Modified-Since: a\nIf-Modified-Since: b"}, 400, "DuplicateHeaderName"},
		"two owners":                                {"s3", operation{method: http.MethodGet, path: path, headers: "X-Amz-Expected-Bucket-Owner: 000000000000\nX-Amz-Expected-Bucket-Owner: 1"}, 400, "DuplicateHeaderName"},
		"two dates of a signature":                  {"s3", operation{method: http.MethodGet, path: path, headers: "Date: a\nDate: b"}, 400, "DuplicateHeaderName"},
		"a parameter of IAM that cannot be read":    {"iam", form("Action=DeleteUser&UserName=spare&Path=%zz"), 404, "MalformedQueryString"},
		"one of IAM in the query":                   {"iam", operation{method: http.MethodGet, path: "/?Action=DeleteUser&UserName=spare&Path=%zz"}, 404, "MalformedQueryString"},
		"a semicolon in the query of IAM":           {"iam", operation{method: http.MethodGet, path: "/?Action=DeleteUser&UserName=spare;Path=x"}, 404, "MalformedQueryString"},
		"two users":                                 {"iam", form("Action=DeleteUser&UserName=spare&UserName=target"), 400, "InvalidQueryParameter"},
		"two actions":                               {"iam", form("Action=ListUsers&Action=DeleteUser&UserName=spare"), 400, "InvalidQueryParameter"},
		"a user in the query and one in the body":   {"iam", operation{method: http.MethodPost, path: "/?UserName=target", body: "Action=DeleteUser&UserName=spare", headers: "Content-Type: application/x-www-form-urlencoded"}, 400, "InvalidQueryParameter"},
		"two tokens":                                {"iam", operation{method: http.MethodGet, path: "/?Action=DeleteUser&UserName=spare", headers: "X-Amz-Security-Token: a\nX-Amz-Security-Token: b"}, 400, "MalformedHttpRequestException"},
		"a parameter of STS that cannot be read":    {"sts", form("Action=GetCallerIdentity&a=%zz"), 404, "MalformedQueryString"},
		"two roles":                                 {"sts", form("Action=AssumeRole&RoleSessionName=s&RoleArn=a&RoleArn=b"), 400, "InvalidQueryParameter"},
		"a parameter of EKS that cannot be read":    {"eks", operation{method: http.MethodGet, path: associations + "?namespace=%zz"}, 400, "InvalidParameterException"},
		"a semicolon in the query of EKS":           {"eks", operation{method: http.MethodGet, path: associations + "?namespace=a;serviceAccount=b"}, 400, "InvalidParameterException"},
		"two namespaces":                            {"eks", operation{method: http.MethodGet, path: associations + "?namespace=a&namespace=b"}, 400, "InvalidParameterException"},
		"two dates of a signature for EKS":          {"eks", operation{method: http.MethodGet, path: associations, headers: "Date: a\nDate: b"}, 400, "MalformedHttpRequestException"},
		"an unknown header may come twice":          {"s3", operation{method: http.MethodGet, path: path, headers: "X-Forwarded-For: a\nX-Forwarded-For: b"}, 200, ""},
		"what clients list may come in two headers": {"s3", operation{method: http.MethodGet, path: path + "?attributes", headers: "X-Amz-Object-Attributes: ETag\nX-Amz-Object-Attributes: ObjectSize"}, 200, ""},
		"two tags of which one is the object's":     {"s3", operation{method: http.MethodGet, path: path, headers: "If-None-Match: \"a\"\nIf-None-Match: \"b\""}, 200, ""},
	}
}

func TestAmbiguousRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.Inventory()
	for name, tc := range ambiguities() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.op.service = tc.service
			rec := w.send(t, w.Root(), tc.op)
			code := errorCode(rec.Body.Bytes())
			if tc.service == "eks" {
				code = rec.Header().Get("X-Amzn-Errortype")
			}
			if rec.Code != tc.status || code != tc.code {
				t.Errorf("%d %s, want %d %s\n%s", rec.Code, code, tc.status, tc.code, rec.Body)
			}
		})
	}
	t.Cleanup(func() {
		if diff := cmp.Diff(before, w.Inventory()); diff != "" {
			t.Errorf("an ambiguous request changed something (-before +after):\n%s", diff)
		}
	})
}

// TestAmbiguousPresigned sends inputs twice that a presigned URL may contain as parameters and that are treated as
// headers.
func TestAmbiguousPresigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range map[string]struct{ query, headers, code string }{
		"one ACL":                       {"&X-Amz-Acl=private", "", "AccessControlListNotSupported"},
		"two in two spellings":          {"&X-Amz-Acl=private&x-amz-acl=public-read", "", "DuplicateHeaderName"},
		"one in the URL, one in header": {"&X-Amz-Acl=private", "X-Amz-Acl: public-read", "DuplicateHeaderName"},
		"two of a signature":            {"&X-Amz-Expires=1", "", "InvalidArgument"},
	} {
		req := signedRequest(t, "http://127.0.0.1", aws.Credentials{}, operation{method: http.MethodPut, path: "/docs/k?acl&X-Amz-Expires=60" + tc.query, headers: "X-Amz-Content-Sha256: \n" + tc.headers})
		creds := aws.Credentials{AccessKeyID: w.Root().AccessKeyID, SecretAccessKey: w.Root().SecretAccessKey}
		url, signed, err := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping, o.DisableHeaderHoisting = true, true }).
			PresignHTTP(t.Context(), creds, req, "UNSIGNED-PAYLOAD", "s3", "us-east-1", time.Now())
		wantNoError(t, err)
		rec, sent := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPut, url, http.NoBody)
		sent.Header = signed
		w.ServeHTTP(rec, sent)
		if code := errorCode(rec.Body.Bytes()); code != tc.code {
			t.Errorf("%s: %d %s, want %s", name, rec.Code, rec.Body, tc.code)
		}
	}
}

// TestJoinedHeaders sends metadata in pieces, which S3 joins, and reads it.
func TestJoinedHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.send(t, w.Root(), operation{method: http.MethodPut, path: "/docs/new", headers: "X-Amz-Meta-A: a\nX-Amz-Meta-A: b\nCache-Control: no-cache\nCache-Control: no-store", body: "x"})
	got := w.send(t, w.Root(), operation{method: http.MethodHead, path: "/docs/new"})
	if a, c := strings.Join(got.Header()["x-amz-meta-a"], "|"), got.Header().Get("Cache-Control"); a != "a,b" || c != "no-cache,no-store" { //nolint:staticcheck // S3 writes it in lower case
		t.Errorf("metadata %q and Cache-Control %q", a, c)
	}
}
