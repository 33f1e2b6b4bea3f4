// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// noFile is a form without its field "file".
const noFile = "-"

func mac(key []byte, data string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(data))
	return h.Sum(nil)
}

// form is a browser upload signed with c ("Browser-based uploads using POST") for the policy's conditions, or for a
// whole policy, in which {signed} stands for conditions on the fields of the signature. A field with the value "-" is
// left out.
func form(t *testing.T, c s3fake.Credentials, conditions string, fields map[string]string, file string) *http.Request {
	t.Helper()
	now := time.Now().UTC()
	day, stamp := now.Format("20060102"), now.Format("20060102T150405Z")
	credential := c.AccessKeyID + "/" + day + "/us-east-1/s3/aws4_request"
	document := conditions
	if !strings.HasPrefix(conditions, "{") || !strings.Contains(conditions, `"conditions"`) {
		document = `{"expiration":"` + now.Add(time.Hour).Format(time.RFC3339) + `","conditions":[{"bucket":"docs"},{signed},` + conditions + `]}`
	}
	signed := `{"x-amz-date":"` + stamp + `"},{"x-amz-algorithm":"AWS4-HMAC-SHA256"},["starts-with","$x-amz-credential",""]`
	policy := base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(document, "{signed}", signed)))
	key := mac(mac(mac(mac([]byte("AWS4"+c.SecretAccessKey), day), "us-east-1"), "s3"), "aws4_request")
	all := map[string]string{"policy": policy, "x-amz-algorithm": "AWS4-HMAC-SHA256", "x-amz-credential": credential, "x-amz-date": stamp, "x-amz-signature": hex.EncodeToString(mac(key, policy))}
	if c.AccessKeyID == "" {
		all = map[string]string{}
	}
	maps.Copy(all, fields)
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for k, v := range all {
		if v == "-" {
			continue
		}
		wantNoError(t, w.WriteField(k, v))
	}
	if file != noFile {
		part, err := w.CreateFormFile("file", "name.txt")
		if err == nil {
			_, err = part.Write([]byte(file))
		}
		wantNoError(t, err)
	}
	wantNoError(t, w.Close())
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/docs", &b)
	req.Header.Set("Content-Type", w.FormDataContentType())
	return req
}

// postWorld returns a world with a user with write access and one with read access only.
func postWorld(t *testing.T) (w *world, writer, reader s3fake.Credentials) {
	t.Helper()
	w = newWorld(t)
	writer = s3fake.Credentials{AccessKeyID: "AKIAWRITERWRITERWRIT", SecretAccessKey: "secret"}
	reader = s3fake.Credentials{AccessKeyID: "AKIAREADERREADERREAD", SecretAccessKey: "secret"}
	for name, u := range map[string]s3fake.ImportedUser{"writer": {Credentials: writer, Policy: allow("s3:PutObject", "*")}, "reader": {Credentials: reader, Policy: allow("s3:GetObject", "*")}} {
		u.Name = name
		wantNoError(t, w.ImportUser(u))
	}
	return w, writer, reader
}

