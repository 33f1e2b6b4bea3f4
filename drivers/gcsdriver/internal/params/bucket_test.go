// SPDX-License-Identifier: Apache-2.0

package params_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/params"
)

func TestParseBucket(t *testing.T) {
	t.Parallel()
	seconds := func(n int64) *int64 { return &n }
	tests := map[string]struct {
		values driverkit.Values
		want   params.Bucket
	}{
		"nothing is asked for": {nil, params.Bucket{PublicAccessPrevention: "enforced"}},
		"everything is asked for": {
			driverkit.Values{
				"backend": "b", "namePrefix": "p-", "location": "europe-west1", "storageClass": "NEARLINE", "versioning": "true",
				"publicAccessPrevention": "inherited", "softDeleteSeconds": "604800", "retentionSeconds": "60",
				"kmsKeyName":     "projects/p/locations/l/keyRings/r/cryptoKeys/k",
				"lifecycle":      `{"rule": [{"action": {"type": "Delete"}, "condition": {"age": 30}}]}`,
				"cors":           `[{"origin": ["*"], "method": ["GET"], "maxAgeSeconds": 60}]`,
				"labels":         `{"team": "a"}`,
				"deleteNonEmpty": "true",
			},
			params.Bucket{
				Backend: "b", NamePrefix: "p-", Location: "EUROPE-WEST1", StorageClass: "NEARLINE", Versioning: true,
				PublicAccessPrevention: "inherited", SoftDeleteSeconds: seconds(604800), RetentionSeconds: 60,
				KMSKey:    "projects/p/locations/l/keyRings/r/cryptoKeys/k",
				Lifecycle: &storage.BucketLifecycle{Rule: []*storage.BucketLifecycleRule{{Action: &storage.BucketLifecycleRuleAction{Type: "Delete"}, Condition: &storage.BucketLifecycleRuleCondition{Age: seconds(30)}}}},
				CORS:      []*storage.BucketCors{{Origin: []string{"*"}, Method: []string{"GET"}, MaxAgeSeconds: 60}},
				Labels:    map[string]string{"team": "a"}, DeleteNonEmpty: true,
			},
		},
		"soft delete is switched off": {driverkit.Values{"softDeleteSeconds": "0"}, params.Bucket{PublicAccessPrevention: "enforced", SoftDeleteSeconds: seconds(0)}},
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
	if len(plain) != 32 {
		t.Errorf("a hash is %q", plain)
	}
	for _, key := range []string{"backend", "namePrefix", "deleteNonEmpty"} {
		if hash(driverkit.Values{key: "true"}) != plain {
			t.Errorf("%s does not change the bucket, but its hash", key)
		}
	}
	if hash(driverkit.Values{"location": "EU"}) == plain {
		t.Error("the location does not change the hash")
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	tooMany := make([]string, 61)
	for i := range tooMany {
		tooMany[i] = fmt.Sprintf(`"k%d":"v"`, i)
	}
	bad := map[string]struct{ key, value, text string }{
		"a prefix in upper case":             {"namePrefix", "A", "lower-case"},
		"a prefix that is too long":          {"namePrefix", strings.Repeat("a", 24), "23"},
		"a reserved prefix":                  {"namePrefix", "goog-", "reserves"},
		"a prefix with the name":             {"namePrefix", "my-google-", "reserves"},
		"a location with a slash":            {"location", "eu/west", "location"},
		"an unknown storage class":           {"storageClass", "COLD", "ARCHIVE"},
		"versioning with an invalid boolean": {"versioning", "perhaps", "true, false"},
		"public access":                      {"publicAccessPrevention", "off", "enforced"},
		"one day of soft delete":             {"softDeleteSeconds", "86400", "604800"},
		"soft delete in days":                {"softDeleteSeconds", "7d", "604800"},
		"no retention":                       {"retentionSeconds", "0", "from 1"},
		"more than 100 years of retention":   {"retentionSeconds", "3155760001", "3155760000"},
		"a version of a key":                 {"kmsKeyName", "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1", "without a version"},
		"a lifecycle that is no JSON":        {"lifecycle", "{", "JSON"},
		"a lifecycle with an unknown field":  {"lifecycle", `{"rules": []}`, "rules"},
		"text after the lifecycle":           {"lifecycle", `{} {}`, "after"},
		"CORS that is no list":               {"cors", `{}`, "JSON"},
		"labels that are no object":          {"labels", `["a"]`, "object of strings"},
		"a label of ours":                    {"labels", `{"cosi-driver": "x"}`, "reserved"},
		"a label in upper case":              {"labels", `{"Team": "x"}`, "lower-case"},
		"a label with a dot":                 {"labels", `{"team": "a.b"}`, "digits"},
		"too many labels":                    {"labels", "{" + strings.Join(tooMany, ",") + "}", "61"},
		"deletion that is no boolean":        {"deleteNonEmpty", "yes", "true, false"},
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
