// SPDX-License-Identifier: Apache-2.0

package names_test

import (
	"encoding/base32"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/names"
)

// accountID matches the service account IDs that Google accepts.
var accountID = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])$`)

func TestServiceAccountIsLossless(t *testing.T) {
	t.Parallel()
	proposed := []string{"ba-00000000-0000-0000-0000-000000000000", "ba-ffffffff-ffff-ffff-ffff-ffffffffffff"}
	for range 1000 {
		proposed = append(proposed, "ba-"+uuid.NewString())
	}
	for _, name := range proposed {
		id := names.ServiceAccount(name)
		if len(id) != 29 || !accountID.MatchString(id) {
			t.Errorf("%s became %q, %d characters", name, id, len(id))
		}
		raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(strings.TrimPrefix(id, "ba-")))
		if err != nil || "ba-"+uuid.Must(uuid.FromBytes(raw)).String() != name {
			t.Errorf("%s became %s, which does not give it back: %v", name, id, err)
		}
	}
}

func TestServiceAccountOfOtherNames(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	id := uuid.NewString()
	for _, name := range []string{
		"a", "access", "ba-" + strings.ToUpper(id), "ba-" + id, "ba-" + id + "-1", "ba-" + strings.ReplaceAll(id, "-", ""),
		"ba-urn:uuid:" + id, strings.Repeat("x", 64), "bc-" + id,
	} {
		made := names.ServiceAccount(name)
		if len(made) < 6 || len(made) > 30 || !accountID.MatchString(made) {
			t.Errorf("%s became %q", name, made)
		}
		if other, taken := seen[made]; taken {
			t.Errorf("%s and %s both became %s", name, other, made)
		}
		seen[made] = name
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	id := "bc-0b4f9f0e-8a57-4c4c-9d3e-2f2b3a8f1c11"
	for name, test := range map[string]struct{ prefix, proposed, want string }{
		"a name of COSI stays":                    {"", id, id},
		"a prefix is put in front":                {"team-", id, "team-" + id},
		"dots are hashed":                         {"", "a.b.example.com", ""},
		"upper case is hashed":                    {"", "Bucket", ""},
		"too long is hashed":                      {"", strings.Repeat("a", 64), ""},
		"too short is hashed":                     {"", "a", ""},
		"a reserved name is hashed":               {"", "googol", ""},
		"a misspelling of it is hashed":           {"", "my-g00gle", ""},
		"a name that looks like a hash is hashed": {"", "h-abc", ""},
		"underscores are hashed":                  {"", "a_b", ""},
		"a trailing dash is hashed":               {"", "abc-", ""},
		"a hashed name keeps the prefix":          {"p-", "A", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := names.Buckets().Fit(test.prefix, test.proposed)
			if test.want != "" && got != test.want {
				t.Errorf("got %q", got)
			}
			if test.want == "" && !regexp.MustCompile(`^`+test.prefix+`h-[a-z2-7]{32}$`).MatchString(got) {
				t.Errorf("%q became %q", test.proposed, got)
			}
			if err := names.CheckBucket(got); err != nil {
				t.Errorf("%q: %v", got, err)
			}
		})
	}
}

func TestCheckBucket(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"www.example.com": "domain", "192.168.5.4": "domain", "goog-data": "reserves", "my-google-data": "reserves",
		"a-g00gle": "reserves", "ab": "3 to 63", strings.Repeat("a", 64): "3 to 63", "-ab": "begin and end", "Ab-c": "lower-case",
	} {
		if err := names.CheckBucket(name); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %q", name, err, text)
		}
	}
	for _, name := range []string{"abc", "a_b", "bc-1", strings.Repeat("a", 63)} {
		if err := names.CheckBucket(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]bool{"www.example.com": true, "a": false, "a/b": false, "..": false, "google-ish": true} {
		if got := names.CouldExist(name); got != want {
			t.Errorf("%s could exist: %t", name, got)
		}
	}
}
