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
	"github.com/cooper-cosi/cooper/internal/testing/credstoretest"
)

const (
	oldKey = "2025 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
	newKey = "2026 AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n"
)

func keysOf(t *testing.T, content string) *credstore.Keys {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys")
	writeFile(t, file, []byte(content))
	keys, err := credstore.ReadKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestEncrypted(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]*credstore.Keys{"one key": keysOf(t, newKey), "no key": credstore.NoKeys()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			credstoretest.Run(t, credstoretest.Target{
				New: func(*testing.T) credstore.Store { return credstore.Encrypted(credstore.NewMemory(), keys) },
			})
		})
	}
}

func TestEncryptedEntriesShowNoSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := credstore.OpenDirectory(dir)
	must(t, err)
	entry := testEntry("ba-1")
	_, err = credstore.Encrypted(store, keysOf(t, newKey)).Put(t.Context(), entry)
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
	want, err := credstore.Encrypted(store, credstore.NoKeys()).Put(t.Context(), testEntry("ba-1"))
	must(t, err)
	for _, step := range []struct{ name, keys string }{
		{"the first key, beside what is not encrypted", oldKey + "plain\n"},
		{"the first key alone", "# since January\n\n" + oldKey},
		{"the second key before the first", newKey + oldKey},
		{"the second key alone", newKey},
	} {
		got, err := credstore.Encrypted(store, keysOf(t, step.keys)).Get(t.Context(), "ba-1")
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		want.Version = got.Version
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
		if _, err = credstore.Encrypted(store, keysOf(t, step.keys)).Put(t.Context(), got); err != nil {
			t.Errorf("%s: the version of an entry that was encrypted again is refused: %v", step.name, err)
		}
	}
	if _, err := credstore.Encrypted(store, keysOf(t, oldKey)).Get(t.Context(), "ba-1"); !errors.Is(err, credstore.ErrCorrupt) {
		t.Errorf("with the first key, which nothing is encrypted by any more: %v, want ErrCorrupt", err)
	}
}

func TestForgedEntriesAreRefused(t *testing.T) {
	t.Parallel()
	keys := keysOf(t, newKey)
	for name, tc := range map[string]struct {
		forge func(stored *credstore.Entry, other credstore.Entry)
		keys  *credstore.Keys
		want  string
	}{
		"a secret of another account": {
			func(stored *credstore.Entry, other credstore.Entry) { stored.Current = other.Current },
			keys, "for another account",
		},
		"a secret beside another ID": {
			func(stored *credstore.Entry, _ credstore.Entry) { stored.Current.ID = "AKIAOTHER" },
			keys, "was changed",
		},
		"a secret that nobody encrypted": {
			func(stored *credstore.Entry, _ credstore.Entry) { stored.Current = testEntry("ba-1").Current },
			keys, "is not encrypted",
		},
		"no key where there was one": {
			func(*credstore.Entry, credstore.Entry) {},
			credstore.NoKeys(), `encrypted by key "2026"`,
		},
		"another key of the same ID": {
			func(*credstore.Entry, credstore.Entry) {},
			keysOf(t, strings.ReplaceAll(oldKey, "2025", "2026")), "another key of the ID 2026",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := credstore.NewMemory()
			sealed := credstore.Encrypted(store, keys)
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
			_, err = credstore.Encrypted(store, tc.keys).Get(t.Context(), "ba-1")
			if !errors.Is(err, credstore.ErrCorrupt) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Get = %v, want ErrCorrupt with %q", err, tc.want)
			}
		})
	}
}

func TestBadKeyFiles(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ content, want string }{
		"nothing":               {"", "holds no key"},
		"no key but plain":      {"plain\n", "holds no key"},
		"a key without an ID":   {"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n", "line 1: want an ID"},
		"an ID with a colon":    {"a:b AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n", "line 1: want an ID"},
		"a key that is short":   {"# mine\n2026 AQEBAQ==\n", "line 2: key 2026 is not 32 bytes"},
		"a key of no base64":    {"2026 AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ*=\n", "line 1: key 2026 is not 32 bytes"},
		"two keys with one ID":  {newKey + newKey, "line 2: there are two keys with the ID 2026"},
		"more than a line says": {"2026 and more\n", "line 1: want an ID"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "keys")
			writeFile(t, file, []byte(tc.content))
			if _, err := credstore.ReadKeys(file); err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "AQEB") {
				t.Errorf("ReadKeys = %v, want %q and no key", err, tc.want)
			}
		})
	}
	if _, err := credstore.ReadKeys(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadKeys without a file = %v", err)
	}
}
