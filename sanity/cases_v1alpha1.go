// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

const (
	oldService  = "Container Object Storage Interface: Provisioner"
	oldExisting = "If a bucket that matches both name and parameters already exists, then OK (success) must be returned."
	oldOther    = "If a bucket by same name, but different parameters is provided, then the appropriate error code ALREADY_EXISTS must be returned."
	oldRetry    = "Idempotency requirements ensure that a retried call with the same fields continues where it left off when retried."
	oldUpstream = "The fields of the response that the sidecar of the upstream project's v0.2 reads. If one is missing, the sidecar omits it without an error."
)

// v1alpha1Cases returns the cases of the v1alpha1 contract: the process requirements of its specification, which are
// the same as for v1alpha2, and separate cases for its calls.
func v1alpha1Cases() []Case {
	shared := []string{"UDS-001", "UDS-002", "UDS-003", "UDS-004", "UDS-007", "UDS-009", "UDS-010", "UDS-011", "UDS-014"}
	process := slices.Concat(processCases(), processEnvironmentCases())
	process = slices.DeleteFunc(process, func(c Case) bool { return !slices.Contains(shared, c.ID) })
	return slices.Concat(process, oldIdentityCases(), oldBucketCases(), oldGrantCases(), oldRevokeCases(), oldMessageCases())
}

func oldIdentityCases() []Case {
	const section = "DriverGetInfoResponse"
	return []Case{
		{
			ID: "V1A-IDN-001", Level: Must, Title: "returns a name of at most 63 letters, digits, dashes and dots",
			Rule: spec(section, "It MUST be 63 characters or less, beginning and ending with an alphanumeric character ([a-z0-9A-Z]) with dashes (-), dots (.), and alphanumerics between."),
			Why:  "the quoted text uses MUST, and the field is REQUIRED", Fix: "use a domain name such as s3.example.com",
			Run: func(c *C) {
				if name := c.identify().GetName(); len(name) > maxDriverName || !driverNamePattern.MatchString(name) {
					c.Fail("the name %q is not 1 to 63 letters, digits, dashes and dots", name)
				}
			},
		},
		{
			ID: "V1A-IDN-002", Level: Should, Title: "always returns the same name",
			Rule: spec("Identity", "This identity will have to be set in BucketClaim.DriverName field in order to invoke this specific provisioner."),
			Why:  "the quoted text implies this", Fix: "read the name from the driver's configuration",
			Run: func(c *C) {
				first := c.identify().GetName()
				for range c.suite.limits.Repeats {
					if again := c.identify().GetName(); again != first {
						c.Fail("the name changed from %q to %q", first, again)
					}
				}
			},
		},
		{
			ID: "V1A-IDN-003", Level: Must, Title: "serves Provisioner on the same address",
			Rule: spec("Container Object Storage Interface: socket", "All supported RPC services MUST be available at the listen address of the Plugin."),
			Why:  "the quoted text uses MUST", Fix: "register both services of cosi.v1alpha1 on one gRPC server",
			Run: func(c *C) {
				_, code := try(c.ctx, c, c.old().DriverDeleteBucket, &v1alpha1.DriverDeleteBucketRequest{})
				if code == codes.Unimplemented || code == codes.Unavailable {
					c.Fail("the Provisioner service is missing: DriverDeleteBucket returns %s", code)
				}
			},
		},
	}
}

