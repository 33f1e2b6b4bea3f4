// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"bytes"
	"context"
	"math"
	"time"

	"google.golang.org/grpc/codes"
)

func createRetryCases() []Case {
	return []Case{
		{
			ID: "BKT-CRT-011", Level: Should, Phase: Alone, Needs: []Need{NeedCreation}, Title: "creates one bucket for concurrent calls",
			Rule: kep(sectionCreate, "The driver should ensure that multiple DriverCreateBucket calls for the same bucket_id do not result in more than one OSP backend bucket being provisioned corresponding to that ID."),
			Why:  "the quoted text uses \"should\"; the second call may return Aborted", Fix: "lock by bucket_id, or return Aborted while the lock is held",
			Run: runCreateAtOnce,
		},
		{
			ID: "BKT-CRT-012", Level: Must, Phase: Alone, Needs: []Need{NeedCreation}, Title: "completes a bucket after a cancelled creation",
			Rule: spec("Timeouts", textContinue), Why: whyRetry, Fix: "make every step of the creation repeatable, and set the ownership mark in the first step",
			Run: runCreateCancelled,
		},
		{
			ID: "BKT-CRT-013", Level: Must, Needs: []Need{NeedCreation}, Title: "returns OK again after the first response was lost",
			Rule: spec("Timeouts", textContinue), Why: whyRetry, Fix: "return OK for a bucket that exists and is compatible",
			Run: func(c *C) {
				b := c.generated()
				c.dropped(func(ctx context.Context) codes.Code {
					_, code := try(ctx, c, c.provisioner.DriverCreateBucket, b.create())
					return code
				})
				ok(c, c.provisioner.DriverCreateBucket, b.create())
			},
		},
		{
			ID: "BKT-CRT-014", Level: Must, Phase: Process, Needs: []Need{NeedCreation, NeedProcess}, Title: "accepts an ID from before a restart",
			Rule: kep(sectionCreate, "This call is issued after DriverGenerateBucketId's bucket_id result is persistently stored by COSI."),
			Why:  "COSI persists the ID, so it outlives the driver's process", Fix: "do not keep state about IDs in memory",
			Run: func(c *C) {
				b := c.generated()
				c.restart()
				ok(c, c.provisioner.DriverCreateBucket, b.create())
			},
		},
		{
			ID: "BKT-CRT-018", Level: Advice, Needs: []Need{NeedCreation}, Title: "creates an empty bucket for the ID of a deleted bucket",
			Rule: advice("After DriverDeleteBucket an ID is free: creating a bucket with it again results in a new, empty bucket."),
			Why:  "no specification covers the reuse of IDs", Fix: "remove all state of a bucket when it is deleted",
			Run: runCreateAgain,
		},
		{
			ID: "BKT-CRT-019", Level: Advice, Needs: []Need{NeedCreation, NeedDataPlane, NeedKey}, Title: "keeps the objects of two buckets separate",
			Rule: advice("Two bucket IDs belong to two buckets: an object in one is not in the other."),
			Why:  "no specification states this, because it is obvious", Fix: "create a separate backend bucket for each bucket_id",
			Run: runApart,
		},
		{
			ID: "BKT-CRT-020", Level: Must, Needs: []Need{NeedCreation, NeedForeignBucket}, Title: "does not adopt a bucket of another owner",
			Rule: kep(sectionCreate, textExists), Why: whyListed + "; a bucket of another owner is not the requested bucket",
			Fix: "set an ownership mark on each bucket at creation, and return AlreadyExists if the mark is missing",
			Run: func(c *C) {
				b := c.generated()
				fixture, can := c.suite.config.Fixture.(ForeignFixture)
				if !can {
					c.notApplicable(noForeignBucket)
				}
				// The driver did not create it, so the case must not delete it through the driver: only the fixture removes it.
				c.takeName(fixture, b.id)
				refused(c, c.provisioner.DriverCreateBucket, b.create(), codes.AlreadyExists)
			},
		},
	}
}

// takeName creates a bucket with another owner. Until the hook reports that it created the bucket, the bucket may
// have existed before, and the suite must not remove it.
func (c *C) takeName(fixture ForeignFixture, id string) {
	n := note{Kind: noteForeign, ID: id, Unsure: true}
	if err := c.note(n); err != nil {
		c.Fail("%v", err)
	}
	if err := fixture.TakeName(c.ctx, id); err != nil {
		c.Fail("the fixture hook did not create a bucket of another owner: %v", err)
	}
	if err := c.confirm(n); err != nil {
		c.Fail("%v", err)
	}
}

