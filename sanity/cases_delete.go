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
			Rule: kep(sectionDelete, "This gRPC call deletes a bucket in the OSP."), Why: "this is the purpose of the call", Fix: "delete the backend bucket before returning OK",
			Run: func(c *C) {
				b := c.created()
				c.delete(b)
				refused(c, c.provisioner.DriverGetBucket, b.get(), codes.NotFound)
			},
		},
		{
			ID: "BKT-DEL-002", Level: Must, Needs: []Need{NeedCreation}, Title: "returns OK if the bucket does not exist",
			Rule: kep(sectionDelete, textGone), Why: whyListed, Fix: "treat the backend's not-found as success",
			Run: func(c *C) { c.delete(c.generated()) },
		},
		{
			ID: "BKT-DEL-003", Level: Must, Title: "rejects an empty bucket_id",
			Rule: spec(errorScheme, textMissingField), Why: whyRequired, Fix: "check bucket_id and return InvalidArgument",
			Run: func(c *C) {
				refused(c, c.provisioner.DriverDeleteBucket, &cosi.DriverDeleteBucketRequest{Parameters: c.suite.config.Params.Bucket}, codes.InvalidArgument)
			},
		},
		{
			ID: "BKT-DEL-004", Level: Must, Needs: []Need{NeedCreation}, Title: "returns OK to every repeated call",
			Rule: kep(sectionDelete, textGone), Why: whyListed, Fix: "treat the backend's not-found as success",
			Run: func(c *C) {
				b := c.created()
				for range c.suite.limits.Repeats {
					c.delete(b)
				}
			},
		},
		{
			ID: "BKT-DEL-005", Level: Must, Title: "returns OK for an unknown ID",
			Rule: kep(sectionDelete, textGone), Why: whyListed + "; a bucket with an ID that the driver cannot have returned does not exist",
			Fix: "treat an ID that the driver cannot parse as a bucket that does not exist",
			Run: func(c *C) {
				for _, id := range []string{c.name(), "never.issued-" + c.name(), "never/issued_" + c.name()} {
					ok(c, c.provisioner.DriverDeleteBucket, &cosi.DriverDeleteBucketRequest{BucketId: id, Parameters: c.suite.config.Params.Bucket})
				}
			},
		},
		{
			ID: "BKT-DEL-006", Level: Should, Needs: []Need{NeedCreation}, Title: "deletes the bucket once for concurrent calls",
			Rule: spec(errorScheme, "Operation pending for bucket: the Plugin, SHOULD handle this as gracefully as possible"),
			Why:  "the quoted text uses SHOULD", Fix: "lock by bucket_id, or return Aborted while the lock is held",
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
			ID: "BKT-DEL-007", Level: Advice, Needs: []Need{NeedCreation, NeedDataPlane, NeedKey, NeedNonEmptyPolicy}, Title: "handles a bucket that contains data as configured",
			Rule: advice("For a bucket that contains data, the driver either returns FailedPrecondition and keeps all of the data, or deletes the bucket with all of it. The driver's documentation states which."),
			Why:  "the KEP does not cover data in deleted buckets", Fix: "return FailedPrecondition unless the class allows the deletion of data, and never delete only some of the objects",
			Run: runNonEmpty,
		},
		{
			ID: "BKT-DEL-008", Level: Advice, Needs: []Need{NeedCreation}, Title: "deletes or rejects a bucket with an active access, which can still be revoked",
			Rule: advice("COSI deletes Buckets and accesses in any order: the deletion of a bucket with an active access returns OK or FailedPrecondition, and the revocation afterwards returns OK."),
			Why:  "no specification covers the order", Fix: "do not require the bucket in the revocation",
			Run: func(c *C) {
				b := c.created()
				a := c.granted(b)
				refused(c, c.provisioner.DriverDeleteBucket, b.delete(), codes.OK, codes.FailedPrecondition)
				c.revoke(a)
			},
		},
		{
			ID: "BKT-DEL-009", Level: Must, Needs: []Need{NeedCreation}, Title: "deletes only the requested bucket",
			Rule: kep(sectionDelete, "This gRPC call deletes a bucket in the OSP."), Why: "the call is about one bucket", Fix: "compare complete IDs, never prefixes",
			Run: func(c *C) {
				short := c.created()
				long := c.generatedAs(c.bucketRequest(short.request.GetName() + "-b"))
				ok(c, c.provisioner.DriverCreateBucket, long.create())
				c.delete(short)
				ok(c, c.provisioner.DriverGetBucket, long.get())
			},
		},
		{
			ID: "BKT-DEL-010", Level: Must, Needs: []Need{NeedCreation}, Title: "leaves nothing behind after a deletion that races with a creation",
			Rule: spec("Timeouts", "The only way to cancel a call is to issue a \"negation\" call if one exists. For example, issue a DeleteBucket call to cancel a pending CreateBucket operation"),
			Why:  "the text defines the deletion as the way to cancel a creation, so the deletion must win", Fix: "let the deletion wait for a creation with the same ID, or return Aborted",
			Run: runDeleteRacingCreate,
		},
		{
			ID: "BKT-DEL-011", Level: Must, Phase: Process, Needs: []Need{NeedCreation, NeedProcess}, Title: "needs only the request for a deletion, also after a restart",
			Rule: kep(sectionDelete, "DriverDeleteBucketRequest { bucket_id, parameters: { // copied from Bucket.parameters } }"),
			Why:  "after a restart, the request is the only source of the information that the driver needs", Fix: "do not keep state about buckets in memory",
			Run: func(c *C) {
				b := c.created()
				c.restart()
				c.delete(b)
				refused(c, c.provisioner.DriverGetBucket, b.get(), codes.NotFound)
			},
		},
		{
			ID: "BKT-DEL-012", Level: Advice, Needs: []Need{NeedCreation}, Title: "ignores an unknown parameter",
			Rule: advice("A new version of the driver that no longer has a parameter must be able to delete the buckets of an older version."),
			Why:  "no specification covers this", Fix: "reject unknown parameters only in DriverCreateBucket and DriverGrantBucketAccess",
			Run: func(c *C) {
				request := c.created().delete()
				request.Parameters = map[string]string{"cosi-sanity-no-such-parameter": "x"}
				ok(c, c.provisioner.DriverDeleteBucket, request)
			},
		},
		{
			ID: "BKT-DEL-013", Level: Advice, Needs: []Need{NeedCreation, NeedForeignBucket}, Title: "does not delete a bucket of another owner",
			Rule: advice("The driver must not delete a bucket that it did not create, such as a bucket of another cluster with the same name."),
			Why:  "the KEP does not define the owner of the bucket", Fix: "check the ownership mark before the deletion, and return FailedPrecondition if it differs",
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
				c.Fail("the rejected deletion changed the object %q", key)
			}
			c.can(a, b, DeleteObject, key)
		}
	default:
		c.Fail("the value of nonEmptyDelete in the configuration is %q; use %s", policy, nonEmptyRefuse+" or "+nonEmptyDelete)
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
