// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"bytes"

	"google.golang.org/grpc/codes"

	cosi "github.com/cooper-cosi/cooper/proto"
)

const (
	sectionRevoke = "DriverRevokeBucketAccess"
	textRevoke    = "This gRPC call revokes access granted to a particular account."
	whyRevoke     = "this is the purpose of the call; by v1alpha1, all RPCs are idempotent"
)

func revokeCases() []Case {
	return append([]Case{
		{
			ID: "ACC-RVK-001", Level: Must, Needs: []Need{NeedOwnCredential}, Title: "ends the access: the credentials stop working",
			Rule: kep(sectionRevoke, textRevoke), Why: "this is the purpose of the call", Fix: "delete the keys before returning OK",
			Run: func(c *C) {
				b := c.created()
				// Reads of the backend may not show the grant yet.
				hasty := c.granted(b)
				c.revoke(hasty)
				a := c.granted(b)
				c.worksIfProbed(a, b)
				c.revoke(a)
				c.uselessIfProbed(a, b, "the access was revoked")
				c.uselessIfProbed(hasty, b, "the access was revoked directly after the grant")
			},
		},
		{
			ID: "ACC-RVK-002", Level: Must, Title: "returns OK when the account does not exist",
			Rule: kep(sectionRevoke, textRevoke), Why: "otherwise the deletion of an access never ends after a lost response; " + whyRetry, Fix: "treat the backend's not-found as success",
			Run: func(c *C) {
				a := c.accessTo(c.created())
				a.request.AccountId = "never-" + c.name()
				c.revoke(a)
			},
		},
		{
			ID: "ACC-RVK-003", Level: Must, Title: "rejects an empty account_id",
			Rule: spec(errorScheme, textMissingField), Why: whyRequired, Fix: "check account_id and return InvalidArgument",
			Run: func(c *C) {
				a := c.accessTo(c.created())
				a.request.AccountId = ""
				refused(c, c.provisioner.DriverRevokeBucketAccess, a.revoke(), codes.InvalidArgument)
			},
		},
		{
			ID: "ACC-RVK-004", Level: Must, Title: "returns OK to every repeated call",
			Rule: spec("Timeouts", textContinue), Why: whyRetry, Fix: "treat the backend's not-found as success",
			Run: func(c *C) {
				a := c.granted(c.created())
				for range c.suite.limits.Repeats {
					c.revoke(a)
				}
			},
		},
		{
			ID: "ACC-RVK-005", Level: Must, Needs: probedKey(), Title: "does not affect other accounts of the bucket",
			Rule: kep(sectionRevoke, textRevoke), Why: "\"a particular account\"", Fix: "remove only objects that belong to the account",
			Run: func(c *C) {
				b := c.created()
				a, other := c.granted(b), c.granted(b)
				c.revoke(a)
				c.works(other, b)
			},
		},
		{
			ID: "ACC-RVK-006", Level: Must, Needs: probedKey(), Title: "does not affect the bucket and its objects",
			Rule: kep(sectionRevoke, textRevoke), Why: "the call only revokes access", Fix: "do not change the bucket or its objects",
			Run: func(c *C) {
				b := c.created()
				owner, key := c.stocked(b)
				c.revoke(owner)
				ok(c, c.provisioner.DriverGetBucket, b.get())
				again := c.granted(b)
				if got := c.can(again, b, GetObject, key); !bytes.Equal(got.Body, contents(key)) {
					c.Fail("the object %q changed when an access was revoked", key)
				}
				c.can(again, b, DeleteObject, key)
			},
		},
	}, revokeCornerCases()...)
}