// dropped makes a call whose response is lost.
func (c *C) dropped(call func(context.Context) codes.Code) {
	if code := call(withWire(c.ctx, wireDropResponse)); code != codes.Unavailable {
		c.Fail("the suite dropped the response of a call, but the call returned %s", code)
	}
}

func runCreateAtOnce(c *C) {
	var before []string
	if c.hasInventory() {
		before = c.inventory()
	}
	b := c.generated()
	c.onlyCodes(c.together(c.suite.limits.Concurrency, func(int) codes.Code {
		_, code := try(c.ctx, c, c.provisioner.DriverCreateBucket, b.create())
		return code
	}), codes.OK, codes.Aborted)
	ok(c, c.provisioner.DriverCreateBucket, b.create())
	if c.hasInventory() {
		c.bucketsMore(before, 1)
	}
}

// cancelled makes one call for each repeat and cancels them at points spread over the usual duration.
func (c *C) cancelled(usual time.Duration, call func(ctx context.Context, i int)) {
	n := c.suite.limits.Repeats
	for i := range n {
		at := (float64(i) + c.random.Float64()) / float64(n)
		short, cancel := context.WithTimeout(c.ctx, time.Duration(at*float64(usual)))
		call(short, i)
		cancel()
	}
}

// shortest measures n calls and returns the shortest duration.
func shortest(n int, prepare func() func()) time.Duration {
	best := time.Duration(math.MaxInt64)
	for range n {
		call := prepare()
		start := time.Now()
		call()
		best = min(best, time.Since(start))
	}
	return best
}

// createCancelled makes creations whose deadlines expire, checks their codes, repeats each until it succeeds, and
// returns the number of additional buckets.
func (c *C) createCancelled(check func(codes.Code)) int {
	repeats := c.suite.limits.Repeats
	create := func(ctx context.Context, b *bucket) codes.Code {
		_, code := try(ctx, c, c.provisioner.DriverCreateBucket, b.create())
		return code
	}
	usual := shortest(repeats, func() func() {
		sample := c.generated()
		return func() { ok(c, c.provisioner.DriverCreateBucket, sample.create()) }
	})
	buckets := make([]*bucket, repeats)
	for i := range buckets {
		buckets[i] = c.generated()
	}
	c.cancelled(usual, func(ctx context.Context, i int) { check(create(ctx, buckets[i])) })
	for _, b := range buckets {
		c.converges(func() codes.Code { return create(c.ctx, b) }, "DriverCreateBucket after its deadline passed")
		ok(c, c.provisioner.DriverCreateBucket, b.create())
	}
	return 2 * repeats
}

func runCreateCancelled(c *C) {
	var before []string
	if c.hasInventory() {
		before = c.inventory()
	}
	created := c.createCancelled(func(codes.Code) {})
	if c.hasInventory() {
		c.bucketsMore(before, created)
	}
}

func runCreateAgain(c *C) {
	b := c.created()
	probed := c.suite.lacks([]Need{NeedDataPlane, NeedKey}) == ""
	if probed {
		a := c.granted(b)
		key := "old-" + c.name()
		c.can(a, b, PutObject, key)
		c.can(a, b, DeleteObject, key)
		c.revoke(a)
	}
	c.delete(b)
	ok(c, c.provisioner.DriverCreateBucket, b.create())
	if !probed {
		return
	}
	if listed := c.can(c.granted(b), b, ListObjects, ""); len(listed.Keys) > 0 {
		c.Fail("the bucket was created again and contains %q", listed.Keys)
	}
}

func runApart(c *C) {
	one, other := c.created(), c.created()
	toOne, toOther := c.granted(one), c.granted(other)
	key := "apart-" + c.name()
	c.can(toOne, one, PutObject, key)
	outcome, err := c.attempt(toOther, other.id, GetObject, key, nil)
	if err == nil && outcome.Verdict == Allowed && bytes.Equal(outcome.Body, contents(key)) {
		c.Fail("an object written to bucket %q is also in bucket %q", one.id, other.id)
	}
	c.can(toOne, one, DeleteObject, key)
}
