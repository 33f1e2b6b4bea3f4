// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

func TestCheckExplainsWhatCannotBeSeparated(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		access policy.Access
		want   string
	}{
		"metadata of objects that cannot be read":    {policy.Access{ObjectMetadata: policy.Read}, "s3:GetObject"},
		"metadata of a drop box":                     {policy.Access{ObjectData: policy.Write, ObjectMetadata: readWrite}, "s3:GetObject"},
		"metadata of objects that cannot be written": {policy.Access{ObjectData: policy.Read, ObjectMetadata: policy.Write}, "s3:PutObject"},
		"writing the bucket's tags":                  {policy.Access{ObjectData: readWrite, BucketMetadata: policy.Write}, "ownership mark"},
		"nothing":                                    {policy.Access{}, "no access mode"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := test.access.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Check = %v, want %q", err, test.want)
			}
		})
	}
}

func TestDirectionOf(t *testing.T) {
	t.Parallel()
	want := map[driverkit.Mode]policy.Direction{
		driverkit.Any: 0, driverkit.ReadOnly: policy.Read, driverkit.WriteOnly: policy.Write, driverkit.ReadWrite: readWrite,
	}
	for mode, direction := range want {
		if got := policy.DirectionOf(mode); got != direction {
			t.Errorf("DirectionOf(%s) = %d, want %d", mode, got, direction)
		}
	}
}
