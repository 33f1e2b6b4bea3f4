// SPDX-License-Identifier: Apache-2.0

package ctrlmanager_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/internal/ctrlmanager"
)

// api is an API server with tokens of two users. One of them may get /metrics.
type api struct{ asked []string }

// RoundTrip answers a client's request without a network.
func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	a.serve(w, r)
	return w.Result(), nil
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	kind := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	a.asked = append(a.asked, kind)
	w.Header().Set("Content-Type", "application/json")
	switch kind {
	case "tokenreviews":
		var review authenticationv1.TokenReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		if name, known := map[string]string{"good": "prometheus", "poor": "tenant"}[review.Spec.Token]; known {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: name}}
		} else {
			review.Status.Error = "invalid bearer token"
		}
		write(w, review)
	case "subjectaccessreviews":
		var review authorizationv1.SubjectAccessReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		what := review.Spec.NonResourceAttributes
		review.Status.Allowed = review.Spec.User == "prometheus" && what.Verb == "get" && what.Path == "/metrics"
		write(w, review)
	}
}

func write(w http.ResponseWriter, review any) {
	body, err := json.Marshal(review)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(body)
}

func TestMetricsNeedAnAllowedToken(t *testing.T) {
	t.Parallel()
	const get = http.MethodGet
	asks := []string{"tokenreviews", "subjectaccessreviews"}
	for name, tc := range map[string]struct {
		method, path, authorization string
		status                      int
		asked                       []string
	}{
		"an allowed user":            {get, "/metrics", "Bearer good", http.StatusOK, asks},
		"no token":                   {get, "/metrics", "", http.StatusUnauthorized, nil},
		"another scheme":             {get, "/metrics", "Basic good", http.StatusUnauthorized, nil},
		"an unknown token":           {get, "/metrics", "Bearer bad", http.StatusInternalServerError, asks[:1]},
		"a user without the role":    {get, "/metrics", "Bearer poor", http.StatusForbidden, asks},
		"a path that the role lacks": {get, "/other", "Bearer good", http.StatusForbidden, asks},
		"a verb that the role lacks": {http.MethodPost, "/metrics", "Bearer good", http.StatusForbidden, asks},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &api{}
			filter, err := ctrlmanager.Metrics{Secure: true}.Options().FilterProvider(&rest.Config{
				Host: "http://api", ContentConfig: rest.ContentConfig{ContentType: "application/json"},
			}, &http.Client{Transport: server})
			if err != nil {
				t.Fatal(err)
			}
			handler, err := filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("figures")) }))
			if err != nil {
				t.Fatal(err)
			}
			request := httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, http.NoBody)
			if tc.authorization != "" {
				request.Header.Set("Authorization", tc.authorization)
			}
			response := httptest.NewRecorder()
			handler.ServeHTTP(response, request)
			if page := response.Body.String(); response.Code != tc.status || (page == "figures") != (tc.status == http.StatusOK) {
				t.Errorf("want %d, got %d %q", tc.status, response.Code, page)
			}
			if d := cmp.Diff(tc.asked, server.asked); d != "" {
				t.Errorf("requests to the API server (-want +got):\n%s", d)
			}
		})
	}
}
