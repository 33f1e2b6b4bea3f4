// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/internal/preflight"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	group := metav1.APIGroup{Name: "objectstorage.k8s.io", Versions: []metav1.GroupVersionForDiscovery{
		{GroupVersion: "objectstorage.k8s.io/v1alpha2", Version: "v1alpha2"},
	}}
	kinds := metav1.APIResourceList{GroupVersion: "objectstorage.k8s.io/v1alpha2", APIResources: []metav1.APIResource{
		{Name: "buckets", Kind: "Bucket"}, {Name: "bucketclaims", Kind: "BucketClaim", Namespaced: true},
	}}
	complete := map[string]any{
		"/api": metav1.APIVersions{Versions: []string{"v1"}}, "/apis": metav1.APIGroupList{Groups: []metav1.APIGroup{group}},
		"/apis/objectstorage.k8s.io/v1alpha2": kinds,
	}
	for name, tc := range map[string]struct {
		responses map[string]any
		status    int
		ask       string
		want      string
	}{
		"all kinds are there": {responses: complete, ask: "BucketClaim"},
		"a kind is missing": {
			responses: complete, ask: "BucketAccess", want: "has no kind BucketAccess in objectstorage.k8s.io/v1alpha2: install the CRDs of COSI",
		},
		"the CRDs are not installed": {
			responses: map[string]any{"/api": complete["/api"], "/apis": metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: "apps"}}}},
			ask:       "BucketClaim", want: "has no kind BucketClaim in objectstorage.k8s.io/v1alpha2",
		},
		"unauthorized": {status: http.StatusUnauthorized, ask: "BucketClaim", want: "rejected the request for its kinds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				response, ok := tc.responses[r.URL.Path]
				switch {
				case tc.status != 0:
					w.WriteHeader(tc.status)
				case !ok:
					http.NotFound(w, r)
				default:
					w.Header().Set("Content-Type", "application/json")
					if err := json.NewEncoder(w).Encode(response); err != nil {
						t.Error(err)
					}
				}
			}))
			defer server.Close()
			err := ask(t, server.URL, tc.ask)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("want nil, got %v", err)
			case tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "the API server at "+server.URL+" "+tc.want)):
				t.Errorf("want the API server at %s %s, got %v", server.URL, tc.want, err)
			}
		})
	}
}

// The text starts with the problem, not with the attempt that revealed it.
func TestKindsOfSilentAPIServer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	err := ask(t, server.URL, "BucketClaim")
	if err == nil || !strings.HasPrefix(err.Error(), "cannot reach the API server at "+server.URL+": ") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("want that it cannot be reached, got %v", err)
	}
}

func ask(t *testing.T, host, kind string) error {
	t.Helper()
	_, err := preflight.Kinds(&rest.Config{Host: host}, kind)
	return err
}
