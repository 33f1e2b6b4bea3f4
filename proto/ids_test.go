// SPDX-License-Identifier: Apache-2.0

package cosi_test

import (
	"testing"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Bucket and BucketAccess status can hold every ID of a driver whose IDs may contain any character.
func TestEscapeID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"":                       "",
		"bucket-1.example/a_b":   "bucket-1.example/a_b",
		"arn:aws:s3:::b":         "arn..3Aaws..3As3..3A..3A..3Ab",
		"a..b":                   "a..2E..2Eb",
		"a.:b":                   "a..2E..3Ab",
		"a:.":                    "a..3A..2E",
		"eyJhIjoiYiJ9+/==":       "eyJhIjoiYiJ9..2B/..3D..3D",
		"b\u00fccher\n":          "b..C3..BCcher..0A",
		"..3A":                   "..2E..2E3A",
		"{\"name\":\"my.name\"}": "..7B..22name..22..3A..22my..2Ename..22..7D",
	} {
		got := cosi.EscapeID(id)
		if got != want {
			t.Errorf("%q becomes %q, want %q", id, got, want)
		}
		if back, err := cosi.UnescapeID(got); err != nil || back != id {
			t.Errorf("%q comes back as %q, %v", id, back, err)
		}
		if err := cosi.ValidateBucketID(got); id != "" && err != nil {
			t.Errorf("%q: %v", got, err)
		}
	}
	for _, text := range []string{"a..", "a..3", "a..zz"} {
		if id, err := cosi.UnescapeID(text); err == nil {
			t.Errorf("%q comes back as %q", text, id)
		}
	}
}

func FuzzEscapeID(f *testing.F) {
	f.Add("arn:aws:s3:::b..c")
	f.Fuzz(func(t *testing.T, id string) {
		if back, err := cosi.UnescapeID(cosi.EscapeID(id)); err != nil || back != id {
			t.Errorf("%q comes back as %q, %v", id, back, err)
		}
	})
}
