// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"slices"

	"google.golang.org/grpc/codes"

	cosi "github.com/cooper-cosi/cooper/proto"
)

const (
	sectionGenerateAccess = "DriverGenerateBucketAccessId"
	textOutOfRange        = "OutOfRange (not retryable) if (and only if) the driver does not support creating a single shared access credential for multiple buckets"
	textPermissions       = "Driver implementers should use InvalidArgument to report unsupported permission requests."
)

func accessIDCases() []Case {
	return append([]Case{
		{
			ID: "ACC-GEN-001", Level: Must, Title: "returns an ID",
			Rule: kep(sectionGenerateAccess, "This call requests an account_id that COSI will use for all subsequent gRPC calls related to the access"),
			Why:  "without an ID there are no later calls", Fix: "return an account_id that contains only allowed characters",
			Run: func(c *C) {
				id := c.accessTo(c.created()).request.GetAccountId()
				if id == "" {
					c.Fail("DriverGenerateBucketAccessId returns no account_id")
				}
				c.wellFormed(id)
			},
		},
		{
			ID: "ACC-GEN-002", Level: Must, Title: "rejects an empty account_name",
			Rule: spec(errorScheme, textMissingField), Why: whyRequired, Fix: "check account_name and return InvalidArgument",
			Run: func(c *C) {
				request := c.anyAccess()
				request.AccountName = ""
				refused(c, c.provisioner.DriverGenerateBucketAccessId, request, codes.InvalidArgument)
			},
		},
		{
			ID: "ACC-GEN-003", Level: Must, Title: "returns the same ID for the same name every time",
			Rule: kep(sectionGenerateAccess, textGenerateIdempotent), Why: whyMust, Fix: "derive the ID from the request, without random parts",
			Run: func(c *C) {
				a := c.accessAs(c.anyAccess())
				for range c.suite.limits.Repeats {
					if again := c.accessAs(a.phase1); again.request.GetAccountId() != a.request.GetAccountId() {
						c.Fail("the same name has the IDs %q and %q", a.request.GetAccountId(), again.request.GetAccountId())
					}
				}
			},
		},
		{
			ID: "ACC-GEN-004", Level: Must, Title: "returns distinct IDs for distinct names, including long names",
			Rule: kep(sectionGenerateAccess, "The returned ID must be unique, and the driver must be able to correlate account_id to an OSP backend account provisioned in phase 2."),
			Why:  whyMust, Fix: "use the whole name or its hash, or reject a long name with InvalidArgument",
			Run: runDistinctAccounts,
		},
		{
			ID: "ACC-GEN-005", Level: Should, Phase: Process, Needs: []Need{NeedProcess}, Title: "returns the same ID after a restart",
			Rule: kep(sectionGenerateAccess, "If possible, COSI recommends that each driver use a deterministic rule for generating the account_id without provisioning backend resources."),
			Why:  "the quoted text is a recommendation", Fix: "derive the ID from the request, without state in memory",
			Run: func(c *C) {
				a := c.accessAs(c.anyAccess())
				c.restart()
				if again := c.accessAs(a.phase1); again.request.GetAccountId() != a.request.GetAccountId() {
					c.Fail("the same name has the ID %q before a restart and %q after it", a.request.GetAccountId(), again.request.GetAccountId())
				}
			},
		},
		{
			ID: "ACC-GEN-006", Level: Should, Phase: Alone, Needs: []Need{NeedInventory}, Title: "creates nothing in the backend",
			Rule: kep(sectionGenerateAccess, textNoLeak),
			Why:  "avoiding leaks is a must; for this purpose, the KEP recommends to create nothing in phase 1",
			Fix:  "create account, key and policy in DriverGrantBucketAccess",
			Run: func(c *C) {
				empty := c.inventory()
				b := c.created()
				c.listsBucket(empty)
				before := c.inventory()
				c.accessTo(b)
				c.unchanged(before)
			},
		},
		{
			ID: "ACC-GEN-007", Level: Must, Title: "rejects an access to no bucket",
			Rule: spec("Required vs. Optional", "A repeated or map field listed as REQUIRED MUST contain at least 1 element."),
			Why:  "an access is for \"one or more buckets\"", Fix: "return InvalidArgument for an empty list of buckets",
			Run: func(c *C) {
				request := c.anyAccess()
				request.Buckets = nil
				refused(c, c.provisioner.DriverGenerateBucketAccessId, request, codes.InvalidArgument)
			},
		},
	}, accessRefusalCases()...)
}

