// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestPlan(t *testing.T) {
	t.Parallel()
	forever := policy.Forever()
	_, made, err := policy.Plan(nil, policy.Request{Account: "ba-1", Permission: "rl"}, now)
	if err != nil {
		t.Fatal(err)
	}
	first := made.ID
	others := []policy.Policy{{ID: "a"}, {ID: "b", Permission: "r"}, {ID: "ba-10"}}
	tests := map[string]struct {
		found   []policy.Policy
		want    policy.Request
		ids     []string
		current policy.Policy
		code    codes.Code
	}{
		"the first one": {
			others,
			policy.Request{Account: "ba-1", Permission: "rl"},
			[]string{"a", "b", "ba-10", "ba-1."},
			policy.Policy{ID: "ba-1.", Permission: "rl", Expiry: forever},
			codes.OK,
		},
		"letters in another order are the same": {
			[]policy.Policy{{ID: first, Permission: "lr", Expiry: forever}},
			policy.Request{Account: "ba-1", Permission: "rl"},
			[]string{first},
			policy.Policy{ID: first, Permission: "lr", Expiry: forever},
			codes.OK,
		},
		"other permissions": {
			[]policy.Policy{{ID: first, Permission: "r", Expiry: forever}},
			policy.Request{Account: "ba-1", Permission: "rl"},
			nil,
			policy.Policy{},
			codes.AlreadyExists,
		},
		"no room": {
			[]policy.Policy{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}, {ID: "e"}},
			policy.Request{Account: "ba-1", Permission: "rl"},
			nil,
			policy.Policy{},
			codes.ResourceExhausted,
		},
		"no room, but there already": {
			[]policy.Policy{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}, {ID: first, Permission: "rl", Expiry: forever}},
			policy.Request{Account: "ba-1", Permission: "rl"},
			[]string{"a", "b", "c", "d", first},
			policy.Policy{ID: first, Permission: "rl", Expiry: forever},
			codes.OK,
		},
		"a policy without an end gets one": {
			[]policy.Policy{{ID: first, Permission: "rl"}},
			policy.Request{Account: "ba-1", Permission: "rl", Lifetime: time.Hour},
			[]string{first},
			policy.Policy{ID: first, Permission: "rl", Expiry: now.Add(time.Hour)},
			codes.OK,
		},
		"more than half is left": {
			[]policy.Policy{{ID: first, Permission: "rl", Expiry: now.Add(31 * time.Minute)}},
			policy.Request{Account: "ba-1", Permission: "rl", Lifetime: time.Hour},
			[]string{first},
			policy.Policy{ID: first, Permission: "rl", Expiry: now.Add(31 * time.Minute)},
			codes.OK,
		},
		"half is left": {
			[]policy.Policy{{ID: first, Permission: "rl", Expiry: now.Add(30 * time.Minute)}},
			policy.Request{Account: "ba-1", Permission: "rl", Lifetime: time.Hour},
			[]string{first},
			policy.Policy{ID: first, Permission: "rl", Expiry: now.Add(time.Hour)},
			codes.OK,
		},
		"much more is left than asked for": {
			[]policy.Policy{{ID: first, Permission: "rl", Expiry: now.Add(time.Hour)}},
			policy.Request{Account: "ba-1", Permission: "rl", Lifetime: 30 * time.Minute},
			[]string{first},
			policy.Policy{ID: first, Permission: "rl", Expiry: now.Add(30 * time.Minute)},
			codes.OK,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next, current, err := policy.Plan(test.found, test.want, now)
			if status.Code(err) != test.code {
				t.Fatalf("error %v, want code %s", err, test.code)
			}
			next, current = withoutNonce(next, current, test.found)
			if diff := cmp.Diff(test.ids, ids(next)); diff != "" {
				t.Errorf("IDs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.current, current); diff != "" {
				t.Errorf("current policy (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlanKeepsExactlyThePreviousPolicy(t *testing.T) {
	t.Parallel()
	found := []policy.Policy{{ID: "theirs"}}
	var used []string
	for _, rotation := range []string{"x", "y", "z", "y", "", "x"} {
		next, current, err := policy.Plan(found, policy.Request{Account: "ba-1", Permission: "rl", Rotation: rotation}, now)
		if err != nil {
			t.Fatal(err)
		}
		if len(current.ID) > 64 {
			t.Errorf("ID %q is too long", current.ID)
		}
		want := []string{"theirs"}
		if len(used) > 0 {
			want = append(want, used[len(used)-1])
		}
		if diff := cmp.Diff(append(want, current.ID), ids(next)); diff != "" {
			t.Errorf("rotation %q (-want +got):\n%s", rotation, diff)
		}
		found, used = next, append(used, current.ID)
	}
	if left := policy.Remove(found, "ba-1"); len(left) != 1 || left[0].ID != "theirs" {
		t.Errorf("left: %v", left)
	}
}

func TestTheLongestAccountFits(t *testing.T) {
	t.Parallel()
	found := []policy.Policy{{ID: strings.Repeat("a", policy.MaxAccount) + ".9998.abcdefgh.abcdefghij"}}
	_, current, err := policy.Plan(found, policy.Request{Account: strings.Repeat("a", policy.MaxAccount), Permission: "r", Rotation: "x"}, now)
	if err != nil || len(current.ID) > 64 {
		t.Errorf("ID %q of %d characters, %v", current.ID, len(current.ID), err)
	}
}

// withoutNonce cuts the random part of the ID of a policy that was not found.
func withoutNonce(next []policy.Policy, current policy.Policy, found []policy.Policy) ([]policy.Policy, policy.Policy) {
	known := ids(found)
	for i := range next {
		if !slices.Contains(known, next[i].ID) {
			next[i].ID = next[i].ID[:strings.Index(next[i].ID, ".")+1]
			current.ID = next[i].ID
		}
	}
	return next, current
}

func ids(policies []policy.Policy) []string {
	var out []string
	for _, one := range policies {
		out = append(out, one.ID)
	}
	return out
}
