// SPDX-License-Identifier: Apache-2.0

package params_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

func TestParseBucket(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		values driverkit.Values
		want   params.Bucket
	}{
		"nothing is asked for": {nil, params.Bucket{}},
		"everything is asked for": {
			driverkit.Values{
				"account": "prod", "namePrefix": "p-", "encryptionScope": "team", "encryptionScopeOnly": "true",
				"metadata": `{"Team": "a"}`, "deleteNonEmpty": "true",
			},
			params.Bucket{
				Backend: "prod", NamePrefix: "p-", EncryptionScope: "team", ScopeOnly: true, Metadata: map[string]string{"team": "a"}, DeleteNonEmpty: true,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := params.ParseBucket(test.values)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(params.Bucket{}, "Hash")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if _, err := params.ParseBucket(driverkit.Values{"encryptionScopeOnly": "true"}); err == nil || !strings.Contains(err.Error(), "needs encryptionScope") {
		t.Errorf("a scope for all blobs, but none: %v", err)
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	hash := func(values driverkit.Values) string {
		parsed, err := params.ParseBucket(values)
		if err != nil {
			t.Fatal(err)
		}
		return parsed.Hash
	}
	plain := hash(nil)
	for _, key := range []string{"account", "namePrefix", "deleteNonEmpty"} {
		if hash(driverkit.Values{key: "true"}) != plain {
			t.Errorf("%s does not change the container, but its hash", key)
		}
	}
	if hash(driverkit.Values{"encryptionScope": "team"}) == plain {
		t.Error("the encryption scope does not change the hash")
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	bad := map[string]struct{ key, value, text string }{
		"a prefix in upper case":           {"namePrefix", "A", "lower-case"},
		"a prefix with two dashes":         {"namePrefix", "a--b", "single"},
		"a prefix that is too long":        {"namePrefix", strings.Repeat("a", 24), "23"},
		"a scope that is too short":        {"encryptionScope", "x", "3 to 63"},
		"an invalid boolean":               {"deleteNonEmpty", "perhaps", "true, false"},
		"metadata that is no object":       {"metadata", `["a"]`, "object of strings"},
		"a key that Azure does not take":   {"metadata", `{"a-b": "c"}`, "digits and '_'"},
		"a key of the driver":              {"metadata", `{"Cosi_driver": "c"}`, "reserved for the driver"},
		"a key twice":                      {"metadata", `{"team": "a", "Team": "b"}`, "not case-sensitive"},
		"a value that no header takes":     {"metadata", `{"team": " a"}`, "printable ASCII"},
		"more metadata than there may be":  {"metadata", `{"team": "` + strings.Repeat("a", 6<<10) + `"}`, "more than 6144"},
		"a setting of the storage account": {"versioning", "true", "setting of the storage account"},
		"an unsupported setting":           {"publicAccess", "container", "never"},
	}
	for name, test := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := params.BucketParameters()[test.key].Check(test.value)
			if err == nil || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%v, want %q", err, test.text)
			}
		})
	}
}
