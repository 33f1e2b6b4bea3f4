// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"fmt"
	"strings"
	"testing"
)

// expect fails the test unless there is one violation that contains want, or none if want is empty.
func expect(t *testing.T, got []Violation, want string) {
	t.Helper()
	switch {
	case want == "" && len(got) == 0:
	case want != "" && len(got) == 1 && strings.Contains(string(got[0]), want):
	case want == "":
		t.Errorf("want no violation, got %q", got)
	default:
		t.Errorf("want one violation with %q, got %q", want, got)
	}
}

func TestImportsFindsSeededViolations(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		from string
		to   []string
		want string
	}{
		"a sidecar imports proto":                    {from: "sidecar/internal/bucket", to: []string{"proto"}},
		"a driver imports the SDK":                   {from: "drivers/s3driver", to: []string{"drivers/driverkit", "proto"}},
		"cooper imports fakes and testenv":           {from: "cmd/cooper", to: []string{"fakes/s3fake", "testenv/system"}},
		"sanitytest is for go test":                  {from: "sanity/sanitytest", to: []string{"testing", "sanity"}},
		"a suite for a store's tests":                {from: "internal/testing/credstoretest", to: []string{"testing", "fakes/fault"}},
		"the SDK imports its own helper of tests":    {from: "drivers/driverkit", to: []string{"drivers/driverkit/drivertest"}, want: "which is for tests"},
		"a fake imports internal leaves":             {from: "fakes/s3fake", to: []string{"internal/sigv4", "fakes/fault"}},
		"testenv starts everything":                  {from: "testenv/system", to: []string{"controller", "sidecar", "fakes/s3fake", "sanity/memdriver"}},
		"proto imports upwards":                      {from: "proto", to: []string{"internal/reconciler"}, want: "above it"},
		"an internal leaf imports the controller":    {from: "internal/reconciler", to: []string{"controller"}, want: "above it"},
		"internal imports the SDK for drivers":       {from: "internal/credstore", to: []string{"drivers/driverkit"}, want: "above it"},
		"internal imports the suite":                 {from: "internal/reconciler", to: []string{"sanity"}, want: "above it"},
		"a helper of tests imports the suite":        {from: "internal/testing/conformancetest", to: []string{"testing", "sanity"}},
		"a component imports a helper of tests":      {from: "controller", to: []string{"internal/testing/fulltest"}, want: "which is for tests"},
		"testenv imports a command":                  {from: "testenv/system", to: []string{"cmd/cooper"}, want: "above it"},
		"a directory that nobody gave a layer":       {from: "plugins/s3", want: "has no layer"},
		"the controller makes an RPC":                {from: "controller/internal/claim", to: []string{"proto"}, want: "never makes an RPC"},
		"the controller imports the sidecar":         {from: "controller", to: []string{"sidecar"}, want: "never makes an RPC"},
		"the sidecar knows a driver":                 {from: "sidecar", to: []string{"drivers/s3driver"}, want: "only by its RPCs"},
		"the sidecar imports driverkit":              {from: "sidecar", to: []string{"drivers/driverkit"}, want: "only by its RPCs"},
		"a driver reads the API types":               {from: "drivers/s3driver", to: []string{"api/v1alpha2"}, want: "never reads Kubernetes"},
		"a driver reads a YAML configuration":        {from: "drivers/s3driver", to: []string{"sigs.k8s.io/yaml"}},
		"a driver depends on client-go":              {from: "drivers/gcsdriver", to: []string{"k8s.io/client-go/rest"}, want: "never reads Kubernetes"},
		"driverkit depends on apimachinery":          {from: "drivers/driverkit", to: []string{"k8s.io/apimachinery/pkg/api"}, want: "never reads Kubernetes"},
		"the suite leans on driverkit":               {from: "sanity", to: []string{"drivers/driverkit"}, want: "know nothing of ours"},
		"a shipped command contains a fake":          {from: "cmd/cosi-driver-s3", to: []string{"fakes/s3fake"}, want: "contains no fake"},
		"the suite's command serves a driver":        {from: "cmd/cosi-sanity", to: []string{"sanity/memdriver"}},
		"another command serves it":                  {from: "cmd/cosi-sidecar", to: []string{"sanity/memdriver"}, want: "serve-strict"},
		"the controller contains a fault plan":       {from: "controller", to: []string{"fakes/fault"}, want: "contains no fake"},
		"product code imports testing":               {from: "internal/reconciler", to: []string{"testing"}, want: "no test code"},
		"the laptop's system imports testing":        {from: "testenv/system", to: []string{"testing"}, want: "without a test"},
		"testenv for tests imports testing":          {from: "testenv", to: []string{"testing"}},
		"a name that only starts alike is no match":  {from: "drivers/s3driver", to: []string{"k8s.iodine.example/x"}},
		"the standard library's testing/fstest also": {from: "cmd/cosi-sidecar", to: []string{"testing/fstest"}, want: "no test code"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var paths []string
			for _, to := range tc.to {
				if !strings.HasPrefix(to, "testing") {
					to = importPath(module, to)
				}
				paths = append(paths, to)
			}
			pkg := Package{ImportPath: module + "/" + tc.from, Imports: paths, Deps: paths}
			expect(t, Imports(module, []Package{pkg}), tc.want)
		})
	}
}