func revokeCornerCases() []Case {
	return []Case{
		{
			ID: "ACC-RVK-007", Level: Must, Title: "returns OK after the bucket was deleted",
			Rule: kep(sectionRevoke, textRevoke), Why: "COSI deletes Buckets and accesses in any order; it must be possible to revoke an access to a deleted bucket", Fix: "handle a missing bucket like a bucket without this account",
			Run: runRevokeWithoutBucket,
		},
		{
			ID: "ACC-RVK-008", Level: Must, Title: "returns OK for an ID that was generated but never granted",
			Rule: kep(sectionRevoke, textRevoke), Why: "COSI persists the ID before the grant, and revokes each persisted ID", Fix: "treat the backend's not-found as success",
			Run: func(c *C) { c.revoke(c.accessTo(c.created())) },
		},
		{
			ID: "ACC-RVK-009", Level: Should, Title: "leaves no access behind after a revocation that races with a grant",
			Rule: spec("Timeouts", "The only way to cancel a call is to issue a \"negation\" call if one exists."),
			Why:  "the text's example is about buckets; we apply it to accesses", Fix: "let the revocation wait for a grant with the same ID, or return Aborted",
			Run: runRevokeRacingGrant,
		},
		{
			ID: "ACC-RVK-010", Level: Must, Needs: probedOwnKey(), Title: "revokes the access to all of several buckets",
			Rule: kep(sectionRevoke, textRevoke), Why: "there is one access, so there is one revocation", Fix: "remove the account's permission on every bucket",
			Run: runRevokeMultiBucket,
		},
		{
			ID: "ACC-RVK-011", Level: Should, Phase: Alone, Needs: []Need{NeedInventory}, Title: "leaves no account, key or policy behind",
			Rule: advice("The revocation removes everything that the grant created: an account without keys, or a policy statement for a missing account, is a leak."),
			Why:  "no specification covers leftovers that give no access", Fix: "delete keys, policies and account, and ignore those that no longer exist",
			Run: func(c *C) {
				b := c.created()
				before := c.inventory()
				a := c.granted(b)
				c.listsAccess(before)
				c.revoke(a)
				c.unchanged(before)
			},
		},
		{
			ID: "ACC-RVK-012", Level: Advice, Needs: probedOwnKey(), Title: "can grant the access again, and the old secret remains invalid",
			Rule: advice("A revoked account that is granted again has a new credential; the old one remains invalid."),
			Why:  "no specification covers this", Fix: "create a new key for each new account",
			Run: func(c *C) {
				b := c.created()
				a := c.granted(b)
				c.works(a, b)
				old := *a
				c.revoke(a)
				c.works(c.grant(a), b)
				c.cannot(&old, b, ListObjects, "", "the access was revoked before it was granted again")
			},
		},
		{
			ID: "ACC-RVK-013", Level: Advice, Title: "ignores an unknown parameter",
			Rule: advice("A new version of the driver that no longer has a parameter must be able to revoke the accesses of an older version."),
			Why:  "no specification covers this", Fix: "reject unknown parameters only in DriverCreateBucket and DriverGrantBucketAccess",
			Run: func(c *C) {
				request := c.granted(c.created()).revoke()
				request.Parameters = map[string]string{"cosi-sanity-no-such-parameter": "x"}
				ok(c, c.provisioner.DriverRevokeBucketAccess, request)
			},
		},
	}
}

// uselessIfProbed checks that a credential no longer gives access.
func (c *C) uselessIfProbed(a *access, b *bucket, why string) {
	if c.suite.lacks(probedOwnKey()) != "" {
		return
	}
	for _, action := range []Action{ListObjects, GetObject, PutObject} {
		c.cannot(a, b, action, "useless", why)
	}
}

func runRevokeWithoutBucket(c *C) {
	b := c.created()
	a := c.granted(b)
	_, code := try(c.ctx, c, c.provisioner.DriverDeleteBucket, b.delete())
	if code == codes.FailedPrecondition {
		c.notApplicable("the driver does not delete a bucket with an active access")
	}
	c.revoke(a)
}

func runRevokeRacingGrant(c *C) {
	b := c.created()
	for range c.suite.limits.Repeats {
		a := c.accessTo(b)
		granted := make(chan *cosi.DriverGrantBucketAccessResponse, 1)
		go func() {
			response, _ := try(c.ctx, c, c.provisioner.DriverGrantBucketAccess, a.request)
			granted <- response
		}()
		// Only the race matters, not its winner.
		_, _ = try(c.ctx, c, c.provisioner.DriverRevokeBucketAccess, a.revoke())
		a.response = <-granted
		c.leavesNoAccess(a, b)
	}
	// On a busy machine the grant may win every time, so the other outcome is also tested without a race.
	a := c.accessTo(b)
	_, _ = try(c.ctx, c, c.provisioner.DriverRevokeBucketAccess, a.revoke())
	a.response, _ = try(c.ctx, c, c.provisioner.DriverGrantBucketAccess, a.request)
	c.leavesNoAccess(a, b)
}

// leavesNoAccess revokes an access twice and checks that its credential no longer works.
func (c *C) leavesNoAccess(a *access, b *bucket) {
	c.revoke(a)
	c.revoke(a)
	if a.response.GetCredentials() != nil {
		c.uselessIfProbed(a, b, "the access was revoked last")
	}
}

func runRevokeMultiBucket(c *C) {
	one, other := c.created(), c.created()
	if !c.multiBucket(one, other) {
		c.notApplicable("the driver returns OutOfRange for several buckets")
	}
	a := c.granted(one, other)
	c.works(a, one)
	c.works(a, other)
	c.revoke(a)
	c.uselessIfProbed(a, one, "the access was revoked")
	c.uselessIfProbed(a, other, "the access was revoked")
}
