// SPDX-License-Identifier: Apache-2.0

// Package storestest starts stores for tests, and keeps the page that says what was found out about each. It must hold no
// checks of drivers.
package storestest

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/docstest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/testenv/stores"
)

// requireVariable says that no test may be skipped because a store is missing.
const requireVariable = "COOPER_REQUIRE_STORES"

// Missing skips the test for want of a store, or of a program to try it with, or fails it where COOPER_REQUIRE_STORES is set.
func Missing(t testing.TB, why error) {
	t.Helper()
	if os.Getenv(requireVariable) != "" || !errors.Is(why, fs.ErrNotExist) && !errors.Is(why, exec.ErrNotFound) {
		t.Fatal(why)
	} else {
		t.Skip(why)
	}
}

// Ceph starts a Ceph in a directory of its own until the test ends. Without its programs the test is Missing.
func Ceph(t *testing.T, options stores.CephOptions) *stores.Ceph {
	t.Helper()
	if err := stores.FindCeph(); err != nil {
		Missing(t, err)
	}
	options.Directory = processtest.ShortTempDir(t)
	ceph, err := stores.StartCeph(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ceph.Close(); err != nil {
			t.Error(err)
		}
	})
	return ceph
}

// page has a row for each store, written by the test that calls Current if COOPER_UPDATE is set.
const page = "docs/reference/stores.md"

// Row is what was found out about a store.
type Row struct {
	// Store is its name, and Version what of it was tried.
	Store, Version string
	// Installed says that the store is the one of this machine, in whatever version it has.
	Installed bool
	// Driver is the driver with the type of its backend.
	Driver string
	// Accounts, Modes, SeveralBuckets, Rotation, Quotas and ServiceAccounts are what was seen to work: "yes", "no", or how.
	Accounts, Modes, SeveralBuckets, Rotation, Quotas, ServiceAccounts string
	// TLS says whether it was reached by its own.
	TLS string
	// Suite is the verdict of the conformance suite, or why there is none.
	Suite string
}

// String is the row of the table.
func (r Row) String() string {
	cells := []string{r.Store, r.Version, r.Driver, r.Accounts, r.Modes, r.SeveralBuckets, r.Rotation, r.Quotas, r.ServiceAccounts, r.TLS, r.Suite}
	return "| " + strings.Join(cells, " | ") + " |"
}

// YesNo is how a cell says it.
func YesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// heading begins the table in page.txt.
const heading = `| store | version | driver and type | accounts | modes | several buckets | rotation | quotas | service accounts | TLS | conformance suite |
|---|---|---|---|---|---|---|---|---|---|---|
`

//go:embed page.txt
var around string

// Current compares the page with what it is with this row, or writes that if COOPER_UPDATE is set. Of a store that is Installed
// only what it can do is compared.
func (r Row) Current(t *testing.T) {
	t.Helper()
	docstest.CurrentPage(t, page, func(old string) []byte {
		if !docstest.WritesPages() {
			r = r.asVersionOf(old)
		}
		return render(old, r)
	})
}

// rows are the lines of a page by store and driver.
func rows(page string) map[string]string {
	_, table, _ := strings.Cut(page, heading)
	table, _, _ = strings.Cut(table, "\n\n")
	found := map[string]string{}
	for line := range strings.Lines(table + "\n") {
		if cells := strings.Split(line, " | "); len(cells) > 3 {
			found[strings.TrimPrefix(cells[0], "| ")+cells[2]] = strings.TrimSpace(line)
		}
	}
	return found
}

func (r Row) key() string { return r.Store + r.Driver }

// asVersionOf is the row with the version that the page has for it, if that may differ.
func (r Row) asVersionOf(page string) Row {
	if line, found := rows(page)[r.key()]; found && r.Installed {
		r.Version = strings.Split(line, " | ")[1]
	}
	return r
}

// render returns the page with the row in the place of the one of its store and driver.
func render(old string, row Row) []byte {
	rows := rows(old)
	rows[row.key()] = row.String()
	var text bytes.Buffer
	before, after, _ := strings.Cut(around, "<table>\n")
	fmt.Fprint(&text, before, heading)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintln(&text, rows[name])
	}
	fmt.Fprint(&text, after)
	return text.Bytes()
}
