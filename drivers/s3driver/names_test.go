// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/internal/credstore"
)

// newDriver makes a driver whose stores are never called.
func newDriver(t *testing.T) *s3driver.Driver {
	t.Helper()
	config, err := s3driver.Format().Parse([]byte(`
defaultBackend: main
backends:
  main: {type: aws, endpoint: "http://main.invalid"}
  lab: {type: aws, endpoint: "http://lab.invalid", region: lab-1}
  cloud: {type: aws}
`))
	if err != nil {
		t.Fatal(err)
	}
	driver, err := s3driver.New(s3driver.Options{Config: config, Credentials: credstore.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	return driver
}

func TestBucketID(t *testing.T) {
	t.Parallel()
	const name = "bc-7e1f7f0a-1111-4222-8333-123456789abc"
	tests := map[string]struct {
		name       string
		parameters driverkit.Values
		want       string
	}{
		"the name is the ID":                      {name, nil, name},
		"the default backend is not in the ID":    {name, driverkit.Values{"backend": "main"}, name},
		"another backend is in the ID":            {name, driverkit.Values{"backend": "lab"}, "lab." + name},
		"the prefix of the class is in the name":  {name, driverkit.Values{"namePrefix": "team-"}, "team-" + name},
		"both together":                           {name, driverkit.Values{"namePrefix": "t-", "backend": "lab"}, "lab.t-" + name},
		"the longest prefix fits":                 {name, driverkit.Values{"namePrefix": strings.Repeat("p", 23)}, strings.Repeat("p", 23) + name},
		"a name with a dot is hashed":             {"a.b", nil, "h-"},
		"a name with capitals is hashed":          {"Bucket", nil, "h-"},
		"a name that looks like a hash is hashed": {"h-abc", nil, "h-"},
		"a name that is too short is hashed":      {"a", nil, "h-"},
	}
	for test, want := range tests {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			got, err := newDriver(t).BucketID(t.Context(), driverkit.BucketIDRequest{Name: want.name, Parameters: want.parameters})
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(want.want, "h-") {
				if !regexp.MustCompile(`^h-[a-z2-7]{32}$`).MatchString(got) {
					t.Errorf("ID is %q, want a hash", got)
				}
			} else if got != want.want {
				t.Errorf("ID is %q, want %q", got, want.want)
			}
		})
	}
}

func TestDistinctNamesHaveDistinctIDs(t *testing.T) {
	t.Parallel()
	driver := newDriver(t)
	long := strings.Repeat("n", 252)
	names := []string{"a", "A", "a.b", "a-b", "h-a", "Bucket", "bucket", long + "1", long + "2", strings.Repeat("n", 63), strings.Repeat("n", 64), "ü", "-", "a b"}
	seen := map[string]string{}
	for _, name := range names {
		bucket, err := driver.BucketID(t.Context(), driverkit.BucketIDRequest{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		account, err := driver.AccountID(t.Context(), driverkit.AccountIDRequest{Name: name, AccessSpec: readBucket("b")})
		if err != nil {
			t.Fatal(err)
		}
		for kind, id := range map[string]string{"bucket ": bucket, "account ": account} {
			if other, taken := seen[kind+id]; taken {
				t.Errorf("%q and %q both have the %sID %s", name, other, kind, id)
			}
			seen[kind+id] = name
			if !regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,63}$`).MatchString(id) {
				t.Errorf("%sID %q of %q has other characters or another length than stores take", kind, id, name)
			}
		}
	}
}

func readBucket(ids ...string) driverkit.AccessSpec {
	spec := driverkit.AccessSpec{Protocol: driverkit.S3, AuthType: driverkit.Key}
	for _, id := range ids {
		spec.Buckets = append(spec.Buckets, driverkit.BucketAccess{BucketID: id, ObjectData: driverkit.ReadOnly, ObjectMetadata: driverkit.Any, BucketMetadata: driverkit.Any})
	}
	return spec
}

func TestPhaseOneRefuses(t *testing.T) {
	t.Parallel()
	driver := newDriver(t)
	buckets := map[string]struct {
		parameters driverkit.Values
		want       string
	}{
		"a backend that is not configured":    {driverkit.Values{"backend": "moon"}, "cloud, lab, main"},
		"a region that the backend has not":   {driverkit.Values{"backend": "lab", "region": "lab-2"}, "lab-1"},
		"a quota where there is none":         {driverkit.Values{"quota": "1Gi"}, "no quotas"},
		"parameters that exclude one another": {driverkit.Values{"objectLockMode": "GOVERNANCE"}, "objectLockDays"},
	}
	for name, test := range buckets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := driver.BucketID(t.Context(), driverkit.BucketIDRequest{Name: "bc-1", Parameters: test.parameters})
			drivertest.WantCode(t, err, codes.InvalidArgument, test.want)
		})
	}
	if _, err := driver.BucketID(t.Context(), driverkit.BucketIDRequest{Name: "bc-1", Parameters: driverkit.Values{"backend": "cloud", "region": "eu-west-3"}}); err != nil {
		t.Errorf("another region of AWS: %v", err)
	}
	t.Run("buckets of two backends", func(t *testing.T) {
		t.Parallel()
		_, err := driver.AccountID(t.Context(), driverkit.AccountIDRequest{Name: "ba-1", AccessSpec: readBucket("b", "lab.b")})
		drivertest.WantCode(t, err, codes.OutOfRange, "different backends")
	})
	t.Run("metadata without data", func(t *testing.T) {
		t.Parallel()
		spec := readBucket("b")
		spec.Buckets[0].ObjectData, spec.Buckets[0].ObjectMetadata = driverkit.Any, driverkit.ReadOnly
		_, err := driver.AccountID(t.Context(), driverkit.AccountIDRequest{Name: "ba-1", AccessSpec: spec})
		drivertest.WantCode(t, err, codes.InvalidArgument, "bucket b", "s3:GetObject")
	})
}

func TestAccountIDNamesItsBackend(t *testing.T) {
	t.Parallel()
	driver := newDriver(t)
	for bucket, want := range map[string]string{"b": "ba-1", "main.b": "ba-1", "lab.b": "lab.ba-1", "unknown.b": "ba-1"} {
		got, err := driver.AccountID(t.Context(), driverkit.AccountIDRequest{Name: "ba-1", AccessSpec: readBucket(bucket)})
		if err != nil || got != want {
			t.Errorf("bucket %s: account ID %q, %v, want %q", bucket, got, err, want)
		}
	}
}
