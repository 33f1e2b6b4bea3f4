// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	cosi "github.com/cooper-cosi/cooper/proto"
)

func grantRetryCases() []Case {
	return []Case{
		{
			ID: "ACC-GRT-019", Level: Should, Phase: Alone, Title: "creates one account for concurrent calls",
			Rule: kep(sectionGrant, textOneAccess), Why: "the quoted text uses \"should\"; the second call may return Aborted", Fix: "lock by account_id, or return Aborted while the lock is held",
			Run: runGrantAtOnce,
		},
		{
			ID: "ACC-GRT-020", Level: Must, Needs: probedKey(), Title: "grants several accounts for one bucket concurrently, and all of them work",
			Rule: kep(sectionGrant, "This call creates a set of access credentials for one or more buckets."), Why: "OK means granted: a lost update of a policy would revoke a granted access",
			Fix: "lock the bucket while its policy is read, changed and written, or use a separate policy for each account",
			Run: runManyAccounts,
		},
		{
			ID: "ACC-GRT-021", Level: Must, Phase: Alone, Title: "returns OK again after the call was cancelled or the response was lost",
			Rule: spec("Timeouts", textContinue), Why: whyRetry, Fix: "store a credential before returning it, and make every step repeatable",
			Run: runGrantRetried,
		},
		{
			ID: "ACC-GRT-022", Level: Must, Phase: Process, Needs: []Need{NeedProcess}, Title: "returns OK for the same ID after a restart, and the access works",
			Rule: kep(sectionGrant, textGrantIdempotent), Why: whyMust, Fix: "do not keep state about accounts only in memory",
			Run: func(c *C) {
				b := c.created()
				a := c.granted(b)
				c.restart()
				c.grant(a)
				c.worksIfProbed(a, b)
			},
		},
		{
			ID: "ACC-GRT-023", Level: Must, Needs: []Need{NeedFixture}, Title: "grants access to a bucket that was created without COSI",
			Rule: kep(sectionGenerateAccess, "Each bucket_id used for input is the same ID returned by the driver in DriverGenerateBucketId (dynamically-provisioned) or given by bucket_id (statically-provisioned)."),
			Why:  "the quoted text mentions both kinds", Fix: "accept every bucket_id that DriverGetBucket finds",
			Run: func(c *C) {
				b := c.static()
				c.makeStatic(b)
				ok(c, c.provisioner.DriverGetBucket, b.get())
				a := c.granted(b)
				c.worksIfProbed(a, b)
				c.revoke(a)
			},
		},
		{
			ID: "ACC-GRT-025", Level: Should, Needs: []Need{NeedKey, NeedOwnCredential}, Title: "generates secrets that cannot be derived from the name",
			Rule: advice("Users who read an account name in a log must not be able to compute its secret: the secrets of two accounts differ, and a revoked account gets another secret when it is granted again."),
			Why:  "no specification covers the generation of secrets; a derived secret cannot be revoked permanently", Fix: "delete the key when the access is revoked, and generate each key at random",
			Run: runFreshSecrets,
		},
		{
			ID: "ACC-GRT-027", Level: Should, Phase: Process, Needs: []Need{NeedKey}, Title: "returns the same credential every time, also after a restart",
			Rule: kep(sectionGrant, textGrantIdempotent),
			Why:  "a backend may return a secret only once, so no specification can demand this; but sidecars repeat grants at each start, and a changed credential breaks running workloads",
			Fix:  "store the credential before it is returned, and return the stored one",
			Run:  runSameCredential,
		},
		{
			ID: "ACC-GRT-030", Level: Advice, Needs: append(probedKey(), NeedRotation), Title: "rotates on request, and keeps exactly the previous credential",
			Rule: advice("The field rotation of cosi.proto: the same value returns the same credential; another value returns a new one, and only the previous one keeps working."),
			Why:  "rotation is an addition to the KEP's messages", Fix: "create a second key for a new value, and delete the key before the previous one",
			Run: runRotation,
		},
	}
}

func runSameCredential(c *C) {
	a := c.granted(c.created())
	first := a.response
	compare := func() {
		if c.grant(a); !proto.Equal(first.GetCredentials(), a.response.GetCredentials()) {
			c.Fail("a repeated grant returns another credential; the differing fields are: %s",
				strings.Join(differing(first.GetCredentials().ProtoReflect(), a.response.GetCredentials().ProtoReflect()), ", "))
		}
	}
	for range c.suite.limits.Repeats {
		compare()
	}
	if c.canRestart() {
		c.restart()
		compare()
	}
}

