// SPDX-License-Identifier: Apache-2.0

package sanity_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// crowded is a backend in which the bucket already exists when the hook runs.
type crowded struct{ memdriver.Outside }

func (c crowded) TakeName(ctx context.Context, id string) error {
	if err := c.Outside.TakeName(ctx, id); err != nil {
		return err
	}
	return c.Outside.TakeName(ctx, id)
}

// interrupted is a backend whose hook creates the bucket, after which the run is killed before the hook returns.
type interrupted struct {
	memdriver.Outside

	kill func()
}

func (i interrupted) TakeName(ctx context.Context, id string) error {
	i.kill()
	return i.Outside.TakeName(ctx, id)
}

// TestBucketsOfOthersStay has a backend with buckets of other owners under the run's names, and then sweeps the
// journal. Neither may remove those buckets, although the driver would.
func TestBucketsOfOthersStay(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		focus   string
		before  func(t *testing.T, outside memdriver.Outside)
		fixture func(outside memdriver.Outside, book *torn) sanity.Fixture
		left    int
		failed  int
	}{
		"the bucket of the first ID has another owner": {
			focus: "BKT-CRT-001",
			before: func(t *testing.T, outside memdriver.Outside) {
				t.Helper()
				if err := outside.TakeName(t.Context(), "cosi-sanity-own-bkt-crt-001-1"); err != nil {
					t.Fatal(err)
				}
			},
			left: 1, failed: 1,
		},
		"the hook finds an existing bucket": {
			focus:   "BKT-CRT-020",
			fixture: func(outside memdriver.Outside, _ *torn) sanity.Fixture { return crowded{outside} },
			left:    1, failed: 1,
		},
		"the run is killed while the hook runs": {
			focus: "BKT-CRT-020",
			fixture: func(outside memdriver.Outside, book *torn) sanity.Fixture {
				return interrupted{outside, func() { book.closed = true }}
			},
			// The run itself, which continues in this test, sees that the hook returned.
			left: 0,
		},
		"the hook creates a bucket of another owner": {focus: "BKT-CRT-020", left: 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := memdriver.NewStore("")
			outside := memdriver.Outside{Store: store}
			config := memdriver.Config(store, memdriver.Wide(), memdriver.DeletesForeign)
			config.Limits, config.RunID = small(), "own"
			config.Focus = func(id string) bool { return id == tc.focus }
			var book torn
			config.Journal = &book
			if tc.fixture != nil {
				config.Fixture = tc.fixture(outside, &book)
			}
			if tc.before != nil {
				tc.before(t, outside)
			}
			report, err := sanity.Run(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			wantBuckets(t, store, tc.left, "the run", report)
			if got := len(report.Of(sanity.Failed)); got != tc.failed {
				t.Errorf("want %d failed cases, got %d", tc.failed, got)
			}
			if _, err := sanity.Sweep(t.Context(), config, bytes.NewReader(book.Bytes())); err != nil {
				t.Fatal(err)
			}
			wantBuckets(t, store, tc.left, "the sweep", report)
		})
	}
}

func wantBuckets(t *testing.T, store *memdriver.Store, want int, after string, report sanity.Report) {
	t.Helper()
	left, err := store.Inventory()
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != want {
		t.Errorf("want %d resources after %s, got %v", want, after, left)
		for _, result := range report.Results {
			t.Log(result.Explain())
		}
	}
}

// TestSweepLeavesWhatNobodyIsSureOf sweeps the journal of a run that was killed while a hook was running.
func TestSweepLeavesWhatNobodyIsSureOf(t *testing.T) {
	t.Parallel()
	const unsure = `{"kind":"foreign","id":"taken","unsure":true}` + "\n"
	tests := map[string]struct {
		journal string
		left    int
		failed  string
	}{
		"the hook did not confirm the creation": {unsure, 1, "may have another owner"},
		"the hook confirmed the creation":       {unsure + `{"kind":"foreign","id":"taken"}` + "\n", 0, ""},
		"the hook deleted it again":             {unsure + `{"kind":"foreign","id":"taken","gone":true}` + "\n", 1, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := memdriver.NewStore("")
			if err := (memdriver.Outside{Store: store}).TakeName(t.Context(), "taken"); err != nil {
				t.Fatal(err)
			}
			config := memdriver.Config(store, memdriver.Wide(), memdriver.DeletesForeign)
			swept, err := sanity.Sweep(t.Context(), config, strings.NewReader(tc.journal))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(swept.Failed, "\n"); tc.failed == "" && got != "" || !strings.Contains(got, tc.failed) {
				t.Errorf("want a failure with %q, got %q", tc.failed, got)
			}
			wantBuckets(t, store, tc.left, "the sweep", sanity.Report{})
		})
	}
}
