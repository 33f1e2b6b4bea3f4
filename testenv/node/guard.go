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

	"github.com/cooper-cosi/cooper/testenv/node/binaries"
)

// prefix begins the names of the directories of nodes, and of their cgroups.
const prefix = "cooper-node-"

// guard is the process that holds the node's namespaces. It ends them with its standard input, which is closed by stop
// and by the end of this process, however that ends.
type guard struct {
	cmd   *exec.Cmd
	input io.Closer
	// pid is that of the first process in the namespaces.
	pid int
}

// startGuard returns when the namespaces are there. The API server is, or will be, at server.
func startGuard(l layout, server string) (*guard, error) {
	log, err := os.Create(l.path("logs/guard.log"))
	if err != nil {
		return nil, fmt.Errorf("log of the guard: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(l.program(binaries.Guard), "guard", l.dir, l.cgroup(), address, server) //nolint:noctx // it outlives whatever started it
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	g := &guard{cmd: cmd, input: input}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err == nil {
		g.pid, err = strconv.Atoi(strings.TrimSpace(line))
	}
	if err != nil {
		said, _ := os.ReadFile(log.Name()) // it may be gone with the directory
		return nil, errors.Join(fmt.Errorf("the node has no namespaces: %w\n%s", err, said), g.stop())
	}
	return g, nil
}

// stop returns when nothing of the node is left.
func (g *guard) stop() error {
	err := g.input.Close()
	if ended := g.cmd.Wait(); ended != nil {
		err = errors.Join(err, fmt.Errorf("guard of the node: %w", ended))
	}
	return err
}

// sweep removes what is left of nodes whose guard was killed. It is a courtesy: what it cannot do the next start tries
// again.
func sweep(ctx context.Context, program string) {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		_ = exec.CommandContext(ctx, program, "sweep", dir, filepath.Base(dir), "", "").Run()
	}
}
