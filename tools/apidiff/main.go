// SPDX-License-Identifier: Apache-2.0

// Command apidiff writes docs/reference/api-changes.md. The page names a commit, and lists the changes of the public
// packages since that commit and whether they break programs that import the packages. The flag -since replaces the
// commit, for example by the tag of a release. hack/apidiff/run.sh runs the command.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/exp/apidiff"
)

const (
	module = "github.com/cooper-cosi/cooper/"
	page   = "docs/reference/api-changes.md"
)

// libraries are the public packages and their subpackages.
func libraries() []string {
	return []string{"./proto/...", "./drivers/driverkit/...", "./sanity/...", "./fakes/..."}
}

// errTooShort means that nothing was compared.
var errTooShort = errors.New("run git fetch --unshallow")

func main() {
	since := flag.String("since", "", "tag or commit to compare with; empty means the one on the page")
	flag.Parse()
	if err := run(*since); err != nil {
		fmt.Fprintln(os.Stderr, "apidiff:", err)
		if errors.Is(err, errTooShort) {
			os.Exit(77)
		}
		os.Exit(1)
	}
}

func run(since string) error {
	if since == "" {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		named := regexp.MustCompile("since `([^`]+)`").FindSubmatch(text)
		if named == nil {
			return fmt.Errorf("%s does not name a commit to compare with: set one with -since", page)
		}
		since = string(named[1])
	}
	if exec.Command("git", "cat-file", "-e", since+"^{commit}").Run() != nil {
		return fmt.Errorf("the history of this checkout does not contain %s: %w", since, errTooShort)
	}
	checkout, err := os.MkdirTemp("", "apidiff-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(checkout)
	// A clone would be refused where the checkout belongs to another user, whatever safe.directory the environment sets.
	archive := filepath.Join(checkout, "source.tar")
	for _, args := range [][]string{{"git", "archive", "--output=" + archive, since}, {"tar", "-xf", archive, "-C", checkout}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil { //nolint:gosec // of our own repository
			return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	before, err := load(checkout)
	if err != nil {
		return fmt.Errorf("load the packages of %s: %w", since, err)
	}
	after, err := load(".")
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(describe(since, compare(before, after))), 0o644) //nolint:gosec // for everybody
}

// load reads what the libraries in a checkout export, by import path. One of them may be a module of its own.
func load(checkout string) (map[string]*types.Package, error) {
	packages, err := loadModule(checkout, libraries()...)
	if err != nil {
		return nil, err
	}
	const nested = "fakes/fakecontainer"
	if _, err := os.Stat(filepath.Join(checkout, nested, "go.mod")); err == nil {
		of, err := loadModule(filepath.Join(checkout, nested), "./...")
		if err != nil {
			return nil, err
		}
		maps.Copy(packages, of)
	}
	return packages, nil
}

// loadModule reads what packages of the module in a directory export.
func loadModule(directory string, patterns ...string) (map[string]*types.Package, error) {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Export,Name,DepOnly"}, patterns...)...)
	var problem bytes.Buffer
	cmd.Dir, cmd.Stderr = directory, &problem
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &problem)
	}
	exports, wanted := map[string]string{}, []string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed struct {
			ImportPath string `json:"ImportPath"`
			Export     string `json:"Export"`
			Name       string `json:"Name"`
			DepOnly    bool   `json:"DepOnly"`
		}
		err := decoder.Decode(&listed)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		exports[listed.ImportPath] = listed.Export
		imported := listed.Name != "main" && listed.Export != "" && !strings.Contains(listed.ImportPath+"/", "/internal/") // others have only tests
		if !listed.DepOnly && imported {
			wanted = append(wanted, listed.ImportPath)
		}
	}
	read := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	packages := map[string]*types.Package{}
	for _, path := range wanted {
		if packages[path], err = read.Import(path); err != nil {
			return nil, fmt.Errorf("import package %s: %w", path, err)
		}
	}
	return packages, nil
}

// reworded matches a changed constant with several words, which is a description: no program depends on its value.
var reworded = regexp.MustCompile(`: value changed from "[^"]* [^"]*" to "`)

// compare returns the changes by whether they break programs that import the packages.
func compare(before, after map[string]*types.Package) map[bool][]string {
	changes := map[bool][]string{}
	for path := range before {
		if after[path] == nil {
			changes[true] = append(changes[true], line(path, "removed"))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(after)) {
		if before[path] == nil {
			changes[false] = append(changes[false], line(path, "added"))
			continue
		}
		for _, change := range apidiff.Changes(before[path], after[path]).Changes {
			if reworded.MatchString(change.Message) {
				continue
			}
			changes[!change.Compatible] = append(changes[!change.Compatible], line(path, change.Message))
		}
	}
	for _, list := range changes {
		slices.Sort(list)
	}
	return changes
}

func line(path, change string) string {
	return fmt.Sprintf("- `%s`: `%s`\n", strings.TrimPrefix(path, module), strings.ReplaceAll(change, module, ""))
}

// describe is the page.
func describe(since string, changes map[bool][]string) string {
	var names []string
	for _, library := range libraries() {
		names = append(names, "`"+filepath.Dir(library)+"`")
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# API changes\n\n<!-- Written by hack/apidiff/run.sh; do not edit. -->\n\n"+
		"Changes since `%s` for programs that import packages of\n%s.\nSee [the compatibility promise](../adr/0047-releases.md).\n",
		since, strings.Join(names, ", "))
	for _, section := range []struct {
		title  string
		breaks bool
	}{{"Breaks", true}, {"New", false}} {
		if list := changes[section.breaks]; len(list) > 0 {
			fmt.Fprintf(&text, "\n## %s\n\n%s", section.title, strings.Join(list, ""))
		}
	}
	return text.String()
}
