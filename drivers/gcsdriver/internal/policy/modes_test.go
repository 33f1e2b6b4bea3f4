// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/policy"
)

const (
	none = driverkit.Any
	ro   = driverkit.ReadOnly
	wo   = driverkit.WriteOnly
	rw   = driverkit.ReadWrite

	viewer       = "roles/storage.objectViewer"
	creator      = "roles/storage.objectCreator"
	user         = "roles/storage.objectUser"
	bucketViewer = "roles/storage.bucketViewer"
	reader       = "roles/storage.legacyBucketReader"
)

func TestRoles(t *testing.T) {
	t.Parallel()
	custom := policy.Roles{ObjectMetadata: policy.ByMode{WriteOnly: "projects/p/roles/meta"}, BucketMetadata: policy.ByMode{ReadWrite: "projects/p/roles/bucket"}}
	tests := map[string]struct {
		table   policy.Roles
		asked   policy.Access
		want    []string
		refused string
	}{
		"reading":                     {asked: policy.Access{ObjectData: ro}, want: []string{viewer}},
		"writing":                     {asked: policy.Access{ObjectData: wo}, want: []string{creator}},
		"both":                        {asked: policy.Access{ObjectData: rw}, want: []string{user}},
		"an S3 client that reads":     {asked: policy.Access{ObjectData: ro, S3Client: true}, want: []string{reader, viewer}},
		"an S3 client that does both": {asked: policy.Access{ObjectData: rw, S3Client: true}, want: []string{reader, user}},
		"an S3 client that only writes may not list": {asked: policy.Access{ObjectData: wo, S3Client: true}, want: []string{creator}},
		"reading metadata with data":                 {asked: policy.Access{ObjectData: ro, ObjectMetadata: ro}, want: []string{viewer}},
		"all of objects":                             {asked: policy.Access{ObjectData: rw, ObjectMetadata: rw}, want: []string{user}},
		"writing metadata with both of data":         {asked: policy.Access{ObjectData: rw, ObjectMetadata: wo}, want: []string{user}},
		"reading bucket metadata":                    {asked: policy.Access{BucketMetadata: ro}, want: []string{bucketViewer}},
		"a configured role":                          {table: custom, asked: policy.Access{ObjectData: wo, ObjectMetadata: wo}, want: []string{"projects/p/roles/meta", creator}},
		"a configured role for bucket metadata":      {table: custom, asked: policy.Access{BucketMetadata: rw}, want: []string{"projects/p/roles/bucket"}},
		"a role that replaces Google's":              {table: policy.Roles{ObjectData: policy.ByMode{WriteOnly: "organizations/1/roles/w"}}, asked: policy.Access{ObjectData: wo}, want: []string{"organizations/1/roles/w"}},
		"nothing":                                    {asked: policy.Access{}, refused: "no access mode"},
		"reading metadata alone":                     {asked: policy.Access{ObjectMetadata: ro}, refused: "cannot be read without object data"},
		"reading metadata, writing data":             {asked: policy.Access{ObjectData: wo, ObjectMetadata: ro}, refused: "cannot be read without object data"},
		"writing metadata alone":                     {asked: policy.Access{ObjectMetadata: wo}, refused: "cannot be written"},
		"writing metadata, reading data":             {asked: policy.Access{ObjectData: ro, ObjectMetadata: rw}, refused: "cannot be written"},
		"writing metadata and data only":             {asked: policy.Access{ObjectData: wo, ObjectMetadata: wo}, refused: "cannot be written"},
		"writing bucket metadata":                    {asked: policy.Access{ObjectData: rw, BucketMetadata: wo}, refused: "bucket metadata cannot be written"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []*driverkit.Mode{&test.asked.ObjectData, &test.asked.ObjectMetadata, &test.asked.BucketMetadata} {
				if *mode == "" {
					*mode = none
				}
			}
			got, err := test.table.Defaults().For(test.asked)
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) {
					t.Errorf("%v, %v; want refused: %q", got, err, test.refused)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	wrong := policy.Roles{ObjectData: policy.ByMode{ReadOnly: "viewer", ReadWrite: "roles/storage.objectUser"}, BucketMetadata: policy.ByMode{ReadOnly: "projects/p/roles/r"}}.Check()
	if len(wrong) != 1 || wrong["objectData.readOnly"] == nil {
		t.Errorf("wrong are %v", wrong)
	}
}
