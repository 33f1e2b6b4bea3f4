// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"

	cosi "github.com/cooper-cosi/cooper/proto"
)

func lifecycleCases() []Case {
	const figure = "Figure 3: the lifecycle of a dynamically provisioned bucket"
	const order = "CreateBucket, Grant Bucket Access, Revoke Bucket Access, DeleteBucket"
	return []Case{
		{
			ID: "LIF-001", Level: Must, Needs: []Need{NeedCreation}, Title: "goes through the whole life of a bucket and its access",
			Rule: spec(figure, order), Why: "an interface whose calls do not work together is not implemented", Fix: "see the call that failed",
			Run: func(c *C) { c.life(1) },
		},
		{
			ID: "LIF-002", Level: Must, Needs: []Need{NeedCreation}, Title: "goes through the whole life with every call repeated",
			Rule: kep(sectionCreate, "This API must be idempotent."), Why: "every section of the KEP says so of its call, or lists OK for what is gone", Fix: "mend what other cases say of the call that failed; if they pass, what it does when it is repeated",
			Run: func(c *C) { c.life(c.suite.limits.Repeats) },
		},
		{
			ID: "LIF-003", Level: Must, Phase: Process, Needs: []Need{NeedCreation, NeedProcess}, Title: "resumes after the driver was killed behind any call",
			Rule: spec("Timeouts", textContinue), Why: whyRetry, Fix: "mend what other cases say of these calls first; then keep no state in memory that a repeated call needs",
			Run: func(c *C) {
				c.interrupted(func(_ *life, call func(context.Context) codes.Code) {
					// The response counts as lost with the process.
					call(c.ctx)
					c.restart()
				})
			},
		},
		{
			ID: "LIF-004", Level: Must, Phase: Alone, Needs: []Need{NeedCreation}, Title: "resumes after any response was lost",
			Rule: spec("Timeouts", textContinue), Why: whyRetry, Fix: "mend what other cases say of these calls first; then return OK to a repetition of what was done",
			Run: func(c *C) {
				c.interrupted(func(_ *life, call func(context.Context) codes.Code) { c.dropped(call) })
			},
		},
		{
			ID: "LIF-005", Level: Should, Phase: Alone, Needs: []Need{NeedCreation, NeedInventory}, Title: "leaves nothing when both IDs are generated and abandoned",
			Rule: kep(sectionGenerateBucket, textNoLeak), Why: "that nothing leaks is a must; a driver may do so by other means than making nothing, which the suite cannot see",
			Fix: "create in phase 2 only",
			Run: func(c *C) {
				before := c.inventory()
				b := c.generated()
				c.accessTo(b)
				c.unchanged(before)
			},
		},
		{
			ID: "LIF-006", Level: Advice, Needs: []Need{NeedCreation}, Title: "agrees with a model over a long random sequence of calls",
			Rule: advice("Any order of calls that COSI may make leads to the state that the calls describe."),
			Why:  "no text speaks of sequences", Fix: "mend what other cases say of these calls first; then run with the same seed, and see the first call that differs",
			Run: runModel,
		},
		{
			ID: "LIF-007", Level: Advice, Phase: Process, Needs: []Need{NeedCreation, NeedProcess, NeedUsage}, Title: "does not use more and more files or goroutines",
			Rule: advice("A driver runs for months: what one call opens it closes."),
			Why:  "no text speaks of resources", Fix: "mend what other cases say of these calls first; then close response bodies, connections and files; end goroutines with their call",
			Run: runUsage,
		},
	}
}

// life is the lifecycle of one bucket and one access.
type life struct {
	c *C
	b *bucket
	a *access
}

