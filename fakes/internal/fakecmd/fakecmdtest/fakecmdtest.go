// SPDX-License-Identifier: Apache-2.0

// Package fakecmdtest helps to test the commands of the fakes. It runs a command as a separate process, and contains
// the tests that are the same for all fakes.
package fakecmdtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/internal/testing/processtest"
)

// childMark is the environment variable that makes the test binary run the command instead of tests.
const childMark = "COOPER_FAKE_COMMAND"

// Command is the type of each fake's function Prepare.
type Command func(flags *pflag.FlagSet) func(ctx context.Context, stdout, stderr io.Writer) error

// Main implements TestMain. In a process that Start started, it runs the command instead of the tests. It returns the
// exit code.
func Main(m *testing.M, command Command) int {
	if os.Getenv(childMark) == "" {
		return m.Run()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := command.Run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Run runs the command in this process until the context ends.
func (c Command) Run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := pflag.NewFlagSet("fakes", pflag.ContinueOnError)
	run := c(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	return run(ctx, stdout, io.Discard)
}

// Child is the command in a separate process.
type Child struct {
	// Env contains the environment variables that the command printed.
	Env map[string]string

	cmd       *exec.Cmd
	lines     *bufio.Scanner
	temporary string
}

// Start starts the command on a free port and waits until it is ready. The process is killed when the test ends.
func Start(t *testing.T, args ...string) *Child {
	t.Helper()
	return StartIn(t, nil, args...)
}

// StartIn is Start with additional environment variables, each NAME=VALUE.
func StartIn(t *testing.T, environment []string, args ...string) *Child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"--listen", "127.0.0.1:0"}, args...)...)
	// A killed process cannot remove its large bodies: they go with the test's directory.
	temporary := t.TempDir()
	cmd.Env = append(append(os.Environ(), childMark+"=1", "TMPDIR="+temporary), environment...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &Child{cmd: cmd, temporary: temporary, Env: map[string]string{}}
	t.Cleanup(c.Kill)
	c.lines = bufio.NewScanner(out)
	for c.lines.Scan() {
		if strings.HasPrefix(c.lines.Text(), "# ready") {
			return c
		}
		name, value, _ := strings.Cut(strings.TrimPrefix(c.lines.Text(), "export "), "=")
		c.Env[name] = strings.Trim(value, "'")
	}
	t.Fatal("the command exited before it was ready")
	return nil
}

// WaitFor waits for a line that contains text, after the line that reports readiness.
func (c *Child) WaitFor(t *testing.T, text string) {
	t.Helper()
	for c.lines.Scan() {
		if strings.Contains(c.lines.Text(), text) {
			return
		}
	}
	t.Fatalf("the command exited before it printed %q", text)
}

// RequireResponse sends a request without a body and checks the status and a part of the body of the response.
func RequireResponse(t *testing.T, method, url string, status int, want string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != status || !strings.Contains(string(raw), want) {
		t.Errorf("%s %s: got %d %q, want %d with %q", method, url, response.StatusCode, raw, status, want)
	}
}

// SeedDir returns a directory for --seed-dir with the file cats/tom.txt in the directory photos.
func SeedDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "photos", "cats"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "photos", "cats", "tom.txt"), []byte("meow"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Strike kills the process without waiting for its end. It is safe for concurrent use.
func (c *Child) Strike() {
	_ = c.cmd.Process.Signal(syscall.SIGKILL) // it may have exited already
}

// Kill kills the process with SIGKILL and waits for its end. A second call does nothing.
func (c *Child) Kill() {
	c.Strike()
	_ = c.cmd.Wait() // killed: always an error
}

// Stop stops the process with SIGTERM and waits for its end. The test fails if the process leaves files in its
// temporary directory.
func (c *Child) Stop(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("the command failed after SIGTERM: %v", err)
	}
	processtest.RequireEmptyDir(t, c.temporary)
}

// PeakMemory returns the largest resident size of the process so far in bytes. It skips the test on systems that do
// not report the size.
func (c *Child) PeakMemory(t *testing.T) int64 {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(c.cmd.Process.Pid), "status"))
	if err != nil {
		t.Skipf("cannot read the peak memory on this system: %v", err)
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatal("no VmHWM in the process's status")
	return 0
}