// differing returns the names of the fields in which two messages of one type differ. Secrets are printed as
// [redacted], so the printed messages alone would not show a difference.
func differing(a, b protoreflect.Message) []string {
	var names []string
	fields := a.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		switch x, y := a.Get(field), b.Get(field); {
		case x.Equal(y):
		case field.Message() != nil && !field.IsList() && !field.IsMap() && a.Has(field) && b.Has(field):
			names = append(names, differing(x.Message(), y.Message())...)
		default:
			names = append(names, string(field.Name()))
		}
	}
	return names
}

func runGrantAtOnce(c *C) {
	b := c.created()
	a := c.accessTo(b)
	var before []string
	if c.hasInventory() {
		before = c.inventory()
	}
	c.onlyCodes(c.together(c.suite.limits.Concurrency, func(int) codes.Code {
		_, code := try(c.ctx, c, c.provisioner.DriverGrantBucketAccess, a.request)
		return code
	}), codes.OK, codes.Aborted)
	c.grant(a)
	c.worksIfProbed(a, b)
	if c.hasInventory() {
		c.oneAccount(before, 1)
	}
}

func runManyAccounts(c *C) {
	b := c.created()
	accesses := make([]*access, c.suite.limits.Concurrency)
	for i := range accesses {
		accesses[i] = c.accessTo(b)
	}
	c.together(len(accesses), func(i int) codes.Code {
		response, code := try(c.ctx, c, c.provisioner.DriverGrantBucketAccess, accesses[i].request)
		if code == codes.OK {
			accesses[i].response = response
		}
		return code
	})
	for _, a := range accesses {
		if a.response != nil {
			c.works(a, b)
		}
	}
}

func runGrantRetried(c *C) {
	usual := shortest(c.suite.limits.Repeats, func() func() {
		sample := c.accessTo(c.created())
		return func() { c.grant(sample) }
	})
	// Use a separate bucket for each, because some stores allow only few accesses per bucket.
	buckets, accesses := make([]*bucket, c.suite.limits.Repeats), make([]*access, c.suite.limits.Repeats)
	for i := range accesses {
		buckets[i] = c.created()
		accesses[i] = c.accessTo(buckets[i])
	}
	grant := func(ctx context.Context, a *access) codes.Code {
		response, code := try(ctx, c, c.provisioner.DriverGrantBucketAccess, a.request)
		if code == codes.OK {
			a.response = response
		}
		return code
	}
	c.cancelled(usual, func(ctx context.Context, i int) { grant(ctx, accesses[i]) })
	for i, a := range accesses {
		c.converges(func() codes.Code { return grant(c.ctx, a) }, "DriverGrantBucketAccess after it was cancelled")
		c.worksIfProbed(a, buckets[i])
	}
	b := c.created()
	a := c.accessTo(b)
	c.dropped(func(ctx context.Context) codes.Code { return grant(ctx, a) })
	c.grant(a)
	c.worksIfProbed(a, b)
}

func runFreshSecrets(c *C) {
	b := c.created()
	one, other := c.granted(b), c.granted(b)
	if sameSecrets(one.response, other.response) {
		c.Fail("two accounts have the same secret")
	}
	first := one.response
	c.revoke(one)
	if c.grant(one); sameSecrets(first, one.response) {
		c.Fail("a revoked account has the same secret after it is granted again")
	}
}

func runRotation(c *C) {
	b := c.created()
	a := c.accessTo(b)
	var responses []*cosi.DriverGrantBucketAccessResponse
	for _, rotation := range []string{"", "1", "2"} {
		a.request.Rotation = rotation
		c.grant(a)
		first := a.response
		if c.grant(a); !proto.Equal(first.GetCredentials(), a.response.GetCredentials()) {
			c.Fail("a grant repeated with the rotation %q returns another credential", rotation)
		}
		responses = append(responses, first)
	}
	for i, response := range responses[1:] {
		if sameSecrets(responses[i], response) {
			c.Fail("another rotation returns the same secret")
		}
	}
	current, previous, old := *a, *a, *a
	current.response, previous.response, old.response = responses[2], responses[1], responses[0]
	c.works(&current, b)
	c.works(&previous, b)
	c.cannot(&old, b, ListObjects, "", "the credential was rotated twice")
}
