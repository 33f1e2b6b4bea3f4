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
			ID: "BKT-GET-003", Level: Must, Title: "rejects an empty bucket_id",
			Rule: spec(errorScheme, textMissingField), Why: whyRequired, Fix: "check bucket_id and return InvalidArgument",
			Run: func(c *C) {
				b := &bucket{request: c.bucketRequest(c.name())}
				refused(c, c.provisioner.DriverGetBucket, b.get(), codes.InvalidArgument)
			},
		},
		{
			ID: "BKT-GET-004", Level: Must, Needs: []Need{NeedIncompatible}, Title: "rejects parameters that the bucket is not compatible with",
			Rule: kep(sectionGet, "If the backend bucket isn't compatible with the input parameters, error InvalidArgument must be returned."),
			Why:  "the quoted text uses \"must\"; the list of codes in the same section has AlreadyExists. Both are terminal, so either is accepted",
			Fix:  "compare the parameters with the bucket and return AlreadyExists or InvalidArgument",
			Run: func(c *C) {
				request := c.created().get()
				request.Parameters = c.suite.config.Params.Incompatible
				refused(c, c.provisioner.DriverGetBucket, request, codes.AlreadyExists, codes.InvalidArgument)
			},
		},
		{
			ID: "BKT-GET-005", Level: Must, Needs: []Need{NeedMissingProtocol}, Title: "rejects an unsupported protocol",
			Rule: kep(sectionGet, textProtocols), Why: "the quoted text uses MUST", Fix: "check that DriverGetInfo returns all protocols of the request; otherwise return InvalidArgument",
			Run: func(c *C) {
				request := c.created().get()
				request.Protocols = c.unsupported()
				refused(c, c.provisioner.DriverGetBucket, request, codes.InvalidArgument)
			},
		},
		{
			ID: "BKT-GET-006", Level: Advice, Phase: Alone, Title: "returns the same response every time and changes nothing",
			Rule: advice("A call that describes a bucket changes nothing."),
			Why:  "no specification covers this", Fix: "do not repair or mark a bucket in DriverGetBucket",
			Run: runOnlyLooks,
		},
		{
			ID: "BKT-GET-007", Level: Must, Needs: []Need{NeedFixture}, Title: "finds a bucket that was created without COSI",
			Rule: kep(sectionGet, "This gRPC call is used to get details about a statically-provisioned bucket that should already exist in the OSP backend."),
			Why:  "this is the purpose of the call", Fix: "look up the bucket in the backend, and do not require an ownership mark of the driver",
			Run: func(c *C) {
				b := c.static()
				c.makeStatic(b)
				ok(c, c.provisioner.DriverGetBucket, b.get())
			},
		},
		{
			ID: "BKT-GET-008", Level: Must, Needs: []Need{NeedFixture}, Title: "finds a bucket that was created after a failed lookup",
			Rule: kep(sectionGet, "NotFound (retryable) when the bucket does not exist in the backend"),
			Why:  "retryable means that a later call may succeed", Fix: "do not cache the absence of a bucket",
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
			Rule: advice("A deleted bucket is not found."), Why: "the code is listed, but COSI does not call this for dynamic buckets",
			Fix: "look up the bucket in the backend each time",
			Run: func(c *C) {
				b := c.created()
				c.delete(b)
				refused(c, c.provisioner.DriverGetBucket, b.get(), codes.NotFound)
			},
		},
		{
			ID: "BKT-GET-010", Level: Advice, Needs: []Need{NeedCreation}, Title: "describes a bucket in the same way as its creation",
			Rule: advice("All calls describe a bucket in the same way."),
			Why:  "the responses have the same type; no specification requires the same contents", Fix: "build both responses with the same code",
			Run: func(c *C) {
				b := c.generated()
				created := ok(c, c.provisioner.DriverCreateBucket, b.create())
				c.sameInfo(created.GetProtocols(), ok(c, c.provisioner.DriverGetBucket, b.get()).GetProtocols(), "by DriverGetBucket")
			},
		},
		{
			ID: "BKT-GET-011", Level: Must, Title: "describes the requested protocols, and only protocols from DriverGetInfo",
			Rule: kep(sectionGet, "The protocols returned in the response will be validated by COSI to match user requirements."),
			Why:  "\"an optional list of protocols the bucket MUST support\"", Fix: "return the message of every requested protocol, or InvalidArgument",
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
		c.sameInfo(first.GetProtocols(), ok(c, c.provisioner.DriverGetBucket, b.get()).GetProtocols(), "in the response to a repeated call")
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
		c.Fail("the fixture hook did not create the bucket: %v", err)
	}
}
