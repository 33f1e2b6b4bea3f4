// SPDX-License-Identifier: Apache-2.0

// Command testtotals runs `go test -json`, keeps passing tests quiet, shows the
// output of failing ones, and ends with the true totals on a line of their own:
//
//	N passed, N failed, N skipped
//
// A skip is listed with its reason. It only reads what go test says: it decides
// nothing about a test and retries nothing.
//
// Usage: testtotals [--dir module] [--part name=dir[,dir...]]... [--show Test,...] -- [go test flags] packages
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "testtotals:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has just been called by hand.
	}
}

// errFailed means that go test itself said no; its output has been printed.
var errFailed = errors.New("the tests failed")

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := pflag.NewFlagSet("testtotals", pflag.ContinueOnError)
	partFlags := flags.StringArray("part", nil, "report packages under these directories as one part: name=dir[,dir...]")
	show := flags.StringSlice("show", nil, "names of tests whose output is shown also when they pass")
	dir := flags.String("dir", ".", "the module to test")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("reading the command line: %w", err)
	}
	parts, err := parseParts(*partFlags)
	if err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("no packages: give go test's own arguments after --")
	}

	tally := newTally(stdout, parts)
	tally.show = *show
	if err := goTest(ctx, *dir, flags.Args(), tally, stderr); err != nil {
		return err
	}
	tally.Summary()
	if tally.Failed() {
		return errFailed
	}
	return nil
}

// goTest feeds every event of one `go test -json` to the tally. That go test
// exits with 1 is no error of its own: the tally has seen why. An exit that no
// event explains is one.
func goTest(ctx context.Context, dir string, args []string, tally *tally, stderr io.Writer) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Dir = dir
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("connecting to go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting go test: %w", err)
	}

	lines := bufio.NewReader(out)
	for {
		line, readErr := lines.ReadBytes('\n')
		if len(line) > 0 {
			tally.Line(line)
		}
		if errors.Is(readErr, io.EOF) {
			break
		}
		if readErr != nil {
			return errors.Join(fmt.Errorf("reading go test: %w", readErr), cmd.Wait())
		}
	}
	if err := cmd.Wait(); err != nil && !tally.Failed() {
		return fmt.Errorf("go test ended without naming a failed test: %w", err)
	}
	return nil
}
