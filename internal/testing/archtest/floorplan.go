// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// directory describes a directory that every driver has.
type directory struct {
	// needs are the required files, may the optional ones.
	needs, may []string
	// pure means that the package makes no calls to the backend.
	pure bool
}

// waysOfAccounts is the directory with one package per kind of account.
const waysOfAccounts = "internal/account"

// floorPlan returns the directories that all drivers have in common (docs/adr/0023), by their path in the driver's
// directory.
func floorPlan() map[string]directory {
	return map[string]directory{
		".": {
			needs: []string{
				"doc.go", "driver.go", "config.go", "validate.go", "environment.go", "clients.go", "buckets.go", "access.go", "health.go", "calls.go",
				"harness_test.go", "config_test.go", "buckets_test.go", "access_test.go", "disallowed_test.go", "serviceaccount_test.go", "clusters_test.go", "crash_test.go", "faults_test.go",
				"health_test.go", "reach_test.go", "rights_test.go", "conformance_test.go", "reference_test.go",
			},
			may: []string{"stale_test.go", "overlap_test.go", "flow_test.go", "tools_test.go"},
		},
		"internal/names":    {needs: []string{"names.go", "names_test.go"}, pure: true},
		"internal/params":   {needs: []string{"bucket.go", "access.go", "bucket_test.go", "access_test.go"}, pure: true},
		"internal/policy":   {needs: []string{"modes.go", "policy.go", "modes_test.go", "policy_test.go"}, pure: true},
		"internal/bucket":   {needs: []string{"bucket.go", "describe.go", "delete.go"}},
		"internal/apierror": {needs: []string{"apierror.go", "table.go", "apierror_test.go"}},
		waysOfAccounts:      {needs: []string{"account.go"}},
	}
}

// ownFiles returns the files that only one backend has: a file, or a directory with all its files.
func ownFiles() map[string][]string {
	return map[string][]string{
		"azuredriver": {
			"keys_test.go", "delegation_test.go", // keys of a storage account, and accounts without
			"azurite_test.go", // Microsoft's emulator
		},
		"gcsdriver": {
			"emulator_test.go",                                            // fake-gcs-server, which has no accounts
			"internal/bucket/policy.go", "internal/bucket/policy_test.go", // a bucket has one policy for all accounts
			"internal/call", // Google's clients repeat no calls
		},
		"s3driver": {
			"types.go", "s3store", "internal/bucketpolicy", "stores_test.go", "ceph_test.go", "rgw_test.go", "seaweedfs_test.go", // stores of several types
			"storespage_test.go", "tls_test.go", "iam_test.go", "versityiam_test.go", "quirks_test.go", // and their observed behaviour
			"usage.go", "usage_test.go", // backends that were renamed
			"internal/bucket/configure.go", "internal/bucket/notes.go", // a bucket is made by several calls
			"internal/wholebody",                          // reuse of the SDK's connections
			"internal/bucket/update.go", "change_test.go", // changeable parameters
			"internal/params/events.go", "internal/bucket/events.go", "events_test.go", // event notifications
			"internal/account/adminapi", "internal/account/static", // no way of its own: the client of two; one key for all
			"internal/apierror/export_test.go",
		},
	}
}

// FloorPlan checks that the Go files of one driver match the layout of all drivers. The keys of files are paths below
// the directory of the driver.
func FloorPlan(driver string, files map[string][]byte) []Violation {
	var found []Violation
	bad := func(format string, args ...any) {
		found = append(found, Violation(fmt.Sprintf("drivers/"+driver+": "+format, args...)))
	}
	plan, own := floorPlan(), ownFiles()[driver]
	for name := range files {
		if dir, _ := path.Split(name); path.Dir(path.Clean(dir)) == waysOfAccounts && !slices.Contains(own, path.Clean(dir)) {
			way := path.Base(dir)
			plan[path.Clean(dir)] = directory{needs: []string{way + ".go", "grant.go", "revoke.go"}}
		}
	}
	for dir, wanted := range plan {
		for _, base := range wanted.needs {
			if _, ok := files[path.Join(dir, base)]; !ok {
				bad("there is no %s, which every driver has", path.Join(dir, base))
			}
		}
	}
	for _, one := range own {
		is := func(name string) bool { return below(name, one) }
		if !slices.ContainsFunc(sortedNames(files), is) {
			bad("there is no %s: remove it from ownFiles()", one)
		}
	}
	for _, name := range sortedNames(files) {
		dir := path.Dir(name)
		here, planned := plan[dir]
		isWay := path.Dir(dir) == waysOfAccounts
		known := planned && (isWay || slices.Contains(here.needs, path.Base(name)) || slices.Contains(here.may, path.Base(name)))
		if !known && !slices.ContainsFunc(own, func(one string) bool { return below(name, one) }) {
			bad("%s is not in the plan: move it to its directory in the other drivers, or add it to ownFiles() if only this backend needs it", name)
		}
		if here.pure && !strings.HasSuffix(name, "_test.go") && makesCalls(files[name]) {
			bad("%s imports context or net/http: move code that makes calls to package bucket or account", name)
		}
	}
	return found
}

// makesCalls reports whether a file imports what calls need.
func makesCalls(source []byte) bool {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.ImportsOnly)
	if err != nil {
		return false // File reports the parse error
	}
	for _, one := range file.Imports {
		if name, _ := strconv.Unquote(one.Path.Value); name == "context" || name == "net/http" {
			return true
		}
	}
	return false
}

func sortedNames(files map[string][]byte) []string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
