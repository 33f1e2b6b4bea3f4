// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/internal/tempdirtest"
	"github.com/cooper-cosi/cooper/testenv/stores"
)

// findBinary returns the path of a real store's server. Without one the test is skipped, except where the variable
// REQUIRE_STORES is set.
func findBinary(t *testing.T, store stores.Store) string {
	t.Helper()
	path, err := store.Find()
	if err == nil {
		return path
	}
	if os.Getenv("REQUIRE_STORES") != "" || !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	t.Skip(err)
	return ""
}

// startProcess runs a server until the test ends. Its output is shown if the test fails.
func startProcess(t *testing.T, path string, environment []string, arguments ...string) {
	t.Helper()
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(context.WithoutCancel(t.Context()), path, arguments...)
	command.Env = append(os.Environ(), environment...)
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := command.Process.Kill(); err != nil {
			t.Errorf("end %s: %v", path, err)
		}
		_ = command.Wait()
		if !t.Failed() {
			return
		}
		if _, err := output.Seek(0, io.SeekStart); err == nil {
			text, _ := io.ReadAll(output)
			t.Logf("output of %s:\n%s", path, text)
		}
	})
}

// freeAddress returns an address that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// waitFor asks the URL until something responds.
func waitFor(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	direct := &http.Transport{DisableKeepAlives: true}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := direct.RoundTrip(request)
		if err == nil {
			err = response.Body.Close()
		}
		if err == nil && response.StatusCode < http.StatusInternalServerError {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s does not respond: %v", url, errors.Join(err, ctx.Err()))
		case <-ticker.C:
		}
	}
}

const (
	rootAccessKey = "rootaccesskey"
	rootSecretKey = "root-secret-key"
)

// startVersityIAM starts versitygw with its own IAM API, and returns the endpoints of S3 and IAM.
func startVersityIAM(t *testing.T) (string, string) {
	t.Helper()
	path := findBinary(t, stores.VersityGW())
	directory := tempdirtest.Short(t)
	data, versions, iam := filepath.Join(directory, "data"), filepath.Join(directory, "versions"), filepath.Join(directory, "iam")
	for _, needed := range []string{data, versions, iam} {
		if err := os.Mkdir(needed, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(directory, "iam.sock")
	iamAddress, s3Address := freeAddress(t), freeAddress(t)
	startProcess(t, path, nil, "-p", iamAddress, "-a", rootAccessKey, "-s", rootSecretKey, "--keep-alive",
		"iam", "--quiet", "--dir", iam, "--private-ports", socket)
	waitFor(t, "http://"+iamAddress)
	startProcess(t, path, nil, "-p", s3Address, "-a", rootAccessKey, "-s", rootSecretKey, "--quiet", "--keep-alive",
		"--iam-cache-disable", "--iam-standalone-endpoint", socket, "posix", "--versioning-dir", versions, data)
	waitFor(t, "http://"+s3Address)
	return "http://" + s3Address, "http://" + strings.TrimPrefix(iamAddress, "http://")
}

// startVersity starts versitygw with accounts of its own, and returns its endpoint.
func startVersity(t *testing.T) string {
	t.Helper()
	path := findBinary(t, stores.VersityGW())
	root := t.TempDir()
	data, versions, iam := filepath.Join(root, "data"), filepath.Join(root, "versions"), filepath.Join(root, "iam")
	for _, needed := range []string{data, versions, iam} {
		if err := os.Mkdir(needed, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	address := freeAddress(t)
	startProcess(t, path, nil, "-p", address, "-a", rootAccessKey, "-s", rootSecretKey, "--quiet", "--keep-alive",
		"--iam-cache-disable", "--iam-dir", iam, "posix", "--versioning-dir", versions, data)
	waitFor(t, "http://"+address)
	return "http://" + address
}

// startMinIO starts MinIO, with more in its environment, and returns its endpoint.
func startMinIO(t *testing.T, more ...string) string {
	t.Helper()
	path := findBinary(t, stores.MinIO())
	address := freeAddress(t)
	environment := []string{"MINIO_ROOT_USER=" + rootAccessKey, "MINIO_ROOT_PASSWORD=" + rootSecretKey, "MINIO_UPDATE=off", "MINIO_BROWSER=off"}
	startProcess(t, path, append(environment, more...),
		"server", "--quiet", "--address", address, "--certs-dir", t.TempDir(), t.TempDir())
	waitFor(t, "http://"+address+"/minio/health/cluster")
	return "http://" + address
}
