// SPDX-License-Identifier: Apache-2.0

// Command drivers serves a driver of this repository with the fake store of its cloud, for the bench. The
// store is a separate process, so the figures of the driver do not include it. The benchmarks measure each
// RPC of each driver in the same way.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/drivers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	name := flag.String("cloud", "", "S3, Azure or GCS")
	driverName := flag.String("driver-name", "", "name of the driver")
	socket := flag.String("serve-driver", "", "endpoint of the driver; if empty, serve the store until standard input is closed")
	flag.Parse()
	if *socket == "" {
		return serveStore(*name, os.Stdin, os.Stdout)
	}
	dir, err := os.MkdirTemp("", "bench-driver-")
	if err != nil {
		return fmt.Errorf("create a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the path of this program: %w", err)
	}
	at, end, err := startStore(ctx, dir, self, "-cloud="+*name)
	if err != nil {
		return err
	}
	driver, err := clouds[*name].driver(*driverName, at)
	if err == nil {
		err = driverkit.Serve(ctx, driver, driverkit.Options{Endpoint: "unix://" + *socket, Logger: slog.New(slog.DiscardHandler)})
	}
	return errors.Join(err, end())
}
