// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"bytes"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// shell runs a tool of the distribution, in a directory with files.
type shell struct {
	dir string
	env []string
}

// tool skips the test when a tool is not installed; Debian's packages are azure-cli and rclone.
func tool(t *testing.T, name string) shell {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
	dir := t.TempDir()
	for file, size := range map[string]int{"small.txt": 100, "large.bin": 20 << 20} {
		wantNoError(t, os.WriteFile(filepath.Join(dir, file), bytes.Repeat([]byte("0123456789"), size/10), 0o600))
	}
	return shell{dir, append(os.Environ(), "HOME="+dir, "RCLONE_CONFIG="+os.DevNull, "AZURE_CONFIG_DIR="+dir, "AZURE_CORE_COLLECT_TELEMETRY=no", "AZURE_CORE_NO_COLOR=yes")}
}

func (s shell) run(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	output, err := cmd.CombinedOutput()
	return string(output), err
}

func (s shell) must(t *testing.T, name string, args ...string) string {
	t.Helper()
	output, err := s.run(t, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, output)
	}
	return output
}

// refused asserts that the tool fails with a text of the service.
func (s shell) refused(t *testing.T, text, name string, args ...string) {
	t.Helper()
	if output, err := s.run(t, name, args...); err == nil || !strings.Contains(output, text) {
		t.Errorf("%s %s: %v, without %q:\n%s", name, strings.Join(args, " "), err, text, output)
	}
}

func (s shell) sameFile(t *testing.T, a, b string) {
	t.Helper()
	x, err := os.ReadFile(filepath.Join(s.dir, a))
	wantNoError(t, err)
	y, err := os.ReadFile(filepath.Join(s.dir, b))
	wantNoError(t, err)
	if !bytes.Equal(x, y) {
		t.Errorf("%s and %s differ", a, b)
	}
}

// TestRclone uses the URL of a granted Secret as it is.
func TestRclone(t *testing.T) {
	t.Parallel()
	s := tool(t, "rclone")
	w := newWorld(t, worldOptions{fake: azurefake.Options{}})
	bucket, account, reader := w.NewBucket(t, nil), drivertest.NewAccount(), drivertest.NewAccount()
	remote := func(address string) string { return `:azureblob,sas_url="` + address + `":` + bucket }
	full, limited := remote(token(w.MustGrant(t, grantRequest(account, readWrite, bucket)))), remote(token(w.MustGrant(t, grantRequest(reader, readOnly, bucket))))
	quiet := []string{"--retries=1", "--low-level-retries=1", "--azureblob-upload-cutoff=8Mi", "--azureblob-chunk-size=4Mi"}
	rclone := func(args ...string) []string { return append(args, quiet...) }
	s.must(t, "rclone", rclone("copy", ".", full+"/dir", "--include=*.{txt,bin}")...)
	if listed := s.must(t, "rclone", rclone("lsf", "-R", "--files-only", full)...); listed != "dir/large.bin\ndir/small.txt\n" {
		t.Errorf("listed: %q", listed)
	}
	s.must(t, "rclone", rclone("check", ".", full+"/dir", "--include=*.{txt,bin}", "--download")...)
	s.must(t, "rclone", rclone("copyto", limited+"/dir/large.bin", "back.bin")...)
	s.sameFile(t, "large.bin", "back.bin")
	s.refused(t, "AuthorizationPermissionMismatch", "rclone", rclone("copyto", "small.txt", limited+"/other.txt")...)
	s.refused(t, "AuthorizationPermissionMismatch", "rclone", rclone("deletefile", limited+"/dir/small.txt")...)
	s.must(t, "rclone", rclone("deletefile", full+"/dir/small.txt")...)
	s.must(t, "rclone", rclone("delete", full+"/dir")...)
	w.mustRevoke(t, account, bucket)
	s.refused(t, "AuthenticationFailed", "rclone", rclone("lsf", full)...)
}

// TestAzureCLI uses the parts of a granted Secret as azure-cli wants them: the account's endpoint, the container, and
// what follows the question mark.
func TestAzureCLI(t *testing.T) {
	t.Parallel()
	s := tool(t, "az")
	w := newWorld(t, worldOptions{fake: azurefake.Options{}})
	bucket, account, reader := w.NewBucket(t, nil), drivertest.NewAccount(), drivertest.NewAccount()
	as := func(address string) func(args ...string) []string {
		parsed, err := url.Parse(address)
		wantNoError(t, err)
		connection := "BlobEndpoint=" + w.server.AccountURL(mainAccount) + ";SharedAccessSignature=" + parsed.RawQuery
		return func(args ...string) []string {
			return append([]string{"storage", "blob"}, append(args, "--container-name", bucket, "--connection-string", connection, "--only-show-errors")...)
		}
	}
	full, limited := as(token(w.MustGrant(t, grantRequest(account, readWrite, bucket)))), as(token(w.MustGrant(t, grantRequest(reader, readOnly, bucket))))
	s.must(t, "az", full("upload", "--file", "small.txt", "--name", "dir/small.txt", "--metadata", "team=a")...)
	s.must(t, "az", full("upload", "--file", "large.bin", "--name", "large.bin")...)
	if listed := s.must(t, "az", limited("list", "--query", "[].name", "--output", "tsv")...); listed != "dir/small.txt\nlarge.bin\n" {
		t.Errorf("listed: %q", listed)
	}
	if team := s.must(t, "az", limited("metadata", "show", "--name", "dir/small.txt", "--query", "team", "--output", "tsv")...); team != "a\n" {
		t.Errorf("metadata: %q", team)
	}
	s.must(t, "az", limited("download", "--name", "large.bin", "--file", "back.bin", "--no-progress")...)
	s.sameFile(t, "large.bin", "back.bin")
	s.refused(t, "permission", "az", limited("upload", "--file", "small.txt", "--name", "other.txt")...)
	s.must(t, "az", full("delete", "--name", "large.bin")...)
	w.mustRevoke(t, account, bucket)
	s.refused(t, "Authentication failure", "az", full("list")...)
}
