// SPDX-License-Identifier: Apache-2.0

package gcsfakecmd_test

import (
	"net/http"
	"os"
	"testing"

	"golang.org/x/oauth2/google"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/gcsfakecmd"
	"github.com/cooper-cosi/cooper/fakes/internal/fakecmd/fakecmdtest"
)

// accessToken logs in with the key file that the command wrote.
func accessToken(t *testing.T, c child) string {
	t.Helper()
	raw, err := os.ReadFile(c.Env["GOOGLE_APPLICATION_CREDENTIALS"])
	wantNoError(t, err)
	config, err := google.JWTConfigFromJSON(raw, "https://www.googleapis.com/auth/cloud-platform")
	wantNoError(t, err)
	token, err := config.TokenSource(t.Context()).Token()
	wantNoError(t, err)
	return token.AccessToken
}

func TestBadStartsSayWhatToDo(t *testing.T) {
	t.Parallel()
	fakecmdtest.BadStarts(t, gcsfakecmd.Prepare, "storage.objects.get", map[string]fakecmdtest.BadStart{
		"a pool without an issuer": {Args: []string{"--pool", "p"}, Want: "it must be ID=ISSUER"},
	})
}

func TestAdminIsOff(t *testing.T) {
	t.Parallel()
	fakecmdtest.AdminIsOff(t, startChild(t).Env["GCS_ENDPOINT_URL"])
}

func TestAdminEndpoint(t *testing.T) {
	t.Parallel()
	c := startChild(t, "--admin")
	token := accessToken(t, c)
	admin := fakecmdtest.Admin{
		URL: c.Env["GCS_ENDPOINT_URL"], Wants: "an access token of the administrator",
		Authenticate: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) },
	}
	admin.TestAdmin(t, fakecmdtest.Create{Operation: "storage.buckets.insert", Code: "forbidden", Name: "first", Do: func() error {
		return c.storage(t).Bucket("first").Create(t.Context(), c.project(), nil)
	}})
}