func accessRefusalCases() []Case {
	return []Case{
		{
			ID: "ACC-GEN-008", Level: Must, Title: "rejects an unsupported authentication type, in this phase or the next",
			Rule: kep(sectionGenerateAccess, "InvalidArgument (not retryable) if AuthenticationType is not supported"), Why: whyListed,
			Fix: "check that the driver supports authentication_type; otherwise return InvalidArgument",
			Run: runUnsupportedAuthentication,
		},
		{
			ID: "ACC-GEN-009", Level: Must, Title: "rejects SERVICE_ACCOUNT without the name of a service account",
			Rule: kep("BucketAccess", "ServiceAccount - This field is required."), Why: "the field is required for this type; a missing required field is InvalidArgument",
			Fix: "check service_account_name when authentication_type is SERVICE_ACCOUNT",
			Run: func(c *C) {
				request := c.anyAccess()
				c.suite.useServiceAccount(request)
				request.ServiceAccountName, request.ServiceAccountNamespace = "", ""
				c.refusedAccess(request, codes.InvalidArgument)
			},
		},
		{
			ID: "ACC-GEN-010", Level: Must, Title: "returns OutOfRange only for several buckets",
			Rule: kep(sectionGenerateAccess, textOutOfRange), Why: "\"if (and only if)\"", Fix: "use OutOfRange only for several buckets",
			Run: runMultiBucketID,
		},
		{
			ID: "ACC-GEN-011", Level: Must, Needs: []Need{NeedMissingProtocol}, Title: "rejects an unsupported protocol, in this phase or the next",
			Rule: spec(errorScheme, "Invalid or unsupported field in the request: 3 INVALID_ARGUMENT."),
			Why:  "under the conditions of the table, the plugin MUST return the associated code", Fix: "check that DriverGetInfo returns the protocol",
			Run: func(c *C) {
				request := c.anyAccess()
				request.Protocol = c.unsupported()[0]
				c.refusedAccess(request, codes.InvalidArgument)
			},
		},
		{
			ID: "ACC-GEN-012", Level: Must, Title: "rejects a bucket without a requested access mode, in this phase or the next",
			Rule: kep("BucketAccess", "At least one permission must be requested."),
			Why:  "the quoted text uses \"must\"; the code for a missing required field is InvalidArgument",
			Fix:  "return InvalidArgument when all three access modes of a bucket are absent",
			Run: func(c *C) {
				b := c.created()
				request := c.accessRequest(c.name(), c.protocol(), []*cosi.AccessedBucket{{BucketId: b.id}})
				c.refusedAccess(request, codes.InvalidArgument)
			},
		},
		{
			ID: "ACC-GEN-013", Level: Should, Title: "rejects a repeated bucket",
			Rule: kep("BucketAccess", "Multiple references to the same BucketClaim are not permitted."),
			Why:  "the quoted text is about the API; a driver that checks it protects its policies", Fix: "return InvalidArgument when a bucket_id is repeated",
			Run: func(c *C) {
				b := c.created()
				c.refusedAccess(c.accessRequest(c.name(), c.protocol(), []*cosi.AccessedBucket{readWrite(b.id), readWrite(b.id)}),
					codes.InvalidArgument, codes.OutOfRange)
			},
		},
		{
			ID: "ACC-GEN-014", Level: Must, Title: "explains which permissions it does not support",
			Rule: kep("BucketAccess", "Drivers should include a clear message about what permissions are unsupported."),
			Why:  "the code is OK or InvalidArgument; a status without a message violates a MUST of the error scheme",
			Fix:  "return InvalidArgument and name the access mode",
			Run:  runUnsupportedModes,
		},
		{
			ID: "ACC-GEN-015", Level: Must, Title: "rejects the name of an existing account that has other buckets, in this phase or the next",
			Rule: kep(sectionGenerateAccess, "AlreadyExists (not retryable) when the bucket already exists but is incompatible with the request"),
			Why:  whyListed + "; the quoted text uses \"bucket\" for the access, since it is about account_id",
			Fix:  "compare the request with the existing account and return AlreadyExists",
			Run: func(c *C) {
				one, other := c.created(), c.created()
				a := c.granted(one)
				request := c.accessRequest(a.phase1.GetAccountName(), c.protocol(), []*cosi.AccessedBucket{readWrite(other.id)})
				c.refusedAccess(request, codes.AlreadyExists)
			},
		},
		{
			ID: "ACC-GEN-016", Level: Must, Needs: []Need{NeedInvalidAccess}, Title: "rejects invalid parameters, in this phase or the next",
			Rule: kep(sectionGenerateAccess, textInvalidParameters), Why: whyListed, Fix: "check the parameters and return InvalidArgument",
			Run: func(c *C) {
				request := c.anyAccess()
				request.Parameters = c.suite.config.Params.InvalidAccess
				c.refusedAccess(request, codes.InvalidArgument)
			},
		},
	}
}

