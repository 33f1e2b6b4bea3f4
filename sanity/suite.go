// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// suite is one run.
type suite struct {
	config  Config
	limits  Limits
	run     string
	seed    uint64
	driver  *driver
	traffic *traffic
	book    *journal
	info    *cosi.DriverGetInfoResponse

	// objects decides once whether the driver needs Bucket objects, when the first call fails for which this may be the
	// reason.
	objects      sync.Once
	needsObjects bool

	mu       sync.Mutex
	results  []Result
	progress func(Result)
}

var runIDPattern = regexp.MustCompile(`^[a-z0-9]{1,8}$`)

// Run runs the cases against the driver of config. It returns a report even if the driver could not be started or the
// context ended early. It returns an error only if the configuration is invalid.
func Run(ctx context.Context, config Config) (Report, error) {
	s := &suite{
		config: config, limits: config.Limits.withDefaults(), run: config.RunID, seed: config.Seed,
		traffic: newTraffic(), book: &journal{out: config.Journal}, progress: config.Progress,
	}
	if s.seed == 0 {
		s.seed = rand.Uint64() //nolint:gosec // it varies a test run
	}
	if s.run == "" {
		s.run = strconv.FormatUint(rand.Uint64()%(36*36*36*36*36*36), 36) //nolint:gosec // a name, not a secret
	}
	if config.CreatesNothing && config.Fixture == nil {
		return Report{}, errors.New("the configuration declares that the driver creates no buckets, so a fixture hook must create the buckets of the cases (hooks.makeBucket)")
	}
	if !runIDPattern.MatchString(s.run) {
		return Report{}, fmt.Errorf("run ID %q is not valid: use 1 to 8 characters of a-z and 0-9", s.run)
	}
	var err error
	if s.driver, err = newDriver(config, s.limits, s.intercept); err != nil {
		return Report{}, err
	}
	started := time.Now()
	s.runAll(ctx)
	// The driver was started for the run; an error in removing it is not the driver's fault.
	_ = s.driver.down()
	return s.report(started), nil
}

func (s *suite) runAll(ctx context.Context) {
	cases := slices.DeleteFunc(CasesOf(s.config.Contract), func(c Case) bool { return !s.selected(c.ID) })
	if err := s.begin(ctx); err != nil {
		s.notStarted(cases, err)
		return
	}
	for _, phase := range []Phase{Parallel, Alone, Process, Last} {
		workers := 1
		if phase == Parallel {
			workers = s.limits.Parallel
		}
		s.runPhase(ctx, slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return c.Phase != phase }), workers)
	}
}

// selected reports whether the run includes a case.
func (s *suite) selected(id string) bool { return s.config.Focus == nil || s.config.Focus(id) }

func (s *suite) begin(ctx context.Context) error {
	if s.config.Waiting != nil {
		s.config.Waiting(fmt.Sprintf("the driver at %s, at most %s", s.driver.endpoint, s.limits.Start))
	}
	if err := s.driver.up(ctx); err != nil {
		return err
	}
	info, err := identify(ctx, s.config.Contract, s.driver)
	if err != nil {
		return fmt.Errorf("call DriverGetInfo: %w", err)
	}
	s.info = info
	if s.config.Contract == V1Alpha1 {
		return nil
	}
	return checkDialect(ctx, s.driver)
}

// notStarted marks the case about starting as failed, if the suite started the driver, and runs no cases.
func (s *suite) notStarted(cases []Case, err error) {
	for _, cs := range cases {
		result := Result{Case: cs, Outcome: NotRun, Reason: err.Error()}
		if cs.ID == "UDS-001" && s.config.Launcher != nil {
			result = Result{Case: cs, Outcome: Failed, Failure: &Failure{Message: err.Error()}}
		}
		s.finish(result)
	}
}

func (s *suite) runPhase(ctx context.Context, cases []Case, workers int) {
	queue := make(chan Case)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for cs := range queue {
				s.finish(s.runCase(ctx, cs))
			}
		})
	}
	for _, cs := range cases {
		queue <- cs
	}
	close(queue)
	group.Wait()
}

func (s *suite) finish(result Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results = append(s.results, result)
	if s.progress != nil {
		s.progress(result)
	}
}

// runCase runs a case in its own goroutine, so that a failed check can end it at any depth, and always cleans up
// after it.
func (s *suite) runCase(ctx context.Context, cs Case) Result {
	if reason := s.lacks(cs.Needs); reason != "" {
		return Result{Case: cs, Outcome: NotApplicable, Reason: reason}
	}
	if err := ctx.Err(); err != nil {
		return Result{Case: cs, Outcome: NotRun, Reason: "the run was cancelled: " + err.Error()}
	}
	started := time.Now()
	limited, cancel := context.WithTimeout(ctx, s.limits.Case)
	defer cancel()
	c := newC(limited, s, cs)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer c.catch()
		cs.Run(c)
		c.finished = true
	}()
	<-done
	leftovers := c.cleanUp(context.WithoutCancel(ctx))
	result := Result{Case: cs, Outcome: Passed, Duration: time.Since(started), Leftovers: leftovers}
	switch {
	case c.failure != nil:
		result.Outcome, result.Failure = Failed, c.failure
	case c.inapplicable != "":
		result.Outcome, result.Reason = NotApplicable, c.inapplicable
	}
	return result
}

// catch converts a panic of the suite to a failure with its stack.
func (c *C) catch() {
	if problem := recover(); problem != nil {
		c.failure = &Failure{Message: fmt.Sprintf("the suite itself panicked: %v\n%s", problem, debug.Stack())}
		return
	}
	if !c.finished && c.failure == nil && c.inapplicable == "" {
		c.failure = &Failure{Message: "the case ended without a result"}
	}
}

// Fail ends the case as failed. It must be called from the case's own goroutine.
func (c *C) Fail(format string, args ...any) {
	c.failure = &Failure{Message: fmt.Sprintf(format, args...), Exchanges: c.lastExchanges()}
	runtime.Goexit()
}

// notApplicable ends the case as not applicable, for a reason that the driver's own responses show.
func (c *C) notApplicable(format string, args ...any) {
	c.inapplicable = fmt.Sprintf(format, args...)
	runtime.Goexit()
}
