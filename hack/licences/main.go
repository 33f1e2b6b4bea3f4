// SPDX-License-Identifier: Apache-2.0

// Command licences checks the licence of every module that is linked into the
// given programs: it must be one of those that permit what Apache-2.0 permits.
// It reads the licence files of the module cache and knows nothing of modules
// that are only built or tested with.
//
// Usage: licences packages   (for example ./cmd/...)
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

// module is the part of `go list -json`'s Module that is needed here.
type module struct {
	Path string `json:"Path"`
	Dir  string `json:"Dir"`
	Main bool   `json:"Main"`
}

func run(ctx context.Context, patterns []string, out io.Writer) error {
	modules, err := linked(ctx, patterns)
	if err != nil {
		return err
	}
	count := map[string]int{}
	var errs []error
	for _, m := range modules {
		names, err := licencesOf(m.Dir)
		if err == nil {
			err = permitted(names)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("module %s: %w", m.Path, err))
			continue
		}
		count[strings.Join(names, "+")]++
	}
	for _, names := range slices.Sorted(keys(count)) {
		fmt.Fprintf(out, "%4d modules: %s\n", count[names], names)
	}
	return errors.Join(errs...)
}

// linked lists the modules of all packages that the patterns depend on, without
// the main module, ordered by path.
func linked(ctx context.Context, patterns []string) ([]module, error) {
	args := append([]string{"list", "-deps", "-json=Module"}, patterns...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	found := map[string]module{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var pkg struct {
			Module *module `json:"Module"`
		}
		if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading the output of go list: %w", err)
		}
		if pkg.Module != nil && !pkg.Module.Main {
			found[pkg.Module.Path] = *pkg.Module
		}
	}
	var modules []module
	for _, path := range slices.Sorted(keys(found)) {
		modules = append(modules, found[path])
	}
	return modules, nil
}

// licencesOf returns the sorted names of all licences in the root of a module.
func licencesOf(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the module: %w", err)
	}
	found := map[string]bool{}
	files := 0
	for _, entry := range entries {
		if entry.IsDir() || !isLicenceFile(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("reading the licence: %w", err)
		}
		files++
		for _, name := range classify(string(text)) {
			found[name] = true
		}
	}
	switch {
	case files == 0:
		return nil, errors.New("no LICENSE or COPYING file: read its terms and, if they permit use, teach hack/licences where they are")
	case len(found) == 0:
		return nil, errors.New("unknown licence text: read it and, if it permits use, add its phrases to hack/licences")
	}
	return slices.Sorted(keys(found)), nil
}