// Content returns a body of size bytes that consists of repetitions of the key, so that tests can identify it.
func Content(key string, size int) []byte {
	return bytes.Repeat([]byte(key+"\n"), size/(len(key)+1)+1)[:size]
}

// BadStart is an invalid start of the command, and a part of the expected error.
type BadStart struct {
	Args []string
	Want string
}

// BadStarts checks that the command rejects invalid arguments with helpful messages: those that every fake rejects,
// and the given ones. operation is a valid operation for fault plans of this fake.
func BadStarts(t *testing.T, command Command, operation string, starts map[string]BadStart) {
	t.Helper()
	busy, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := busy.Close(); err != nil {
			t.Error(err)
		}
	})
	foreign, inUse := t.TempDir(), filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(filepath.Join(foreign, "letters.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	Start(t, "--data", inUse)
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(plan, []byte("rules: [{operation: "+operation+", effect: explode}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]BadStart{
		"a busy port":                     {[]string{"--listen", busy.Addr().String()}, "the port is in use by another process; stop it, or choose another port"},
		"a directory with something else": {[]string{"--data", foreign}, "was not created by this program (it contains letters.txt); choose an empty or a new directory"},
		"a directory that is in use":      {[]string{"--data", inUse}, "is in use by another process"},
		"a certificate without a key":     {[]string{"--tls-cert", plan}, "--tls-cert and --tls-key must be set together"},
		"a certificate that is not there": {[]string{"--tls-cert", "/nowhere.pem", "--tls-key", plan}, "load --tls-cert and --tls-key"},
		"a plan with an unknown effect":   {[]string{"--faults", plan}, `effect "explode" is not one of fail`},
		"a plan that is not there":        {[]string{"--faults", "/nowhere.yaml"}, "read the fault plan"},
		"a seed that is not there":        {[]string{"--seed-file", "/nowhere.yaml"}, "read the seed"},
		"a seed with an unknown field":    {[]string{"--seed-file", plan}, `unknown field "rules"`},
	}
	maps.Copy(tests, starts)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := command.Run(t.Context(), append([]string{"--listen", "127.0.0.1:0"}, tc.Args...), io.Discard)
			if err == nil || !strings.Contains(err.Error(), tc.Want) {
				t.Errorf("got %v, want %q", err, tc.Want)
			}
		})
	}
}

// Admin calls the admin endpoint of a child.
type Admin struct {
	// URL is the URL of the child.
	URL string
	// Authenticate adds the administrator's credentials to a request.
	Authenticate func(*http.Request)
	// Wants is a part of the error message for a request without the credentials.
	Wants string
}

// Expect calls path below the admin endpoint as the administrator. The response must have this status and contain
// want. Expect returns the response.
func (a Admin) Expect(t *testing.T, method, path, body string, status int, want string) (got string) {
	t.Helper()
	return a.expect(t, a.Authenticate, method, path, body, status, want)
}

func (a Admin) expect(t *testing.T, authenticate func(*http.Request), method, path, body string, status int, want string) (got string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, a.URL+"/_cooper/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	authenticate(req)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != status || !strings.Contains(string(raw), want) {
		t.Errorf("%s %s: got %d %q, want %d with %q", method, path, resp.StatusCode, raw, status, want)
	}
	return string(raw)
}

// Create is an operation that creates a named resource, for TestAdmin.
type Create struct {
	// Operation is the name of the operation in fault plans. Code is an error code of the service for a fault in the
	// operation.
	Operation, Code string
	// Do performs the operation. Name is the name of the created resource in the inventory.
	Do   func() error
	Name string
}

