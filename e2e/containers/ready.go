// SPDX-License-Identifier: Apache-2.0

package containers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	tcexec "github.com/testcontainers/testcontainers-go/exec"
	"github.com/testcontainers/testcontainers-go/wait"

	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// probeInterval is the time between two runs of a probe.
const probeInterval = 250 * time.Millisecond

// probing waits until a command in the container exits 0. It replaces Docker's health checks, which continue
// for as long as the container runs. Each check starts a process, and checking twenty containers every second
// would overload a small machine.
type probing struct{ command []string }

// WaitUntilReady implements wait.Strategy. A container that is restarting cannot run the command, so it is not
// ready. The error includes the output of the last run of the command.
func (p *probing) WaitUntilReady(ctx context.Context, target wait.StrategyTarget) error {
	return controlplane.UntilEvery(ctx, probeInterval, func(ctx context.Context) error { return p.once(ctx, target) })
}

func (p *probing) once(ctx context.Context, target wait.StrategyTarget) error {
	code, output, err := target.Exec(ctx, p.command, tcexec.Multiplexed())
	if err != nil {
		return fmt.Errorf("run %s: %w", p.command, err)
	}
	text, err := io.ReadAll(output)
	if err != nil || code != 0 {
		return errors.Join(fmt.Errorf("run %s: exit code %d: %s", p.command, code, text), err)
	}
	return nil
}
