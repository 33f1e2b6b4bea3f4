// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/cooper-cosi/cooper/cmd/cooper/internal/rundir"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// downPoll is how often Down checks whether the process has exited.
const downPoll = 50 * time.Millisecond

// Down ends the process that uses the directory and waits until it has exited. If the process was killed
// earlier, Down removes its leftovers. It succeeds if there is nothing to do.
func Down(ctx context.Context, dir rundir.Dir, progress io.Writer) error {
	info, ok, err := dir.Holder()
	if err != nil {
		return err
	}
	if !ok {
		return removeLeftovers(dir, progress)
	}
	if info.PID == 0 {
		return fmt.Errorf("the process that uses %s is starting or stopping; try again", dir.Path())
	}
	// The process wrote its own ID after it acquired the lock and removed the previous ID, so the PID is not
	// stale.
	if err := syscall.Kill(info.PID, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop process %d: %w", info.PID, err)
	}
	err = wait.PollUntilContextCancel(ctx, downPoll, true, func(context.Context) (bool, error) {
		_, runs, err := dir.Holder()
		return !runs, err
	})
	if err != nil {
		return fmt.Errorf("process %d does not stop: %w; run kill -9 %d; the next cooper up removes its leftovers", info.PID, err, info.PID)
	}
	fmt.Fprintf(progress, "cooper: process %d has stopped\n", info.PID)
	return nil
}

// removeLeftovers ends the processes and removes the files that a killed process left outside its state. The
// state is kept for the next start.
func removeLeftovers(dir rundir.Dir, progress io.Writer) (err error) {
	if !dir.Abandoned() {
		if err := controlplane.EndOrphans(dir.ControlPlane()); err != nil {
			return fmt.Errorf("stop the processes of an earlier run: %w", err)
		}
		fmt.Fprintf(progress, "cooper: no system is running in %s\n", dir.Path())
		return nil
	}
	lease, err := dir.Acquire()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lease.Release()) }()
	if err := controlplane.EndOrphans(dir.ControlPlane()); err != nil {
		return fmt.Errorf("stop the processes of an earlier run: %w", err)
	}
	if err := removeSockets(lease.Previous.Sockets); err != nil {
		return err
	}
	fmt.Fprintf(progress, "cooper: process %d in %s was killed earlier; its leftovers have been removed\n", lease.Previous.PID, dir.Path())
	return nil
}