// anyAccess is a valid request for an access to a bucket of the case.
func (c *C) anyAccess() *cosi.DriverGenerateBucketAccessIdRequest {
	return c.accessRequest(c.name(), c.protocol(), []*cosi.AccessedBucket{readWrite(c.created().id)})
}

// refusedAccess requires that phase 1 or phase 2 rejects an access with one of the codes.
func (c *C) refusedAccess(request *cosi.DriverGenerateBucketAccessIdRequest, want ...codes.Code) {
	named, code := try(c.ctx, c, c.provisioner.DriverGenerateBucketAccessId, request)
	switch {
	case slices.Contains(want, code):
	case code == codes.OK:
		refused(c, c.provisioner.DriverGrantBucketAccess, grantOf(named.GetAccountId(), request), want...)
	default:
		c.Fail("DriverGenerateBucketAccessId must return %s, or OK if DriverGrantBucketAccess returns the error, but not %s", orList(want), code)
	}
}

func runDistinctAccounts(c *C) {
	b := c.created()
	seen := map[string]string{}
	remember := func(name, id string) {
		if other, taken := seen[id]; taken {
			c.Fail("the names %q and %q have the same ID %q", other, name, id)
		}
		seen[id] = name
	}
	for range c.suite.limits.Names {
		a := c.accessTo(b)
		remember(a.phase1.GetAccountName(), a.request.GetAccountId())
	}
	base := c.longName(maxName-1, "")
	for _, last := range []string{"a", "b"} {
		request := c.accessRequest(base+last, c.protocol(), []*cosi.AccessedBucket{readWrite(b.id)})
		response, code := try(c.ctx, c, c.provisioner.DriverGenerateBucketAccessId, request)
		switch code {
		case codes.OK:
			remember(base+last, response.GetAccountId())
		case codes.InvalidArgument:
		default:
			c.Fail("a name of %d characters must return OK or InvalidArgument, not %s", maxName, code)
		}
	}
}

// runUnsupportedAuthentication tries the authentication types that the driver is not configured to offer.
func runUnsupportedAuthentication(c *C) {
	for _, authentication := range []cosi.AuthenticationType_Type{cosi.AuthenticationType_KEY, cosi.AuthenticationType_SERVICE_ACCOUNT} {
		if c.suite.authenticates(authentication) {
			continue
		}
		request := c.anyAccess()
		if authentication == cosi.AuthenticationType_SERVICE_ACCOUNT {
			c.suite.useServiceAccount(request)
		} else {
			request.AuthenticationType = &cosi.AuthenticationType{Type: authentication}
			request.ServiceAccountName, request.ServiceAccountNamespace = "", ""
		}
		c.refusedAccess(request, codes.InvalidArgument)
		return
	}
	c.notApplicable("the configuration declares that the driver supports every authentication type")
}

func runMultiBucketID(c *C) {
	one, other := c.created(), c.created()
	for _, asked := range []cosi.AccessMode_Mode{cosi.AccessMode_READ_WRITE, cosi.AccessMode_READ_ONLY, cosi.AccessMode_WRITE_ONLY} {
		single := c.accessWith(one, asked, cosi.AccessMode_UNKNOWN, cosi.AccessMode_UNKNOWN)
		if _, code := try(c.ctx, c, c.provisioner.DriverGenerateBucketAccessId, single); code == codes.OutOfRange {
			c.Fail("a request for access to one bucket returns OutOfRange")
		}
	}
	several := c.accessRequest(c.name(), c.protocol(), []*cosi.AccessedBucket{readWrite(one.id), readWrite(other.id)})
	refused(c, c.provisioner.DriverGenerateBucketAccessId, several, codes.OK, codes.OutOfRange)
}

func runUnsupportedModes(c *C) {
	b := c.created()
	for _, asked := range []cosi.AccessMode_Mode{
		cosi.AccessMode_READ_WRITE, cosi.AccessMode_READ_ONLY, cosi.AccessMode_WRITE_ONLY,
	} {
		for _, accessed := range []*cosi.AccessedBucket{
			{BucketId: b.id, ObjectDataAccessMode: mode(asked)},
			{BucketId: b.id, ObjectMetadataAccessMode: mode(asked)},
			{BucketId: b.id, BucketMetadataAccessMode: mode(asked)},
		} {
			request := c.accessRequest(c.name(), c.protocol(), []*cosi.AccessedBucket{accessed})
			code := refused(c, c.provisioner.DriverGenerateBucketAccessId, request, codes.OK, codes.InvalidArgument)
			if code == codes.InvalidArgument && c.lastMessage() == "" {
				c.Fail("the status that rejects the access modes has no message")
			}
		}
	}
}

// lastMessage returns the message of the last response.
func (c *C) lastMessage() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.exchanges) == 0 {
		return ""
	}
	return c.exchanges[len(c.exchanges)-1].status.Message()
}
