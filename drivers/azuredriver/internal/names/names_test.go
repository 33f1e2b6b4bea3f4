// SPDX-License-Identifier: Apache-2.0

package names_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/names"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

const bucketID, accountID = "bc-0b4f9f0e-8a57-4c4c-9d3e-2f2b3a8f1c11", "ba-0b4f9f0e-8a57-4c4c-9d3e-2f2b3a8f1c11"

func TestFit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rule                   driverkit.NameRule
		prefix, proposed, want string // want is empty for a hash
	}{
		"a bucket of COSI keeps its name":         {names.Buckets(), "", bucketID, bucketID},
		"a prefix is put in front":                {names.Buckets(), "team-", bucketID, "team-" + bucketID},
		"two dashes are hashed":                   {names.Buckets(), "", "a--b", ""},
		"a name that is too long is hashed":       {names.Buckets(), "", strings.Repeat("a", 64), ""},
		"an account of COSI keeps its name":       {names.Accounts(), "", accountID, accountID},
		"a longer one has no room for a policy":   {names.Accounts(), "", accountID + "1", ""},
		"a name that looks like a hash is hashed": {names.Accounts(), "", "h-abc", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := test.rule.Fit(test.prefix, test.proposed)
			if test.want != "" && got != test.want || test.want == "" && !regexp.MustCompile(`^h-[a-z2-7]{32}$`).MatchString(got) {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestCheckStorageAccount(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"abc": true, "prod01": true, "ab": false, "a-b": false, "Prod": false, strings.Repeat("a", 25): false} {
		if err := names.CheckStorageAccount(name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMayBeOurs(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{bucketID: true, "gone." + bucketID: true, "gone.team-" + bucketID: true, "www.example.com": false, accountID: false} {
		if got := names.MayBeOurs(id); got != want {
			t.Errorf("%s may be ours: %t", id, got)
		}
	}
}
