// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"net/url"
	"os"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
)

// tool skips the test in the short run, and when a tool is not installed; Debian's packages are azure-cli and rclone.
func tool(t *testing.T, name string) *processtest.Shell {
	t.Helper()
	fulltest.Only(t, "TestConformance uses the token with the SDK")
	s := processtest.NewShell(t, name)
	s.Set("RCLONE_CONFIG="+os.DevNull, "AZURE_CONFIG_DIR="+s.Dir, "AZURE_CORE_COLLECT_TELEMETRY=no", "AZURE_CORE_NO_COLOR=yes")
	return s
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
	s.Must("rclone", rclone("copy", ".", full+"/dir", "--include=*.{txt,bin}")...)
	if listed := s.Must("rclone", rclone("lsf", "-R", "--files-only", full)...); listed != "dir/large.bin\ndir/small.txt\n" {
		t.Errorf("listed: %q", listed)
	}
	s.Must("rclone", rclone("check", ".", full+"/dir", "--include=*.{txt,bin}", "--download")...)
	s.Must("rclone", rclone("copyto", limited+"/dir/large.bin", "back.bin")...)
	s.SameFile("large.bin", "back.bin")
	s.Refused("AuthorizationPermissionMismatch", "rclone", rclone("copyto", "small.txt", limited+"/other.txt")...)
	s.Refused("AuthorizationPermissionMismatch", "rclone", rclone("deletefile", limited+"/dir/small.txt")...)
	s.Must("rclone", rclone("deletefile", full+"/dir/small.txt")...)
	s.Must("rclone", rclone("delete", full+"/dir")...)
	w.mustRevoke(t, account, bucket)
	s.Refused("AuthenticationFailed", "rclone", rclone("lsf", full)...)
}

// TestAzureCLI uses the parts of a granted Secret in the form that azure-cli expects: the account's endpoint, the
// container, and the part after the question mark.
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
	s.Must("az", full("upload", "--file", "small.txt", "--name", "dir/small.txt", "--metadata", "team=a")...)
	s.Must("az", full("upload", "--file", "large.bin", "--name", "large.bin")...)
	if listed := s.Must("az", limited("list", "--query", "[].name", "--output", "tsv")...); listed != "dir/small.txt\nlarge.bin\n" {
		t.Errorf("listed: %q", listed)
	}
	if team := s.Must("az", limited("metadata", "show", "--name", "dir/small.txt", "--query", "team", "--output", "tsv")...); team != "a\n" {
		t.Errorf("metadata: %q", team)
	}
	s.Must("az", limited("download", "--name", "large.bin", "--file", "back.bin", "--no-progress")...)
	s.SameFile("large.bin", "back.bin")
	s.Refused("permission", "az", limited("upload", "--file", "small.txt", "--name", "other.txt")...)
	s.Must("az", full("delete", "--name", "large.bin")...)
	w.mustRevoke(t, account, bucket)
	s.Refused("Authentication failure", "az", full("list")...)
}
