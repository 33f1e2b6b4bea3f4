// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/processtest"
)

// TestPeers starts the program by the names and with the command lines that the images of other programs and the
// modules of testcontainers use, and waits for the same lines and health checks as these modules.
func TestPeers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		program, line string
		environment   []string
		// ready are the patterns of the lines; the group is the URL.
		ready []string
		// method and path are the health check.
		method, path string
	}{
		"AzuriteContainer of testcontainers for Node": {
			program: "azurite", line: "--blobHost 127.0.0.1 --blobPort 0 --queueHost 127.0.0.1 --queuePort 0 --tableHost 127.0.0.1 --tablePort 0 --inMemoryPersistence",
			ready: []string{"Queue service is successfully listening at (.*)", "Table service is successfully listening at (.*)", "Blob service is successfully listening at (.*)"},
		},
		"azurite of testcontainers-go with one service": {
			program: "azurite-blob", line: "--blobHost 127.0.0.1 --blobPort 0", ready: []string{"Blob service is successfully listening at (.*)"},
		},
		"CloudStorageEmulatorContainer of testcontainers for Node": {
			program: "fake-gcs-server", line: "-host 127.0.0.1 -port 0 -scheme http", ready: []string{`server started at ([^"]*)`}, method: http.MethodPut, path: "/_internal/config",
		},
		"fake-gcs-server by its options": {
			program: "cooper", line: "-scheme http -host 127.0.0.1 -port 0", ready: []string{`server started at ([^"]*)`}, method: http.MethodGet, path: "/_internal/healthcheck",
		},
		"minio of testcontainers-go": {
			program: "cooper", line: "server --address 127.0.0.1:0 DIRECTORY", environment: []string{"MINIO_ROOT_USER=minioadmin", "MINIO_ROOT_PASSWORD=minioadmin"},
			ready: []string{"API: (.*)"}, method: http.MethodGet, path: "/minio/health/live",
		},
		"LocalStack": {
			program: "cooper", line: "localstack start", environment: []string{"GATEWAY_LISTEN=127.0.0.1:0"},
			ready: []string{"AWS_ENDPOINT_URL=(.*)", "^Ready"}, method: http.MethodGet, path: "/_localstack/health",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			link := filepath.Join(t.TempDir(), test.program)
			if err := os.Symlink(program(t), link); err != nil {
				t.Fatal(err)
			}
			command := exec.Command(link, strings.Fields(strings.ReplaceAll(test.line, "DIRECTORY", newData(t)))...)
			command.Env = append(append(os.Environ(), "TMPDIR="+processtest.ShortTempDir(t)), test.environment...)
			stdout, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			processtest.BindToTest(command)
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			url, lines := "", bufio.NewScanner(stdout)
			for _, pattern := range test.ready {
				if found := awaitLine(t, lines, pattern); found != "" {
					url = found
				}
			}
			if test.path != "" {
				request, err := http.NewRequestWithContext(t.Context(), test.method, url+test.path, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				if response, err := http.DefaultClient.Do(request); err != nil || response.StatusCode != http.StatusOK {
					t.Errorf("%s: %v %v", test.path, response, err)
				}
			}
			if err := command.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, stdout); err != nil {
				t.Error(err)
			}
			if err := command.Wait(); err != nil {
				t.Errorf("the program ended with %v", err)
			}
		})
	}
}

// awaitLine reads lines until one matches, and returns the pattern's group, or "" if it has none.
func awaitLine(t *testing.T, lines *bufio.Scanner, pattern string) string {
	t.Helper()
	wanted := regexp.MustCompile(pattern)
	for lines.Scan() {
		if match := wanted.FindStringSubmatch(lines.Text()); match != nil {
			return strings.Join(match[1:], "")
		}
	}
	t.Fatalf("the program ended without a line like %s", pattern)
	return ""
}
