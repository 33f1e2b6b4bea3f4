// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/policy"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

func TestPermission(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		access policy.Access
		want   string
	}{
		"read only":                          {policy.Access{ObjectData: driverkit.ReadOnly}, "rl"},
		"write only":                         {policy.Access{ObjectData: driverkit.WriteOnly}, "acwd"},
		"write only without deletion":        {policy.Access{ObjectData: driverkit.WriteOnly, NoDelete: true}, "acw"},
		"read and write":                     {policy.Access{ObjectData: driverkit.ReadWrite}, "racwdl"},
		"read and write with metadata":       {policy.Access{ObjectData: driverkit.ReadWrite, ObjectMetadata: driverkit.ReadWrite}, "racwdltf"},
		"read and write, versions as well":   {policy.Access{ObjectData: driverkit.ReadWrite, DeleteVersions: true}, "racwdxl"},
		"read and write without deletion":    {policy.Access{ObjectData: driverkit.ReadWrite, NoDelete: true}, "racwl"},
		"read only, where versions may go":   {policy.Access{ObjectData: driverkit.ReadOnly, DeleteVersions: true}, "rl"},
		"write only with metadata, not tags": {policy.Access{ObjectData: driverkit.WriteOnly, ObjectMetadata: driverkit.WriteOnly}, "acwd"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := test.access.Check(); err != nil {
				t.Error(err)
			}
			if got := test.access.Permission(); got != policy.Ordered(test.want) || got != test.want {
				t.Errorf("permission %q, want %q", got, test.want)
			}
		})
	}
}

// TestNoMoreThanAsked checks for all combinations that access which passes the check includes only the requested
// directions.
func TestNoMoreThanAsked(t *testing.T) {
	t.Parallel()
	modes := []driverkit.Mode{"", driverkit.Any, driverkit.ReadOnly, driverkit.WriteOnly, driverkit.ReadWrite}
	for _, data := range modes {
		for _, metadata := range modes {
			for _, bucket := range modes {
				access := policy.Access{ObjectData: data, ObjectMetadata: metadata, BucketMetadata: bucket}
				if access.Check() != nil {
					continue
				}
				granted := access.Permission()
				reads, writes := strings.ContainsAny(granted, "rlf"), strings.ContainsAny(granted, "acwdxt")
				if reads != (data == driverkit.ReadOnly || data == driverkit.ReadWrite) || writes != (data == driverkit.WriteOnly || data == driverkit.ReadWrite) {
					t.Errorf("%+v is granted %q", access, granted)
				}
				if bucket != "" && bucket != driverkit.Any {
					t.Errorf("%+v is granted", access)
				}
			}
		}
	}
}
