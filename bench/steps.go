// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
)

// round is how many single pairs are created, deleted and compared with the floor in a row. Small rounds
// limit the effect of changes in the machine's speed.
const round = 5

// A step is a number of pairs of claim and access.
type step struct {
	name   string
	pairs  int
	single bool // one at a time
	// drivers are used in turn.
	drivers []driver
}

// plan returns the steps of a bench.
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
	// programs is the floor with two programs.
	programs timing
}

// column returns the table's column for a step.
func (s *system) column(ctx context.Context, of step) (column, []*phase, error) {
	phases, err := s.run(ctx, of)
	if err != nil {
		return column{}, phases, err
	}
	c := column{name: of.name}
	for _, p := range phases {
		c.figures = append(c.figures, p.figures()...)
	}
	return c, phases, nil
}

// run creates and deletes the pairs of a step, and does the same with the floor. If nothing can be deleted,
// it only creates.
func (s *system) run(ctx context.Context, of step) ([]*phase, error) {
	var phases []*phase
	for _, m := range s.what.moves {
		phases = append(phases, &phase{move: m, pairs: of.pairs, single: of.single})
	}
	size := of.pairs
	if of.single {
		size = min(round, of.pairs)
	}
	for done := 0; done < of.pairs; done += size {
		pairs := newPairs(min(size, of.pairs-done), fmt.Sprintf("p%d", s.made), of.drivers, namespace)
		s.made += len(pairs)
		floor := make([]*floorPair, len(pairs))
		for i, p := range pairs {
			floor[i] = newFloorPair(floorNamespace, p.name)
		}
		for _, p := range phases {
			err := s.measured(ctx, &p.meter, func() error {
				took, err := s.do(ctx, p.move, pairs, of.single)
				p.timing.add(took)
				return err
			})
			if err != nil {
				return phases, fmt.Errorf("measure %s: %w", of.name, err)
			}
		}
		for _, p := range phases {
			took, err := s.floor(ctx, p.move, floor, of.single)
			if err != nil {
				return phases, fmt.Errorf("measure %s: %w", of.name, err)
			}
			p.floor.add(took)
		}
		if of.single {
			took, err := s.programsFloor(ctx, pairs)
			if err != nil {
				return phases, fmt.Errorf("measure %s: %w", of.name, err)
			}
			phases[0].programs.add(took)
		}
	}
	return phases, nil
}

// programsFloor creates the pairs of the floor again, with two programs.
func (s *system) programsFloor(ctx context.Context, pairs []pair) (timing, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	newPrograms, err := s.newPrograms(ctx)
	if err != nil {
		return timing{}, err
	}
	floor := make([]*floorPair, len(pairs))
	for i, p := range pairs {
		floor[i] = newFloorPair(floorNamespace, p.name+"-programs")
		floor[i].programs = newPrograms()
	}
	took, err := s.floor(ctx, creation, floor, true)
	if err != nil {
		return took, err
	}
	_, err = s.floor(ctx, deletion, floor, true)
	return took, err
}
