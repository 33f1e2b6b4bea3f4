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
			ID: "LIF-001", Level: Must, Needs: []Need{NeedCreation}, Title: "supports the complete lifecycle of a bucket and its access",
			Rule: spec(figure, order), Why: "the calls of an interface must work together", Fix: "fix the call that failed",
			Run: func(c *C) { c.life(1) },
		},
		{
			ID: "LIF-002", Level: Must, Needs: []Need{NeedCreation}, Title: "supports the complete lifecycle with every call repeated",
			Rule: kep(sectionCreate, "This API must be idempotent."), Why: "each section of the KEP requires this for its call, or lists OK for a missing object", Fix: "first fix failures of other cases for the failed call; if there are none, make the call idempotent",
			Run: func(c *C) { c.life(c.suite.limits.Repeats) },
		},
		{
			ID: "LIF-003", Level: Must, Phase: Process, Needs: []Need{NeedCreation, NeedProcess}, Title: "resumes after the driver was killed after any call",
			Rule: spec("Timeouts", textContinue), Why: whyRetry, Fix: "first fix failures of other cases for these calls; then keep no state in memory that a repeated call needs",
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
			Rule: spec("Timeouts", textContinue), Why: whyRetry, Fix: "first fix failures of other cases for these calls; then return OK to a repeated call",
			Run: func(c *C) {
				c.interrupted(func(_ *life, call func(context.Context) codes.Code) { c.dropped(call) })
			},
		},
		{
			ID: "LIF-005", Level: Should, Phase: Alone, Needs: []Need{NeedCreation, NeedInventory}, Title: "leaves nothing behind when both IDs are generated and never used",
			Rule: kep(sectionGenerateBucket, textNoLeak), Why: "avoiding leaks is a must; a driver may do this in another way than by creating nothing, which the suite cannot detect",
			Fix: "create in phase 2 only",
			Run: func(c *C) {
				before := c.inventory()
				b := c.generated()
				c.accessTo(b)
				c.unchanged(before)
			},
		},
		{
			ID: "LIF-006", Level: Advice, Needs: []Need{NeedCreation}, Title: "behaves like a model in a long random sequence of calls",
			Rule: advice("Any order of calls that COSI may make results in the state that the calls describe."),
			Why:  "no specification covers sequences of calls", Fix: "first fix failures of other cases for these calls; then run with the same seed and check the first call that differs",
			Run: runModel,
		},
		{
			ID: "LIF-007", Level: Advice, Phase: Process, Needs: []Need{NeedCreation, NeedProcess, NeedUsage}, Title: "does not leak files or goroutines",
			Rule: advice("A driver runs for months, so each call must close what it opens."),
			Why:  "no specification covers resources of the driver", Fix: "first fix failures of other cases for these calls; then close response bodies, connections and files, and end goroutines with their call",
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
				c.Fail("call %d of the lifecycle must return OK, not %s", i+1, code)
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
				c.Fail("call %d of a lifecycle in which call %d was interrupted must return OK, not %s", i+1, at+1, code)
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
				return fmt.Sprintf("the number of %s grew from %d to %d over %d lifecycles of a bucket", what, before[what], n, c.suite.limits.Repeats)
			}
		}
		return ""
	})
}
