// SPDX-License-Identifier: Apache-2.0

package sigv4

import (
	"bytes"
	"fmt"
	"testing"
)

// TestSigningKeys asks twice for keys that differ in one thing each, and for more than are remembered.
func TestSigningKeys(t *testing.T) {
	t.Parallel()
	var known SigningKeys
	day := scope{"20260101", "us-east-1", "s3", terminator}
	next := day
	next.date = "20260102"
	of := []derivation{{"AWS4", "one", day}, {"AWS4", "two", day}, {"AWS4", "one", next}, {"GOOG4", "one", day}}
	for i := range 3 * maxKnown {
		of = append(of, derivation{"AWS4", fmt.Sprint(i), day})
	}
	for range 2 {
		for _, d := range of {
			if want, got := signingKey(d.prefix, d.secret, d.scope), known.get(d.prefix, d.secret, d.scope); !bytes.Equal(want, got) {
				t.Fatalf("the key of %v is another one", d)
			}
		}
	}
	if len(known.keys) > maxKnown {
		t.Errorf("%d keys are remembered, want %d at most", len(known.keys), maxKnown)
	}
}
