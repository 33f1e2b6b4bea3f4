// SPDX-License-Identifier: Apache-2.0

package stores_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/testenv/gobuild"
	"github.com/cooper-cosi/cooper/testenv/stores"
)

func TestTheVariableNamesTheExecutable(t *testing.T) {
	store := stores.MinIO()
	file := filepath.Join(t.TempDir(), "anything")
	t.Setenv(store.Variable, file)
	if got, err := store.Find(); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "unset MINIO") {
		t.Errorf("a variable with a missing file: %q, %v", got, err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Find(); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a variable with a file that is no executable: %q, %v", got, err)
	}
	if err := os.Chmod(file, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Find(); err != nil || got != file {
		t.Errorf("%q, %v; want %q", got, err, file)
	}
}

func TestWithoutTheVariableTheUsersCacheIsLookedAt(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	for _, store := range append(stores.All(), stores.SeaweedFS()) {
		t.Setenv(store.Variable, "")
		if got, err := store.Find(); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "go run ./hack/stores") {
			t.Errorf("%s that was never built: %q, %v", store.Name(), got, err)
		}
		file := filepath.Join(cache, "cooper", "stores", store.Version, store.Name())
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		got, err := store.Build(t.Context(), gobuild.NewProgress(&said))
		if err != nil || got != file || said.Len() > 0 {
			t.Errorf("%q, %v, said %q; want %q and no word", got, err, &said, file)
		}
	}
}

func TestAFailedBuildLeavesNothing(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	for _, module := range []string{"", "example.com/store"} {
		store := stores.Store{Variable: "NO_SUCH_STORE", Package: "example.com/store", Version: "v1.0.0", Module: module}
		got, err := store.Build(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), "cannot build store v1.0.0") {
			t.Errorf("%q, %v", got, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(cache, "cooper", "stores", "*", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
