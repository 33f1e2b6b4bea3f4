// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzPath requests any path. A response is a redirect to a path without empty elements, or an object, and never
// contains values of files outside the directory of Secrets.
func FuzzPath(f *testing.F) {
	for _, path := range []string{
		"/api/v1/namespaces/a/secrets/b", "/api/v1/namespaces/../secrets/outside", "/api/v1/namespaces/a/secrets/../../outside",
		"/api/v1/namespaces/a/secrets/..", "/api/v1/namespaces/a/secrets/..%2F..%2Foutside", "/api/v1/namespaces/..data/secrets/b", "/apis/objectstorage.k8s.io/v1alpha1/buckets/x", "//", "",
	} {
		f.Add(path)
	}
	dir := f.TempDir()
	for path, content := range map[string]string{"secrets/a/b/key": "inside", "outside/key": "outside", "secrets/a/key": "outside"} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	s := &Server{options: Options{
		SecretsDir: filepath.Join(dir, "secrets"), Logger: slog.New(slog.DiscardHandler),
		Buckets: func(context.Context, string) (Bucket, bool, error) { return Bucket{}, false, nil },
	}}
	handler := s.handler("token")
	f.Fuzz(func(t *testing.T, path string) {
		address, err := url.Parse("https://127.0.0.1" + path)
		if err != nil {
			t.Skip("not a URL")
		}
		w := httptest.NewRecorder()
		r := (&http.Request{Method: http.MethodGet, URL: address, Header: http.Header{"Authorization": {"Bearer token"}}}).WithContext(t.Context())
		handler.ServeHTTP(w, r)
		var secret struct{ Data map[string][]byte }
		if err := json.Unmarshal(w.Body.Bytes(), &secret); err != nil && w.Code/100 != 3 {
			t.Errorf("%q returns %d with a body that is not JSON: %v", path, w.Code, err)
		}
		for _, value := range secret.Data {
			if strings.Contains(string(value), "outside") {
				t.Errorf("%q returns a file outside a Secret", path)
			}
		}
	})
}
