// SPDX-License-Identifier: Apache-2.0

// Command stores builds MinIO, versitygw and fake-gcs-server, which the tests compare with, if they are not in the
// user's cache yet. It prints one line NAME=executable for each, which a shell can evaluate. With --found it builds
// nothing and prints the ones that are there.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"slices"

	"github.com/cooper-cosi/cooper/testenv/stores"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, slices.Contains(os.Args[1:], "--found"))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stores:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, foundOnly bool) error {
	for _, store := range stores.All() {
		path, err := store.Find()
		switch {
		case err == nil:
		case foundOnly && errors.Is(err, fs.ErrNotExist):
			continue
		case foundOnly:
			return err
		default:
			if path, err = store.Build(ctx, func(line string) { fmt.Fprintln(os.Stderr, line) }); err != nil {
				return err
			}
		}
		fmt.Printf("%s='%s'\n", store.Variable, path)
	}
	return nil
}