func TestPostObject(t *testing.T) {
	t.Parallel()
	w, writer, reader := postWorld(t)
	const upTo10 = `["starts-with","$key","up/"],["content-length-range",1,10]`
	const anyACL, owners = `,["starts-with","$acl",""],["starts-with","$x-amz-acl",""]`, "bucket-owner-full-control"
	limited := s3fake.Credentials{AccessKeyID: "AKIALIMITEDLIMITEDLI", SecretAccessKey: "secret"}
	wantNoError(t, w.ImportUser(s3fake.ImportedUser{Name: "limited", Credentials: limited, Policy: `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"},` +
		`{"Effect":"Deny","Action":"s3:PutObject","Resource":"*","Condition":{"StringEquals":{"s3:x-amz-acl":"bucket-owner-full-control"}}}]}`}))
	tests := map[string]struct {
		who        s3fake.Credentials
		conditions string
		fields     map[string]string
		file       string
		status     int
		code       string
	}{
		"a form that keeps its policy":          {writer, upTo10, map[string]string{"key": "up/${filename}"}, "hello", 204, ""},
		"a form that wants status 201":          {writer, upTo10 + `,{"success_action_status":"201"}`, map[string]string{"key": "up/a", "success_action_status": "201"}, "hello", 201, ""},
		"a key outside the policy":              {writer, upTo10, map[string]string{"key": "down/a"}, "hello", 403, "AccessDenied"},
		"a field that the policy does not name": {writer, upTo10, map[string]string{"key": "up/a", "x-amz-meta-a": "b"}, "hello", 403, "AccessDenied"},
		"a file that is too large":              {writer, upTo10, map[string]string{"key": "up/a"}, "hello world", 400, "EntityTooLarge"},
		"a file that is too small":              {writer, upTo10, map[string]string{"key": "up/a"}, "", 400, "EntityTooSmall"},
		"a field that is not served":            {writer, upTo10 + `,{"redirect":"http://x"}`, map[string]string{"key": "up/a", "redirect": "http://x"}, "hello", 501, "NotImplemented"},
		"a header of another operation":         {writer, upTo10 + `,{"x-amz-mp-object-size":"1"}`, map[string]string{"key": "up/a", "x-amz-mp-object-size": "1"}, "hello", 501, "NotImplemented"},
		"a user without s3:PutObject":           {reader, upTo10, map[string]string{"key": "up/a"}, "hello", 403, "AccessDenied"},
		"a wrong secret":                        {s3fake.Credentials{AccessKeyID: writer.AccessKeyID, SecretAccessKey: "x"}, upTo10, map[string]string{"key": "up/a"}, "hello", 403, "SignatureDoesNotMatch"},
		"an unknown key":                        {s3fake.Credentials{AccessKeyID: "AKIANOBODYNOBODYNOBO", SecretAccessKey: "x"}, upTo10, map[string]string{"key": "up/a"}, "hello", 403, "InvalidAccessKeyId"},
		"an ACL that the user may send":         {limited, upTo10 + anyACL, map[string]string{"key": "up/a", "acl": "private"}, "hello", 204, ""},
		"an ACL that the user may not send":     {limited, upTo10 + anyACL, map[string]string{"key": "up/a", "acl": owners}, "hello", 403, "AccessDenied"},
		"the same ACL under its other name":     {limited, upTo10 + anyACL, map[string]string{"key": "up/a", "x-amz-acl": owners}, "hello", 403, "AccessDenied"},
		"an ACL under both names":               {limited, upTo10 + anyACL, map[string]string{"key": "up/a", "acl": "private", "x-amz-acl": owners}, "hello", 400, "InvalidArgument"},
		"a form without a signature":            {s3fake.Credentials{}, "", map[string]string{"key": "up/a"}, "hello", 403, "AccessDenied"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := httptest.NewRecorder()
			w.ServeHTTP(rec, form(t, tc.who, tc.conditions, tc.fields, tc.file))
			if code := errorCode(rec.Body.Bytes()); rec.Code != tc.status || code != tc.code {
				t.Errorf("got %d %s, want %d %s\n%s", rec.Code, code, tc.status, tc.code, rec.Body)
			}
		})
	}
}

// TestPostNullVersion stores a form in a bucket with suspended versioning. Responses to writes have no header for its
// null version ("x-amz-version-id" of PutObject in the API Reference).
func TestPostNullVersion(t *testing.T) {
	t.Parallel()
	w, writer, _ := postWorld(t)
	suspend := operation{method: http.MethodPut, path: "/empty?versioning", body: `<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>`}
	if got := w.send(t, w.Root(), suspend); got.Code != http.StatusOK {
		t.Fatalf("suspend: %d %s", got.Code, got.Body)
	}
	policy := `{"expiration":"2099-01-01T00:00:00Z","conditions":[{"bucket":"empty"},{signed},["starts-with","$key",""]]}`
	req, rec := form(t, writer, policy, map[string]string{"key": "k"}, "hello"), httptest.NewRecorder()
	req.URL.Path = "/empty"
	w.ServeHTTP(rec, req)
	if _, has := rec.Header()["X-Amz-Version-Id"]; rec.Code != http.StatusNoContent || has {
		t.Errorf("got %d %v %s", rec.Code, rec.Header(), rec.Body)
	}
	if got := w.send(t, w.Root(), operation{method: http.MethodGet, path: "/empty/k?versionId=null"}); got.Code != http.StatusOK {
		t.Errorf("the null version: %d %s", got.Code, got.Body)
	}
}

// TestPostLocation finds the object at the location in the response, which is an absolute, escaped URL (POST Object
// in the Amazon S3 API Reference).
func TestPostLocation(t *testing.T) {
	t.Parallel()
	w, writer, _ := postWorld(t)
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, form(t, writer, `["starts-with","$key",""],{"success_action_status":"201"}`, map[string]string{"key": "up/a b+c?", "success_action_status": "201"}, "hello"))
	location := rec.Header().Get("Location")
	if !strings.HasPrefix(location, "http://") || !strings.HasSuffix(location, "/up/a%20b%2Bc%3F") || !strings.Contains(rec.Body.String(), "<Location>"+location+"</Location>") {
		t.Errorf("the object is said to be at %q: %d %s", location, rec.Code, rec.Body)
	}
	if rec.Header().Get("X-Amz-Version-Id") == "" {
		t.Error("a form into a bucket with versions is not told its version")
	}
}

