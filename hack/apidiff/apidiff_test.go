// SPDX-License-Identifier: Apache-2.0

// Package apidiff_test makes every kind of change to the API of a small module, and checks the page that
// hack/apidiff/run.sh writes.
package apidiff_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

const page = "docs/reference/api-changes.md"

func TestChanges(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "make verify compares the API")
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod":                     "module github.com/cooper-cosi/cooper\n\ngo 1.26.0\n",
		"proto/proto.go":             "package proto\n\ntype S struct{ A int }\n\ntype I interface{ M() }\n\nfunc Gone() {}\n\nfunc Stays() {}\n",
		"proto/internal/x/x.go":      "package x\n\nfunc Gone() {}\n",
		"drivers/driverkit/kit.go":   "package driverkit\n\nimport \"github.com/cooper-cosi/cooper/proto\"\n\nfunc F(proto.S) {}\n",
		"sanity/sanity.go":           "package sanity\n\nconst Text = \"a description\"\n",
		"sanity/cmd/main.go":         "package main\n\nfunc main() {}\n",
		"fakes/old/old.go":           "package old\n",
		"docs/reference/x":           "",
		"controller/controller.go":   "package controller\n\nfunc Gone() {}\n",
		"proto/proto_test.go":        "package proto\n",
		"drivers/s3driver/driver.go": "package s3driver\n\nfunc Gone() {}\n",
	})
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", "--all")
	git(t, dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "begin")
	git(t, dir, "tag", "v0.1.0")
	nothing := run(t, dir, 0, "-since", "v0.1.0")
	if !strings.Contains(nothing, "since `v0.1.0` for") || strings.Contains(nothing, "##") {
		t.Errorf("nothing has changed, but the page contains\n%s", nothing)
	}
	write(t, dir, map[string]string{
		"proto/proto.go":             "package proto\n\ntype S struct{ A, B int }\n\ntype I interface{ M(); N() }\n\nfunc Stays() {}\n\nfunc New() {}\n",
		"proto/internal/x/x.go":      "package x\n",
		"drivers/driverkit/kit.go":   "package driverkit\n\nimport \"github.com/cooper-cosi/cooper/proto\"\n\nfunc F(*proto.S) {}\n",
		"sanity/sanity.go":           "package sanity\n\nconst Text = \"another description\"\n", // not listed
		"fakes/young/young.go":       "package young\n",
		"controller/controller.go":   "package controller\n",
		"drivers/s3driver/driver.go": "package s3driver\n",
	})
	if err := os.RemoveAll(filepath.Join(dir, "fakes", "old")); err != nil {
		t.Fatal(err)
	}
	changed := run(t, dir, 0)
	breaks, adds, _ := strings.Cut(changed, "\n## New\n")
	for _, want := range []string{"proto`: `Gone: removed", "proto`: `I.N: added", "driverkit`: `F: changed from func(proto.S) to func(*proto.S)", "fakes/old`: `removed"} {
		if !strings.Contains(breaks, want) {
			t.Errorf("the page does not say that this breaks: %s", want)
		}
	}
	for _, want := range []string{"proto`: `New: added", "proto`: `S.B: added", "fakes/young`: `added"} {
		if !strings.Contains(adds, want) {
			t.Errorf("the page does not say that this is new: %s", want)
		}
	}
	if lines := strings.Count(changed, "\n- "); lines != 7 || t.Failed() {
		t.Errorf("the page has %d changes, want 7:\n%s", lines, changed)
	}
	run(t, dir, 77, "-since", "v0.0.9")
}

// run runs the script in a module, checks its exit code, and returns the page.
func run(t *testing.T, dir string, want int, args ...string) string {
	t.Helper()
	script, err := filepath.Abs("run.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{script}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	code := 0
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if code != want {
		t.Fatalf("exit code %d, want %d: %s", code, want, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
