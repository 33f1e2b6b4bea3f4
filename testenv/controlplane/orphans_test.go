// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

// TestOnlyProcessesOfTheDirectoryAreEnded runs the shell under several names. It runs until its input is
// closed.
func TestOnlyProcessesOfTheDirectoryAreEnded(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	own, other := layout{dir: t.TempDir()}, layout{dir: t.TempDir()}
	for _, l := range []layout{own, other} {
		if err := l.prepare(binaries.Paths{APIServer: shell, Etcd: shell, ControllerManager: shell}, nil); err != nil {
			t.Fatal(err)
		}
	}
	orphan := startWaiting(t, own.program(binaries.Etcd))
	sameProgram := startWaiting(t, shell)
	namesUs := startWaiting(t, shell, own.program(binaries.Etcd))
	anotherDirectory := startWaiting(t, other.program(binaries.Etcd))

	if err := endProcesses(own); err != nil {
		t.Fatal(err)
	}
	if err := orphan.Wait(); err == nil {
		t.Error("the orphan ended in good order, want that it was killed")
	}
	for name, foreign := range map[string]*waiting{
		"the same program, called by another path":    sameProgram,
		"a process with our path among its arguments": namesUs,
		"the same program of another data directory":  anotherDirectory,
	} {
		if err := foreign.finish(); err != nil {
			t.Errorf("%s: %v, want that it was left alone", name, err)
		}
	}
}

func TestTemporaryDirectoryOfAKilledProcessIsRemoved(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	stale, used := filepath.Join(tmp, temporaryPrefix+"stale"), layout{dir: filepath.Join(tmp, temporaryPrefix+"used")}
	for _, dir := range []string{stale, used.dir} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	killed, err := take(layout{dir: stale})
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.release(); err != nil { // as the kernel does
		t.Fatal(err)
	}
	held, err := take(used)
	if err != nil {
		t.Fatal(err)
	}
	sweepTemporary()
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("the stale directory is still there (%v)", err)
	}
	if _, err := os.Stat(used.dir); err != nil {
		t.Errorf("the directory in use: %v", err)
	}
	if err := held.release(); err != nil {
		t.Error(err)
	}
}

// waiting is a process that runs until its input is closed.
type waiting struct {
	*exec.Cmd

	finish func() error
}

func startWaiting(t *testing.T, path string, arguments ...string) *waiting {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path, append([]string{"-c", "echo up; read line", path}, arguments...)...)
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(output).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return &waiting{Cmd: cmd, finish: func() error {
		if _, err := input.Write([]byte("\n")); err != nil {
			return err
		}
		return cmd.Wait()
	}}
}
