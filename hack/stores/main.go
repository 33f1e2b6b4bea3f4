// SPDX-License-Identifier: Apache-2.0

// Command stores builds MinIO, versitygw and fake-gcs-server for tests, unless they are in the user's cache
// already. For each store it prints a line VARIABLE='executable', which a shell can evaluate. With --found
// it builds nothing and prints only the lines of existing executables. With --ceph DIRECTORY it instead runs a
// small Ceph cluster in that directory until it is interrupted. The programs of Ceph come from the Linux
// distribution.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/cooper-cosi/cooper/testenv/gobuild"
	"github.com/cooper-cosi/cooper/testenv/stores"
)

func main() {
	found := flag.Bool("found", false, "only print the existing builds")
	var ceph stores.CephOptions
	flag.StringVar(&ceph.Directory, "ceph", "", "run Ceph in this directory, which is created")
	flag.StringVar(&ceph.Address, "ceph-address", "", "address of the gateway of Ceph; empty selects a free port")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if ceph.Directory != "" {
		err = runCeph(ctx, ceph)
	} else {
		err = run(ctx, *found)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stores:", err)
		os.Exit(1)
	}
}

// runCeph runs a Ceph until ctx ends.
func runCeph(ctx context.Context, options stores.CephOptions) error {
	if err := stores.FindCeph(); err != nil {
		return err
	}
	if err := os.Mkdir(options.Directory, 0o700); err != nil {
		return fmt.Errorf("create the directory of Ceph: %w", err)
	}
	ceph, err := stores.StartCeph(ctx, options)
	if err != nil {
		return err
	}
	fmt.Printf("Ceph is up: its gateway is at %s, and radosgw-admin uses it with CEPH_CONF=%s\n", ceph.URL(), ceph.Configuration())
	<-ctx.Done()
	return ceph.Close()
}

func run(ctx context.Context, foundOnly bool) error {
	progress := gobuild.NewProgress(os.Stderr)
	for _, store := range stores.All() {
		path, err := store.Find()
		switch {
		case err == nil:
		case foundOnly && errors.Is(err, fs.ErrNotExist):
			continue
		case foundOnly:
			return err
		default:
			if path, err = store.Build(ctx, progress); err != nil {
				return err
			}
		}
		fmt.Printf("%s='%s'\n", store.Variable, path)
	}
	return nil
}
