// SPDX-License-Identifier: Apache-2.0

package vendor

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestSocketFileOfAKilledDriver tests which files the adapter removes so that a killed driver can start again.
func TestSocketFileOfAKilledDriver(t *testing.T) {
	t.Parallel()
	killed := func(t *testing.T, path string) {
		t.Helper()
		listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		listener.SetUnlinkOnClose(false)
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		make    func(t *testing.T, path string)
		age     time.Duration
		removed bool
	}{
		"the socket file of a killed driver is removed":     {killed, time.Minute, true},
		"a driver that starts keeps its new socket file":    {killed, 0, false},
		"a file of another type at the address stays there": {func(t *testing.T, path string) { t.Helper(); writeFile(t, path) }, time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "s")
			c.make(t, path)
			then := time.Now().Add(-c.age)
			if err := os.Chtimes(path, then, then); err != nil {
				t.Fatal(err)
			}
			if conn, err := dial(t.Context(), path); err == nil {
				_ = conn.Close()
				t.Fatal("connected without a driver")
			}
			_, err := os.Lstat(path)
			if removed := os.IsNotExist(err); removed != c.removed {
				t.Errorf("removed: %v, want %v (%v)", removed, c.removed, err)
			}
		})
	}
}

func writeFile(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
