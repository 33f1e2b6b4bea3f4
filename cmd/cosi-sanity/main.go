// SPDX-License-Identifier: Apache-2.0

// Command cosi-sanity runs the conformance suite against a COSI driver in any language. Its subcommands also
// remove the leftovers of a crashed run, serve a strict driver for developers of a COSI controller or
// sidecar, and test the credential store that a sidecar serves.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes.
const (
	exitConformant    = 0
	exitNotConformant = 1
	exitUsage         = 2
	exitNotTested     = 3
)

const usage = `cosi-sanity tests a COSI driver with the conformance suite of v1alpha2 or v1alpha1.

  cosi-sanity --endpoint unix:///run/cosi/cosi.sock      test a running driver
  cosi-sanity --exec './driver --verbose'                start, restart and test a driver
  cosi-sanity --config sanity.yaml                       the same, configured by a file, with hooks
  cosi-sanity --contract v1alpha1 --exec ./driver        test a driver of v1alpha1
  cosi-sanity --list | --explain BKT-CRT-006             list the cases, or explain one
  cosi-sanity sweep --journal FILE --config sanity.yaml  remove the leftovers of a crashed run
  cosi-sanity serve-strict --endpoint unix://...sock     serve a strict driver, to test a sidecar
  cosi-sanity credential-store --endpoint unix://...sock test a sidecar's credential store

Exit codes: 0 conformant: all applicable MUST cases passed, and those that --fail-on adds;
1 not conformant; 2 invalid usage or configuration; 3 the driver could not be tested.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// command runs one invocation and returns its exit code.
func command(ctx context.Context, arguments []string, out, problems io.Writer) int {
	run := runSuite
	if len(arguments) > 0 {
		switch arguments[0] {
		case "sweep":
			run, arguments = runSweep, arguments[1:]
		case "serve-strict":
			run, arguments = runStrict, arguments[1:]
		case "credential-store":
			run, arguments = runStore, arguments[1:]
		case "run":
			arguments = arguments[1:]
		}
	}
	code, err := run(ctx, arguments, out, problems)
	if errors.Is(err, errHelp) {
		return exitConformant
	}
	if err != nil {
		_, _ = fmt.Fprintln(problems, "cosi-sanity:", err)
	}
	return code
}
