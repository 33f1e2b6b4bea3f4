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

// A mutation is a defect that the lifecycle tests must find. It is a file in
// patches/: a header, an empty line, and the defect as `git diff -U2` writes it.
type mutation struct {
	// Name says what is wrong (the header's Defect).
	Name string
	// Cases are the IDs of those whose tests must fail.
	Cases []string
	// Crash is the flow whose crash points must find it, too; empty is none.
	Crash string

	// patch is the file, and changed are the files that it changes, both relative
	// to the module.
	patch   string
	changed []string
}

// all returns every mutation, in the order of their files.
func all(root string) ([]mutation, error) {
	paths, err := filepath.Glob(filepath.Join(root, "hack", "mutations", "patches", "*.patch"))
	if err != nil {
		return nil, fmt.Errorf("list the mutations: %w", err)
	}
	ms := make([]mutation, 0, len(paths))
	for _, path := range paths {
		m, err := read(root, path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		ms = append(ms, m)
	}
	return ms, nil
}

var changedFile = regexp.MustCompile(`(?m)^\+\+\+ b/(.+)$`)

// read reads the header of a mutation and which files it changes.
func read(root, path string) (mutation, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return mutation{}, err
	}
	message, err := mail.ReadMessage(bytes.NewReader(text))
	if err != nil {
		return mutation{}, fmt.Errorf("header: %w", err)
	}
	m := mutation{Name: message.Header.Get("Defect"), Crash: message.Header.Get("Crash")}
	if m.patch, err = filepath.Rel(root, path); err != nil {
		return mutation{}, err
	}
	for id := range strings.SplitSeq(message.Header.Get("Cases"), ", ") {
		if !cases.Known(id) {
			return mutation{}, fmt.Errorf("header Cases: there is no case %q in lifecycle/cases", id)
		}
		m.Cases = append(m.Cases, id)
	}
	for _, match := range changedFile.FindAllSubmatch(text, -1) {
		m.changed = append(m.changed, string(match[1]))
	}
	if m.Name == "" || len(m.changed) == 0 {
		return mutation{}, errors.New("it needs a header Defect and a patch")
	}
	return m, nil
}

// apply copies the files that the mutation changes to dir/a, and with the defect
// to dir/b.
func (m mutation) apply(ctx context.Context, root, dir string) error {
	for _, name := range m.changed {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return m.stale(err.Error())
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
	patch, err := filepath.Abs(filepath.Join(root, m.patch))
	if err != nil {
		return err
	}
	// One line of the context may have changed on each side.
	command := exec.CommandContext(ctx, "git", "apply", "-C1", "--whitespace=nowarn", patch)
	command.Dir = filepath.Join(dir, "b")
	command.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+dir)
	if out, err := command.CombinedOutput(); err != nil {
		return m.stale(string(bytes.TrimSpace(out)))
	}
	return nil
}

// stale says what to do about a patch that fits the code no more.
func (m mutation) stale(why string) error {
	return fmt.Errorf(`%s no longer applies:
%s
Make the same defect in the code as it is now (git apply --3way %[1]s may help), put
the output of "git diff HEAD -U2 -- '*.go'" below the header of the patch, and restore the code`, m.patch, why)
}

// refresh writes the patch again, with the lines as they are now around it.
func (m mutation) refresh(ctx context.Context, root, dir string) error {
	if err := m.apply(ctx, root, dir); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "git", "diff", "--no-index", "--no-prefix", "-U2", "a", "b")
	command.Dir = dir
	diff, err := command.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 { // 1: they differ
		return fmt.Errorf("%s: git diff: %w", m.patch, err)
	}
	path := filepath.Join(root, m.patch)
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	header, _, _ := bytes.Cut(old, []byte("\n\n"))
	return os.WriteFile(path, slices.Concat(header, []byte("\n\n"), diff), 0o644) //nolint:gosec // a file of the checkout
}

// overlay applies the mutation in dir and returns the file for go test -overlay,
// so that the source tree itself stays as it is.
func (m mutation) overlay(ctx context.Context, root, dir string) (string, error) {
	if err := m.apply(ctx, root, dir); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, name := range m.changed {
		replace[filepath.Join(root, name)] = filepath.Join(dir, "b", name)
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("overlay: %w", err)
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, raw, 0o600)
}
