// SPDX-License-Identifier: Apache-2.0

// Package azuritetest runs Azurite, Microsoft's emulator of Azure Storage, as a process. Tests use it to compare
// Azurite with the fake, or to run the driver against Azurite.
package azuritetest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Account and Key are the values in Azurite's documentation.
const (
	Account = "devstoreaccount1"
	Key     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// Start runs Azurite until the test ends, and returns the URL of its Blob service, to which clients append an account
// name. It skips the test if Azurite is not installed.
func Start(t testing.TB) string {
	t.Helper()
	script, err := find()
	if err != nil {
		missing(t, err)
	}
	cmd := exec.CommandContext(t.Context(), "node", script, "--blobHost", "127.0.0.1", "--blobPort", "0", "--inMemoryPersistence",
		"--skipApiVersionCheck", "--disableTelemetry")
	cmd.Dir = t.TempDir()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGKILL) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it never exits on its own
		_ = cmd.Wait()         // killed, so this is always an error
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, at, found := strings.Cut(lines.Text(), "successfully listens on "); found {
			go func() { _, _ = io.Copy(io.Discard, out) }() // it prints a line for every request
			return strings.TrimSpace(at)
		}
	}
	t.Fatal("Azurite exited before it listened on its port")
	return ""
}

// Version returns the version of the Azurite that Start runs.
func Version(t testing.TB) string {
	t.Helper()
	script, err := find()
	if err != nil {
		missing(t, err)
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(script), "..", "..", "..", "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var about struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(text, &about); err != nil {
		t.Fatal(err)
	}
	return about.Version
}

// missing skips the test, or fails it where COOPER_REQUIRE_STORES is set.
func missing(t testing.TB, why error) {
	t.Helper()
	if os.Getenv("COOPER_REQUIRE_STORES") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// find returns the program that AZURITE names, or the npm package in the user's cache.
func find() (string, error) {
	script := os.Getenv("AZURITE")
	if script == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the cache directory of Azurite: %w; set AZURITE to the path of blob/main.js", err)
		}
		script = filepath.Join(cache, "cooper", "stores", "azurite", "node_modules", "azurite", "dist", "src", "blob", "main.js")
	}
	if _, err := os.Stat(script); err != nil {
		return "", fmt.Errorf("cannot find Azurite: %w; install it with bash hack/npm.sh azurite, or set AZURITE to the path of its blob/main.js", err)
	}
	if _, err := exec.LookPath("node"); err != nil {
		return "", fmt.Errorf("cannot run Azurite without Node.js: %w; install Node.js", err)
	}
	return script, nil
}
