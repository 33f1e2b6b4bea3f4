// SPDX-License-Identifier: Apache-2.0

package credstore_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/internal/credstore"
)

// writerDirectory makes the test binary a process that writes to the store until it is killed.
const writerDirectory = "CREDSTORE_TEST_WRITE_TO"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerDirectory); dir != "" {
		fmt.Println(writeForever(context.Background(), dir)) //nolint:forbidigo // this process runs no test
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func openDirectory(t *testing.T, path string) credstore.Store {
	t.Helper()
	directory, err := credstore.OpenDirectory(path)
	must(t, err)
	return credstore.OnBlobs(directory)
}

func TestDirectoryOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "made", "with", "parents")
	first := openDirectory(t, path)
	id, err := first.ID(t.Context())
	must(t, err)
	// Names that could lead to other files of the directory or out of it.
	accounts := []string{"ba-1", "store", "store.json", "lock", "..", ".", "../ba-1", "a/", strings.Repeat("a", 2048)}
	for _, account := range accounts {
		_, err := first.Put(t.Context(), testEntry(account))
		must(t, err)
	}
	second := openDirectory(t, path)
	if got, err := second.ID(t.Context()); err != nil || got != id {
		t.Errorf("the ID is %q, %v; want %q", got, err, id)
	}
	for _, account := range accounts {
		entry, err := second.Get(t.Context(), account)
		must(t, err)
		if _, err := second.Put(t.Context(), entry); err != nil {
			t.Errorf("Put of %.40q on a version of the earlier process: %v", account, err)
		}
	}
}

func TestDirectoryIsPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	store := openDirectory(t, path)
	if _, err := store.Put(t.Context(), testEntry("ba-1")); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(path, func(name string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDamagedEntryLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := openDirectory(t, dir)
	want, err := store.Put(t.Context(), testEntry("ba-1"))
	if err != nil {
		t.Fatal(err)
	}
	file := onlyEntryFile(t, dir)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := good[:len(good)/2]
	writeFile(t, file, damaged)

	_, err = store.Get(t.Context(), "ba-1")
	if !errors.Is(err, credstore.ErrCorrupt) || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "restore") {
		t.Errorf("Get = %v, want ErrCorrupt with the file and what to do", err)
	}
	if _, err := store.Put(t.Context(), testEntry("ba-1")); !errors.Is(err, credstore.ErrConflict) {
		t.Errorf("Put over a damaged entry = %v, want ErrConflict", err)
	}
	if left, err := os.ReadFile(file); err != nil || !bytes.Equal(left, damaged) {
		t.Errorf("the damaged file was changed (%v)", err)
	}
	writeFile(t, file, good)
	if got, err := store.Get(t.Context(), "ba-1"); err != nil || got.Version != want.Version {
		t.Errorf("after restoring the file Get = %v, %v", got, err)
	}
}

func TestLostID(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		damage func(t *testing.T, idFile string)
		want   string
	}{
		"the ID file is gone":  {func(t *testing.T, f string) { t.Helper(); must(t, os.Remove(f)) }, "contains 1 credentials, but not the file store.json"},
		"the ID file is empty": {func(t *testing.T, f string) { t.Helper(); writeFile(t, f, nil) }, "store.json is damaged"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			store := openDirectory(t, dir)
			_, err := store.Put(t.Context(), testEntry("ba-1"))
			must(t, err)
			test.damage(t, filepath.Join(dir, "store.json"))

			if _, err := credstore.OpenDirectory(dir); !errors.Is(err, credstore.ErrStoreID) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("OpenDirectory = %v, want ErrStoreID with %q", err, test.want)
			}
			if _, err := store.ID(t.Context()); !errors.Is(err, credstore.ErrStoreID) {
				t.Errorf("ID of the running store = %v, want ErrStoreID", err)
			}
			if _, err := store.Put(t.Context(), testEntry("ba-2")); !errors.Is(err, credstore.ErrStoreID) {
				t.Errorf("Put = %v, want ErrStoreID", err)
			}
		})
	}
}

func TestExchangedDirectoryIsNoticed(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	store, err := credstore.OpenDirectory(dir)
	must(t, err)
	_, err = credstore.OpenDirectory(other)
	must(t, err)
	must(t, os.Rename(filepath.Join(other, "store.json"), filepath.Join(dir, "store.json")))
	if _, err := store.ID(t.Context()); !errors.Is(err, credstore.ErrStoreID) || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("ID = %v, want ErrStoreID", err)
	}
}

// TestKilledWriter kills a process during many writes. At any moment, both entries that it rewrites are complete, and
// all data that it reported as stored are there.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for round := range 15 {
		reported := runAndKill(t, dir, 1+round*3)
		store := openDirectory(t, dir)
		got, err := store.Get(t.Context(), "ba-1")
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if got.Rotation < reported {
			t.Errorf("round %d: the store holds %q, but %q was reported as stored", round, got.Rotation, reported)
		}
		if temps, _ := filepath.Glob(filepath.Join(dir, ".tmp-*")); len(temps) > 0 {
			t.Errorf("round %d: unfinished files are left: %v", round, temps)
		}
	}
}

// runAndKill returns the last rotation that the process reported before it was killed.
func runAndKill(t *testing.T, dir string, lines int) string {
	t.Helper()
	executable, err := os.Executable()
	must(t, err)
	command := exec.CommandContext(t.Context(), executable)
	command.Env = append(os.Environ(), writerDirectory+"="+dir)
	output, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())
	scanner := bufio.NewScanner(output)
	last := ""
	for range lines {
		if !scanner.Scan() {
			t.Fatal("the writer ended by itself")
		}
		last = scanner.Text()
	}
	must(t, command.Process.Kill())
	_ = command.Wait()
	return last
}

func writeForever(ctx context.Context, dir string) error {
	directory, err := credstore.OpenDirectory(dir)
	if err != nil {
		return err
	}
	store := credstore.OnBlobs(directory)
	for {
		entry, err := store.Get(ctx, "ba-1")
		if errors.Is(err, credstore.ErrNotFound) {
			entry, err = testEntry("ba-1"), nil
			entry.Rotation = fmt.Sprintf("%08d", 0)
		}
		if err != nil {
			return err
		}
		var count int
		if _, err := fmt.Sscanf(entry.Rotation, "%d", &count); err != nil {
			return err
		}
		entry.Rotation = fmt.Sprintf("%08d", count+1)
		if _, err := store.Put(ctx, entry); err != nil {
			return err
		}
		fmt.Println(entry.Rotation)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
