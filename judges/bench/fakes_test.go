// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// TestMain makes the test binary act as the stores that it starts.
func TestMain(m *testing.M) {
	if os.Getenv(serveMark) != "" {
		main()
		return
	}
	m.Run()
}

// TestEveryFigureIsMeasured runs the built-in stores with a minimal workload. It does not judge the figures.
func TestEveryFigureIsMeasured(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "the tests of each fake")
	s := settings{duration: time.Millisecond, fill: time.Minute, objects: 3, keys: 1005, only: []string{"s3fake", "gofakes3", "azurefake", "gcsfake", "fake-gcs-server"}}
	columns, err := s.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(columns) != len(s.only) {
		t.Fatalf("%d stores were measured, want %d", len(columns), len(s.only))
	}
	for _, c := range columns {
		for _, row := range rows() {
			if c.figures[row] <= 0 {
				t.Errorf("%s: %s: %v", c.store, row, c.figures[row])
			}
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	got := strings.Split(table([]column{{"one", figures{rowStart: 1.234, rowMemory: 42.42}}, {"two", figures{rowStart: 1234.5}}}), "\n")
	want := []string{"| | one | two |", "|---|---|---|", "| start, ms | 1.23 | 1234 |"}
	if diff := cmp.Diff(want, got[:3]); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if row := "| resident memory with these objects, MB | 42.4 | 0.00 |"; !strings.Contains(strings.Join(got, "\n"), row) {
		t.Errorf("the table lacks %q:\n%s", row, strings.Join(got, "\n"))
	}
}

func TestAfter(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ page, mark, want string }{
		"XML":                  {"<a/><Next>k/1&amp;2</Next>", "<Next>", "k/1&2"},
		"JSON":                 {`{"next":"azE=","items":[]}`, `"next":"`, "azE="},
		"the last page":        {"<Next/>", "<Next>", ""},
		"an empty marker":      {"<Next></Next>", "<Next>", ""},
		"a page that was torn": {"<Next>k", "<Next>", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := after([]byte(tc.page), tc.mark); got != tc.want {
				t.Errorf("after %q in %q is %q, want %q", tc.mark, tc.page, got, tc.want)
			}
		})
	}
}

func TestResidentIn(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]int64{"VmPeak:\t 9 kB\nVmRSS:\t    2048 kB\nThreads:\t1\n": 2 << 20, "": 0, "VmRSS:": 0} {
		if got := residentIn(status); got != want {
			t.Errorf("resident in %q is %d, want %d", status, got, want)
		}
	}
}

// TestTogether verifies that together returns the first error.
func TestTogether(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	err := together(4, func() (bool, error) {
		if i := n.Add(1); i == 10 {
			return true, fmt.Errorf("call %d fails", i)
		}
		return n.Load() < 100, nil
	})
	if err == nil || err.Error() != "call 10 fails" {
		t.Errorf("got %v, want the error of call 10", err)
	}
}
