// SPDX-License-Identifier: Apache-2.0

package azurefakecmd_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/fakes/azurefake/azurefakecmd"
)

// childMark makes the test binary be the command instead of running tests.
const childMark = "AZUREFAKECMD_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childMark) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt) //nolint:forbidigo // this is a main, not a test
	err := command(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string, stdout io.Writer) error {
	flags := pflag.NewFlagSet("fakes azure", pflag.ContinueOnError)
	run := azurefakecmd.Prepare(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	return run(ctx, stdout, io.Discard)
}

// child is the command in a process of its own.
type child struct {
	cmd *exec.Cmd
	env map[string]string
}

func startChild(t *testing.T, args ...string) *child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), childMark+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: cmd, env: map[string]string{}}
	t.Cleanup(c.kill)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "# ready") {
			return c
		}
		name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
		c.env[name] = strings.Trim(value, "'")
	}
	t.Fatal("the command ended before it was ready")
	return nil
}

// kill ends the process without giving it a chance; a second call does nothing.
func (c *child) kill() {
	_ = c.cmd.Process.Signal(syscall.SIGKILL) // it may be gone already
	_ = c.cmd.Wait()                          // killed: always an error
}

// container is a client made of the connection string that the command prints.
func (c *child) container(t *testing.T, name string) *container.Client {
	t.Helper()
	options := azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}
	if file := c.env["SSL_CERT_FILE"]; file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		options.Transport = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	}
	client, err := container.NewClientFromConnectionString(c.env["AZURE_STORAGE_CONNECTION_STRING"], name, &container.ClientOptions{ClientOptions: options})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

type body struct{ *bytes.Reader }

func (body) Close() error { return nil }

