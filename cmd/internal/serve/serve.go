// SPDX-License-Identifier: Apache-2.0

// Package serve contains the code that all serving commands share: flags, logging, traces, version, exit
// codes and signals. Flags can also be set by environment variables, such as COOPER_DRIVER_ADDRESS for
// --driver-address. The package is independent of Kubernetes, because some drivers run without it.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/pflag"
)

// Exit codes of a command.
const (
	ExitOK    = 0
	ExitError = 1
	// ExitUsage is for invalid flags and environment variables.
	ExitUsage = 2
)

// A Command is a program.
type Command struct {
	// Name is the name of the program, Short a one-line description.
	Name, Short string
	// Notes follow the flags in the help text: empty or complete lines.
	Notes string
	// Flags defines the program's own flags.
	Flags func(*pflag.FlagSet)
	// Run runs until ctx ends and logs to log, which is standard error. An error is printed, and the program
	// exits with ExitUsage if it was made by Usagef and with ExitError otherwise.
	Run func(ctx context.Context, log *slog.Logger) error
}

// usageError is an error in how the program was called.
type usageError struct{ error }

// Usagef returns an error about flags or environment variables, with a format as for fmt.Errorf. The text
// names the flag and the valid values.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Unwrap returns the error of fmt.Errorf.
func (u usageError) Unwrap() error { return u.error }

// Main runs a program until it ends or receives SIGINT or SIGTERM, and returns its exit code.
func Main(c Command, args []string, stdout, stderr io.Writer) int {
	flags := pflag.NewFlagSet(c.Name, pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	level := flags.String("log-level", "info", "minimum log level: debug, info, warn or error")
	format := flags.String("log-format", "text", "log format: text or json")
	version := flags.Bool("version", false, "print the version and exit")
	probe := flags.Bool("probe", false, "request /readyz of the running instance with the same --health-address, and exit 0 if it is ready")
	c.Flags(flags)
	DescribeFlags(flags)
	err := ParseFlags(flags, args, os.LookupEnv)
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintf(stdout, "%s: %s\n\nEach flag can also be set by the environment variable in brackets.\n\n%s%s", c.Name, c.Short, flags.FlagUsages(), c.Notes)
		return ExitOK
	}
	if *version && err == nil {
		fmt.Fprintf(stdout, "%s %s\n", c.Name, Version())
		return ExitOK
	}
	logger, logErr := newLogger(stderr, *level, *format)
	if err := errors.Join(err, logErr); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", c.Name, err)
		return ExitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if *probe {
		err = askReady(ctx, flags.Lookup("health-address"))
	} else {
		err = c.Run(ctx, logger)
	}
	if err == nil {
		return ExitOK
	}
	fmt.Fprintf(stderr, "%s: %v\n", c.Name, err)
	if _, usage := errors.AsType[usageError](err); usage {
		return ExitUsage
	}
	return ExitError
}

// Version returns the version that was set when the program was built.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (version == "" || version == "(devel)") {
			return "devel-" + s.Value
		}
	}
	return version
}

func newLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level: %q is not one of debug, info, warn, error", level)
	}
	options := &slog.HandlerOptions{Level: least}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	default:
		return nil, fmt.Errorf("--log-format: %q is not one of text, json", format)
	}
}
