// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
)

// everything is a role with all permissions.
type everything struct{}

// Grants implements policy.Roles.
func (everything) Grants(string, string) bool { return true }

// FuzzConditions validates and evaluates arbitrary conditions. One that cannot be set grants nothing, and none may take
// long or end the process.
func FuzzConditions(f *testing.F) {
	for _, expression := range []string{
		`true`, `resource.name.startsWith("projects/_/buckets/b/objects/dir/")`, `request.time < timestamp("2030-01-01T00:00:00Z")`,
		`resource.name.extract("objects/{name}/") == "dir"`, `api.getAttribute("storage.googleapis.com/objectListPrefix", "") == "dir/"`,
		`resource.type == "storage.googleapis.com/Object" && resource.service == "storage.googleapis.com"`, `request.time.getHours("Europe/Berlin") > 8`,
		`"a".replace("", "bbbbbbbb").replace("", "cccccccc") == ""`, `[1, 2].all(x, x > 0)`, `resource.none == ""`, `1 / 0 == 1`, `resource.name.matches("(a+)+$")`,
	} {
		f.Add(expression, "projects/_/buckets/b/objects/dir/o", "dir/")
	}
	f.Fuzz(func(t *testing.T, expression, name, prefix string) {
		c := &policy.Condition{Expression: expression}
		p := policy.Policy{Bindings: []policy.Binding{{Role: "r", Members: []string{"m"}, Condition: c}}}
		on := policy.Resource{Name: name, Type: "storage.googleapis.com/Object", Service: "storage.googleapis.com", ListPrefix: prefix}
		allowed := p.Allows(policy.Caller{Members: []string{"m"}}, "x", on, everything{}, nil, time.Unix(0, 0))
		if err := c.Validate(); err != nil && allowed {
			t.Errorf("a condition that cannot be set grants: %v", err)
		}
		if p.Allows(policy.Caller{Members: []string{"other"}}, "x", on, everything{}, nil, time.Unix(0, 0)) {
			t.Error("it grants to somebody else")
		}
		if shown := p.WithoutConditions(); shown[0].Condition != nil || !strings.HasPrefix(shown[0].Role, "r_withcond_") {
			t.Errorf("version 1 shows %+v", shown)
		}
	})
}
