// SPDX-License-Identifier: Apache-2.0

package accessmode_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/accessmode"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	const none, read, write, both = cosiapi.BucketAccessMode(""), cosiapi.BucketAccessModeReadOnly,
		cosiapi.BucketAccessModeWriteOnly, cosiapi.BucketAccessModeReadWrite
	for name, tc := range map[string]struct{ a, b, want cosiapi.BucketAccessMode }{
		"no wish stays no wish":                    {none, none, none},
		"no wish yields":                           {none, read, read},
		"equal modes stay":                         {write, write, write},
		"read-only and write-only make read-write": {read, write, both},
		"read-write includes read-only":            {both, read, both},
		"read-write includes write-only":           {write, both, both},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, pair := range [][2]cosiapi.BucketAccessMode{{tc.a, tc.b}, {tc.b, tc.a}} {
				want := cosiapi.BucketAccessModes{ObjectData: tc.want, BucketMetadata: tc.want}
				got := accessmode.Merge(
					cosiapi.BucketAccessModes{ObjectData: pair[0], BucketMetadata: pair[1]},
					cosiapi.BucketAccessModes{ObjectData: pair[1], BucketMetadata: pair[0]},
				)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("merged modes (-want, +got):\n%s", diff)
				}
			}
		})
	}
}