func oldBucketCases() []Case {
	return []Case{
		{
			ID: "V1A-BKT-001", Level: Must, Title: "creates a bucket and returns its ID",
			Rule: spec("DriverCreateBucketResponse", "bucket_id returned here is expected to be the globally unique identifier for the bucket in the object storage provider."),
			Why:  "the other calls need the ID; without it, the upstream sidecar repeats the creation forever", Fix: "return bucket_id",
			Run: func(c *C) {
				if c.oldCreated().id() == "" {
					c.Fail("DriverCreateBucket returns no bucket_id")
				}
			},
		},
		{
			ID: "V1A-BKT-002", Level: Must, Title: "rejects an empty name",
			Rule: spec(errorScheme, textMissingField), Why: whyRequired, Fix: "check name and return InvalidArgument",
			Run: func(c *C) {
				refused(c, c.old().DriverCreateBucket, &v1alpha1.DriverCreateBucketRequest{Parameters: c.suite.config.Params.Bucket}, codes.InvalidArgument)
			},
		},
		{
			ID: "V1A-BKT-003", Level: Must, Title: "returns the same bucket when it is created again, also after a restart",
			Rule: spec(oldService, oldExisting), Why: whyMust, Fix: "derive the bucket from name, and return OK if it exists and is compatible",
			Phase: Process,
			Run: func(c *C) {
				b := c.oldCreated()
				for i := range c.suite.limits.Repeats {
					if i == 1 && c.canRestart() {
						c.restart()
					}
					if again := ok(c, c.old().DriverCreateBucket, b.request); again.GetBucketId() != b.id() {
						c.Fail("the bucket ID changed from %q to %q", b.id(), again.GetBucketId())
					}
				}
			},
		},
		{
			ID: "V1A-BKT-004", Level: Must, Needs: []Need{NeedIncompatible}, Title: "rejects the name of an existing bucket that has other parameters",
			Rule: spec(oldService, oldOther), Why: whyMust, Fix: "record the parameters at creation, compare, and return AlreadyExists",
			Run: func(c *C) {
				b := c.oldCreated()
				other := &v1alpha1.DriverCreateBucketRequest{Name: b.request.GetName(), Parameters: c.suite.config.Params.Incompatible}
				refused(c, c.old().DriverCreateBucket, other, codes.AlreadyExists)
			},
		},
		{
			ID: "V1A-BKT-005", Level: Must, Needs: []Need{NeedInvalid}, Title: "rejects invalid parameters",
			Rule: spec("DriverCreateBucket", "this code MUST also be used to indicate when plugin cannot create a bucket due to parameter check on the backend."),
			Why:  "the quoted text uses MUST", Fix: "check all parameters before the first call to the backend",
			Run: func(c *C) {
				request := c.oldRequest()
				request.Parameters = c.suite.config.Params.Invalid
				refused(c, c.old().DriverCreateBucket, request, codes.InvalidArgument)
			},
		},
		{
			ID: "V1A-BKT-006", Level: Must, Title: "creates distinct buckets for distinct names, including long names",
			Rule: spec("DriverCreateBucketResponse", "bucket_id returned here is expected to be the globally unique identifier for the bucket in the object storage provider."),
			Why:  "an ID that belongs to two buckets is not unique", Fix: "do not truncate names",
			Run: func(c *C) {
				first, second := c.oldRequest(), c.oldRequest()
				// The names differ only at the end, which truncation would remove.
				first.Name = c.longName(60, "-one")
				second.Name = strings.TrimSuffix(first.GetName(), "-one") + "-two"
				ids := []string{}
				for _, request := range []*v1alpha1.DriverCreateBucketRequest{first, second} {
					response, code := try(c.ctx, c, c.old().DriverCreateBucket, request)
					if code == codes.InvalidArgument {
						c.notApplicable("the driver rejects names of 60 characters")
					}
					if code != codes.OK || slices.Contains(ids, response.GetBucketId()) {
						c.Fail("for the name %s, DriverCreateBucket returns %s and the ID %q; it must return OK and another ID for each name", request.GetName(), code, response.GetBucketId())
					}
					ids = append(ids, response.GetBucketId())
				}
			},
		},
		{
			ID: "V1A-BKT-007", Level: Must, Title: "deletes a bucket, and returns OK again after it was deleted",
			Rule: spec(oldService, "If the bucket has already been deleted, then no error should be returned."),
			Why:  "by the section on timeouts, retries are idempotent", Fix: "return OK if there is nothing to delete",
			Run: func(c *C) {
				b := c.oldCreated()
				for range 3 {
					ok(c, c.old().DriverDeleteBucket, b.delete())
				}
			},
		},
		{
			ID: "V1A-BKT-008", Level: Must, Title: "rejects a deletion without an ID",
			Rule: spec(errorScheme, textMissingField), Why: whyRequired, Fix: "check bucket_id and return InvalidArgument",
			Run: func(c *C) {
				refused(c, c.old().DriverDeleteBucket, &v1alpha1.DriverDeleteBucketRequest{}, codes.InvalidArgument)
			},
		},
		{
			ID: "V1A-BKT-009", Level: Must, Phase: Alone, Needs: []Need{NeedInventory}, Title: "creates one bucket, regardless of the number of calls, and leaves none behind",
			Rule: spec("DriverCreateBucket", "This operation MUST be idempotent."), Why: whyMust, Fix: "derive the backend bucket's name from name",
			Run: func(c *C) {
				before := c.inventory()
				b := c.oldCreated()
				for range c.suite.limits.Repeats {
					ok(c, c.old().DriverCreateBucket, b.request)
				}
				c.bucketsMore(before, 1)
				ok(c, c.old().DriverDeleteBucket, b.delete())
				c.unchanged(before)
			},
		},
		{
			ID: "V1A-BKT-010", Level: Must, Title: "handles concurrent calls for one name",
			Rule: spec("Concurrency", "Multiple calls to CreateBucket may result in error 'ALREADY_EXISTS' if the call succeeded early."),
			Why:  "the error scheme also allows ABORTED", Fix: "return Aborted if another call for the same bucket is in progress",
			Run: func(c *C) {
				request := c.oldRequest()
				found := c.together(c.suite.limits.Concurrency, func(int) codes.Code {
					_, code := try(c.ctx, c, c.old().DriverCreateBucket, request)
					return code
				})
				c.onlyCodes(found, codes.OK, codes.Aborted, codes.AlreadyExists)
				ok(c, c.old().DriverCreateBucket, request)
			},
		},
		{
			ID: "V1A-BKT-011", Level: Should, Title: "uses the requested bucket name",
			Rule: spec("DriverCreateBucketRequest", "name specifies the name of the bucket that should be created."),
			Why:  "workloads of the upstream sidecar receive the requested name", Fix: "use the requested name, or return InvalidArgument",
			Run: func(c *C) {
				b := c.oldCreated()
				a := c.oldGranted(b)
				key := "name-" + c.name()
				const why = "the granted credential in the requested bucket"
				c.oldProbed(a, b.request.GetName(), PutObject, key, Allowed, why)
				c.oldProbed(a, b.request.GetName(), DeleteObject, key, Allowed, why)
			},
		},
	}
}

