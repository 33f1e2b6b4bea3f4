// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/cooper-cosi/cooper/e2e/node/binaries"
)

// prefix is the prefix of the names of nodes' directories and cgroups.
const prefix = "cooper-node-"

// guard is the process that holds the node's namespaces. It ends them when its standard input is closed,
// which happens in stop and whenever this process ends.
type guard struct {
	cmd   *exec.Cmd
	input io.Closer
	// pid is the ID of the first process in the namespaces.
	pid int
}

// startGuard starts the guard and returns when the namespaces exist. server is the address of the API server,
// which may start later.
func startGuard(l layout, server string) (*guard, error) {
	log, err := os.Create(l.path("logs/guard.log"))
	if err != nil {
		return nil, fmt.Errorf("create the log of the guard: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(l.program(binaries.Guard), "guard", l.dir, l.cgroup(), address, server) //nolint:noctx // it must outlive any context
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the guard of the node: %w", err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the guard of the node: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guard of the node: %w", err)
	}
	g := &guard{cmd: cmd, input: input}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err == nil {
		g.pid, err = strconv.Atoi(strings.TrimSpace(line))
	}
	if err != nil {
		said, _ := os.ReadFile(log.Name()) // best effort: the directory may have been removed
		return nil, errors.Join(fmt.Errorf("create the namespaces of the node: %w\n%s", err, said), g.stop())
	}
	return g, nil
}

// stop ends the guard and returns when nothing of the node is left.
func (g *guard) stop() error {
	err := g.input.Close()
	if ended := g.cmd.Wait(); ended != nil {
		err = errors.Join(err, fmt.Errorf("stop the guard of the node: %w", ended))
	}
	return err
}

// sweep removes the leftovers of nodes whose guard was killed. It ignores errors; the next start tries again.
func sweep(ctx context.Context, program string) {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		_ = exec.CommandContext(ctx, program, "sweep", dir, filepath.Base(dir), "", "").Run()
	}
}
