// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A mutation is a defect that the lifecycle tests must find.
type mutation struct {
	// Name says what is wrong.
	Name string
	// Cases are those whose tests must fail.
	Cases []int
	// Crash is the flow whose crash points must find it, too; empty is none.
	Crash string
	// Edits make the defect.
	Edits []edit
}

// An edit replaces text that a file holds exactly once.
type edit struct {
	// File is a path in the module.
	File     string
	Old, New string
}

// all returns every mutation, in the order of the first of its cases.
func all() []mutation {
	ms := append(ofBuckets(), ofAccesses()...)
	slices.SortStableFunc(ms, func(a, b mutation) int { return a.Cases[0] - b.Cases[0] })
	return ms
}

// apply returns the contents of the files that the mutation changes.
func (m mutation) apply(root string) (map[string]string, error) {
	files := map[string]string{}
	for _, e := range m.Edits {
		content, read := files[e.File]
		if !read {
			raw, err := os.ReadFile(filepath.Join(root, e.File))
			if err != nil {
				return nil, fmt.Errorf("mutation %q: %w", m.Name, err)
			}
			content = string(raw)
		}
		if n := strings.Count(content, e.Old); n != 1 {
			return nil, fmt.Errorf("mutation %q: %s holds %q %d times; it must be once: adapt the mutation to the code", m.Name, e.File, e.Old, n)
		}
		files[e.File] = strings.Replace(content, e.Old, e.New, 1)
	}
	return files, nil
}

// overlay writes the mutated files into dir and returns the file for go test
// -overlay, so that the source tree itself stays as it is.
func (m mutation) overlay(root, dir string) (string, error) {
	files, err := m.apply(root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, content := range files {
		mutated := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(mutated, []byte(content), 0o600); err != nil {
			return "", fmt.Errorf("mutation %q: %w", m.Name, err)
		}
		replace[filepath.Join(root, name)] = mutated
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("mutation %q: %w", m.Name, err)
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, raw, 0o600)
}
