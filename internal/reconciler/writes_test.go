// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

func claim(uid, version string) *cosiapi.BucketClaim {
	return &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version}}
}

// leaving returns a claim that is being deleted.
func leaving(version string, finalizers ...string) *cosiapi.BucketClaim {
	c, now := claim("a", version), metav1.Now()
	c.DeletionTimestamp, c.Finalizers = &now, finalizers
	return c
}

func TestWrites(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		wrote, cached *cosiapi.BucketClaim
		want          bool
	}{
		"nothing was written":                      {nil, claim("a", "5"), true},
		"the cache still holds the copy before it": {claim("a", "10"), claim("a", "9"), false},
		"the cache has our write":                  {claim("a", "10"), claim("a", "10"), true},
		"another client wrote later":               {claim("a", "10"), claim("a", "11"), true},
		"another object of the same name":          {claim("a", "10"), claim("b", "5"), true},
		"our write removed the object":             {leaving("10"), leaving("10", "ours"), false},
		"another finalizer keeps the object":       {leaving("11", "theirs"), leaving("11", "theirs"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w writes
			if tc.wrote != nil {
				w.note(tc.wrote)
			}
			if got := w.seen(tc.cached); got != tc.want {
				t.Errorf("seen: want %v, got %v", tc.want, got)
			}
		})
	}
}