// TestPostPolicy tries every kind of condition ("Creating a POST policy" in the Amazon S3 API Reference), every
// required field, and every field that changes the behavior.
func TestPostPolicy(t *testing.T) {
	t.Parallel()
	w, writer, _ := postWorld(t)
	const anyKey = `["starts-with","$key",""]`
	never := `{"expiration":"2020-01-01T00:00:00Z","conditions":[{"bucket":"docs"},{signed},` + anyKey + `]}`
	tests := map[string]struct {
		policy string
		fields map[string]string
		file   string
		status int
		code   string
	}{
		"any key":                        {policy: anyKey, status: 204},
		"an exact match, as an object":   {policy: `{"key":"up/a"}`, status: 204},
		"an exact match, as a list":      {policy: `["eq","$key","up/a"]`, status: 204},
		"an exact match that fails":      {policy: `{"key":"up/b"}`, status: 403, code: "AccessDenied"},
		"an exact match is no prefix":    {policy: `["eq","$key","up/"]`, status: 403, code: "AccessDenied"},
		"a prefix that fails":            {policy: `["starts-with","$key","down/"]`, status: 403, code: "AccessDenied"},
		"names in another case":          {policy: `["EQ","$Key","up/a"]`, status: 204},
		"a content type":                 {policy: anyKey + `,["starts-with","$Content-Type","image/"]`, fields: map[string]string{"Content-Type": "image/png"}, status: 204},
		"a content type that fails":      {policy: anyKey + `,["starts-with","$Content-Type","image/"]`, fields: map[string]string{"Content-Type": "text/html"}, status: 403, code: "AccessDenied"},
		"a field that is missing":        {policy: anyKey + `,{"Content-Type":"image/png"}`, status: 403, code: "AccessDenied"},
		"metadata":                       {policy: anyKey + `,{"x-amz-meta-a":"b"}`, fields: map[string]string{"x-amz-meta-a": "b"}, status: 204},
		"a field without a condition":    {policy: anyKey, fields: map[string]string{"x-amz-meta-a": "b"}, status: 403, code: "AccessDenied"},
		"a field that is to be ignored":  {policy: anyKey, fields: map[string]string{"x-ignore-me": "b"}, status: 204},
		"the lower end of a range":       {policy: anyKey + `,["content-length-range",5,5]`, status: 204},
		"a range of strings":             {policy: anyKey + `,["content-length-range","1","10"]`, status: 204},
		"below a range":                  {policy: anyKey + `,["content-length-range",6,10]`, status: 400, code: "EntityTooSmall"},
		"above a range":                  {policy: anyKey + `,["content-length-range",0,4]`, status: 400, code: "EntityTooLarge"},
		"a range of one number":          {policy: anyKey + `,["content-length-range",1]`, status: 400, code: "InvalidPolicyDocument"},
		"another bucket":                 {policy: `{"expiration":"2099-01-01T00:00:00Z","conditions":[{"bucket":"empty"},{signed},` + anyKey + `]}`, status: 403, code: "AccessDenied"},
		"no condition on the key":        {policy: `{"expiration":"2099-01-01T00:00:00Z","conditions":[{"bucket":"docs"},{signed}]}`, status: 403, code: "AccessDenied"},
		"no condition on the credential": {policy: `{"expiration":"2099-01-01T00:00:00Z","conditions":[` + anyKey + `]}`, status: 403, code: "AccessDenied"},
		"an expired policy":              {policy: never, status: 403, code: "AccessDenied"},
		"a policy without an end":        {policy: `{"conditions":[{signed},` + anyKey + `]}`, status: 400, code: "InvalidPolicyDocument"},
		"a policy that ends at no time":  {policy: `{"expiration":"tomorrow","conditions":[{signed},` + anyKey + `]}`, status: 400, code: "InvalidPolicyDocument"},
		"conditions that are no list":    {policy: `{"expiration":"2099-01-01T00:00:00Z","conditions":"all"}`, status: 400, code: "InvalidPolicyDocument"},
		"an unknown condition":           {policy: `["ends-with","$key","a"]`, status: 400, code: "InvalidPolicyDocument"},
		"a condition of two properties":  {policy: anyKey + `,{"a":"b","c":"d"}`, status: 400, code: "InvalidPolicyDocument"},
		"a condition on a number":        {policy: anyKey + `,{"a":1}`, status: 400, code: "InvalidPolicyDocument"},
		"a policy that is no JSON":       {policy: `{"expiration":"2099-01-01T00:00:00Z","conditions"`, status: 400, code: "InvalidPolicyDocument"},
		"no policy":                      {policy: anyKey, fields: map[string]string{"policy": "-"}, status: 400, code: "InvalidArgument"},
		"no signature":                   {policy: anyKey, fields: map[string]string{"x-amz-signature": "-"}, status: 400, code: "InvalidArgument"},
		"no credential":                  {policy: anyKey, fields: map[string]string{"x-amz-credential": "-"}, status: 400, code: "InvalidArgument"},
		"no date":                        {policy: anyKey, fields: map[string]string{"x-amz-date": "-"}, status: 400, code: "InvalidArgument"},
		"no algorithm":                   {policy: anyKey, fields: map[string]string{"x-amz-algorithm": "-"}, status: 400, code: "InvalidArgument"},
		// As recorded in test_s3/test_post_request_missing_signature[s3]; the documentation excludes it.
		"Signature Version 2":                 {policy: anyKey, fields: map[string]string{"AWSAccessKeyId": "a", "signature": "b"}, status: 403, code: "InvalidAccessKeyId"},
		"no key":                              {policy: `{"expiration":"2099-01-01T00:00:00Z","conditions":[{"bucket":"docs"},{signed}]}`, fields: map[string]string{"key": "-"}, status: 400, code: "InvalidArgument"},
		"a field twice":                       {policy: anyKey, fields: map[string]string{"Key": "up/b"}, status: 400, code: "InvalidArgument"},
		"metadata twice":                      {policy: anyKey + `,["starts-with","$x-amz-meta-a",""]`, fields: map[string]string{"x-amz-meta-a": "a", "X-Amz-Meta-A": "b"}, status: 400, code: "InvalidArgument"},
		"no file":                             {policy: anyKey, file: noFile, status: 400, code: "InvalidArgument"},
		"a redirection":                       {policy: anyKey + `,{"success_action_redirect":"http://h/"}`, fields: map[string]string{"success_action_redirect": "http://h/"}, status: 303},
		"status 200":                          {policy: anyKey + `,{"success_action_status":"200"}`, fields: map[string]string{"success_action_status": "200"}, status: 200},
		"a status that is not served":         {policy: anyKey + `,{"success_action_status":"418"}`, fields: map[string]string{"success_action_status": "418"}, status: 204},
		"the owner's ACL, without permission": {policy: anyKey + `,{"acl":"bucket-owner-full-control"}`, fields: map[string]string{"acl": "bucket-owner-full-control"}, status: 403, code: "AccessDenied"},
		"tags, without permission":            {policy: anyKey + `,["starts-with","$tagging",""]`, fields: map[string]string{"tagging": tagging}, status: 403, code: "AccessDenied"},
		"a KMS key, without permission":       {policy: anyKey + `,["starts-with","$x-amz-server-side-encryption",""],["starts-with","$x-amz-server-side-encryption-aws-kms-key-id",""]`, fields: map[string]string{"x-amz-server-side-encryption": "aws:kms", "x-amz-server-side-encryption-aws-kms-key-id": "k1"}, status: 403, code: "AccessDenied"},
		"a lock, without permission":          {policy: anyKey + `,["starts-with","$x-amz-object-lock-mode",""],["starts-with","$x-amz-object-lock-retain-until-date",""]`, fields: map[string]string{"x-amz-object-lock-mode": "GOVERNANCE", "x-amz-object-lock-retain-until-date": "2099-01-01T00:00:00Z"}, status: 403, code: "AccessDenied"},
		"a checksum that is wrong":            {policy: anyKey + `,["starts-with","$x-amz-checksum-crc32",""]`, fields: map[string]string{"x-amz-checksum-crc32": "AAAAAA=="}, status: 400, code: "BadDigest"},
		"a storage class that does not exist": {policy: anyKey + `,["starts-with","$x-amz-storage-class",""]`, fields: map[string]string{"x-amz-storage-class": "WARM"}, status: 400, code: "InvalidStorageClass"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fields := map[string]string{"key": "up/a"}
			maps.Copy(fields, tc.fields)
			rec := httptest.NewRecorder()
			w.ServeHTTP(rec, form(t, writer, tc.policy, fields, cmp.Or(tc.file, "hello")))
			if code := errorCode(rec.Body.Bytes()); rec.Code != tc.status || code != tc.code {
				t.Errorf("got %d %s, want %d %s\n%s", rec.Code, code, tc.status, tc.code, rec.Body)
			}
		})
	}
}
