// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cooper-cosi/cooper/sanity"
)

// runSweep removes the objects that the journal of a crashed run lists, and then the journal.
func runSweep(ctx context.Context, arguments []string, out, problems io.Writer) (int, error) {
	var from target
	var path string
	flags := newFlags("cosi-sanity sweep", problems)
	from.flags(flags)
	flags.StringVar(&path, "journal", "", "journal of the run")
	if err := flags.Parse(arguments); err != nil {
		return exitUsage, err
	}
	if path == "" {
		return exitUsage, errors.New("sweep requires --journal")
	}
	config, err := from.load()
	if err != nil {
		return exitUsage, err
	}
	text, err := os.Open(path)
	if err != nil {
		return exitUsage, fmt.Errorf("open the journal: %w", err)
	}
	defer func() { _ = text.Close() }()
	stop, err := from.api.serve(ctx, config.Objects, problems)
	if err != nil {
		return exitUsage, err
	}
	defer stop()
	config.Waiting = waiting(problems)
	swept, err := sanity.Sweep(ctx, config, text)
	if err != nil {
		return exitNotTested, err
	}
	for _, removed := range swept.Removed {
		_, _ = fmt.Fprintln(out, "removed", removed)
	}
	for _, failed := range swept.Failed {
		_, _ = fmt.Fprintln(out, "failed ", failed)
	}
	if len(swept.Failed) > 0 {
		return exitNotConformant, fmt.Errorf("%d of %d objects could not be removed; the journal is kept for another sweep", len(swept.Failed), len(swept.Failed)+len(swept.Removed))
	}
	if err := os.Remove(path); err != nil {
		return exitConformant, fmt.Errorf("delete the journal: %w", err)
	}
	_, _ = fmt.Fprintf(out, "%d removed; no objects of the run are left\n", len(swept.Removed))
	return exitConformant, nil
}
