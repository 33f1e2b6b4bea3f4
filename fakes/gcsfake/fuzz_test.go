// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// noServerError fails on a 500; 501 and 503 are answers of the service.
func noServerError(t *testing.T, got *httptest.ResponseRecorder) {
	t.Helper()
	if got.Code == http.StatusInternalServerError {
		t.Errorf("answered 500: %s", got.Body.String())
	}
}

func sendable(s string) bool {
	_, err := http.NewRequest(http.MethodGet, "http://h"+s, http.NoBody)
	return err == nil && !strings.ContainsAny(s, " \r\n\t#") && strings.HasPrefix(s, "/")
}

// FuzzPaths sends arbitrary methods and addresses.
func FuzzPaths(f *testing.F) {
	w := newWorld(f)
	f.Cleanup(func() { w.close(f) })
	for _, op := range operations() {
		f.Add(op.method, op.path, op.body)
	}
	f.Fuzz(func(t *testing.T, method, path, body string) {
		if !sendable(path) || strings.ContainsAny(method, " \x00\r\n/:") || method == "" {
			t.Skip("not a request that a client could send")
		}
		noServerError(t, w.send(t, w.admin, operation{method: method, path: path, body: body}))
	})
}

// FuzzDocuments sends arbitrary bodies to everything that reads JSON or XML.
func FuzzDocuments(f *testing.F) {
	w := newWorld(f)
	f.Cleanup(func() { w.close(f) })
	for _, op := range operations() {
		f.Add(op.body)
	}
	f.Add(`{"lifecycle":{"rule":[{"action":{"type":"Delete"},"condition":{"age":-1}}]},"cors":[{}]}`)
	f.Add(`{"version":3,"bindings":[{"role":"roles/storage.objectViewer","members":["allUsers"],"condition":{"expression":"resource.name.extract('{a}') == ''"}}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, op := range []operation{
			{method: "POST", path: "/storage/v1/b?project=cooper-fake"},
			{method: "PATCH", path: b},
			{method: "PUT", path: b},
			{method: "PUT", path: b + "/iam"},
			{method: "PATCH", path: o},
			{method: "PUT", path: o},
			{method: "POST", path: b + "/o/x/compose"},
			{method: "POST", path: o + "/copyTo/b/docs/o/x"},
			{method: "POST", path: up + "?uploadType=multipart", headers: "Content-Type: multipart/related; boundary=z"},
			{method: "POST", path: up + "?uploadType=resumable"},
			{method: "PUT", path: hmac + "/{hmac}"},
			{method: "POST", path: sas},
			{method: "PATCH", path: sa},
			{method: "POST", path: sa + ":setIamPolicy"},
			{method: "POST", path: "/v1/projects/cooper-fake/roles"},
			{method: "POST", path: "/docs?delete"},
			{method: "POST", path: "/docs/m?uploadId={upload}"},
			{method: "POST", path: "/token", headers: "Content-Type: application/json"},
			{method: "POST", path: "/v1/token", headers: "Content-Type: application/json"},
		} {
			op.body = body
			noServerError(t, w.send(t, w.admin, op))
		}
	})
}
