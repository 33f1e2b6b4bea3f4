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
	whyRevoke     = "that is what the call is for; v1alpha1 calls all RPCs idempotent"
)

func revokeCases() []Case {
	return append([]Case{
		{
			ID: "ACC-RVK-001", Level: Must, Needs: []Need{NeedOwnCredential}, Title: "ends the access: the credentials stop working",
			Rule: kep(sectionRevoke, textRevoke), Why: "that is what the call is for", Fix: "delete the keys before returning OK",
			Run: func(c *C) {
				b := c.created()
				// Reads of the backend may not show the grant yet.
				hasty := c.granted(b)
				c.revoke(hasty)
				a := c.granted(b)
				c.worksIfProbed(a, b)
				c.revoke(a)
				c.uselessIfProbed(a, b, "the access was revoked")
				c.uselessIfProbed(hasty, b, "the access was revoked as soon as it was granted")
			},
		},
		{
			ID: "ACC-RVK-002", Level: Must, Title: "returns OK when the account does not exist",
			Rule: kep(sectionRevoke, textRevoke), Why: "without it the deletion of an access never ends after a lost response; " + whyRetry, Fix: "treat the backend's not-found as success",
			Run: func(c *C) {
				a := c.accessTo(c.created())
				a.request.AccountId = "never-" + c.name()
				c.revoke(a)
			},
		},
		{
			ID: "ACC-RVK-003", Level: Must, Title: "refuses an empty account_id",
			Rule: spec(errorScheme, textMissingField), Why: whyRequired, Fix: "check account_id and return InvalidArgument",
			Run: func(c *C) {
				a := c.accessTo(c.created())
				a.request.AccountId = ""
				refused(c, c.provisioner.DriverRevokeBucketAccess, a.revoke(), codes.InvalidArgument)
			},
		},
		{
			ID: "ACC-RVK-004", Level: Must, Title: "returns OK every time",
			Rule: spec("Timeouts", textContinue), Why: whyRetry, Fix: "treat the backend's not-found as success",
			Run: func(c *C) {
				a := c.granted(c.created())
				for range c.suite.limits.Repeats {
					c.revoke(a)
				}
			},
		},
		{
			ID: "ACC-RVK-005", Level: Must, Needs: probedKey(), Title: "leaves other accounts on the bucket alone",
			Rule: kep(sectionRevoke, textRevoke), Why: "\"a particular account\"", Fix: "remove only what belongs to the account",
			Run: func(c *C) {
				b := c.created()
				a, other := c.granted(b), c.granted(b)
				c.revoke(a)
				c.works(other, b)
			},
		},
		{
			ID: "ACC-RVK-006", Level: Must, Needs: probedKey(), Title: "leaves the bucket and its objects alone",
			Rule: kep(sectionRevoke, textRevoke), Why: "it revokes access, nothing else", Fix: "do not touch bucket or objects",
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
			ID: "ACC-RVK-007", Level: Must, Title: "returns OK after the bucket is gone",
			Rule: kep(sectionRevoke, textRevoke), Why: "COSI deletes in any order; an access to a deleted bucket must still be removable", Fix: "treat a missing bucket as a bucket without this account",
			Run: runRevokeWithoutBucket,
		},
		{
			ID: "ACC-RVK-008", Level: Must, Title: "returns OK for an ID that was generated and never granted",
			Rule: kep(sectionRevoke, textRevoke), Why: "COSI persists the ID before the grant, and revokes whatever it persisted", Fix: "treat the backend's not-found as success",
			Run: func(c *C) { c.revoke(c.accessTo(c.created())) },
		},
		{
			ID: "ACC-RVK-009", Level: Should, Title: "leaves no access after a revoke that follows a racing grant",
			Rule: spec("Timeouts", "The only way to cancel a call is to issue a \"negation\" call if one exists."),
			Why:  "the text's example is the bucket; for the access it is our reading", Fix: "make the revoke wait for a grant of the same ID, or return Aborted",
			Run: runRevokeRacingGrant,
		},
		{
			ID: "ACC-RVK-010", Level: Must, Needs: probedOwnKey(), Title: "several buckets: refused on all of them",
			Rule: kep(sectionRevoke, textRevoke), Why: "the access is one; so is its revoke", Fix: "remove the account's permission on every bucket",
			Run: runRevokeMultiBucket,
		},
		{
			ID: "ACC-RVK-011", Level: Should, Phase: Alone, Needs: []Need{NeedInventory}, Title: "leaves no account, key or policy behind",
			Rule: advice("What a grant made, the revoke removes: an account without keys, or a policy statement for a missing account, is a leak."),
			Why:  "no text speaks of leftovers that give no access", Fix: "delete keys, policies and account, each tolerating that it is gone",
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
			ID: "ACC-RVK-012", Level: Advice, Needs: probedOwnKey(), Title: "can be granted again, and the old secret stays useless",
			Rule: advice("An account that was revoked is granted again with a new credential; the old one stays refused."),
			Why:  "no text speaks of it", Fix: "make a new key for every new account",
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
			ID: "ACC-RVK-013", Level: Advice, Title: "ignores a parameter that it does not know",
			Rule: advice("An access made by an older version of the driver must be revocable by a newer one that dropped a parameter."),
			Why:  "no text speaks of it", Fix: "refuse unknown parameters in create and grant only",
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
		c.notApplicable("the driver does not delete a bucket with a live access")
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
