// SPDX-License-Identifier: Apache-2.0

package sanity_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
)

// respondWith starts a store that handles all requests alike and records the last one.
func respondWith(t *testing.T, status int, body string) (url string, last func() *http.Request) {
	t.Helper()
	requests := make(chan *http.Request, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r
		w.WriteHeader(status)
		if _, err := w.Write([]byte(body)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, func() *http.Request { return <-requests }
}

func azureAttempt(token string, action sanity.Action) sanity.Attempt {
	return sanity.Attempt{
		BucketID: "store.bc-1", Info: &cosi.ObjectProtocolAndBucketInfo{Azure: &cosi.AzureBucketInfo{StorageAccount: "acme"}},
		Credentials: &cosi.CredentialInfo{Azure: &cosi.AzureCredentialInfo{AccessToken: token}},
		Action:      action, Key: "a/b", Body: []byte("x"),
	}
}

// TestAzureProberTriesOtherContainers uses a token for one container with another container.
func TestAzureProberTriesOtherContainers(t *testing.T) {
	t.Parallel()
	url, received := respondWith(t, http.StatusForbidden, "")
	attempt := azureAttempt(url+"/acme/bc-2?sig=abc", sanity.GetObject)
	attempt.Granted = []string{"store.bc-2"}
	prober := sanity.Probers(sanity.ProberOptions{})[cosi.ObjectProtocol_AZURE]
	if outcome, err := prober.Try(t.Context(), attempt); err != nil || outcome.Verdict != sanity.Refused {
		t.Errorf("%v, %v", outcome, err)
	}
	if got, want := received().URL.Path, "/acme/bc-1/a/b"; got != want {
		t.Errorf("path %q, want %q", got, want)
	}
	attempt.Granted = []string{"an-id-of-another-kind"}
	if _, err := prober.Try(t.Context(), attempt); err == nil {
		t.Error("tried a container that it cannot derive")
	}
}

func TestAzureProberUsesTheToken(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		token  func(url string) string
		action sanity.Action
		want   string
	}{
		"a URI with its signature": {
			token: func(url string) string { return url + "/acme/bc-1?sv=1&sig=abc" }, action: sanity.PutObject,
			want: "PUT /acme/bc-1/a/b?sig=abc&sv=1",
		},
		"a signature alone": {
			token: func(string) string { return "?sv=1&sig=abc" }, action: sanity.GetObject,
			want: "GET /bc-1/a/b?sig=abc&sv=1",
		},
		"a listing": {
			token: func(url string) string { return url + "/acme/bc-1?sig=abc" }, action: sanity.ListObjects,
			want: "GET /acme/bc-1?comp=list&restype=container&sig=abc",
		},
		"the deletion of the container": {
			token: func(url string) string { return url + "/acme/bc-1?sig=abc" }, action: sanity.DeleteBucket,
			want: "DELETE /acme/bc-1?restype=container&sig=abc",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, last := respondWith(t, http.StatusOK, `<EnumerationResults><Blobs><Blob><Name>one</Name></Blob></Blobs></EnumerationResults>`)
			prober := sanity.Probers(sanity.ProberOptions{AzureEndpoint: url})[cosi.ObjectProtocol_AZURE]
			outcome, err := prober.Try(t.Context(), azureAttempt(tc.token(url), tc.action))
			if err != nil || outcome.Verdict != sanity.Allowed {
				t.Fatalf("want allowed, got %v, %v", outcome.Verdict, err)
			}
			request := last()
			if got := request.Method + " " + request.URL.String(); got != tc.want {
				t.Errorf("want %s, got %s", tc.want, got)
			}
			if tc.action == sanity.ListObjects && !cmp.Equal(outcome.Keys, []string{"one"}) {
				t.Errorf("want the listing [one], got %q", outcome.Keys)
			}
		})
	}
}

func TestProbersSortResponses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status int
		want   sanity.Permission
		fails  bool
	}{
		"created":          {status: http.StatusCreated, want: sanity.Allowed},
		"forbidden":        {status: http.StatusForbidden, want: sanity.Refused},
		"unauthorized":     {status: http.StatusUnauthorized, want: sanity.Refused},
		"missing":          {status: http.StatusNotFound, want: sanity.Missing},
		"a broken store":   {status: http.StatusInternalServerError, fails: true},
		"not implemented":  {status: http.StatusNotImplemented, fails: true},
		"a redirect":       {status: http.StatusMovedPermanently, fails: true},
		"a bad request":    {status: http.StatusBadRequest, fails: true},
		"too many at once": {status: http.StatusTooManyRequests, fails: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := respondWith(t, tc.status, "<Error/>")
			prober := sanity.Probers(sanity.ProberOptions{})[cosi.ObjectProtocol_AZURE]
			outcome, err := prober.Try(t.Context(), azureAttempt(url+"/acme/bc-1?sig=verysecret", sanity.PutObject))
			if (err != nil) != tc.fails || outcome.Verdict != tc.want {
				t.Errorf("want %q and an error %v, got %q and %v", tc.want, tc.fails, outcome.Verdict, err)
			}
			if err != nil && strings.Contains(err.Error(), "verysecret") {
				t.Errorf("the error contains the signature: %v", err)
			}
		})
	}
}

func TestGCSProberAuthenticates(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	private := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	tests := map[string]struct {
		credentials *cosi.GcsCredentialInfo
		want        string
	}{
		"an HMAC pair signs":           {&cosi.GcsCredentialInfo{AccessId: "GOOG1", AccessSecret: "s"}, "AWS4-HMAC-SHA256 Credential=GOOG1/"},
		"a private key signs a token":  {&cosi.GcsCredentialInfo{ClientEmail: "a@b", PrivateKeyName: "k", PrivateKey: private}, "Bearer ey"},
		"without credentials, nothing": {nil, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, last := respondWith(t, http.StatusOK, "")
			prober := sanity.Probers(sanity.ProberOptions{GCSEndpoint: url})[cosi.ObjectProtocol_GCS]
			attempt := sanity.Attempt{
				BucketID: "b", Info: &cosi.ObjectProtocolAndBucketInfo{Gcs: &cosi.GcsBucketInfo{ProjectId: "p", BucketName: "bucket"}},
				Action: sanity.GetObject, Key: "k",
			}
			if tc.credentials != nil {
				attempt.Credentials = &cosi.CredentialInfo{Gcs: tc.credentials}
			}
			if _, err := prober.Try(t.Context(), attempt); err != nil {
				t.Fatal(err)
			}
			request := last()
			if got := request.Header.Get("Authorization"); !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("want an Authorization that begins with %q, got %q", tc.want, got)
			}
			if request.URL.Path != "/bucket/k" {
				t.Errorf("want the path /bucket/k, got %s", request.URL.Path)
			}
		})
	}
}
