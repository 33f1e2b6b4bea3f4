// SPDX-License-Identifier: Apache-2.0

// Command bench compares the fakes of this repository with other stores of the same protocols:
//
//   - S3: bare gofakes3, versitygw and MinIO
//   - Azure Blob Storage: Azurite
//   - Google Cloud Storage: fake-gcs-server
//
// The stores run one at a time, each in its own process. All stores of a protocol receive the same requests.
// gofakes3 and fake-gcs-server do not authenticate requests.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/spf13/pflag"
)

// settings are the flags.
type settings struct {
	duration, fill time.Duration
	objects, keys  int
	only           []string
}

func main() {
	if name := os.Getenv(serveMark); name != "" {
		end("serve "+name, serve(name, os.Stdin, os.Stdout))
		return
	}
	var s settings
	pflag.DurationVar(&s.duration, "duration", time.Second, "duration of each measurement of a rate")
	pflag.IntVar(&s.objects, "objects", 100000, "number of 4 KiB objects in the measurement of memory")
	pflag.IntVar(&s.keys, "keys", 1000000, "number of keys to list")
	pflag.DurationVar(&s.fill, "fill", 15*time.Second, "maximum time for filling another store with objects and keys")
	pflag.StringSliceVar(&s.only, "only", nil, "measure only the stores with these names")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	columns, err := s.run(ctx)
	if err == nil {
		_, err = os.Stdout.WriteString(table(columns))
	}
	end("measure", err)
}

func end(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "judges/bench: %s: %v\n", what, err)
		os.Exit(1)
	}
}

// run measures one store after the other. It skips and reports missing stores.
func (s settings) run(ctx context.Context) ([]column, error) {
	var columns []column
	for _, of := range all() {
		if len(s.only) > 0 && !slices.Contains(s.only, of.name) {
			continue
		}
		got, err := s.measure(ctx, of)
		if errors.Is(err, errMissing) {
			fmt.Fprintf(os.Stderr, "%s is not measured: %v\n", of.name, err)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", of.name, err)
		}
		columns = append(columns, column{of.name, got})
	}
	return columns, nil
}

// measure runs a store twice: to measure request rates, and to measure storage.
func (s settings) measure(ctx context.Context, of store) (figures, error) {
	got := figures{}
	for _, step := range []func(context.Context, store, *process, protocol, figures) error{s.rates, s.holdings} {
		p, err := of.start(ctx)
		if err != nil {
			return nil, err
		}
		err = func() error {
			c, err := of.dial(p.place)
			if err != nil {
				return err
			}
			if err := c.makeBucket(ctx); err != nil {
				return err
			}
			return step(ctx, of, p, c, got)
		}()
		if err := errors.Join(err, p.stop()); err != nil {
			return nil, err
		}
	}
	return got, nil
}