// steps returns the calls in order. Each returns its code.
func (l *life) steps() []func(context.Context) codes.Code {
	c := l.c
	return []func(context.Context) codes.Code{
		func(ctx context.Context) codes.Code {
			response, code := try(ctx, c, c.provisioner.DriverGenerateBucketId, l.b.request)
			if code == codes.OK {
				l.b.id = response.GetBucketId()
			}
			return code
		},
		func(ctx context.Context) codes.Code {
			_, code := try(ctx, c, c.provisioner.DriverCreateBucket, l.b.create())
			return code
		},
		func(ctx context.Context) codes.Code {
			l.a.phase1.Buckets = []*cosi.AccessedBucket{readWrite(l.b.id)}
			response, code := try(ctx, c, c.provisioner.DriverGenerateBucketAccessId, l.a.phase1)
			if code == codes.OK {
				l.a.request = grantOf(response.GetAccountId(), l.a.phase1)
			}
			return code
		},
		func(ctx context.Context) codes.Code {
			response, code := try(ctx, c, c.provisioner.DriverGrantBucketAccess, l.a.request)
			if code == codes.OK {
				l.a.response = response
			}
			return code
		},
		func(ctx context.Context) codes.Code {
			_, code := try(ctx, c, c.provisioner.DriverRevokeBucketAccess, l.a.revoke())
			return code
		},
		func(ctx context.Context) codes.Code {
			_, code := try(ctx, c, c.provisioner.DriverDeleteBucket, l.b.delete())
			return code
		},
	}
}

const (
	stepGrant  = 3
	stepRevoke = 4
)

func (c *C) newLife() *life {
	return &life{
		c: c, b: &bucket{request: c.bucketRequest(c.name())},
		a: &access{phase1: c.accessRequest(c.name(), c.protocol(), nil)},
	}
}

// after checks the expected state after a step.
func (l *life) after(step int) {
	switch step {
	case stepGrant:
		l.c.worksIfProbed(l.a, l.b)
	case stepRevoke:
		l.c.uselessIfProbed(l.a, l.b, "the access was revoked")
	}
}

// life runs all steps, each repeated n times.
func (c *C) life(n int) {
	l := c.newLife()
	for i, step := range l.steps() {
		for range n {
			if code := step(c.ctx); code != codes.OK {
				c.Fail("call %d of the life returns %s", i+1, code)
			}
		}
		l.after(i)
	}
	refused(c, c.provisioner.DriverGetBucket, l.b.get(), codes.NotFound)
}

// interrupted runs one lifecycle for each step: it interrupts that step, repeats it, and continues.
func (c *C) interrupted(interrupt func(*life, func(context.Context) codes.Code)) {
	var before []string
	if c.hasInventory() {
		before = c.inventory()
	}
	for at := range c.newLife().steps() {
		l := c.newLife()
		for i, step := range l.steps() {
			if i == at {
				interrupt(l, step)
			}
			if code := step(c.ctx); code != codes.OK {
				c.Fail("call %d of a life in which call %d was interrupted returns %s", i+1, at+1, code)
			}
			l.after(i)
		}
		refused(c, c.provisioner.DriverGetBucket, l.b.get(), codes.NotFound)
	}
	if c.hasInventory() {
		c.unchanged(before)
	}
}

func runUsage(c *C) {
	count := func() map[string]int {
		instance, can := c.suite.driver.running().(Usage)
		if !can {
			c.notApplicable("the open files of the driver's process cannot be read")
		}
		usage, err := instance.Usage()
		if err != nil {
			c.notApplicable("%v", err)
		}
		return usage
	}
	c.life(c.suite.limits.Repeats)
	before := count()
	for range c.suite.limits.Repeats {
		c.life(1)
	}
	// Connections to a backend may be pooled, so a few additional ones are not a leak.
	slack := c.suite.limits.Repeats / 2
	c.eventually(func() string {
		for what, n := range count() {
			if n > before[what]+slack {
				return fmt.Sprintf("%s grew from %d to %d over %d lives of a bucket", what, before[what], n, c.suite.limits.Repeats)
			}
		}
		return ""
	})
}