func oldGrantCases() []Case {
	const section = "DriverGrantBucketAccess"
	return []Case{
		{
			ID: "V1A-ACC-001", Level: Must, Title: "grants with a key and returns the account's ID and credentials",
			Rule: spec(section+"Response", "This is the account_id that is being provided access. This will be required later to revoke access."),
			Why:  "both fields are REQUIRED", Fix: "return account_id, and the credentials by protocol",
			Run: func(c *C) {
				a := c.oldGranted(c.oldCreated())
				if a.response.GetAccountId() == "" || len(a.response.GetCredentials()) == 0 {
					c.Fail("DriverGrantBucketAccess returns the account ID %q and %d credentials", a.response.GetAccountId(), len(a.response.GetCredentials()))
				}
			},
		},
		{
			ID: "V1A-ACC-002", Level: Must, Title: "rejects a grant without a name or without a bucket",
			Rule: spec(errorScheme, textMissingField), Why: whyRequired, Fix: "check name and bucket_id and return InvalidArgument",
			Run: func(c *C) {
				nameless := c.oldGrantRequest(c.oldCreated())
				nameless.Name = ""
				refused(c, c.old().DriverGrantBucketAccess, nameless, codes.InvalidArgument)
				refused(c, c.old().DriverGrantBucketAccess, c.oldGrantRequest(&oldBucket{}), codes.InvalidArgument)
			},
		},
		{
			ID: "V1A-ACC-003", Level: Must, Title: "rejects a grant without an authentication type",
			Rule: spec(errorScheme, textMissingField), Why: whyRequired, Fix: "return InvalidArgument for UnknownAuthenticationType, which means that the type is missing",
			Run: func(c *C) { c.refusesType(v1alpha1.AuthenticationType_UnknownAuthenticationType) },
		},
		{
			ID: "V1A-ACC-004", Level: Must, Title: "rejects authentication with IAM unless the driver supports it",
			Rule: spec(errorScheme, "Indicates that the one or more fields in this field is either not allowed by the Plugin or has an invalid value."),
			Why:  "the code MUST be returned under its condition", Fix: "return InvalidArgument for IAM, because no request contains a service account",
			Run: func(c *C) {
				if c.suite.lacks([]Need{NeedServiceAccount}) == "" {
					c.notApplicable("the configuration declares that the driver supports authentication with IAM (authentication)")
				}
				c.refusesType(v1alpha1.AuthenticationType_IAM)
			},
		},
		{
			ID: "V1A-ACC-005", Level: Must, Title: "returns the same account for a repeated grant, also after a restart",
			Rule: spec("Timeouts", oldRetry), Why: "the account's name is its unique identifier", Fix: "derive account_id from name",
			Phase: Process,
			Run: func(c *C) {
				a := c.oldGranted(c.oldCreated())
				for i := range c.suite.limits.Repeats {
					if i == 1 && c.canRestart() {
						c.restart()
					}
					again := ok(c, c.old().DriverGrantBucketAccess, a.request)
					if again.GetAccountId() != a.response.GetAccountId() {
						c.Fail("the account ID changed from %q to %q", a.response.GetAccountId(), again.GetAccountId())
					}
				}
			},
		},
		{
			ID: "V1A-ACC-006", Level: Should, Title: "returns the same credentials for a repeated grant",
			Rule: spec("Timeouts", oldRetry), Why: "the upstream sidecar keeps the Secret from the first grant", Fix: "store the credential, or derive it",
			Run: func(c *C) {
				a := c.oldGranted(c.oldCreated())
				if again := ok(c, c.old().DriverGrantBucketAccess, a.request); !proto.Equal(a.response, again) {
					c.Fail("the credentials of a repeated grant differ from those of the first")
				}
			},
		},
		{
			ID: "V1A-ACC-007", Level: Should, Title: "returns one set of credentials that the upstream sidecar can deliver",
			Rule: Rule{Text: oldUpstream, Source: "the upstream project, release v0.2"},
			Why:  "the specification defines no keys, and every workload depends on these", Fix: "return exactly one entry, s3 or azure, with the keys accessKeyID, accessSecretKey, endpoint, region or accessToken, expiryTs",
			Run: runDeliverable,
		},
		{
			ID: "V1A-ACC-008", Level: Must, Title: "grants read and write access to the bucket",
			Rule: spec(section+"Response", "Credentials supplied for accessing the bucket"),
			Why:  "the field is REQUIRED, and v1alpha1 has no modes", Fix: "allow the account to list, read, write and delete objects",
			Run: func(c *C) {
				b := c.oldCreated()
				a := c.oldGranted(b)
				key := "works-" + c.name()
				for _, action := range []Action{PutObject, GetObject, ListObjects, DeleteObject} {
					c.oldProbed(a, b.request.GetName(), action, key, Allowed, "the granted credential")
				}
			},
		},
		{
			ID: "V1A-ACC-009", Level: Must, Needs: []Need{NeedInvalidAccess}, Title: "rejects invalid parameters",
			Rule: spec(errorScheme, "Indicates that the one or more fields in this field is either not allowed by the Plugin or has an invalid value."),
			Why:  "the code MUST be returned under its condition", Fix: "check all parameters before the first call to the backend",
			Run: func(c *C) {
				request := c.oldGrantRequest(c.oldCreated())
				request.Parameters = c.suite.config.Params.InvalidAccess
				refused(c, c.old().DriverGrantBucketAccess, request, codes.InvalidArgument)
			},
		},
	}
}

