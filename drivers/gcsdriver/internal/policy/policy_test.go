// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/policy"
)

const (
	member = "serviceAccount:ba-x@p.iam.gserviceaccount.com"
	gone   = "deleted:" + member + "?uid=123"
	other  = "user:somebody@example.com"
)

func condition(title string) *storage.Expr {
	return &storage.Expr{Title: title, Description: "d", Expression: "request.time < x"}
}

func binding(role string, on *storage.Expr, members ...string) *storage.PolicyBindings {
	return &storage.PolicyBindings{Role: role, Condition: on, Members: members}
}

// edited applies a change twice, since a change must not find anything to change in its own result.
func edited(t *testing.T, before []*storage.PolicyBindings, change func(*storage.Policy) bool) ([]*storage.PolicyBindings, bool) {
	t.Helper()
	copied := &storage.Policy{}
	text, err := json.Marshal(storage.Policy{Bindings: before})
	if err == nil {
		err = json.Unmarshal(text, copied)
	}
	if err != nil {
		t.Fatal(err)
	}
	changed := change(copied)
	if change(copied) {
		t.Error("the second edit changes something again")
	}
	return copied.Bindings, changed
}

func TestSetRolesAndRemove(t *testing.T) {
	t.Parallel()
	set := func(roles ...string) func(*storage.Policy) bool {
		return func(p *storage.Policy) bool { return policy.SetRoles(p, member, roles) }
	}
	remove := func(p *storage.Policy) bool { return policy.Remove(p, member) }
	tests := map[string]struct {
		before  []*storage.PolicyBindings
		change  func(*storage.Policy) bool
		want    []*storage.PolicyBindings
		changed bool
	}{
		"an empty policy gets a binding": {nil, set(viewer), []*storage.PolicyBindings{binding(viewer, nil, member)}, true},
		"a binding of others gets a member": {
			before:  []*storage.PolicyBindings{binding(viewer, nil, other)},
			change:  set(viewer),
			want:    []*storage.PolicyBindings{binding(viewer, nil, other, member)},
			changed: true,
		},
		"a conditional binding is not joined": {
			before:  []*storage.PolicyBindings{binding(viewer, condition("office hours"), other)},
			change:  set(viewer),
			want:    []*storage.PolicyBindings{binding(viewer, condition("office hours"), other), binding(viewer, nil, member)},
			changed: true,
		},
		"existing entries remain": {
			before:  []*storage.PolicyBindings{binding(viewer, nil, member, other)},
			change:  set(viewer),
			want:    []*storage.PolicyBindings{binding(viewer, nil, member, other)},
			changed: false,
		},
		"another role is taken": {
			before:  []*storage.PolicyBindings{binding(viewer, nil, member), binding(user, nil, other)},
			change:  set(user),
			want:    []*storage.PolicyBindings{binding(user, nil, other, member)},
			changed: true,
		},
		"a conditional role of an administrator stays": {
			before:  []*storage.PolicyBindings{binding(user, condition("once"), member)},
			change:  set(viewer),
			want:    []*storage.PolicyBindings{binding(user, condition("once"), member), binding(viewer, nil, member)},
			changed: true,
		},
		"the rest of a deleted account is removed": {
			before:  []*storage.PolicyBindings{binding(viewer, nil, gone, other)},
			change:  set(viewer),
			want:    []*storage.PolicyBindings{binding(viewer, nil, other, member)},
			changed: true,
		},
		"the rest of another deleted account stays": {
			before:  []*storage.PolicyBindings{binding(viewer, nil, "deleted:serviceAccount:else@p.iam.gserviceaccount.com?uid=1")},
			change:  remove,
			want:    []*storage.PolicyBindings{binding(viewer, nil, "deleted:serviceAccount:else@p.iam.gserviceaccount.com?uid=1")},
			changed: false,
		},
		"everything of the account is removed": {
			before:  []*storage.PolicyBindings{binding(viewer, nil, member, other), binding(user, nil, member), binding(user, condition("x"), member, other), binding(viewer, condition("y"), gone)},
			change:  remove,
			want:    []*storage.PolicyBindings{binding(viewer, nil, other), binding(user, condition("x"), other)},
			changed: true,
		},
		"nothing is there to remove": {[]*storage.PolicyBindings{binding(viewer, condition("x"), other)}, remove, []*storage.PolicyBindings{binding(viewer, condition("x"), other)}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, changed := edited(t, test.before, test.change)
			if diff := cmp.Diff(test.want, got); diff != "" || changed != test.changed {
				t.Errorf("changed: %t (-want +got)\n%s", changed, diff)
			}
		})
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	claim := policy.Claim{Title: "cosi a", Description: "cosi:driver;hash", Owner: "cosi:driver;", Expression: "always"}
	second := policy.Claim{Title: "cosi b", Description: "cosi:driver;hash", Owner: "cosi:driver;", Expression: "always"}
	foreign := binding(viewer, &storage.Expr{Title: "cosi a", Description: "mine", Expression: "always"}, member)
	ours := func(c policy.Claim, role string) *storage.PolicyBindings {
		return binding(role, &storage.Expr{Title: c.Title, Description: c.Description, Expression: c.Expression}, member)
	}
	bind := func(c policy.Claim, roles ...string) func(*storage.Policy) bool {
		return func(p *storage.Policy) bool { return c.Bind(p, member, roles) }
	}
	tests := map[string]struct {
		before  []*storage.PolicyBindings
		change  func(*storage.Policy) bool
		want    []*storage.PolicyBindings
		changed bool
	}{
		"a first access":                       {nil, bind(claim, viewer), []*storage.PolicyBindings{ours(claim, viewer)}, true},
		"a second one of the same account":     {[]*storage.PolicyBindings{ours(claim, viewer)}, bind(second, viewer), []*storage.PolicyBindings{ours(claim, viewer), ours(second, viewer)}, true},
		"a repeated one":                       {[]*storage.PolicyBindings{ours(claim, user), ours(claim, viewer)}, bind(claim, viewer, user), []*storage.PolicyBindings{ours(claim, user), ours(claim, viewer)}, false},
		"one with another role":                {[]*storage.PolicyBindings{ours(claim, viewer), ours(second, viewer)}, bind(claim, user), []*storage.PolicyBindings{ours(second, viewer), ours(claim, user)}, true},
		"the first is released, not the other": {[]*storage.PolicyBindings{ours(claim, viewer), ours(second, viewer)}, claim.Release, []*storage.PolicyBindings{ours(second, viewer)}, true},
		"a foreign binding of the same title":  {[]*storage.PolicyBindings{foreign}, claim.Release, []*storage.PolicyBindings{foreign}, false},
		"a plain binding of the member":        {[]*storage.PolicyBindings{binding(viewer, nil, member)}, claim.Release, []*storage.PolicyBindings{binding(viewer, nil, member)}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, changed := edited(t, test.before, test.change)
			if diff := cmp.Diff(test.want, got); diff != "" || changed != test.changed {
				t.Errorf("changed: %t (-want +got)\n%s", changed, diff)
			}
		})
	}
	if text := claim.Described(&storage.Policy{Bindings: []*storage.PolicyBindings{foreign, ours(claim, viewer)}}); text != claim.Description {
		t.Errorf("the claim is described as %q", text)
	}
}
