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

// guardScript waits for the end of its standard input, which is the end of the
// process that holds the other end of the pipe, however it ends. Then it removes
// what carries the label, twice over: a request that was under way may still make
// something. What cannot be removed (see Miscounted) is left after a minute.
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

// Guard removes what carries a label of Docker's, given as name=value, when the test
// has ended, or its process, however it ends. It is for what others make for a test,
// such as a project of Compose; what this package makes is guarded already.
func Guard(tb testing.TB, label string) {
	tb.Helper()
	need(tb)
	pipe, err := startGuard(label)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := pipe.Close(); err != nil {
			tb.Errorf("end the guard of %s: %v", label, err)
		}
	})
}

// startGuard starts the guard of a label, which ends with the returned pipe. That
// must be kept: the end of the process is to close it, and nothing else.
func startGuard(label string) (io.Closer, error) {
	cmd := exec.Command("sh", "-c", guardScript, "sh", label) //nolint:noctx // it is to outlive whatever started it
	// A group of its own: Ctrl-C ends the test, and not who cleans up after it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// CI looks for processes that tests leave. This one ends by itself, later.
	cmd.Env = append(os.Environ(), "COOPER_CI_MARK=")
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("guard: %w", err), pipe.Close())
	}
	return pipe, nil
}