func (c *C) refusesType(by v1alpha1.AuthenticationType) {
	request := c.oldGrantRequest(c.oldCreated())
	request.AuthenticationType = by
	refused(c, c.old().DriverGrantBucketAccess, request, codes.InvalidArgument)
}

func runDeliverable(c *C) {
	credentials := c.oldGranted(c.oldCreated()).response.GetCredentials()
	if len(credentials) != 1 {
		c.Fail("there are %d sets of credentials, but the upstream sidecar requires one", len(credentials))
	}
	s3, azure := credentials[v1alpha1.ProtocolS3].GetSecrets(), credentials[v1alpha1.ProtocolAzure].GetSecrets()
	wanted, found := []string{v1alpha1.KeyAccessKeyID, v1alpha1.KeyAccessSecretKey, v1alpha1.KeyEndpoint}, s3
	if s3 == nil {
		wanted, found = []string{v1alpha1.KeyAccessToken}, azure
	}
	for _, key := range wanted {
		if found[key] == "" {
			c.Fail("the credentials contain no %s under the key %s or %s", key, v1alpha1.ProtocolS3, v1alpha1.ProtocolAzure)
		}
	}
	if expiry := azure[v1alpha1.KeyExpiry]; expiry != "" {
		if _, err := time.Parse(v1alpha1.ExpiryLayout, expiry); err != nil {
			c.Fail("%s is %q, which the upstream sidecar ignores; use the format %q", v1alpha1.KeyExpiry, expiry, v1alpha1.ExpiryLayout)
		}
	}
}

