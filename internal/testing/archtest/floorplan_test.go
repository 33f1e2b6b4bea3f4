// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"testing"
)

func TestDriversHaveOneFloorPlan(t *testing.T) {
	t.Parallel()
	for _, driver := range []string{"s3driver", "azuredriver", "gcsdriver"} {
		files := map[string][]byte{}
		dir := os.DirFS(filepath.Join(root, "drivers", driver))
		err := fs.WalkDir(dir, ".", func(name string, _ fs.DirEntry, err error) error {
			if err != nil || path.Ext(name) != ".go" {
				return err
			}
			files[name], err = fs.ReadFile(dir, name)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		report(t, FloorPlan(driver, files))
	}
}

func TestFloorPlanFindsSeededViolations(t *testing.T) {
	t.Parallel()
	plain := map[string][]byte{}
	for dir, wanted := range floorPlan() {
		for _, base := range wanted.needs {
			plain[path.Join(dir, base)] = []byte("package p\n")
		}
	}
	for _, base := range []string{"key.go", "grant.go", "revoke.go"} {
		plain["internal/account/key/"+base] = []byte("package key\n")
	}
	for name, tc := range map[string]struct {
		without, with, source string
		want                  string
	}{
		"a driver as all are":                 {},
		"a file that all have is missing":     {without: "health.go", want: "there is no health.go"},
		"a test that all have is missing":     {without: "internal/params/access_test.go", want: "there is no internal/params/access_test.go"},
		"a file of no plan":                   {with: "keys.go", want: "keys.go is not in the plan"},
		"a file that some have":               {with: "tools_test.go"},
		"a package of no plan":                {with: "internal/call/call.go", want: "internal/call/call.go is not in the plan"},
		"a way to have accounts that is none": {without: "internal/account/key/grant.go", want: "there is no internal/account/key/grant.go"},
		"a file of one way alone":             {with: "internal/account/key/policies.go"},
		"a policy that makes calls":           {with: "internal/policy/policy.go", source: "package p\n\nimport \"context\"\n", want: "move code that makes calls"},
		"a test of it may":                    {with: "internal/policy/policy_test.go", source: "package p\n\nimport \"context\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := maps.Clone(plain)
			delete(files, tc.without)
			if tc.with != "" {
				files[tc.with] = []byte(tc.source)
			}
			expect(t, FloorPlan("newdriver", files), tc.want)
		})
	}
}
