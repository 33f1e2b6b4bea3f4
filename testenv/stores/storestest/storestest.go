// SPDX-License-Identifier: Apache-2.0

// Package storestest starts stores for tests, and updates the documentation page with the results for each
// store. It contains no tests of drivers.
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

// requireVariable, if set, makes tests fail instead of being skipped when a store is missing.
const requireVariable = "COOPER_REQUIRE_STORES"

// Missing skips the test because a store or a client program is missing, or fails it if COOPER_REQUIRE_STORES
// is set.
func Missing(t testing.TB, why error) {
	t.Helper()
	if os.Getenv(requireVariable) != "" || !errors.Is(why, fs.ErrNotExist) && !errors.Is(why, exec.ErrNotFound) {
		t.Fatal(why)
	} else {
		t.Skip(why)
	}
}

// Ceph starts a Ceph in a new directory for the duration of the test. If its programs are missing, it calls
// Missing.
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

// page has a row for each store. The test that calls Current writes it if COOPER_UPDATE is set.
const page = "docs/reference/stores.md"

// Row is the result for a store.
type Row struct {
	// Store is the store's name, Version the tested version.
	Store, Version string
	// Installed means that the store is installed on the machine, in any version.
	Installed bool
	// Driver is the driver and its backend type.
	Driver string
	// Accounts, Modes, SeveralBuckets, Rotation, Quotas and ServiceAccounts are the tested features: "yes",
	// "no", or how they work.
	Accounts, Modes, SeveralBuckets, Rotation, Quotas, ServiceAccounts string
	// TLS states whether the test used the store's own TLS.
	TLS string
	// Suite is the verdict of the conformance suite, or the reason why it was not run.
	Suite string
}

// String returns the row in Markdown.
func (r Row) String() string {
	cells := []string{r.Store, r.Version, r.Driver, r.Accounts, r.Modes, r.SeveralBuckets, r.Rotation, r.Quotas, r.ServiceAccounts, r.TLS, r.Suite}
	return "| " + strings.Join(cells, " | ") + " |"
}

// YesNo returns "yes" or "no".
func YesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// heading is the table header in the page.
const heading = `| store | version | driver and type | accounts | modes | several buckets | rotation | quotas | service accounts | TLS | conformance suite |
|---|---|---|---|---|---|---|---|---|---|---|
`

//go:embed page.txt
var around string

// Current compares the row with the page, or updates the page if COOPER_UPDATE is set. The version of an
// Installed store is not compared.
func (r Row) Current(t *testing.T) {
	t.Helper()
	docstest.CurrentPage(t, page, func(old string) []byte {
		if !docstest.WritesPages() {
			r = r.asVersionOf(old)
		}
		return render(old, r)
	})
}

// rows returns the rows of a page by store and driver.
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

// asVersionOf returns the row with the page's version if the store is Installed.
func (r Row) asVersionOf(page string) Row {
	if line, found := rows(page)[r.key()]; found && r.Installed {
		r.Version = strings.Split(line, " | ")[1]
	}
	return r
}

// render returns the page with the row added or replaced.
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