// TestNothingAcknowledgedIsLost kills the process under load, again and again, and looks for everything that it had
// acknowledged: blobs, staged blocks and stored policies.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	l := &ledger{blobs: map[string]int{}}
	for round := range 3 {
		c := startChild(t, "--data", dir)
		if round == 0 {
			for _, name := range []string{"load", "policies"} {
				if _, err := c.container(t, name).Create(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		l.check(t, c)
		l.load(t, c, round, 150)
	}
	l.check(t, startChild(t, "--data", dir))
}

// ledger is what the process has acknowledged.
type ledger struct {
	mu     sync.Mutex
	blobs  map[string]int
	policy string
}

// load writes from several clients until enough is acknowledged, then kills the process in the middle of it.
func (l *ledger) load(t *testing.T, c *child, round, enough int) {
	t.Helper()
	target := len(l.blobs) + enough
	var wg sync.WaitGroup
	for worker := range 6 {
		wg.Go(func() {
			client, policies := c.container(t, "load"), c.container(t, "policies")
			for n := 0; ; n++ {
				key, size := fmt.Sprintf("%d/%d/%d", round, worker, n), 100+n*37
				if _, err := client.NewBlockBlobClient(key).Upload(t.Context(), body{bytes.NewReader(content(key, size))}, nil); err != nil {
					return
				}
				if worker == 0 && setPolicy(t.Context(), policies, key) != nil {
					return
				}
				l.mu.Lock()
				l.blobs[key] = size
				if worker == 0 {
					l.policy = key
				}
				if len(l.blobs) >= target {
					_ = c.cmd.Process.Signal(syscall.SIGKILL) // another worker may have been faster
				}
				l.mu.Unlock()
			}
		})
	}
	wg.Wait()
	c.kill()
}

func setPolicy(ctx context.Context, c *container.Client, id string) error {
	_, err := c.SetAccessPolicy(ctx, &container.SetAccessPolicyOptions{ContainerACL: []*container.SignedIdentifier{
		{ID: to.Ptr(id), AccessPolicy: &container.AccessPolicy{Permission: to.Ptr("r"), Expiry: to.Ptr(time.Now().Add(time.Hour))}},
	}})
	return err
}

func content(key string, size int) []byte {
	return bytes.Repeat([]byte(key+"\n"), size/(len(key)+1)+1)[:size]
}

func (l *ledger) check(t *testing.T, c *child) {
	t.Helper()
	client := c.container(t, "load")
	for key, size := range l.blobs {
		out, err := client.NewBlobClient(key).DownloadStream(t.Context(), nil)
		if err != nil {
			t.Fatalf("acknowledged blob %s is lost: %v", key, err)
		}
		got, err := io.ReadAll(out.Body)
		if err != nil || !bytes.Equal(got, content(key, size)) {
			t.Fatalf("acknowledged blob %s came back with %d bytes, want %d: %v", key, len(got), size, err)
		}
	}
	if l.policy == "" {
		return
	}
	acl, err := c.container(t, "policies").GetAccessPolicy(t.Context(), nil)
	if err != nil || len(acl.SignedIdentifiers) != 1 {
		t.Fatalf("the stored policy is lost: %v", err)
	}
	// The process may have kept one more than it could acknowledge.
	if got := *acl.SignedIdentifiers[0].ID; got < l.policy[:2] {
		t.Errorf("the stored policy is %s, older than %s", got, l.policy)
	}
}

func TestTLSServesWithItsOwnAuthority(t *testing.T) {
	t.Parallel()
	c := startChild(t, "--tls", "--data", filepath.Join(t.TempDir(), "data"))
	if !strings.HasPrefix(c.env["AZURE_STORAGE_BLOB_ENDPOINT"], "https://") {
		t.Errorf("the endpoint is %s", c.env["AZURE_STORAGE_BLOB_ENDPOINT"])
	}
	if _, err := c.container(t, "data").Create(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestBadStartsSayWhatToDo(t *testing.T) {
	t.Parallel()
	busy, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := busy.Close(); err != nil {
			t.Error(err)
		}
	})
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "letters.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(plan, []byte("rules: [{operation: PutBlob, effect: explode}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args []string
		want string
	}{
		"a busy port":                     {[]string{"--listen", busy.Addr().String()}, "the port is in use by another process; stop it, or choose another port"},
		"a directory with something else": {[]string{"--data", foreign}, "was not made by this program (it holds letters.txt); choose an empty or a new directory"},
		"a plan with an unknown effect":   {[]string{"--faults", plan}, `effect "explode" is not one of fail`},
		"a plan that is not there":        {[]string{"--faults", "/nowhere.yaml"}, "read the fault plan"},
		"a name that no account has":      {[]string{"--account", "No_Account"}, "3 to 24 lower-case letters and digits"},
		"a key file that is not there":    {[]string{"--key-file", "/nowhere.key"}, "read the key"},
		"a key that is not base64":        {[]string{"--key-file", plan}, "the key is not base64"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := command(t.Context(), append([]string{"--listen", "127.0.0.1:0"}, tc.args...), io.Discard)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestAdminEndpoint(t *testing.T) {
	t.Parallel()
	c := startChild(t)
	call := func(method, path, user, text string) (int, string) {
		t.Helper()
		base, _ := strings.CutSuffix(c.env["AZURE_STORAGE_BLOB_ENDPOINT"], "/"+c.env["AZURE_STORAGE_ACCOUNT"])
		req, err := http.NewRequestWithContext(t.Context(), method, base+"/_cooper/"+path, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if user != "" {
			req.SetBasicAuth(user, c.env["AZURE_STORAGE_KEY"])
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(raw)
	}
	expect := func(method, path, user, text string, status int, want string) {
		t.Helper()
		if got, answer := call(method, path, user, text); got != status || !strings.Contains(answer, want) {
			t.Errorf("%s %s: %d %s, want %d with %q", method, path, got, answer, status, want)
		}
	}
	owner := c.env["AZURE_STORAGE_ACCOUNT"]
	if _, err := c.container(t, "seen").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	expect("GET", "health", "", "", http.StatusOK, "ok")
	expect("GET", "inventory", "", "", http.StatusUnauthorized, "key1 of the first account")
	expect("GET", "inventory", "somebody", "", http.StatusUnauthorized, "")
	expect("GET", "inventory", owner, "", http.StatusOK, `"name": "seen"`)
	expect("GET", "calls", owner, "", http.StatusOK, "CreateContainer")
	expect("DELETE", "calls", owner, "", http.StatusNoContent, "")
	expect("PUT", "faults", owner, "rules: [{operation: CreateContainer, effect: explode}]", http.StatusBadRequest, "explode")
	expect("PUT", "faults", owner, "rules: [{operation: CreateContainer, effect: fail, code: ServerBusy}]", http.StatusNoContent, "")
	expect("GET", "faults", owner, "", http.StatusOK, "ServerBusy")
	_, err := c.container(t, "unseen").Create(t.Context(), nil)
	if answered, ok := errors.AsType[*azcore.ResponseError](err); !ok || answered.ErrorCode != "ServerBusy" {
		t.Errorf("the injected fault: %v", err)
	}
	expect("DELETE", "faults", owner, "", http.StatusNoContent, "")
	if _, err := c.container(t, "unseen").Create(t.Context(), nil); err != nil {
		t.Errorf("without the fault: %v", err)
	}
}
