// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/internal/credstore"
)

// TestWhatDoesNotRespond reports on each project.
func TestWhatDoesNotRespond(t *testing.T) {
	t.Parallel()
	on := startGoogle(t, gcsfake.Options{})
	lost := on.backend()
	lost.CredentialsFile = "/nowhere"
	driver, err := gcsdriver.New(gcsdriver.Options{
		Config:      gcsdriver.Config{DefaultBackend: "main", Backends: map[string]gcsdriver.BackendConfig{"main": on.backend(), "lost": lost}},
		Credentials: credstore.NewMemory(),
	})
	mustSucceed(t, err)
	results := driver.CheckBackends(t.Context())
	if err := results["lost"]; len(results) != 2 || results["main"] != nil || err == nil || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("the results are %v, want an error about the file of one backend", results)
	}
	inject(t, on, fault.Rule{Operation: "storage.buckets.list", Code: "forbidden", Status: http.StatusForbidden})
	if err := driver.CheckBackends(t.Context())["main"]; err != nil {
		t.Errorf("a denied call is a response, too: %v", err)
	}
}
