// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
)

// round is how many single pairs are created, then deleted, then compared with the floor: in between, the machine may
// change.
const round = 5

// A step is a number of pairs of claim and access.
type step struct {
	name   string
	pairs  int
	single bool // one after the other
	// drivers take turns.
	drivers []driver
}

// plan are the steps of a bench.
func plan(bursts []int, singles int, drivers []driver) []step {
	var steps []step
	if singles > 0 {
		steps = append(steps, step{name: fmt.Sprintf("%d single pairs", singles), pairs: singles, single: true, drivers: drivers})
	}
	for _, n := range bursts {
		steps = append(steps, step{name: fmt.Sprintf("a burst of %d", n), pairs: n, drivers: drivers})
	}
	return steps
}

// A phase is the creation or the deletion of the pairs of a step.
type phase struct {
	meter

	move          move
	pairs         int
	single        bool
	timing, floor timing
}

// column is what the table says about a step.
func (s *system) column(ctx context.Context, of step) (column, [2]*phase, error) {
	phases, err := s.run(ctx, of)
	if err != nil {
		return column{}, phases, err
	}
	return column{name: of.name, figures: append(phases[0].figures(), phases[1].figures()...)}, phases, nil
}

// run creates the pairs of a step, deletes them, and does the same with the floor.
func (s *system) run(ctx context.Context, of step) ([2]*phase, error) {
	phases := [2]*phase{}
	for i, m := range []move{creation, deletion} {
		phases[i] = &phase{move: m, pairs: of.pairs, single: of.single}
	}
	size := of.pairs
	if of.single {
		size = min(round, of.pairs)
	}
	for done := 0; done < of.pairs; done += size {
		prefix := fmt.Sprintf("p%d-%d", of.pairs, done)
		pairs := newPairs(min(size, of.pairs-done), prefix, of.drivers, namespace)
		floor := make([]*floorPair, len(pairs))
		for i, p := range pairs {
			floor[i] = newFloorPair(p.name)
		}
		for _, p := range phases {
			err := s.measured(ctx, &p.meter, func() error {
				took, err := s.do(ctx, p.move, pairs, of.single)
				p.timing.add(took)
				return err
			})
			if err != nil {
				return phases, fmt.Errorf("%s: %w", of.name, err)
			}
		}
		for _, p := range phases {
			took, err := s.floor(ctx, p.move, floor, of.single)
			if err != nil {
				return phases, fmt.Errorf("%s: %w", of.name, err)
			}
			p.floor.add(took)
		}
	}
	return phases, nil
}
