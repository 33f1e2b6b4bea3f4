// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Process is a child in a process group of its own, as envtest's are, so that a Ctrl-C in the terminal reaches only
// the parent, which ends its children in order.
type Process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
}

// StartProcess starts a program whose output goes to log.
func StartProcess(log *os.File, path string, arguments ...string) (*Process, error) {
	cmd := exec.Command(path, arguments...) //nolint:noctx // it lives until stop ends it, in order with its siblings
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", path, err)
	}
	p := &Process{name: path, cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // how it ended is in its log
	}()
	return p, nil
}

// Stop asks the process to end, and kills it when it has not after timeout. It returns when it is gone.
func (p *Process) Stop(timeout time.Duration) error {
	// An error means that it is gone already, which is what is wanted.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return nil
	case <-time.After(timeout):
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	return fmt.Errorf("%s did not end within %v and was killed", p.name, timeout)
}
