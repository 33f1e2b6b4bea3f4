// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"bytes"

	"google.golang.org/grpc/codes"

	cosi "github.com/cooper-cosi/cooper/proto"
)

const (
	sectionDelete = "DriverDeleteBucket"
	textGone      = "OK when OSP bucket already does not exist"

	// Values of NonEmptyDelete.
	nonEmptyRefuse = "refuse"
	nonEmptyDelete = "delete"
)

func deleteCases() []Case {
	return []Case{
		{
			ID: "BKT-DEL-001", Level: Must, Needs: []Need{NeedCreation}, Title: "deletes a bucket",
			Rule: kep(sectionDelete, "This gRPC call deletes a bucket in the OSP."), Why: "that is what the call is for", Fix: "delete the backend bucket before returning OK",
			Run: func(c *C) {
				b := c.created()
				c.delete(b)
				refused(c, c.provisioner.DriverGetBucket, b.get(), codes.NotFound)
			},
		},
		{
			ID: "BKT-DEL-002", Level: Must, Needs: []Need{NeedCreation}, Title: "returns OK when the bucket does not exist",
			Rule: kep(sectionDelete, textGone), Why: whyListed, Fix: "treat the backend's not-found as success",
			Run: func(c *C) { c.delete(c.generated()) },
		},
		{
			ID: "BKT-DEL-003", Level: Must, Title: "refuses an empty bucket_id",
			Rule: spec(errorScheme, textMissingField), Why: whyRequired, Fix: "check bucket_id and return InvalidArgument",
			Run: func(c *C) {
				refused(c, c.provisioner.DriverDeleteBucket, &cosi.DriverDeleteBucketRequest{Parameters: c.suite.config.Params.Bucket}, codes.InvalidArgument)
			},
		},
		{
			ID: "BKT-DEL-004", Level: Must, Needs: []Need{NeedCreation}, Title: "returns OK every time",
			Rule: kep(sectionDelete, textGone), Why: whyListed, Fix: "treat the backend's not-found as success",
			Run: func(c *C) {
				b := c.created()
				for range c.suite.limits.Repeats {
					c.delete(b)
				}
			},
		},
		{
			ID: "BKT-DEL-005", Level: Must, Title: "returns OK for an ID that it never issued",
			Rule: kep(sectionDelete, textGone), Why: whyListed + "; a bucket of an ID that the driver cannot have issued does not exist",
			Fix: "treat an ID you cannot parse as a bucket that does not exist",
			Run: func(c *C) {
				for _, id := range []string{c.name(), "never.issued-" + c.name(), "never/issued_" + c.name()} {
					ok(c, c.provisioner.DriverDeleteBucket, &cosi.DriverDeleteBucketRequest{BucketId: id, Parameters: c.suite.config.Params.Bucket})
				}
			},
		},
		{
			ID: "BKT-DEL-006", Level: Should, Needs: []Need{NeedCreation}, Title: "deletes once for calls made at once",
			Rule: spec(errorScheme, "Operation pending for bucket: the Plugin, SHOULD handle this as gracefully as possible"),
			Why:  "the sentence says SHOULD", Fix: "lock by bucket_id, or return Aborted while the lock is held",
			Run: func(c *C) {
				b := c.created()
				c.onlyCodes(c.together(c.suite.limits.Concurrency, func(int) codes.Code {
					_, code := try(c.ctx, c, c.provisioner.DriverDeleteBucket, b.delete())
					return code
				}), codes.OK, codes.Aborted)
				c.delete(b)
				refused(c, c.provisioner.DriverGetBucket, b.get(), codes.NotFound)
			},
		},
		{
			ID: "BKT-DEL-007", Level: Advice, Needs: []Need{NeedCreation, NeedDataPlane, NeedKey, NeedNonEmptyPolicy}, Title: "treats a bucket that holds data as declared",
			Rule: advice("A bucket that holds data is either refused with FailedPrecondition, all of its data kept, or deleted with all of it; which, is documented."),
			Why:  "the KEP does not say what happens to data", Fix: "refuse with FailedPrecondition unless the class allows otherwise, and never empty by half",
			Run: runNonEmpty,
		},
		{
			ID: "BKT-DEL-008", Level: Advice, Needs: []Need{NeedCreation}, Title: "with a live access deletes or refuses, and the access can still be revoked",
			Rule: advice("COSI deletes in any order: a bucket whose access is still granted is OK or FailedPrecondition, and the revoke afterwards is OK."),
			Why:  "no text speaks of the order", Fix: "do not let revoke depend on the bucket",
			Run: func(c *C) {
				b := c.created()
				a := c.granted(b)
				refused(c, c.provisioner.DriverDeleteBucket, b.delete(), codes.OK, codes.FailedPrecondition)
				c.revoke(a)
			},
		},
		{
			ID: "BKT-DEL-009", Level: Must, Needs: []Need{NeedCreation}, Title: "deletes nothing but the bucket asked for",
			Rule: kep(sectionDelete, "This gRPC call deletes a bucket in the OSP."), Why: "a bucket is one bucket", Fix: "compare IDs whole, never by prefix",
			Run: func(c *C) {
				short := c.created()
				long := c.generatedAs(c.bucketRequest(short.request.GetName() + "-b"))
				ok(c, c.provisioner.DriverCreateBucket, long.create())
				c.delete(short)
				ok(c, c.provisioner.DriverGetBucket, long.get())
			},
		},
		{
			ID: "BKT-DEL-010", Level: Must, Needs: []Need{NeedCreation}, Title: "leaves nothing after a delete that follows a racing create",
			Rule: spec("Timeouts", "The only way to cancel a call is to issue a \"negation\" call if one exists. For example, issue a DeleteBucket call to cancel a pending CreateBucket operation"),
			Why:  "the sentence makes the delete the way to cancel; then it must win", Fix: "make the delete wait for a create of the same ID, or return Aborted",
			Run: runDeleteRacingCreate,
		},
		{
			ID: "BKT-DEL-011", Level: Must, Phase: Process, Needs: []Need{NeedCreation, NeedProcess}, Title: "deletes with what is in the request, also after a restart",
			Rule: kep(sectionDelete, "DriverDeleteBucketRequest { bucket_id, parameters: { // copied from Bucket.parameters } }"),
			Why:  "the request carries what the driver needs, and nothing else does after a restart", Fix: "keep nothing about a bucket in memory",
			Run: func(c *C) {
				b := c.created()
				c.restart()
				c.delete(b)
				refused(c, c.provisioner.DriverGetBucket, b.get(), codes.NotFound)
			},
		},
		{
			ID: "BKT-DEL-012", Level: Advice, Needs: []Need{NeedCreation}, Title: "ignores a parameter that it does not know",
			Rule: advice("A bucket made by an older version of the driver must be deletable by a newer one that dropped a parameter."),
			Why:  "no text speaks of it", Fix: "refuse unknown parameters in create and grant only",
			Run: func(c *C) {
				request := c.created().delete()
				request.Parameters = map[string]string{"cosi-sanity-no-such-parameter": "x"}
				ok(c, c.provisioner.DriverDeleteBucket, request)
			},
		},
		{
			ID: "BKT-DEL-013", Level: Advice, Needs: []Need{NeedCreation, NeedForeignBucket}, Title: "does not delete somebody else's bucket",
			Rule: advice("A bucket that the driver did not make, such as one of another cluster that has its name, is not the driver's to delete."),
			Why:  "the KEP does not say whose the bucket is", Fix: "compare the mark of the bucket before deleting it, and return FailedPrecondition",
			Run: func(c *C) {
				b := c.generated()
				fixture, can := c.suite.config.Fixture.(ForeignFixture)
				if !can {
					c.notApplicable(noForeignBucket)
				}
				c.takeName(fixture, b.id)
				// The code does not matter. The bucket must still exist and have the other owner.
				_, _ = try(c.ctx, c, c.provisioner.DriverDeleteBucket, b.delete())
				refused(c, c.provisioner.DriverCreateBucket, b.create(), codes.AlreadyExists)
			},
		},
	}
}

