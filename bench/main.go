// SPDX-License-Identifier: Apache-2.0

// Program bench measures what a claim and its access cost: how long they take,
// and how many writes, beside what the same number of writes costs a bare
// client. Control plane, controller, sidecar and driver are processes of their
// own on this machine.
//
//	go run ./bench -bursts 200,1000 -singles 30
//
// It must not be imported, and nothing but measurements belongs in it.
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

	"github.com/cooper-cosi/cooper/fakes/driverfake"
)

// driverName is the name of the driver of a bench.
const driverName = "bench.cooper.dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:gocritic // stop only restores the signal handler
	}
}

func run(ctx context.Context) error {
	bursts := flag.String("bursts", "200,1000", "sizes of the bursts of pairs")
	singles := flag.Int("singles", 30, "number of single pairs, one after the other")
	timeline := flag.Bool("timeline", false, "print the requests of a single pair")
	serve := flag.String("serve-driver", "", "serve the fake driver at this address and do nothing else")
	flag.Parse()
	if *serve != "" {
		return serveDriver(ctx, *serve)
	}
	var sizes []int
	for word := range strings.SplitSeq(*bursts, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			return fmt.Errorf("-bursts %s: give numbers with commas between them: %w", *bursts, err)
		}
		sizes = append(sizes, n)
	}
	s, err := start(ctx)
	if err != nil {
		return errors.Join(err, s.stop())
	}
	err = measure(ctx, s, sizes, *singles, *timeline)
	return errors.Join(err, s.stop())
}

// serveDriver is the process of the driver.
func serveDriver(ctx context.Context, address string) error {
	driver, err := driverfake.New(driverfake.Options{Name: driverName})
	if err != nil {
		return err
	}
	return driver.Serve(ctx, address)
}

func measure(ctx context.Context, s *system, bursts []int, singles int, timeline bool) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	fmt.Println("| what | pairs/s | claim p50 | claim p90 | access p50 | access p90 | writes per pair | conflicts |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	var single result
	for _, step := range plan(bursts, singles) {
		before, err := s.settledRequests(ctx)
		if err != nil {
			return err
		}
		result, err := s.pairs(ctx, step)
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		after, err := s.settledRequests(ctx)
		if err != nil {
			return err
		}
		cost := after.minus(before)
		fmt.Printf("| %s | %s | %v | %v | %v | %v | %.1f | %d |\n", step.name, rate(step, result),
			quantile(result.claims, 0.5), quantile(result.claims, 0.9), quantile(result.accesses, 0.5), quantile(result.accesses, 0.9),
			float64(cost.writes())/float64(step.pairs), cost.conflicts)
		cost.print(step.pairs)
		if step.single {
			single = result
		}
	}
	if timeline {
		if err := s.timeline(single.spans); err != nil {
			return err
		}
	}
	for _, writes := range []int{claimWrites, pairWrites} {
		floor := single.floors[writes]
		fmt.Printf("\nfloor: %d sequential writes of a bare client: p50 %v, p90 %v\n", writes, quantile(floor, 0.5), quantile(floor, 0.9))
	}
	fmt.Printf("\na single claim takes %.2f times its floor\n", ratio(single.claims, single.floors[claimWrites]))
	return s.restarted(ctx)
}

// A step is a number of pairs of claim and access.
type step struct {
	name   string
	pairs  int
	single bool // one after the other
}

func plan(bursts []int, singles int) []step {
	steps := []step{{name: fmt.Sprintf("%d single pairs", singles), pairs: singles, single: true}}
	for _, n := range bursts {
		steps = append(steps, step{name: fmt.Sprintf("a burst of %d", n), pairs: n})
	}
	return steps
}

// rate is how many pairs a burst makes in a second. Between single pairs the
// floors are measured.
func rate(of step, r result) string {
	if of.single {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(of.pairs)/r.took.Seconds())
}

// Round shortens durations for people.
const roundTo = 100 * time.Microsecond
