// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/internal/testing/processtest"
)

// buildDir is the directory of the built program, empty if no test needed it.
var buildDir string

// build builds the program once for all tests of the package.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "cooper-test-")
	if err != nil {
		return "", err
	}
	buildDir = dir
	path := filepath.Join(dir, "cooper")
	command := exec.Command("go", "build", "-o", path, ".")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return dir, errors.New(string(out))
	}
	return path, nil
})

func TestMain(m *testing.M) {
	m.Run()
	if buildDir != "" {
		_ = os.RemoveAll(buildDir)
	}
}

func program(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatalf("build cooper: %v", err)
	}
	return path
}

// newData returns a new directory for --data.
func newData(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "data")
}

// upProcess is a running `cooper up`.
type upProcess struct {
	data string
	// page is the URL of the demo page, including its token.
	page string
	// temporary is the process's replacement of /tmp, because a killed process leaves files there.
	temporary string
	command   *exec.Cmd
	stderr    *bytes.Buffer
	ended     chan error // closed after the result
}

func startUp(t *testing.T) *upProcess {
	t.Helper()
	return startUpIn(t, newData(t))
}

// startUpIn starts `cooper up` and returns when it reports that it is ready.
func startUpIn(t *testing.T, data string, options ...string) *upProcess {
	t.Helper()
	return startUpOf(t, program(t), os.Environ(), data, options...)
}

// startUpOf is startUpIn with the given copy of the program and environment.
func startUpOf(t *testing.T, program string, environment []string, data string, options ...string) *upProcess {
	t.Helper()
	up := &upProcess{
		data: data, temporary: processtest.ShortTempDir(t),
		command: exec.Command(program, append([]string{"up", "--data", data}, options...)...), stderr: &bytes.Buffer{}, ended: make(chan error, 1),
	}
	up.command.Env = append(slices.Clone(environment), "TMPDIR="+up.temporary)
	stdout, err := up.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	up.command.Stderr = up.stderr
	up.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	processtest.BindToTest(up.command)
	if err := up.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The children of a killed process end a moment later, and could create files while their directories are removed.
		_ = up.command.Process.Signal(os.Interrupt)                                     // it may have exited already
		kill := time.AfterFunc(3*time.Minute, func() { _ = up.command.Process.Kill() }) // if it hangs
		defer kill.Stop()
		for range up.ended {
		}
	})
	lines := bufio.NewScanner(stdout)
	for up.page == "" && lines.Scan() { // the page's URL follows "Cooper is up"
		if name, address, ok := strings.Cut(lines.Text(), " "); ok && name == "page" {
			up.page = strings.TrimSpace(address)
		}
	}
	go func() {
		for lines.Scan() { // drain the output
		}
		up.ended <- up.command.Wait()
		close(up.ended)
	}()
	if up.page == "" {
		t.Fatalf("cooper up ended before it was up: %v\n%s", <-up.ended, up.stderr)
	}
	return up
}

// environment returns the variables of `cooper env`, as evaluated by a shell.
func (up *upProcess) environment(t *testing.T, options ...string) map[string]string {
	t.Helper()
	env := up.environmentAfter(t, nil, options...)
	if len(options) == 0 && env["AWS_ACCESS_KEY_ID"] == "" || env["KUBECONFIG"] == "" {
		t.Fatalf("cooper env lacks a credential or a kubeconfig: %v", env)
	}
	return env
}

// environmentAfter is environment for a shell that already has variables.
func (up *upProcess) environmentAfter(t *testing.T, before map[string]string, options ...string) map[string]string {
	t.Helper()
	script := `set -a; eval "$("$0" env --data "$@")"; env -0`
	command := exec.CommandContext(t.Context(), "sh", append([]string{"-c", script, program(t), up.data}, options...)...)
	command.Env = append([]string{"PATH=" + os.Getenv("PATH")}, shellEnvironment(before)...)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("cooper env: %v\n%s", err, stderrOf(err))
	}
	env := map[string]string{}
	for pair := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	return env
}

// shellEnvironment returns the environment of a shell after eval.
func shellEnvironment(env map[string]string) []string {
	var pairs []string
	for name, value := range env {
		pairs = append(pairs, name+"="+value)
	}
	return append(pairs, "HOME="+os.TempDir())
}

// kubectl runs the kubectl that `cooper env` adds to the PATH.
func (up *upProcess) kubectl(t *testing.T, env map[string]string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(up.data, "bin", "kubectl"), args...)
	command.Env = shellEnvironment(env)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// holders returns the holder of each Lease in the system.
func (up *upProcess) holders(t *testing.T, env map[string]string) map[string]string {
	t.Helper()
	held := map[string]string{}
	out := up.kubectl(t, env, "-n", "cosi-system", "get", "leases", "-o", `jsonpath={range .items[*]}{.metadata.name} {.spec.holderIdentity}{"\n"}{end}`)
	for line := range strings.Lines(out) {
		lease, holder, _ := strings.Cut(strings.TrimSpace(line), " ")
		held[lease] = holder
	}
	return held
}

// replaced deletes a Secret and returns when a new Secret of the same name holds a credential. It does not
// use kubectl's wait: before 1.36, kubectl may see COSI's new Secret first and then wait for that one to be
// deleted (github.com/kubernetes/kubectl/issues/1803).
func (up *upProcess) replaced(t *testing.T, env map[string]string, name string) {
	t.Helper()
	look := []string{"get", "secret", name, "--ignore-not-found", "-o", "jsonpath={.metadata.uid} {.data.AWS_ACCESS_KEY_ID}"}
	before := up.kubectl(t, env, look...)
	uid, _, _ := strings.Cut(before, " ")
	up.kubectl(t, env, "delete", "secret", name, "--wait=false")
	deadline := time.Now().Add(3 * time.Minute)
	for now := before; strings.HasPrefix(now, uid) || strings.HasSuffix(now, " ") || now == ""; now = up.kubectl(t, env, look...) {
		if time.Now().After(deadline) {
			t.Fatalf("Secret %s was not written again in three minutes: UID and key were %q and are %q", name, before, now)
		}
	}
}

// interrupt sends the process SIGINT, as Ctrl-C does, and verifies that nothing is left.
func (up *upProcess) interrupt(t *testing.T) {
	t.Helper()
	if err := up.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	up.awaitExit(t)
}

func (up *upProcess) awaitExit(t *testing.T) {
	t.Helper()
	if err := <-up.ended; err != nil {
		t.Errorf("cooper up ended with %v:\n%s", err, up.stderr)
	}
	if left := processesUnder(t, up.data); len(left) > 0 {
		t.Errorf("left running: %q", left)
	}
	processtest.RequireEmptyDir(t, up.temporary)
}

// kill kills the process with SIGKILL.
func (up *upProcess) kill(t *testing.T) {
	t.Helper()
	if err := up.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-up.ended
}

// processesUnder lists the processes whose executable path is below the directory, as for all children of
// cooper.
func processesUnder(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && strings.HasPrefix(string(line), dir+"/") {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