func TestImportsSeesIndirectDependencies(t *testing.T) {
	t.Parallel()
	pkg := Package{
		ImportPath: module + "/drivers/s3driver",
		Imports:    []string{module + "/internal/credstore"},
		Deps:       []string{module + "/internal/credstore", "k8s.io/api/core/v1"},
	}
	expect(t, Imports(module, []Package{pkg}), "depends on k8s.io/api/core/v1")
}

func TestPackageRules(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pkg  Package
		rule func([]Package) []Violation
		want string
	}{
		"a vague directory": {
			pkg:  Package{ImportPath: module + "/internal/utils", Name: "utils"},
			rule: Naming,
			want: "says nothing",
		},
		"a vague package name behind a good directory": {
			pkg:  Package{ImportPath: module + "/internal/keys", Name: "common"},
			rule: Naming,
			want: "says nothing",
		},
		"a name that only contains a vague one": {
			pkg:  Package{ImportPath: module + "/internal/commons3", Name: "commons3"},
			rule: Naming,
		},
		"no package comment": {
			pkg:  Package{ImportPath: module + "/proto", Name: "cosi", GoFiles: []string{"a.go"}},
			rule: Documented,
			want: "no package comment",
		},
		"a package comment": {
			pkg:  Package{ImportPath: module + "/proto", Doc: "Package cosi is the contract.", GoFiles: []string{"a.go"}},
			rule: Documented,
		},
		"tests alone need no package comment": {
			pkg:  Package{ImportPath: module + "/docs"},
			rule: Documented,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, tc.rule([]Package{tc.pkg}), tc.want)
		})
	}
}

func TestRequirements(t *testing.T) {
	t.Parallel()
	expect(t, Requirements(map[string]bool{"k8s.io/api": true, "k8s.io/kubernetes": false}), "a module of its own")
	many := map[string]bool{}
	for n := range maxRequirements {
		many[fmt.Sprint("example.com/direct", n)], many[fmt.Sprint("example.com/indirect", n)] = true, false
	}
	expect(t, Requirements(many), "")
	many["k8s.io/api"] = true
	expect(t, Requirements(many), "at most 55")
}

func TestFile(t *testing.T) {
	t.Parallel()
	const header = licenceHeader + "\n\n"
	long := header + strings.Repeat("// a line\n", maxFileLines-2)
	sleep := header + "package p\n\nimport \"time\"\n\nfunc f() { time.Sleep(time.Second) }\n"
	tests := map[string]struct {
		name, source, want string
	}{
		"a file of the greatest length":       {name: "a.go", source: long[:len(long)-10] + "package p\n"},
		"a file that is too long":             {name: "a.go", source: long + "package p\n", want: "split it"},
		"a generated file may be long":        {name: "a.go", source: "// Code generated by x. DO NOT EDIT.\n\n" + long + "package p\n"},
		"a test that sleeps":                  {name: "a_test.go", source: sleep, want: "a_test.go:7:12: time.Sleep"},
		"a program may pace itself":           {name: "a.go", source: sleep},
		"another Sleep is another thing":      {name: "a_test.go", source: header + "package p\n\nfunc f() { clock.Sleep(1) }\n"},
		"a file without its licence":          {name: "a.go", source: "package p\n", want: "a.go: its first line"},
		"a licence grown into the comment":    {name: "a.go", source: licenceHeader + "\n// Package p.\npackage p\n", want: "an empty line after it"},
		"a file that does not parse is named": {name: "a.go", source: "package", want: "not Go"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, File(tc.name, []byte(tc.source)), tc.want)
		})
	}
}
