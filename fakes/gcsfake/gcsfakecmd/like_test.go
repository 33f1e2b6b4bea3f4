// SPDX-License-Identifier: Apache-2.0

package gcsfakecmd_test

import (
	"net/http"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/internal/fakecmd/fakecmdtest"
)

// TestLikeFakeGCSServer starts the fake in the place of fake-gcs-server, with the paths and the log line that tools
// expect, and with objects of a directory.
func TestLikeFakeGCSServer(t *testing.T) {
	t.Parallel()
	c := startChild(t, "--like", "fake-gcs-server", "--seed-dir", fakecmdtest.SeedDir(t))
	c.WaitFor(t, "server started at http://127.0.0.1:")
	url := c.Env["GCS_ENDPOINT_URL"]
	fakecmdtest.RequireResponse(t, http.MethodGet, url+"/_internal/healthcheck", http.StatusOK, "")
	fakecmdtest.RequireResponse(t, http.MethodPut, url+"/_internal/config", http.StatusOK, "{}")
	fakecmdtest.RequireResponse(t, http.MethodGet, url+"/storage/v1/b", http.StatusOK, `"photos"`)
	attrs, err := c.storage(t).Bucket("photos").Object("cats/tom.txt").Attrs(t.Context())
	if err != nil || attrs.Size != 4 || attrs.ContentType != "text/plain; charset=utf-8" {
		t.Errorf("got %+v, %v", attrs, err)
	}
}
