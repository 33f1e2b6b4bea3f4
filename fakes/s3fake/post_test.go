// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

func mac(key []byte, data string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(data))
	return h.Sum(nil)
}

// form is a browser upload signed with c for the policy's conditions ("Browser-based uploads using POST").
func form(t *testing.T, c s3fake.Credentials, conditions string, fields map[string]string, file string) *http.Request {
	t.Helper()
	now := time.Now().UTC()
	day, stamp := now.Format("20060102"), now.Format("20060102T150405Z")
	credential := c.AccessKeyID + "/" + day + "/us-east-1/s3/aws4_request"
	policy := base64.StdEncoding.EncodeToString([]byte(`{"expiration":"` + now.Add(time.Hour).Format(time.RFC3339) + `","conditions":[{"bucket":"docs"},{"x-amz-date":"` + stamp + `"},` + conditions + `]}`))
	key := mac(mac(mac(mac([]byte("AWS4"+c.SecretAccessKey), day), "us-east-1"), "s3"), "aws4_request")
	all := map[string]string{"policy": policy, "x-amz-algorithm": "AWS4-HMAC-SHA256", "x-amz-credential": credential, "x-amz-date": stamp, "x-amz-signature": hex.EncodeToString(mac(key, policy))}
	if c.AccessKeyID == "" {
		all = map[string]string{}
	}
	maps.Copy(all, fields)
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for k, v := range all {
		if err := w.WriteField(k, v); err != nil {
			t.Fatal(err)
		}
	}
	part, err := w.CreateFormFile("file", "name.txt")
	if err == nil {
		_, err = part.Write([]byte(file))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/docs", &b)
	req.Header.Set("Content-Type", w.FormDataContentType())
	return req
}

func TestPostObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	writer := s3fake.Credentials{AccessKeyID: "AKIAWRITERWRITERWRIT", SecretAccessKey: "secret"}
	reader := s3fake.Credentials{AccessKeyID: "AKIAREADERREADERREAD", SecretAccessKey: "secret"}
	for name, u := range map[string]s3fake.ImportedUser{"writer": {Credentials: writer, Policy: allow("s3:PutObject", "*")}, "reader": {Credentials: reader, Policy: allow("s3:GetObject", "*")}} {
		u.Name = name
		if err := w.ImportUser(u); err != nil {
			t.Fatal(err)
		}
	}
	const upTo10 = `["starts-with","$key","up/"],["content-length-range",1,10]`
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
		"a user without s3:PutObject":           {reader, upTo10, map[string]string{"key": "up/a"}, "hello", 403, "AccessDenied"},
		"a wrong secret":                        {s3fake.Credentials{AccessKeyID: writer.AccessKeyID, SecretAccessKey: "x"}, upTo10, map[string]string{"key": "up/a"}, "hello", 403, "SignatureDoesNotMatch"},
		"an unknown key":                        {s3fake.Credentials{AccessKeyID: "AKIANOBODYNOBODYNOBO", SecretAccessKey: "x"}, upTo10, map[string]string{"key": "up/a"}, "hello", 403, "InvalidAccessKeyId"},
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
