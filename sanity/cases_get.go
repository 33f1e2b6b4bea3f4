// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"google.golang.org/grpc/codes"

	cosi "github.com/cooper-cosi/cooper/proto"
)

const sectionGet = "DriverGetBucket"

func getCases() []Case {
	return []Case{
		{
			ID: "BKT-GET-001", Level: Must, Title: "describes a bucket that exists",
			Rule: kep(sectionGet, "DriverGetBucketResponse { BucketInfo // same response defined in DriverCreateBucket }: at least one protocol must be returned"),
			Why:  whyMust, Fix: "return the same info as DriverCreateBucket",
			Run: func(c *C) {
				b := c.created()
				if len(cosi.ProtocolsOf(ok(c, c.provisioner.DriverGetBucket, b.get()).GetProtocols())) == 0 {
					c.Fail("DriverGetBucket returns no protocol")
				}
			},
		},
		{
			ID: "BKT-GET-002", Level: Must, Title: "returns NotFound for a bucket that does not exist",
			Rule: kep(sectionGet, "NotFound (retryable) when the bucket does not exist in the backend"), Why: whyListed, Fix: "return NotFound",
			Run: func(c *C) { refused(c, c.provisioner.DriverGetBucket, c.generated().get(), codes.NotFound) },
		},
		{
			ID: "BKT-GET-003", Level: Must, Title: "refuses an empty bucket_id",
			Rule: spec(errorScheme, textMissingField), Why: whyRequired, Fix: "check bucket_id and return InvalidArgument",
			Run: func(c *C) {
				b := &bucket{request: c.bucketRequest(c.name())}
				refused(c, c.provisioner.DriverGetBucket, b.get(), codes.InvalidArgument)
			},
		},
		{
			ID: "BKT-GET-004", Level: Must, Needs: []Need{NeedIncompatible}, Title: "refuses parameters that the bucket does not fit",
			Rule: kep(sectionGet, "If the backend bucket isn't compatible with the input parameters, error InvalidArgument must be returned."),
			Why:  "the sentence says must; the list of codes in the same section says AlreadyExists, so either is accepted: both are terminal",
			Fix:  "compare the parameters with the bucket and return AlreadyExists or InvalidArgument",
			Run: func(c *C) {
				request := c.created().get()
				request.Parameters = c.suite.config.Params.Incompatible
				refused(c, c.provisioner.DriverGetBucket, request, codes.AlreadyExists, codes.InvalidArgument)
			},
		},
		{
			ID: "BKT-GET-005", Level: Must, Needs: []Need{NeedMissingProtocol}, Title: "refuses a protocol it does not offer",
			Rule: kep(sectionGet, textProtocols), Why: "the list says MUST support", Fix: "compare protocols with those of DriverGetInfo and return InvalidArgument",
			Run: func(c *C) {
				request := c.created().get()
				request.Protocols = c.unsupported()
				refused(c, c.provisioner.DriverGetBucket, request, codes.InvalidArgument)
			},
		},
		{
			ID: "BKT-GET-006", Level: Advice, Phase: Alone, Title: "only looks: same response every time, nothing changed",
			Rule: advice("A call that describes changes nothing."),
			Why:  "no text speaks of it", Fix: "do not repair or mark a bucket in DriverGetBucket",
			Run: runOnlyLooks,
		},
		{
			ID: "BKT-GET-007", Level: Must, Needs: []Need{NeedFixture}, Title: "finds a bucket that was made without COSI",
			Rule: kep(sectionGet, "This gRPC call is used to get details about a statically-provisioned bucket that should already exist in the OSP backend."),
			Why:  "that is what the call is for", Fix: "look the bucket up in the backend, without asking for a mark of the driver",
			Run: func(c *C) {
				b := c.static()
				c.makeStatic(b)
				ok(c, c.provisioner.DriverGetBucket, b.get())
			},
		},
		{
			ID: "BKT-GET-008", Level: Must, Needs: []Need{NeedFixture}, Title: "finds a bucket that appeared after it was missing",
			Rule: kep(sectionGet, "NotFound (retryable) when the bucket does not exist in the backend"),
			Why:  "retryable means that a later call may succeed", Fix: "do not cache that a bucket is missing",
			Run: func(c *C) {
				b := c.static()
				refused(c, c.provisioner.DriverGetBucket, b.get(), codes.NotFound)
				c.makeStatic(b)
				c.eventually(func() string {
					if _, code := try(c.ctx, c, c.provisioner.DriverGetBucket, b.get()); code != codes.OK {
						return "DriverGetBucket returns " + code.String() + " although the bucket exists now"
					}
					return ""
				})
			},
		},
		{
			ID: "BKT-GET-009", Level: Advice, Needs: []Need{NeedCreation}, Title: "returns NotFound after the bucket was deleted",
			Rule: advice("What was deleted is not found."), Why: "the code is listed, but COSI does not call this for dynamic buckets",
			Fix: "look the bucket up in the backend each time",
			Run: func(c *C) {
				b := c.created()
				c.delete(b)
				refused(c, c.provisioner.DriverGetBucket, b.get(), codes.NotFound)
			},
		},
		{
			ID: "BKT-GET-010", Level: Advice, Needs: []Need{NeedCreation}, Title: "describes a bucket as its creation did",
			Rule: advice("A bucket has one description, whichever call asks for it."),
			Why:  "the response has the same type; no sentence says that it has the same contents", Fix: "build both responses in one place",
			Run: func(c *C) {
				b := c.generated()
				created := ok(c, c.provisioner.DriverCreateBucket, b.create())
				c.sameInfo(created.GetProtocols(), ok(c, c.provisioner.DriverGetBucket, b.get()).GetProtocols(), "by DriverGetBucket")
			},
		},
		{
			ID: "BKT-GET-011", Level: Must, Title: "describes the protocols that were asked for, and none beyond DriverGetInfo",
			Rule: kep(sectionGet, "The protocols returned in the response will be validated by COSI to match user requirements."),
			Why:  "\"an optional list of protocols the bucket MUST support\"", Fix: "return the message of every protocol asked for, or InvalidArgument",
			Run: func(c *C) {
				b := c.created()
				info := ok(c, c.provisioner.DriverGetBucket, b.get()).GetProtocols()
				c.supportsAsked(b.request.GetProtocols(), info)
				c.offeredOnly(info)
			},
		},
	}
}

func runOnlyLooks(c *C) {
	b := c.created()
	var before []string
	if c.hasInventory() {
		before = c.inventory()
	}
	first := ok(c, c.provisioner.DriverGetBucket, b.get())
	for range c.suite.limits.Repeats {
		c.sameInfo(first.GetProtocols(), ok(c, c.provisioner.DriverGetBucket, b.get()).GetProtocols(), "when asked again")
	}
	if c.hasInventory() {
		c.unchanged(before)
	}
}

// static returns a bucket that the fixture will create. It has no parameters, because it is not created with any.
func (c *C) static() *bucket {
	request := c.bucketRequest(c.name())
	request.Parameters = nil
	return &bucket{id: c.suite.config.Fixture.BucketID(request.GetName()), request: request}
}

func (c *C) makeStatic(b *bucket) {
	if err := c.note(note{Kind: noteFixture, ID: b.request.GetName()}); err != nil {
		c.Fail("%v", err)
	}
	if err := c.suite.config.Fixture.MakeBucket(c.ctx, b.request.GetName()); err != nil {
		c.Fail("the fixture hook failed: %v", err)
	}
}