// TestAdmin tests the whole admin endpoint of a child with --admin: authorization, faults, inventory, calls and
// reset.
func (a Admin) TestAdmin(t *testing.T, create Create) {
	t.Helper()
	nobody := func(*http.Request) {}
	somebody := func(r *http.Request) { r.SetBasicAuth("somebody", "secret") }
	a.expect(t, nobody, "GET", "health", "", http.StatusOK, "ok")
	a.expect(t, nobody, "GET", "inventory", "", http.StatusUnauthorized, a.Wants)
	a.expect(t, somebody, "GET", "inventory", "", http.StatusUnauthorized, a.Wants)
	a.expect(t, somebody, "PUT", "faults", "rules: []", http.StatusUnauthorized, a.Wants)
	a.Expect(t, "PUT", "faults", fmt.Sprintf("rules: [{operation: %s, code: %s, times: 1}]", create.Operation, create.Code), http.StatusNoContent, "")
	a.Expect(t, "PUT", "faults", fmt.Sprintf("rules: [{operation: %s, effect: fail}]", create.Operation), http.StatusBadRequest, "needs a code")
	a.Expect(t, "PUT", "faults", fmt.Sprintf("rules: [{operation: %s, effect: explode}]", create.Operation), http.StatusBadRequest, "explode")
	a.Expect(t, "PUT", "faults", fmt.Sprintf("rules: [{operation: %sX, code: %s}]", create.Operation, create.Code), http.StatusBadRequest, fmt.Sprintf("did you mean %q", create.Operation))
	a.Expect(t, "GET", "operations", "", http.StatusOK, fmt.Sprintf("%q", create.Operation))
	a.Expect(t, "GET", "faults", "", http.StatusOK, create.Code)
	if err := create.Do(); err == nil || !strings.Contains(err.Error(), create.Code) {
		t.Errorf("the fault was not injected: %v", err)
	}
	a.Expect(t, "PUT", "clock", "late", http.StatusBadRequest, "such as -1m")
	a.Expect(t, "PUT", "clock", "-48h", http.StatusNoContent, "")
	if err := create.Do(); err == nil {
		t.Error("a request that was signed two days in the future succeeds")
	}
	a.Expect(t, "PUT", "clock", "0s", http.StatusNoContent, "")
	if err := create.Do(); err != nil {
		t.Errorf("after the fault: %v", err)
	}
	a.Expect(t, "GET", "faults", "", http.StatusOK, `"hits": 1`)
	a.Expect(t, "GET", "inventory", "", http.StatusOK, fmt.Sprintf("%q: %q", "name", create.Name))
	a.Expect(t, "GET", "calls", "", http.StatusOK, fmt.Sprintf("%q: %q", "code", create.Code))
	a.Expect(t, "DELETE", "calls", "", http.StatusNoContent, "")
	a.Expect(t, "GET", "calls", "", http.StatusOK, "[]")
	a.Expect(t, "DELETE", "faults", "", http.StatusNoContent, "")
	a.Expect(t, "GET", "faults", "", http.StatusOK, `"rules": []`)
	a.testReset(t, create)
}

// testReset creates the same resource again with the same credentials, after checking that it, the faults, the clock
// and the calls were reset.
func (a Admin) testReset(t *testing.T, create Create) {
	t.Helper()
	for range 2 {
		a.Expect(t, "PUT", "faults", fmt.Sprintf("rules: [{operation: %s, code: %s}]", create.Operation, create.Code), http.StatusNoContent, "")
		a.Expect(t, "PUT", "clock", "-48h", http.StatusNoContent, "")
		a.Expect(t, "POST", "reset", "", http.StatusNoContent, "")
		a.Expect(t, "GET", "calls", "", http.StatusOK, "[]")
		if held := a.Expect(t, "GET", "inventory", "", http.StatusOK, "{"); strings.Contains(held, create.Name) {
			t.Errorf("after a reset, the inventory contains %s", held)
		}
		if err := create.Do(); err != nil {
			t.Errorf("after a reset: %v", err)
		}
	}
}

// AdminIsOff tests the child at a URL that was started without --admin. It must serve only the health check.
func AdminIsOff(t *testing.T, url string) {
	t.Helper()
	a := Admin{URL: url, Authenticate: func(*http.Request) {}}
	a.Expect(t, "GET", "health", "", http.StatusOK, "ok")
	for _, path := range []string{"faults", "clock", "calls", "inventory", "operations", "reset"} {
		a.Expect(t, "GET", path, "", http.StatusNotFound, "start the fake with --admin")
	}
}