func oldRevokeCases() []Case {
	return []Case{
		{
			ID: "V1A-RVK-001", Level: Must, Title: "revokes with only the two IDs, and returns OK again after the account was deleted",
			Rule: spec("Timeouts", oldRetry), Why: "revoke_access_context is OPTIONAL, and the upstream sidecar leaves it empty", Fix: "find the account by account_id, and return OK if it does not exist",
			Run: func(c *C) {
				a := c.oldGranted(c.oldCreated())
				for range 3 {
					ok(c, c.old().DriverRevokeBucketAccess, a.revoke())
				}
			},
		},
		{
			ID: "V1A-RVK-002", Level: Must, Needs: []Need{NeedOwnCredential}, Title: "invalidates the credential",
			Rule: spec(oldService, "This call revokes all access to a particular bucket from a principal."), Why: "this is the purpose of the call", Fix: "delete the keys, not only the account's record",
			Run: func(c *C) {
				b := c.oldCreated()
				a := c.oldGranted(b)
				name, key := b.request.GetName(), "revoked-"+c.name()
				c.oldProbed(a, name, PutObject, key, Allowed, "the granted credential")
				c.oldProbed(a, name, DeleteObject, key, Allowed, "the granted credential")
				ok(c, c.old().DriverRevokeBucketAccess, a.revoke())
				c.oldProbed(a, name, PutObject, key, Refused, "the credential of a revoked account")
			},
		},
		{
			ID: "V1A-RVK-003", Level: Must, Title: "rejects a revocation without an account ID",
			Rule: spec(errorScheme, textMissingField), Why: whyRequired, Fix: "check account_id and return InvalidArgument",
			Run: func(c *C) {
				refused(c, c.old().DriverRevokeBucketAccess, &v1alpha1.DriverRevokeBucketAccessRequest{BucketId: c.oldCreated().id()}, codes.InvalidArgument)
			},
		},
		{
			ID: "V1A-RVK-004", Level: Should, Title: "revokes the access to a deleted bucket",
			Rule: advice("Buckets may also be deleted without COSI; it must still be possible to revoke the access to a deleted bucket."), Why: "no specification covers this", Fix: "do not look up the bucket before the account is deleted",
			Run: func(c *C) {
				b := c.oldCreated()
				a := c.oldGranted(b)
				ok(c, c.old().DriverDeleteBucket, b.delete())
				ok(c, c.old().DriverRevokeBucketAccess, a.revoke())
			},
		},
	}
}

// secretKey matches valid keys of the credentials.
var secretKey = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func oldMessageCases() []Case {
	return []Case{
		{
			ID: "V1A-RPC-001", Level: Must, Title: "returns a message with every error, without details",
			Rule:  spec(errorScheme, "The status message MUST contain a human readable description of error, if the status code is not OK. The status details MUST be empty."),
			Phase: Last, Why: "the quoted text uses MUST", Fix: "return a message and no details with each error code",
			Run: func(c *C) {
				// Ensure that there is at least one error to check.
				_, _ = try(c.ctx, c, c.old().DriverDeleteBucket, &v1alpha1.DriverDeleteBucketRequest{})
				refusals, _, _ := c.suite.traffic.copy()
				for _, x := range refusals {
					if x.status.Message() == "" || len(x.status.Details()) > 0 {
						c.Fail("%s returned %s with the message %q and %d details", x.method, x.status.Code(), x.status.Message(), len(x.status.Details()))
					}
				}
			},
		},
		{
			ID: "V1A-RPC-002", Level: Must, Title: "uses only letters, digits, '-', '_' and '.' in the keys of credentials",
			Rule: spec("Secrets Requirements", "Each key MUST consist of alphanumeric characters, '-', '_' or '.'."), Why: "the quoted text uses MUST", Fix: "rename the keys of the credentials",
			Run: func(c *C) {
				for _, details := range c.oldGranted(c.oldCreated()).response.GetCredentials() {
					for key := range details.GetSecrets() {
						if !secretKey.MatchString(key) {
							c.Fail("the credentials have the key %q", key)
						}
					}
				}
			},
		},
		{
			ID: "V1A-RPC-003", Level: Should, Phase: Last, Needs: []Need{NeedProcess}, Title: "does not print granted credentials",
			Rule: spec("Logging", "Plugins SHOULD NOT write potentially sensitive data to logs (e.g. secrets)."), Why: "the quoted text uses SHOULD NOT", Fix: "do not log CredentialDetails.secrets",
			Run: func(c *C) {
				c.oldGranted(c.oldCreated())
				c.printsNoSecret()
			},
		},
	}
}
