// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// The tests in this file expect what Cloud Storage was recorded to answer in the tests of gocloud.dev v0.46.0 and of
// cloud.google.com/go/storage v1.70.0. judges/replay replays all of those recordings.

func TestRecordedHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	w.must(t, operation{method: "PATCH", path: b, body: `{"lifecycle":{"rule":[{"action":{"type":"Delete"},"condition":{"age":30}}]}}`})
	w.must(t, operation{method: "POST", path: up + "?uploadType=multipart", headers: "Content-Type: multipart/related; boundary=x", body: "--x\r\n\r\n" +
		`{"name":"plain","contentEncoding":"identity"}` + "\r\n--x\r\n\r\nhello\r\n--x--\r\n"})
	const private, never = "private, max-age=0", "no-cache, no-store, max-age=0, must-revalidate"
	for name, row := range map[string]struct {
		op     operation
		status int
		// want are the values of headers: * is any, and "" none.
		want map[string]string
	}{
		"metadata":           {operation{method: "GET", path: o}, 200, map[string]string{"Cache-Control": private + ", must-revalidate, no-transform", "Vary": "Origin", "Pragma": "", "Etag": "*"}},
		"a change":           {operation{method: "PATCH", path: o, body: "{}"}, 200, map[string]string{"Cache-Control": never, "Pragma": "no-cache", "Expires": "Mon, 01 Jan 1990 00:00:00 GMT", "Etag": "*"}},
		"an error":           {operation{method: "GET", path: b + "/o/none"}, 404, map[string]string{"Cache-Control": never, "Pragma": "no-cache", "Etag": ""}},
		"a deletion":         {operation{method: "DELETE", path: b + "/o/gone"}, 204, map[string]string{"Content-Type": "application/json"}},
		"a policy":           {operation{method: "GET", path: b + "/iam"}, 200, map[string]string{"Etag": "*"}},
		"a read":             {operation{method: "GET", path: "/docs/plain"}, 200, map[string]string{"Cache-Control": private, "Expires": "*", "X-Goog-Expiration": "*", "Content-Encoding": "", "X-Goog-Stored-Content-Encoding": "identity"}},
		"an upload":          {operation{method: "PUT", path: "/docs/new", headers: "Content-Type: text/plain", body: "x"}, 200, map[string]string{"Cache-Control": "", "Vary": "Origin", "Content-Type": "text/html; charset=UTF-8", "X-Goog-Storage-Class": ""}},
		"an unmet condition": {operation{method: "DELETE", path: b + "/o/plain?ifGenerationNotMatch=0&ifMetagenerationNotMatch=1"}, 304, nil},
	} {
		if row.op.method == "DELETE" {
			w.must(t, operation{method: "POST", path: up + "?uploadType=media&name=gone", body: "x"})
		}
		got := w.send(t, w.admin, row.op)
		if got.Code != row.status {
			t.Errorf("%s: got %d %s", name, got.Code, got.Body.String())
		}
		for header, want := range row.want {
			if has := got.Header().Get(header); want == "*" && has == "" || want != "*" && has != want {
				t.Errorf("%s: got %s %q, want %q", name, header, has, want)
			}
		}
	}
}

func TestRecordedErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	w.refused(t, operation{method: "GET", path: "/docs/none"}, 404, "<Message>The specified key does not exist.</Message><Details>No such object: docs/none</Details>")
	w.refused(t, operation{method: "GET", path: "/docs/o", headers: "Range: bytes=99-"}, 416, "<Details>bytes=99-</Details>")
	w.refused(t, operation{method: "PATCH", path: o + "?ifMetagenerationMatch=99", body: "{}"}, 412, `"locationType":"header","location":"If-Match"`)
	w.refused(t, operation{method: "POST", path: b + "/o/o/rewriteTo/b/docs/o/p", body: `{"bucket":"docs"}`}, 400, "required")
	if got := w.send(t, "", operation{method: "GET", path: o}); got.Code != http.StatusUnauthorized || !strings.Contains(got.Body.String(), `"location":"Authorization"`) {
		t.Errorf("got %d %s", got.Code, got.Body.String())
	}
}

// TestOlderNameOfUniformAccess turns uniform access on and off by either name.
func TestOlderNameOfUniformAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	w.must(t, insertBucket(`"name":"aged"`))
	for _, step := range []struct {
		method, setting string
		want            bool
	}{
		{"PATCH", `"bucketPolicyOnly":{"enabled":true}`, true},
		{"PATCH", `"publicAccessPrevention":"enforced"`, true},
		{"PATCH", `"bucketPolicyOnly":{}`, false},
		{"PATCH", `"uniformBucketLevelAccess":{"enabled":true}`, true},
		{"PATCH", `"bucketPolicyOnly":{"enabled":false}`, false},
		{"PUT", `"bucketPolicyOnly":{"enabled":true}`, true},
		{"PUT", `"uniformBucketLevelAccess":{"enabled":true}`, true},
		{"PATCH", `"uniformBucketLevelAccess":{"enabled":false}`, false},
	} {
		got := w.ask(t, step.method, "/storage/v1/b/aged", `{"iamConfiguration":{`+step.setting+`}}`)["iamConfiguration"].(map[string]any)
		for _, name := range []string{"bucketPolicyOnly", "uniformBucketLevelAccess"} {
			if on := got[name].(map[string]any)["enabled"]; on != step.want {
				t.Errorf("after %s %s: %s is %v", step.method, step.setting, name, on)
			}
		}
	}
}

// TestRecordedAttributes covers the attributes of a rewrite that sets any, and of a hold that was set.
func TestRecordedAttributes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	w.must(t, operation{method: "POST", path: up + "?uploadType=media&name=a", headers: "Content-Type: text/plain", body: "x"})
	for body, want := range map[string]any{`{}`: "text/plain", `{"contentEncoding":"identity"}`: nil, `{"storageClass":"NEARLINE"}`: nil, `{"contentType":"text/html"}`: "text/html"} {
		if got := w.ask(t, "POST", b+"/o/a/rewriteTo/b/docs/o/b", body)["resource"].(map[string]any)["contentType"]; got != want {
			t.Errorf("after a rewrite with %s: content type %v, want %v", body, got, want)
		}
	}
	for _, held := range []bool{true, false} {
		got := w.ask(t, "PATCH", b+"/o/a", fmt.Sprintf(`{"temporaryHold":%v,"eventBasedHold":%v}`, held, held))
		if got["temporaryHold"] != held || got["eventBasedHold"] != held {
			t.Errorf("got the holds %v and %v, want %v", got["temporaryHold"], got["eventBasedHold"], held)
		}
	}
	if got, ok := w.ask(t, "POST", b+"/o/a/rewriteTo/b/docs/o/b", "{}")["resource"].(map[string]any)["temporaryHold"]; ok {
		t.Errorf("a copy has the hold %v", got)
	}
}
