// SPDX-License-Identifier: Apache-2.0

package credstore_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/internal/credstore"
)

const (
	oldKey = "2025 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
	newKey = "2026 AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n"
)

// encrypted returns a store with a key file, or without one if keys is empty.
func encrypted(t *testing.T, store credstore.Store, keys string) credstore.Store {
	t.Helper()
	file := ""
	if keys != "" {
		file = filepath.Join(t.TempDir(), "keys")
		writeFile(t, file, []byte(keys))
	}
	store, err := credstore.Encrypted(store, file)
	must(t, err)
	return store
}

func TestEncryptedEntriesShowNoSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	entry := testEntry("ba-1")
	_, err := encrypted(t, openDirectory(t, dir), newKey).Put(t.Context(), entry)
	must(t, err)
	must(t, filepath.WalkDir(dir, func(name string, file fs.DirEntry, err error) error {
		if err != nil || file.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		if strings.Contains(string(content), entry.Current.Secret.Reveal()) {
			t.Errorf("%s holds the secret", name)
		}
		return err
	}))
}

// TestKeysChange changes from an unencrypted store to one key and then to another, as documented.
func TestKeysChange(t *testing.T) {
	t.Parallel()
	store := credstore.NewMemory()
	want, err := encrypted(t, store, "").Put(t.Context(), testEntry("ba-1"))
	must(t, err)
	for _, step := range []struct{ name, keys string }{
		{"the first key, beside what is not encrypted", oldKey + "plain\n"},
		{"the first key alone", "# since January\n\n" + oldKey},
		{"the second key before the first", newKey + oldKey},
		{"the second key alone", newKey},
	} {
		got, err := encrypted(t, store, step.keys).Get(t.Context(), "ba-1")
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		want.Version = got.Version
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
		if _, err = encrypted(t, store, step.keys).Put(t.Context(), got); err != nil {
			t.Errorf("%s: the version of an entry that was encrypted again is refused: %v", step.name, err)
		}
	}
	if _, err := encrypted(t, store, oldKey).Get(t.Context(), "ba-1"); !errors.Is(err, credstore.ErrCorrupt) {
		t.Errorf("with the first key, which nothing is encrypted by any more: %v, want ErrCorrupt", err)
	}
}

func TestForgedEntriesAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		forge func(stored *credstore.Entry, other credstore.Entry)
		keys  string
		want  string
	}{
		"a secret of another account": {
			func(stored *credstore.Entry, other credstore.Entry) { stored.Current = other.Current },
			newKey, "for another account",
		},
		"a secret beside another ID": {
			func(stored *credstore.Entry, _ credstore.Entry) { stored.Current.ID = "AKIAOTHER" },
			newKey, "was changed",
		},
		"a secret that nobody encrypted": {
			func(stored *credstore.Entry, _ credstore.Entry) { stored.Current = testEntry("ba-1").Current },
			newKey, "is not encrypted",
		},
		"no key where there was one": {
			func(*credstore.Entry, credstore.Entry) {},
			"", `encrypted with key "2026"`,
		},
		"another key of the same ID": {
			func(*credstore.Entry, credstore.Entry) {},
			strings.ReplaceAll(oldKey, "2025", "2026"), "a different key of the same ID (2026)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := credstore.NewMemory()
			sealed := encrypted(t, store, newKey)
			_, err := sealed.Put(t.Context(), testEntry("ba-1"))
			must(t, err)
			_, err = sealed.Put(t.Context(), testEntry("ba-2"))
			must(t, err)
			stored, err := store.Get(t.Context(), "ba-1")
			must(t, err)
			other, err := store.Get(t.Context(), "ba-2")
			must(t, err)
			tc.forge(&stored, other)
			_, err = store.Put(t.Context(), stored)
			must(t, err)
			_, err = encrypted(t, store, tc.keys).Get(t.Context(), "ba-1")
			if !errors.Is(err, credstore.ErrCorrupt) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Get = %v, want ErrCorrupt with %q", err, tc.want)
			}
		})
	}
}

func TestBadKeyFiles(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ content, want string }{
		"nothing":               {"", "contains no key"},
		"no key but plain":      {"plain\n", "contains no key"},
		"a key without an ID":   {"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n", "line 1: expected an ID"},
		"an ID with a colon":    {"a:b AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n", "line 1: expected an ID"},
		"a key that is short":   {"# mine\n2026 AQEBAQ==\n", "line 2: key 2026 is not 32 bytes"},
		"a key of no base64":    {"2026 AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ*=\n", "line 1: key 2026 is not 32 bytes"},
		"two keys with one ID":  {newKey + newKey, "line 2: there are two keys with the ID 2026"},
		"more than a line says": {"2026 and more\n", "line 1: expected an ID"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "keys")
			writeFile(t, file, []byte(tc.content))
			if _, err := credstore.Encrypted(credstore.NewMemory(), file); err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "AQEB") {
				t.Errorf("Encrypted = %v, want %q and no key", err, tc.want)
			}
		})
	}
	if _, err := credstore.Encrypted(credstore.NewMemory(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Encrypted without the file = %v", err)
	}
}
