// SPDX-License-Identifier: Apache-2.0

// Command controlplane finds the executables of the control plane for tests and cooper up, downloads or
// builds missing ones, and prints their directory. With -cooper it also builds cooper. With -oldest it also
// builds the oldest API server that Cooper supports, for the full test tier.
//
// Tests and cooper up also download or build missing executables. If this command runs first, it shows the
// progress, and the time does not count against the timeout of a test.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"

	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
	"github.com/cooper-cosi/cooper/testenv/gobuild"
)

func main() {
	cooper := flag.String("cooper", "", "output file of the program cooper; empty builds none")
	tags := flag.String("tags", "", "build tags of cooper")
	oldest := flag.Bool("oldest", false, "also build the API server of the oldest supported Kubernetes version")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *cooper, *tags, *oldest)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

// manyCores is the number of cores from which builds run in parallel. On fewer cores, one build uses all of
// them, and the next one can reuse the packages that it has compiled.
const manyCores = 8

func run(ctx context.Context, cooper, tags string, oldest bool) error {
	progress := gobuild.NewProgress(os.Stderr)
	builds := []func() error{func() error { return controlPlane(ctx, progress, oldest) }}
	if cooper != "" {
		builds = append(builds, func() error {
			return gobuild.Command{Name: "cooper", Packages: []string{"./cmd/cooper"}, Output: cooper, Tags: tags}.Run(ctx, progress)
		})
	}
	if runtime.NumCPU() < manyCores {
		for _, build := range builds {
			if err := build(); err != nil {
				return err
			}
		}
		return nil
	}
	results := make(chan error)
	for _, build := range builds {
		go func() { results <- build() }()
	}
	var errs []error
	for range builds {
		errs = append(errs, <-results)
	}
	return errors.Join(errs...)
}

// controlPlane downloads or builds the control plane, and prints the directory of its API server.
func controlPlane(ctx context.Context, progress *gobuild.Progress, oldest bool) error {
	found, err := binaries.Find(ctx, binaries.Options{Progress: progress})
	if err != nil {
		return err
	}
	if oldest {
		if _, err := binaries.Find(ctx, binaries.Options{Oldest: true, Progress: progress}); err != nil {
			return err
		}
	}
	fmt.Println("control plane:", filepath.Dir(found.APIServer))
	return nil
}
