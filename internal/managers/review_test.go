// SPDX-License-Identifier: Apache-2.0

package managers_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/internal/managers"
)

// api is an API server that knows the tokens of three users, of whom one may get /metrics.
type api struct {
	// broken is the kind of review that it is out of order for.
	broken string
	asked  []string
	rights []authorizationv1.SubjectAccessReviewSpec
}

// RoundTrip serves a client without a network.
func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	a.serve(w, r)
	return w.Result(), nil
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	kind := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	a.asked = append(a.asked, kind)
	if a.broken == kind {
		http.Error(w, "out of order", http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch kind {
	case "tokenreviews":
		var review authenticationv1.TokenReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		if name, known := map[string]string{"good": "prometheus", "poor": "nobody", "both": "denied"}[review.Spec.Token]; known {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{
				Username: name, UID: "u1", Groups: []string{"g1", "g2"}, Extra: map[string]authenticationv1.ExtraValue{"scopes": {"a", "b"}},
			}}
		} else {
			review.Status.Error = "invalid bearer token"
		}
		write(w, review)
	case "subjectaccessreviews":
		var review authorizationv1.SubjectAccessReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		a.rights = append(a.rights, review.Spec)
		what := review.Spec.NonResourceAttributes
		review.Status.Allowed = review.Spec.User != "nobody" && what.Verb == "get" && what.Path == "/metrics"
		review.Status.Denied = review.Spec.User == "denied"
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

// reviewed serves a page behind the filter, and returns a client of it.
func reviewed(t *testing.T, server *api) (do func(method, path, authorization string) (status int, page string)) {
	t.Helper()
	filter, err := managers.Metrics{Secure: true}.Options().FilterProvider(&rest.Config{
		Host: "http://api", ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	}, &http.Client{Transport: server})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("figures")) }))
	if err != nil {
		t.Fatal(err)
	}
	return func(method, path, authorization string) (int, string) {
		request := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
		if authorization != "" {
			request.Header.Set("Authorization", authorization)
		}
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		return response.Code, strings.TrimSpace(response.Body.String())
	}
}

func TestWhoMayReadMetrics(t *testing.T) {
	t.Parallel()
	const (
		get, post = http.MethodGet, http.MethodPost
		unknown   = "a bearer token that the API server knows is required"
		mayNot    = "the user of this token may not get /metrics; bind the ClusterRole cosi-metrics-reader"
		broken    = "the API server could not be asked who may read this; the log of this process has the details"
	)
	asks := []string{"tokenreviews", "subjectaccessreviews"}
	for name, tc := range map[string]struct {
		method, path, authorization, broken string
		status                              int
		page                                string
		asked                               []string
	}{
		"a token of who may read":            {get, "/metrics", "Bearer good", "", http.StatusOK, "figures", asks},
		"the scheme in small letters":        {get, "/metrics", "bearer  good ", "", http.StatusOK, "figures", asks},
		"no token":                           {get, "/metrics", "", "", http.StatusUnauthorized, unknown, nil},
		"an empty token":                     {get, "/metrics", "Bearer ", "", http.StatusUnauthorized, unknown, nil},
		"two tokens":                         {get, "/metrics", "Bearer good bad", "", http.StatusUnauthorized, unknown, nil},
		"another scheme":                     {get, "/metrics", "Basic good", "", http.StatusUnauthorized, unknown, nil},
		"a token of nobody":                  {get, "/metrics", "Bearer bad", "", http.StatusUnauthorized, unknown, asks[:1]},
		"a token of who may not":             {get, "/metrics", "Bearer poor", "", http.StatusForbidden, mayNot, asks},
		"a token of who may and may not":     {get, "/metrics", "Bearer both", "", http.StatusForbidden, mayNot, asks},
		"a path that the role does not have": {get, "/other", "Bearer good", "", http.StatusForbidden, strings.Replace(mayNot, "/metrics", "/other", 1), asks},
		"a verb that the role does not have": {post, "/metrics", "Bearer good", "", http.StatusForbidden, strings.Replace(mayNot, "get", "post", 1), asks},
		"tokens cannot be reviewed":          {get, "/metrics", "Bearer good", asks[0], http.StatusInternalServerError, broken, asks[:1]},
		"rights cannot be reviewed":          {get, "/metrics", "Bearer good", asks[1], http.StatusInternalServerError, broken, asks},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &api{broken: tc.broken}
			status, page := reviewed(t, server)(tc.method, tc.path, tc.authorization)
			if status != tc.status || page != tc.page {
				t.Errorf("want %d %q, got %d %q", tc.status, tc.page, status, page)
			}
			if d := cmp.Diff(tc.asked, server.asked); d != "" {
				t.Errorf("requests to the API server (-want +got):\n%s", d)
			}
		})
	}
}

// TestReviewsOfMetricsAreKept asks again: what a user may counts for the same question and half a minute; that nobody is
// known by a token, and a failure, for nothing.
func TestReviewsOfMetricsAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &api{}
		do := reviewed(t, server)
		for i, step := range []struct {
			method, path, token, broken string
			later                       time.Duration
			status, asks                int
		}{
			{http.MethodGet, "/metrics", "good", "subjectaccessreviews", 0, http.StatusInternalServerError, 2},
			{http.MethodGet, "/metrics", "good", "", 0, http.StatusOK, 4},
			{http.MethodGet, "/metrics", "good", "tokenreviews", 29 * time.Second, http.StatusOK, 4},
			{http.MethodPost, "/metrics", "good", "", 0, http.StatusForbidden, 6},
			{http.MethodGet, "/other", "good", "", 0, http.StatusForbidden, 8},
			{http.MethodGet, "/metrics", "poor", "", 0, http.StatusForbidden, 10},
			{http.MethodGet, "/metrics", "poor", "", 0, http.StatusForbidden, 10},
			{http.MethodGet, "/metrics", "bad", "", 0, http.StatusUnauthorized, 11},
			{http.MethodGet, "/metrics", "bad", "", 0, http.StatusUnauthorized, 12},
			{http.MethodGet, "/metrics", "good", "tokenreviews", 2 * time.Second, http.StatusInternalServerError, 13},
		} {
			<-time.After(step.later) // of the clock in here, which goes as soon as nothing else does
			server.broken = step.broken
			status, _ := do(step.method, step.path, "Bearer "+step.token)
			if status != step.status || len(server.asked) != step.asks {
				t.Errorf("step %d: want status %d after %d requests to the API server, got %d after %d", i, step.status, step.asks, status, len(server.asked))
			}
		}
		want := authorizationv1.SubjectAccessReviewSpec{
			User: "prometheus", UID: "u1", Groups: []string{"g1", "g2"}, Extra: map[string]authorizationv1.ExtraValue{"scopes": {"a", "b"}},
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
		}
		if d := cmp.Diff(want, server.rights[0]); d != "" {
			t.Errorf("who is asked for (-want +got):\n%s", d)
		}
	})
}