func runNonEmpty(c *C) {
	b := c.created()
	a := c.granted(b)
	var keys []string
	for range 3 {
		keys = append(keys, "data-"+c.name())
		c.can(a, b, PutObject, keys[len(keys)-1])
	}
	switch policy := c.suite.config.NonEmptyDelete; policy {
	case nonEmptyDelete:
		c.delete(b)
		refused(c, c.provisioner.DriverGetBucket, b.get(), codes.NotFound)
	case nonEmptyRefuse:
		refused(c, c.provisioner.DriverDeleteBucket, b.delete(), codes.FailedPrecondition)
		for _, key := range keys {
			if got := c.can(a, b, GetObject, key); !bytes.Equal(got.Body, contents(key)) {
				c.Fail("the delete was refused, but changed the object %q", key)
			}
			c.can(a, b, DeleteObject, key)
		}
	default:
		c.Fail("the configuration declares %q; use %s", policy, nonEmptyRefuse+" or "+nonEmptyDelete)
	}
}

func runDeleteRacingCreate(c *C) {
	for range c.suite.limits.Repeats {
		b := c.generated()
		created := make(chan struct{})
		go func() {
			defer close(created)
			// Only the race matters, not its winner.
			_, _ = try(c.ctx, c, c.provisioner.DriverCreateBucket, b.create())
		}()
		_, _ = try(c.ctx, c, c.provisioner.DriverDeleteBucket, b.delete())
		<-created
		c.leavesNoBucket(b)
	}
	// On a busy machine the creation may win every time, so the other outcome is also tested without a race.
	b := c.generated()
	c.delete(b)
	_, _ = try(c.ctx, c, c.provisioner.DriverCreateBucket, b.create())
	c.leavesNoBucket(b)
}

// leavesNoBucket deletes a bucket twice and checks that it no longer exists.
func (c *C) leavesNoBucket(b *bucket) {
	c.delete(b)
	c.delete(b)
	refused(c, c.provisioner.DriverGetBucket, b.get(), codes.NotFound)
}
