// SPDX-License-Identifier: Apache-2.0

package containers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// guardScript waits for EOF on standard input, which occurs when the process with the other end of the pipe
// ends, for whatever reason. It then removes everything with the label, twice, because a request that was in
// progress may still create something. It gives up after a minute on what cannot be removed (see Miscounted).
const guardScript = `cat >/dev/null
found=first
rounds=0
while [ -n "$found" ] && [ $rounds -lt 60 ]; do
  sleep 1
  found=
  rounds=$((rounds+1))
  for kind in container network volume; do
    all=; [ $kind = container ] && all=--all
    ids=$(docker $kind ls $all --quiet --filter "label=$1") || exit 1
    case $kind in container) how='--force --volumes';; volume) how=--force;; *) how=;; esac
    [ -z "$ids" ] || { found=$ids; docker $kind rm $how $ids; }
  done; :
done`

// Guard removes all containers, networks and volumes with a Docker label, given as name=value, when the test
// ends or its process is killed. Use Guard for objects that other tools create for a test, such as a Compose
// project. The objects that this package creates are guarded already.
func Guard(tb testing.TB, label string) {
	tb.Helper()
	need(tb)
	pipe, err := startGuard(label)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := pipe.Close(); err != nil {
			tb.Errorf("stop the guard of %s: %v", label, err)
		}
	})
}

// startGuard starts the guard of a label, which runs until the returned pipe is closed. The caller must keep
// the pipe: only the end of the process may close it.
func startGuard(label string) (io.Closer, error) {
	cmd := exec.Command("sh", "-c", guardScript, "sh", label) //nolint:noctx // it must outlive any context
	// A separate session: Ctrl-C ends the test, but not the cleanup.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// CI looks for processes that tests leave running. This one ends later.
	cmd.Env = append(os.Environ(), "COOPER_CI_MARK=")
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the guard: %w", err), pipe.Close())
	}
	return pipe, nil
}
