// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/lifecycle/cases"
)

// A defect is a deliberate mistake that the tests of its lifecycle cases must find, or
// a single test elsewhere. It is a file in patches/: a header, an empty line, and the
// mistake in the format of `git diff -U2`.
type defect struct {
	// Name is the mistake (the header's Defect).
	Name string
	// Cases are the IDs of the lifecycle cases whose tests must fail. No two defects
	// name the same case.
	Cases []string
	// Crash is a flow of lifecycle/flows_test.go. A test of one of its crash points must fail, too. Empty
	// means none.
	Crash string
	// Package and Test are the directory and the name of the test that must fail (the
	// header's Test), for a defect that no lifecycle case covers.
	Package, Test string

	// patch is the defect's file, and changed are the files that it changes, all relative to the module.
	patch   string
	changed []string
}

// all returns every defect, sorted by file name.
func all(root string) ([]defect, error) {
	paths, err := filepath.Glob(filepath.Join(root, "hack", "mutations", "patches", "*.patch"))
	if err != nil {
		return nil, fmt.Errorf("list the defects: %w", err)
	}
	ds := make([]defect, 0, len(paths))
	for _, path := range paths {
		d, err := read(root, path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		ds = append(ds, d)
	}
	return ds, nil
}

var changedFile = regexp.MustCompile(`(?m)^\+{3} b/(.+)$`)

// read reads the header of a defect and the names of the files that it changes.
func read(root, path string) (defect, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return defect{}, err
	}
	message, err := mail.ReadMessage(bytes.NewReader(text))
	if err != nil {
		return defect{}, fmt.Errorf("parse the header of the patch: %w", err)
	}
	d := defect{Name: message.Header.Get("Defect"), Crash: message.Header.Get("Crash")}
	if d.patch, err = filepath.Rel(root, path); err != nil {
		return defect{}, err
	}
	d.Package, d.Test, _ = strings.Cut(message.Header.Get("Test"), " ")
	for id := range strings.SplitSeq(message.Header.Get("Cases"), ", ") {
		if d.Test != "" {
			break
		}
		if !cases.Known(id) {
			return defect{}, fmt.Errorf("header Cases: there is no case %q in lifecycle/cases", id)
		}
		d.Cases = append(d.Cases, id)
	}
	for _, match := range changedFile.FindAllSubmatch(text, -1) {
		d.changed = append(d.changed, string(match[1]))
	}
	if d.Name == "" || len(d.changed) == 0 {
		return defect{}, errors.New("the file needs a header Defect and a patch")
	}
	return d, nil
}

// apply copies the files that the defect changes to dir/a, and with the defect
// to dir/b.
func (d defect) apply(ctx context.Context, root, dir string) error {
	for _, name := range d.changed {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return d.stale(err.Error())
		}
		for _, side := range []string{"a", "b"} {
			path := filepath.Join(dir, side, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return fmt.Errorf("copy the source: %w", err)
			}
			if err := os.WriteFile(path, content, 0o600); err != nil {
				return fmt.Errorf("copy the source: %w", err)
			}
		}
	}
	patch, err := filepath.Abs(filepath.Join(root, d.patch))
	if err != nil {
		return err
	}
	// One context line may have changed on each side.
	command := exec.CommandContext(ctx, "git", "apply", "-C1", "--whitespace=nowarn", patch)
	command.Dir = filepath.Join(dir, "b")
	command.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+dir)
	if out, err := command.CombinedOutput(); err != nil {
		return d.stale(string(bytes.TrimSpace(out)))
	}
	return nil
}

// stale returns an error that states how to fix a patch that does not apply.
func (d defect) stale(why string) error {
	return fmt.Errorf(`%s no longer applies:
%s
If the rule that the patch violates no longer exists, delete the patch. Otherwise create the same defect in the
current code (git apply --3way %[1]s may help), put the output of "git diff HEAD -U2 -- '*.go'"
below the header of the patch, and restore the code`, d.patch, why)
}

// refresh rewrites the patch with the current context lines.
func (d defect) refresh(ctx context.Context, root, dir string) error {
	if err := d.apply(ctx, root, dir); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "git", "diff", "--no-index", "--no-prefix", "-U2", "a", "b")
	command.Dir = dir
	diff, err := command.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 { // exit code 1: the files differ
		return fmt.Errorf("run git diff to refresh %s: %w", d.patch, err)
	}
	path := filepath.Join(root, d.patch)
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	header, _, _ := bytes.Cut(old, []byte("\n\n"))
	return os.WriteFile(path, slices.Concat(header, []byte("\n\n"), diff), 0o644) //nolint:gosec // a file of the repository
}

// overlay applies the defect in dir and returns the file for go test -overlay, so that the source tree is not
// changed.
func (d defect) overlay(ctx context.Context, root, dir string) (string, error) {
	if err := d.apply(ctx, root, dir); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, name := range d.changed {
		replace[filepath.Join(root, name)] = filepath.Join(dir, "b", name)
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("encode the overlay: %w", err)
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, raw, 0o600)
}
