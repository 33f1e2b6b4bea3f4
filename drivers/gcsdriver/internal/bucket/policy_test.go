// SPDX-License-Identifier: Apache-2.0

package bucket_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"

	"google.golang.org/api/option"
	storage "google.golang.org/api/storage/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/bucket"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/policy"
)

// keeper stores one policy and rejects writes that are based on an old one.
type keeper struct {
	t *testing.T

	mu       sync.Mutex
	policy   storage.Policy
	etag     int
	versions []string
	// refusals are the responses to writes, first to last, before any is accepted.
	refusals []string
}

func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.Method == http.MethodGet {
		k.versions = append(k.versions, r.URL.Query().Get("optionsRequestedPolicyVersion"))
	} else if !k.write(w, r) {
		return
	}
	k.policy.Etag = strconv.Itoa(k.etag)
	if err := json.NewEncoder(w).Encode(k.policy); err != nil {
		k.t.Error(err)
	}
}

func (k *keeper) write(w http.ResponseWriter, r *http.Request) bool {
	var sent storage.Policy
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		k.t.Error(err)
	}
	if sent.Version != 3 {
		k.t.Errorf("a policy of version %d is written", sent.Version)
	}
	if len(k.refusals) > 0 {
		refusal := k.refusals[0]
		k.refusals = k.refusals[1:]
		code, err := strconv.Atoi(refusal[:3])
		if err != nil {
			k.t.Error(err)
		}
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"error": {"code": %d, "message": %q, "errors": [{"reason": "invalid"}]}}`, code, refusal[4:])
		return false
	}
	if sent.Etag != strconv.Itoa(k.etag) {
		w.WriteHeader(http.StatusPreconditionFailed)
		return false
	}
	k.policy, k.etag = sent, k.etag+1
	return true
}

func keep(t *testing.T, k *keeper) func() *bucket.PolicyEditor {
	t.Helper()
	k.t = t
	server := httptest.NewServer(k)
	t.Cleanup(server.Close)
	return func() *bucket.PolicyEditor {
		api, err := storage.NewService(t.Context(), option.WithHTTPClient(server.Client()), option.WithEndpoint(server.URL+"/storage/v1/"))
		if err != nil {
			t.Fatal(err)
		}
		return bucket.NewPolicyEditor(api)
	}
}

func add(name string) func(*storage.Policy) (bool, error) {
	return func(p *storage.Policy) (bool, error) {
		return policy.SetRoles(p, "serviceAccount:"+name, []string{"roles/storage.objectViewer"}), nil
	}
}

// TestEditorsLoseNothing lets editors of several processes, which do not wait for each other, edit
// one policy.
func TestEditorsLoseNothing(t *testing.T) {
	t.Parallel()
	kept := &keeper{policy: storage.Policy{Bindings: []*storage.PolicyBindings{{
		Role: "roles/storage.objectUser", Members: []string{"user:somebody@example.com"}, Condition: &storage.Expr{Title: "x", Expression: "request.time < x"},
	}}}}
	newEditor := keep(t, kept)
	var group sync.WaitGroup
	for process := range 4 {
		editor := newEditor()
		for edit := range 4 {
			group.Go(func() {
				if err := editor.Edit(t.Context(), "b", add(fmt.Sprintf("%d-%d", process, edit))); err != nil {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	if len(kept.policy.Bindings) != 2 || len(kept.policy.Bindings[1].Members) != 16 || kept.policy.Bindings[0].Condition == nil {
		t.Errorf("the policy is %+v", kept.policy.Bindings)
	}
	for _, asked := range kept.versions {
		if asked != "3" {
			t.Errorf("a policy of version %q was read", asked)
		}
	}
}

func TestEditorWaits(t *testing.T) {
	t.Parallel()
	for name, refusals := range map[string][]string{
		"for a new account":                {"400 Service account x does not exist.", "400 Service account x does not exist."},
		"during changes of another client": {"409 conflict", "412 old"},
		"when it is asked for patience":    {"429 slow down"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept := &keeper{refusals: refusals}
			if err := keep(t, kept)().Edit(t.Context(), "b", add("x")); err != nil || len(kept.policy.Bindings) != 1 {
				t.Errorf("%v, %+v", err, kept.policy)
			}
		})
	}
}

func TestEditorGivesUp(t *testing.T) {
	t.Parallel()
	ruledOut := keep(t, &keeper{refusals: slices.Repeat([]string{"412 enable uniform bucket-level access"}, 10)})
	if err := ruledOut().Edit(t.Context(), "b", add("x")); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a policy that the bucket never takes: %v", err)
	}
	newEditor := keep(t, &keeper{refusals: []string{"400 something else"}})
	if err := newEditor().Edit(t.Context(), "b", add("x")); !apierror.Is(err, http.StatusBadRequest) {
		t.Errorf("a refused policy: %v", err)
	}
	if err := newEditor().Edit(t.Context(), "b", func(*storage.Policy) (bool, error) { return true, status.Error(codes.AlreadyExists, "no") }); status.Code(err) != codes.AlreadyExists {
		t.Errorf("a refused edit: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newEditor().Edit(ctx, "b", add("x")); err == nil {
		t.Error("an edit after the end of its call succeeds")
	}
}
