// SPDX-License-Identifier: Apache-2.0

package credstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func TestStore(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]credstore.Store{
		"not encrypted":          credstore.NewMemory(),
		"encrypted":              encrypted(t, credstore.NewMemory(), newKey),
		"encrypted without keys": encrypted(t, credstore.NewMemory(), ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := testEntry("ba-1")
			want.Rotation, want.Notes = "2026-01-02T03:04:05Z \"quoted\" ü", map[string]string{"state": "ü\n"}
			for _, entry := range []credstore.Entry{want, {Account: "bucket/b", Notes: map[string]string{"state": "creating"}}} {
				put, err := store.Put(t.Context(), entry)
				must(t, err)
				got, err := store.Get(t.Context(), entry.Account)
				must(t, err)
				if diff := cmp.Diff(put, got); diff != "" {
					t.Errorf("Get differs from what Put returned (-put +got):\n%s", diff)
				}
				got.Version = ""
				if diff := cmp.Diff(entry, got); diff != "" {
					t.Errorf("Get differs from what was put (-put +got):\n%s", diff)
				}
				if _, err := store.Put(t.Context(), entry); !errors.Is(err, credstore.ErrConflict) {
					t.Errorf("second Put without a version = %v, want ErrConflict", err)
				}
			}
			must(t, store.Delete(t.Context(), "ba-1"))
			if _, err := store.Get(t.Context(), "ba-1"); !errors.Is(err, credstore.ErrNotFound) {
				t.Errorf("Get of a deleted entry = %v, want ErrNotFound", err)
			}
			for missing, entry := range map[string]credstore.Entry{
				"account": {Current: credstore.Credential{ID: "a", Secret: cosi.NewSecret("b")}},
				"ID":      {Account: "ba-1", Current: credstore.Credential{Secret: cosi.NewSecret("b")}},
				"secret":  {Account: "ba-1", Current: credstore.Credential{ID: "a"}},
			} {
				if _, err := store.Put(t.Context(), entry); err == nil {
					t.Errorf("Put accepts an entry without %s", missing)
				}
			}
		})
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	entry := testEntry("ba-1")
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("entry", "entry", entry, "credential", entry.Current, "pointer", entry.Previous)
	printed := map[string]string{
		"%v":  fmt.Sprintf("%v", entry),
		"%+v": fmt.Sprintf("%+v", &entry),
		"%#v": fmt.Sprintf("%#v", entry.Current),
		"%s":  fmt.Sprintf("%s", entry.Previous),
		"%q":  fmt.Sprintf("%q", entry.Current),
		"log": logged.String(),
	}
	for verb, text := range printed {
		if strings.Contains(text, "secret-of") {
			t.Errorf("%s prints a secret: %s", verb, text)
		}
	}
}

func TestDecodeRefusesDamage(t *testing.T) {
	t.Parallel()
	good, err := credstore.Encode(testEntry("ba-1"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		data []byte
		want string
	}{
		"nothing at all":             {nil, "not complete JSON"},
		"the first half":             {good[:len(good)/2], "not complete JSON"},
		"one changed byte":           {bytes.Replace(good, []byte("secret-of"), []byte("Secret-of"), 1), "checksum"},
		"an entry of the future":     {bytes.Replace(good, []byte(`"format":1`), []byte(`"format":2`), 1), "format 2"},
		"an entry of another's name": {good, `belongs to account "ba-1"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			account := "ba-1"
			if name == "an entry of another's name" {
				account = "ba-2"
			}
			_, err := credstore.Decode(account, test.data)
			if !errors.Is(err, credstore.ErrCorrupt) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Decode = %v, want ErrCorrupt with %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret-of") {
				t.Errorf("the error holds a secret: %v", err)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	good, err := credstore.Encode(testEntry("ba-1"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"format":1,"sha256":"","body":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		entry, err := credstore.Decode("ba-1", data)
		if err != nil {
			if !errors.Is(err, credstore.ErrCorrupt) {
				t.Fatalf("error %v does not wrap ErrCorrupt", err)
			}
			return
		}
		if _, err := credstore.Encode(entry); err != nil {
			t.Fatalf("a decoded entry cannot be encoded: %v", err)
		}
	})
}

func testEntry(account string) credstore.Entry {
	return credstore.Entry{
		Account:  account,
		Rotation: "r1",
		Current:  credstore.Credential{ID: "id-of-current", Secret: cosi.NewSecret("secret-of-current")},
		Previous: &credstore.Credential{ID: "id-of-previous", Secret: cosi.NewSecret("secret-of-previous")},
	}
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func onlyEntryFile(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.credential.json"))
	if err != nil || len(names) != 1 {
		t.Fatalf("entry files %v, %v: want one", names, err)
	}
	return names[0]
}
