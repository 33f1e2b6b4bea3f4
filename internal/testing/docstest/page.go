// SPDX-License-Identifier: Apache-2.0

package docstest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cooper-cosi/cooper/internal/flock"
)

// WritesPages reports whether pages are written instead of compared.
func WritesPages() bool { return os.Getenv("COOPER_UPDATE") != "" }

// CurrentPage compares a page, given by its path from the root of the repository, with the result of change. If
// COOPER_UPDATE is set, it writes the result instead.
func CurrentPage(t *testing.T, page string, change func(old string) []byte) {
	t.Helper()
	file, err := open(page)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	// Tests of several packages may write to the page at the same time.
	if err := flock.Wait(file); err != nil {
		t.Fatal(err)
	}
	old, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	text := change(string(old))
	switch {
	case bytes.Equal(old, text):
	case !WritesPages():
		t.Errorf("%s is out of date. The same test with COOPER_UPDATE=1 writes it", page)
	default:
		_, err = file.WriteAt(text, 0)
		if err := errors.Join(err, file.Truncate(int64(len(text)))); err != nil {
			t.Fatal(err)
		}
	}
}

// open opens the page in the nearest directory above that of the test.
func open(page string) (*os.File, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for {
		file, err := os.OpenFile(filepath.Join(dir, page), os.O_RDWR, 0)
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return file, err
		}
		dir = filepath.Dir(dir)
	}
}
