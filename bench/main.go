// SPDX-License-Identifier: Apache-2.0

// Program bench measures the cost of claims and accesses: their latency, the number of requests, and the CPU
// and memory that the components use. For comparison, it measures the same writes by a client without COSI.
// Control plane, controller, sidecar and driver are separate processes on this machine. README.md explains
// the figures, and how to measure another implementation.
//
//	go run ./bench -bursts 200,1000 -singles 30
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// settings are the values of the flags.
type settings struct {
	bursts                  []int
	singles                 int
	timeline, traces        bool
	json                    string
	other                   string
	readyClaim, readyAccess string
	noDeletion              bool
	clouds                  string
	scale, namespaces       int
	classes                 int
	idle                    time.Duration
	noise                   int
	serve, name             string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:gocritic // stop only restores the signal handler
	}
}

func (o *settings) flags() {
	o.bursts = []int{200, 1000, 5000}
	flag.Func("bursts", "comma-separated sizes of the bursts of pairs (default 200,1000,5000)", func(text string) (err error) {
		o.bursts, err = parseSizes(text)
		return err
	})
	flag.IntVar(&o.singles, "singles", 30, "number of single, consecutive pairs")
	flag.BoolVar(&o.timeline, "timeline", false, "print the requests of a single pair")
	flag.BoolVar(&o.traces, "traces", false, "let controller and sidecars send all traces to a collector that discards them")
	flag.StringVar(&o.json, "json", "", "file to which the results are also written")
	flag.StringVar(&o.other, "other", "", "measure the implementation that this directory describes (see bench/README.md)")
	flag.StringVar(&o.readyClaim, "ready-claim", "condition:Provisioned", "readiness of a claim: condition:TYPE, or .path.of.a.field=VALUE")
	flag.StringVar(&o.readyAccess, "ready-access", "condition:Provisioned", "readiness of an access")
	flag.BoolVar(&o.noDeletion, "no-deletion", false, "measure only creation, of an implementation that cannot delete; for pairs")
	flag.StringVar(&o.clouds, "clouds", "", "measure the drivers for these clouds with their fakes, such as S3,Azure,GCS")
	flag.IntVar(&o.scale, "scale", 0, "measure the cost of this number of existing pairs of two drivers: idle, at a restart, and for another pair")
	flag.IntVar(&o.namespaces, "namespaces", 1, "with -scale, number of namespaces")
	flag.IntVar(&o.classes, "large-classes", 0, "with -scale, number of classes with 64 KiB of parameters")
	flag.DurationVar(&o.idle, "idle", 10*time.Minute, "with -scale, length of the idle phase (0 skips it and the restarts); with -noise, time for failing claims to back off, and equal time to count their requests")
	flag.IntVar(&o.noise, "noise", 0, "measure single pairs during hanging calls, with this number of failing claims, and with a watch that reconnects every second")
	flag.StringVar(&o.serve, "serve-driver", "", "only serve an in-memory driver at this socket")
	flag.StringVar(&o.name, "driver-name", "", "name of this driver")
}

// parseSizes parses comma-separated numbers, possibly none.
func parseSizes(text string) ([]int, error) {
	var sizes []int
	for word := range strings.SplitSeq(text, ",") {
		if word == "" {
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a list of positive numbers, separated by commas", text)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

func run(ctx context.Context) error {
	var o settings
	o.flags()
	flag.Parse()
	if o.serve != "" {
		return serveDriver(ctx, o.name, o.serve)
	}
	log.SetLogger(logr.Discard())
	measure := o.tables
	if o.traces {
		measure = o.traced
	}
	tables, err := measure(ctx)
	if o.json != "" && err == nil {
		err = writeJSON(o.json, tables)
	}
	return err
}

// implementation returns the implementation to measure.
func (o *settings) implementation() (implementation, error) {
	what, err := ofCooper()
	if o.other != "" {
		what, err = ofDirectory(o.other)
	}
	if err != nil {
		return what, err
	}
	what.moves = []move{creation, deletion}
	if o.noDeletion {
		what.moves = what.moves[:1]
	}
	what.ready = map[kind]readiness{}
	for k, text := range map[kind]string{claim: o.readyClaim, access: o.readyAccess} {
		if what.ready[k], err = parseReadiness(text); err != nil {
			return what, fmt.Errorf("-ready-%s: %w", k, err)
		}
	}
	return what, nil
}

// tables measures, and prints each table as soon as it is complete.
func (o *settings) tables(ctx context.Context) ([]table, error) {
	if o.noDeletion && o.scale+o.noise > 0 {
		return nil, errors.New("-scale and -noise delete their objects: omit -no-deletion")
	}
	what, err := o.implementation()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the path of this program: %w", err)
	}
	s, err := start(ctx, what, func(dir string) []driver { return o.drivers(dir, self) })
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	measure := o.pairs
	switch {
	case o.scale > 0:
		measure = o.atScale
	case o.noise > 0:
		measure = o.withNoise
	}
	tables, err := measure(ctx, s)
	for _, t := range tables {
		t.print(os.Stdout)
	}
	return tables, errors.Join(err, s.stop())
}

// drivers returns the drivers to measure.
func (o *settings) drivers(dir, self string) []driver {
	var all []driver
	for cloud := range strings.FieldsFuncSeq(o.clouds, func(r rune) bool { return r == ',' }) {
		all = append(all, cloudDriver(dir, cloud))
	}
	if len(all) > 0 {
		return all
	}
	all = append(all, newDriver(dir, self, 1))
	if o.scale > 0 {
		all = append(all, newDriver(dir, self, 2))
	}
	return all
}

// pairs returns the table of single pairs and bursts for each driver.
func (o *settings) pairs(ctx context.Context, s *system) ([]table, error) {
	t := table{title: "pairs of claim and access"}
	for _, d := range s.drivers {
		for _, step := range plan(o.bursts, o.singles, []driver{d}) {
			if len(s.drivers) > 1 {
				step.name = d.protocol + ": " + step.name
			}
			c, phases, err := s.column(ctx, step)
			if err != nil {
				return []table{t}, err
			}
			t.columns = append(t.columns, c)
			if !step.single || !o.timeline {
				continue
			}
			for _, p := range phases {
				if err := s.timeline(p.timing.spans); err != nil {
					return []table{t}, err
				}
			}
		}
	}
	return []table{t}, nil
}
