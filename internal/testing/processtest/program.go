// SPDX-License-Identifier: Apache-2.0

package processtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// runAsProgram makes a test binary run as the command.
const runAsProgram = "COOPER_TEST_RUN_AS_PROGRAM"

// waitTimeout is the maximum duration of a wait. It only delays failures.
const waitTimeout = 3 * time.Minute

// ProgramMain must be called first in TestMain. In a process started by StartProgram, it runs the command and does not
// return.
func ProgramMain(command func()) {
	if os.Getenv(runAsProgram) == "" {
		return
	}
	command()
	os.Exit(0) //nolint:forbidigo // it stands for the return from main
}

// A Process is a running command.
type Process struct {
	tb      testing.TB
	command *exec.Cmd
	out     output
	ended   chan struct{}
	// temporary is the process's replacement for /tmp.
	temporary string
}

// output is the output of a process so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed and replaced with each write
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.more)
	o.more = make(chan struct{})
	return o.text.Write(p)
}

func (o *output) read() (text string, more <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.more
}

// StartProgram starts the command with only the given environment variables, each NAME=value, and a temporary
// directory. The process is killed at the end of the test if it still runs.
func StartProgram(tb testing.TB, environment []string, arguments ...string) *Process {
	tb.Helper()
	executable, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	p := &Process{tb: tb, out: output{more: make(chan struct{})}, ended: make(chan struct{}), temporary: tb.TempDir()}
	p.command = exec.CommandContext(context.WithoutCancel(tb.Context()), executable, arguments...)
	p.command.Env = append([]string{runAsProgram + "=1", "TMPDIR=" + p.temporary}, environment...)
	p.command.Stdout, p.command.Stderr = &p.out, &p.out
	if err := p.command.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		_ = p.command.Wait() // the result is in ProcessState
		close(p.ended)
	}()
	tb.Cleanup(p.Kill)
	return p
}

// Kill sends SIGKILL and waits for the end of the process. It is safe for concurrent use.
func (p *Process) Kill() {
	_ = p.command.Process.Kill() // it may have ended already
	<-p.ended
}

// Output returns everything that the process has printed so far, including standard error.
func (p *Process) Output() string {
	text, _ := p.out.read()
	return text
}

// Await waits until the process has printed a text. It fails the test if the process ends before.
func (p *Process) Await(text string) {
	p.tb.Helper()
	timeout := time.After(waitTimeout)
	for {
		got, more := p.out.read()
		if strings.Contains(got, text) {
			return
		}
		select {
		case <-more:
		case <-p.ended:
			if !strings.Contains(p.Output(), text) {
				p.tb.Fatalf("the program ended with %s and did not print %q:\n%s", p.command.ProcessState, text, p.Output())
			}
			return
		case <-timeout:
			p.tb.Fatalf("the program did not print %q:\n%s", text, p.Output())
		}
	}
}

// Terminate sends SIGTERM.
func (p *Process) Terminate() {
	p.tb.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		p.tb.Errorf("SIGTERM: %v", err)
	}
}

// Exit waits for the end of the process and returns its exit code. A process that was not killed must not leave files
// in its temporary directory.
func (p *Process) Exit() int {
	p.tb.Helper()
	select {
	case <-p.ended:
	case <-time.After(waitTimeout):
		p.tb.Fatalf("the program did not end:\n%s", p.Output())
	}
	if p.command.ProcessState.Exited() {
		// envtest, which some test binaries contain, creates it because HOME is not set.
		RequireEmptyDir(p.tb, p.temporary, "kubebuilder-envtest")
	}
	return p.command.ProcessState.ExitCode()
}

// AwaitPage requests a page until it has the status and the text, and returns its body. The process must be about to
// serve it.
func (p *Process) AwaitPage(url string, status int, text string) string {
	p.tb.Helper()
	body := ""
	p.await(url, func() (err error) {
		var code int
		if code, body, err = get(p.tb, url); err != nil || code == status && strings.Contains(body, text) {
			return err
		}
		return fmt.Errorf("want %d with %q, got %d:\n%s", status, text, code, body)
	})
	return body
}

// AwaitAddress waits until the process accepts connections at a TCP address.
func (p *Process) AwaitAddress(address string) {
	p.tb.Helper()
	p.await(address, func() error {
		connection, err := (&net.Dialer{}).DialContext(p.tb.Context(), "tcp", address)
		if err != nil {
			return fmt.Errorf("not served yet: %w", err)
		}
		return connection.Close()
	})
}

// await retries until there is no error, for at most waitTimeout and only while the process runs.
func (p *Process) await(what string, try func() error) {
	p.tb.Helper()
	deadline := time.Now().Add(waitTimeout)
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ticks.C:
		case <-p.ended:
			p.tb.Fatalf("%s: the program ended with %s:\n%s", what, p.command.ProcessState, p.Output())
		}
		if time.Now().After(deadline) {
			p.tb.Fatalf("%s: %v\n%s", what, err, p.Output())
		}
	}
}

func get(tb testing.TB, url string) (code int, body string, err error) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", fmt.Errorf("not served yet: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

// BusyAddress returns a TCP address that is in use until the end of the test.
func BusyAddress(tb testing.TB) string {
	tb.Helper()
	listener := listen(tb)
	tb.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return listener
}
