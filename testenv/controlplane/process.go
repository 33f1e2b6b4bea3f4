// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Process is a child process in its own process group. Therefore Ctrl-C in the terminal reaches only the
// parent, which ends its children in order.
type Process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
}

// StartProcess starts a program and writes its output to log.
func StartProcess(log *os.File, path string, arguments ...string) (*Process, error) {
	cmd := exec.Command(path, arguments...) //nolint:noctx // Stop ends it, in order with its siblings
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", path, err)
	}
	p := &Process{name: path, cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // its log shows how it ended
	}()
	return p, nil
}

// Stop sends SIGTERM to the process, and SIGKILL after timeout. It returns when the process has exited.
func (p *Process) Stop(timeout time.Duration) error {
	// An error means that the process has already exited.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return nil
	case <-time.After(timeout):
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	return fmt.Errorf("%s did not stop within %v and was killed", p.name, timeout)
}
