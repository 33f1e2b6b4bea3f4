// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// azuriteKey is the key that Azurite's documentation gives for its account.
const azuriteKey = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

// startAzurite runs Azurite with Node, as a process.
func startAzurite(t testing.TB) blobService {
	t.Helper()
	script, err := azuriteScript()
	if err != nil {
		t.Skip(err)
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
		_ = cmd.Process.Kill() // it never ends by itself
		_ = cmd.Wait()         // killed: always an error
	})
	cred, err := container.NewSharedKeyCredential(azurefake.DefaultAccount, azuriteKey)
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, at, found := strings.Cut(lines.Text(), "successfully listens on "); found {
			go func() { _, _ = io.Copy(io.Discard, out) }() // it prints a line for every request
			return blobService{strings.TrimSpace(at) + "/" + azurefake.DefaultAccount, cred}
		}
	}
	t.Fatal("Azurite ended before it listened")
	return blobService{}
}

// azuriteScript is what AZURITE names, or the npm package in the user's cache.
func azuriteScript() (string, error) {
	script := os.Getenv("AZURITE")
	if script == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no cache to look for Azurite in: %w", err)
		}
		script = filepath.Join(cache, "cooper", "stores", "azurite", "node_modules", "azurite", "dist", "src", "blob", "main.js")
	}
	if _, err := os.Stat(script); err != nil {
		return "", fmt.Errorf("no Azurite: %w; bash hack/azurite.sh installs it, or AZURITE can name its blob/main.js", err)
	}
	if _, err := exec.LookPath("node"); err != nil {
		return "", fmt.Errorf("no Azurite without Node: %w", err)
	}
	return script, nil
}

// TestPermissionsOnAzurite runs the table on Azurite. Where it answers otherwise than the reference says, the
// difference must be one of testdata/azurite.txt.
//
//nolint:paralleltest // rows share one slow process
func TestPermissionsOnAzurite(t *testing.T) {
	s := startAzurite(t)
	var got []string
	for _, r := range rows() {
		name := s.filled(t)
		status, code := s.ask(t, r.call, name, r.sign(t, s, name))
		same := code == r.code
		if r.code == "" {
			same = status == r.call.status
		}
		if !same {
			got = append(got, fmt.Sprintf("%s: %d %s", r.name, status, code))
		}
	}
	slices.Sort(got)
	file := filepath.Join("testdata", "azurite.txt")
	if os.Getenv("AZURITE_WRITE") != "" {
		if err := os.WriteFile(file, []byte(strings.Join(got, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(listed)), "\n"), got); diff != "" {
		t.Errorf("Azurite differs otherwise than %s says (-listed +got):\n%s", file, diff)
	}
	kinds := map[string]int{}
	for _, line := range got {
		_, answer, _ := strings.Cut(line, ": ")
		_, answer, _ = strings.Cut(answer, ": ")
		kinds[answer]++
	}
	t.Logf("%d of %d rows differ: %v", len(got), len(rows()), slices.Sorted(maps.Keys(kinds)))
}
