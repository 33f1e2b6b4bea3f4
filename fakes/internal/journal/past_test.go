// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// TestPast writes the number of each call, and one value before the first.
func TestPast(t *testing.T) {
	t.Parallel()
	var now time.Time
	past := journal.NewPast(journal.Discard{}, func() time.Time { return now })
	write := func(key string, value any) {
		if err := journal.Save(past, "t", key, value); err != nil {
			t.Fatal(err)
		}
	}
	write("first", 0)
	const many = 5000
	for call := 1; call <= many; call++ {
		now = now.Add(time.Second)
		past.Call()
		write("last", call)
	}
	if err := past.Append(journal.Delete("t", "first")); err != nil {
		t.Fatal(err)
	}
	past.Call()
	for name, test := range map[string]struct {
		calls int
		at    time.Time
		want  map[string]json.RawMessage
	}{
		"now":                    {0, now, map[string]json.RawMessage{"last": json.RawMessage("5000")}},
		"a call before":          {1, now, map[string]json.RawMessage{"first": json.RawMessage("0"), "last": json.RawMessage("4999")}},
		"900 calls before":       {900, now, map[string]json.RawMessage{"first": json.RawMessage("0"), "last": json.RawMessage("4100")}},
		"three seconds before":   {0, now.Add(-3 * time.Second), map[string]json.RawMessage{"first": json.RawMessage("0"), "last": json.RawMessage("4997")}},
		"by both, what is older": {10, now.Add(-3 * time.Second), map[string]json.RawMessage{"first": json.RawMessage("0"), "last": json.RawMessage("4990")}},
	} {
		if diff := cmp.Diff(test.want, past.Before(test.calls, test.at).Table("t")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
