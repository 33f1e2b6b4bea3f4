// SPDX-License-Identifier: Apache-2.0

package rundir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/cmd/cooper/internal/rundir"
)

func at(t *testing.T, path string) rundir.Dir {
	t.Helper()
	dir, err := rundir.At(path)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAcquireNamesWhoHoldsTheDirectory(t *testing.T) {
	t.Parallel()
	dir := at(t, filepath.Join(t.TempDir(), "new", "dir"))
	lease, err := dir.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Publish(func(i *rundir.Info) { i.Services = map[string]string{"S3": "http://127.0.0.1:4711"} }); err != nil {
		t.Fatal(err)
	}
	_, err = dir.Acquire()
	var held *rundir.HeldError
	if !errors.As(err, &held) || held.Info.PID != os.Getpid() {
		t.Fatalf("want a HeldError of this process, got %v", err)
	}
	for _, part := range []string{dir.Path(), "http://127.0.0.1:4711", "cooper down", "--data DIR"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("message lacks %q: %v", part, err)
		}
	}
	if _, ok, err := dir.Holder(); !ok || err != nil {
		t.Errorf("holder: %v, %v", ok, err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := dir.Holder(); ok || err != nil {
		t.Errorf("holder after release: %v, %v", ok, err)
	}
	again, err := dir.Acquire()
	if err != nil {
		t.Fatalf("acquire after release: %v", err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestAcquireLeavesAForeignDirectoryAlone(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "thesis.tex"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := at(t, path).Acquire()
	var foreign *rundir.NotOursError
	if !errors.As(err, &foreign) || !strings.Contains(err.Error(), "did not create") {
		t.Fatalf("want a NotOursError, got %v", err)
	}
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory changed: %v, %v", entries, err)
	}
}

func TestClearRemovesStateAndNothingElse(t *testing.T) {
	t.Parallel()
	dir := at(t, t.TempDir())
	lease, err := dir.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir.ControlPlane(), dir.Store("s3"), dir.Credentials("s3"), dir.Bin()} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := lease.Clear(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{dir.ControlPlane(): false, dir.Store("s3"): false, dir.Credentials("s3"): false, dir.Bin(): true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s exists: %v, want %v", path, err == nil, want)
		}
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestHolderMayHavePublishedNothingYet(t *testing.T) {
	t.Parallel()
	dir := at(t, t.TempDir())
	lease, err := dir.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir.Path(), "cooper.json")); err != nil {
		t.Fatal(err)
	}
	if info, ok, err := dir.Holder(); !ok || err != nil || info.PID != 0 {
		t.Errorf("holder: %+v, %v, %v", info, ok, err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestAcquireDropsWhatAKilledProcessPublished(t *testing.T) {
	t.Parallel()
	dir := at(t, t.TempDir())
	lease, err := dir.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Publish(func(i *rundir.Info) { i.PID, i.Sockets = 1, "/tmp/cosi-1" }); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir.Path(), "cooper.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir.Path(), "cooper.json"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	next, err := dir.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	if info, _, err := dir.Holder(); err != nil || info.PID != os.Getpid() {
		t.Errorf("the holder is told to be %+v, %v", info, err)
	}
	if next.Previous.Sockets != "/tmp/cosi-1" {
		t.Errorf("what the killed process left: %+v", next.Previous)
	}
	if err := next.Release(); err != nil {
		t.Fatal(err)
	}
}
