// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"maps"
	"slices"

	"google.golang.org/grpc/codes"

	cosi "github.com/cooper-cosi/cooper/proto"
)

func updateCases() []Case {
	return []Case{
		{
			ID: "BKT-CRT-021", Level: Must, Needs: []Need{NeedCreation, NeedChangeable},
			Title: "accepts repeated changes of parameters, as announced, and then still the parameters of the creation",
			Rule:  kep(sectionCreate, "This API must be idempotent."),
			Why:   "the driver announces this with changeable_bucket_parameters, an addition to the KEP's messages; all other calls have the parameters of the creation",
			Fix:   "keep the record of the parameters of the creation, and compare it with the field parameters only",
			Run: func(c *C) {
				b := c.generated()
				first := ok(c, c.provisioner.DriverCreateBucket, b.create())
				for _, request := range []*cosi.DriverCreateBucketRequest{
					b.update(c.suite.config.Params.Changed), b.update(c.suite.config.Params.Changed), b.create(), b.restore(c.suite.config.Params.Changed), b.create(),
				} {
					c.sameInfo(first.GetProtocols(), ok(c, c.provisioner.DriverCreateBucket, request).GetProtocols(), "after a change of parameters")
				}
			},
		},
		{
			ID: "BKT-CRT-022", Level: Advice, Needs: []Need{NeedCreation, NeedChangeable},
			Title: "does not create a bucket to change its parameters",
			Rule:  advice("A change of parameters is for an existing bucket. If the bucket was deleted in the backend, a new, empty one would hide the loss."),
			Why:   "no specification covers changes of a bucket", Fix: "return NotFound if there is no such bucket",
			Run: func(c *C) {
				b := c.generated()
				refused(c, c.provisioner.DriverCreateBucket, b.update(c.suite.config.Params.Changed), codes.NotFound)
				refused(c, c.provisioner.DriverGetBucket, b.get(), codes.NotFound)
			},
		},
		{
			ID: "BKT-CRT-023", Level: Must, Needs: []Need{NeedCreation, NeedChangeable, NeedForeignBucket},
			Title: "does not change parameters of a bucket of another owner",
			Rule:  kep(sectionCreate, textExists), Why: whyListed + "; a bucket of another owner is not the requested bucket",
			Fix: "check the ownership mark before every change, as in a repeated creation",
			Run: func(c *C) {
				b := c.generated()
				fixture, can := c.suite.config.Fixture.(ForeignFixture)
				if !can {
					c.notApplicable(noForeignBucket)
				}
				c.takeName(fixture, b.id)
				refused(c, c.provisioner.DriverCreateBucket, b.update(c.suite.config.Params.Changed), codes.AlreadyExists)
			},
		},
	}
}

// update returns a request that sets parameters of an existing bucket.
func (b *bucket) update(changed map[string]string) *cosi.DriverCreateBucketRequest {
	request := b.restore(changed)
	maps.Copy(request.GetUpdate().GetParameters(), changed)
	return request
}

// restore returns a request that sets the values of the creation for the parameters of an earlier change.
func (b *bucket) restore(changed map[string]string) *cosi.DriverCreateBucketRequest {
	request := b.create()
	parameters := map[string]string{}
	maps.Copy(parameters, request.GetParameters())
	request.Update = &cosi.BucketUpdate{Changed: slices.Sorted(maps.Keys(changed)), Parameters: parameters}
	return request
}
