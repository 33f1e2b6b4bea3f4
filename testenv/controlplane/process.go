// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

// managedControllers are what runs of the controllers of Kubernetes. The names are those of the real
// kube-controller-manager.
const managedControllers = "namespace-controller,garbage-collector-controller,resourcequota-controller," +
	"clusterrole-aggregation-controller"

// startControllerManager starts the one component that envtest does not know.
func (c *ControlPlane) startControllerManager(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("control plane not started: %w", context.Cause(ctx))
	}
	// Of the controllers' own roles only those of service accounts exist, and their tokens would need one more
	// controller.
	config, err := c.User("system:kube-controller-manager", "system:masters")
	if err != nil {
		return err
	}
	if err := WriteKubeconfig(c.layout.kubeconfig(), config, "default"); err != nil {
		return err
	}
	log, err := c.openLog(binaries.ControllerManager)
	if err != nil {
		return err
	}
	c.manager, err = startProcess(log, c.layout.program(binaries.ControllerManager), "--kubeconfig="+c.layout.kubeconfig(),
		"--controllers="+managedControllers, "--leader-elect=false", "--secure-port=0")
	return err
}

// process is a child in a process group of its own, as envtest's are, so that a Ctrl-C in the terminal reaches only
// the parent, which ends its children in order.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
}

func startProcess(log *os.File, path string, arguments ...string) (*process, error) {
	cmd := exec.Command(path, arguments...) //nolint:noctx // it lives until stop ends it, in order with its siblings
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", path, err)
	}
	p := &process{name: path, cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // how it ended is in its log
	}()
	return p, nil
}

// stop asks the process to end, and kills it when it has not after timeout. It returns when it is gone.
func (p *process) stop(timeout time.Duration) error {
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
