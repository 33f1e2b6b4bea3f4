// SPDX-License-Identifier: Apache-2.0

package up

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/cmd/cooper/internal/rundir"
)

// TestDown removes the leftovers of a killed process, and checks the message when there are none.
func TestDown(t *testing.T) {
	t.Parallel()
	dir, err := rundir.At(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	down := func(want string) {
		t.Helper()
		var said bytes.Buffer
		if err := Down(t.Context(), dir, &said); err != nil || !strings.Contains(said.String(), want) {
			t.Errorf("down: want %q, got %q, %v", want, said.String(), err)
		}
	}
	down("no system is running in")

	sockets := filepath.Join(t.TempDir(), "cosi-1")
	if err := os.Mkdir(sockets, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(sockets, "driver-0.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	abandon(t, dir, sockets)
	down("was killed earlier; its leftovers have been removed")
	if _, err := os.Stat(sockets); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of the sockets: %v", err)
	}
	down("no system is running in")
}

// abandon writes the files that a killed process leaves in the directory.
func abandon(t *testing.T, dir rundir.Dir, sockets string) {
	t.Helper()
	lease, err := dir.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Publish(func(i *rundir.Info) { i.Sockets = sockets }); err != nil {
		t.Fatal(err)
	}
	published := filepath.Join(dir.Path(), "cooper.json")
	content, err := os.ReadFile(published)
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(published, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
