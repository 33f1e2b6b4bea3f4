// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFailedWrites writes to a journal after a write that failed halfway, as when the disk is full.
func TestFailedWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *File {
		f, err := Open(dir, "test")
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	put := func(f *File, key string) {
		if err := f.Append(Record{Table: "t", Key: key, Value: json.RawMessage("1")}); err != nil {
			t.Fatal(err)
		}
	}
	f := open()
	put(f, "a")
	if _, err := f.file.Seek(0, io.SeekEnd); err != nil {
		t.Fatal(err)
	}
	if _, err := f.file.WriteString(`01234567 [{"t":"t","k":"never acknowledged`); err != nil {
		t.Fatal(err)
	}
	put(f, "b")
	put(f, "c")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = open()
	defer f.Close()
	if diff := cmp.Diff([]string{"a", "b", "c"}, slices.Sorted(maps.Keys(f.Table("t")))); diff != "" {
		t.Errorf("the keys (-want +got):\n%s", diff)
	}
}
