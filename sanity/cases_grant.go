// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

const (
	sectionGrant        = "DriverGrantBucketAccess"
	textGrantIdempotent = "This call creates a set of access credentials for one or more buckets. This API must be idempotent."
	textMustMatch       = "must match input protocol. provisioning failure if required fields are missing"
	textOneAccess       = "The driver should ensure that multiple DriverGrantBucketAccess calls for the same account_name do not result in more than one OSP backend bucket access being provisioned corresponding to that name."
)

func grantCases() []Case {
	return append([]Case{
		{
			ID: "ACC-GRT-001", Level: Must, Needs: []Need{NeedKey}, Title: "returns credentials for exactly the requested protocol",
			Rule: kep(sectionGrant, "\"credentials\": { // bucket access credentials \"S3\": { // must match input protocol."), Why: whyMust,
			Fix: "fill the message of the requested protocol and no other, in credentials and in every bucket_info",
			Run: runExactProtocol,
		},
		{
			ID: "ACC-GRT-002", Level: Must, Needs: []Need{NeedS3, NeedKey}, Title: "S3: returns bucket name, endpoint, region, style and both keys",
			Rule: kep(sectionGrant, textMustMatch+"; unlike DriverCreateBucket, required fields are not optional since this info is used by workloads to gain access to buckets"),
			Why:  "a missing field is a provisioning failure", Fix: "fill every field of S3BucketInfo and S3CredentialInfo",
			Run: runS3Grant,
		},
		{
			ID: "ACC-GRT-003", Level: Must, Needs: []Need{NeedAzure, NeedKey}, Title: "Azure: returns storage account and token, and an expiry in the future if any",
			Rule: kep("BucketAccess Secret data, Azure", "AZURE_STORAGE_SAS_TOKEN_EXPIRY_TIMESTAMP: Empty if unset. Otherwise, date+time in ISO 8601 format."),
			Why:  "a missing field is a provisioning failure", Fix: "fill storage_account and access_token; write the expiry as 2030-01-31T12:00:00Z",
			Run: runAzureGrant,
		},
		{
			ID: "ACC-GRT-004", Level: Must, Needs: []Need{NeedGCS, NeedKey}, Title: "GCS: returns project, bucket, and a complete HMAC key or service account key",
			Rule: kep("BucketAccess Secret data, GCS", "PROJECT_ID, BUCKET_NAME; CLIENT_EMAIL, CLIENT_ID, PRIVATE_KEY_ID, PRIVATE_KEY; HMAC_ACCESS_ID, HMAC_SECRET"),
			Why:  "a missing field is a provisioning failure; the KEP allows either credential", Fix: "fill project_id, bucket_name and one complete credential",
			Run: runGCSGrant,
		},
		{
			ID: "ACC-GRT-005", Level: Must, Title: "describes each requested bucket once, and no other bucket",
			Rule: kep(sectionGrant, "\"buckets\": [ { \"bucket_id\": \"<a bucket ID from input>\""), Why: "COSI creates one Secret of the access from each of them",
			Fix: "return one entry for each bucket of the request, with its bucket_id",
			Run: runGrantedBuckets,
		},
		{
			ID: "ACC-GRT-006", Level: Must, Title: "rejects an empty account_id",
			Rule: spec(errorScheme, textMissingField), Why: whyRequired, Fix: "check account_id and return InvalidArgument",
			Run: func(c *C) {
				a := c.accessTo(c.created())
				a.request.AccountId = ""
				refused(c, c.provisioner.DriverGrantBucketAccess, a.request, codes.InvalidArgument)
			},
		},
		{
			ID: "ACC-GRT-007", Level: Must, Title: "returns OK to every repeated call, and the last credentials work",
			Rule: kep(sectionGrant, textGrantIdempotent), Why: whyMust, Fix: "return OK if the account exists and is compatible",
			Run: func(c *C) {
				b := c.created()
				a := c.accessTo(b)
				for range c.suite.limits.Repeats {
					c.grant(a)
				}
				c.worksIfProbed(a, b)
			},
		},
		{
			ID: "ACC-GRT-008", Level: Should, Phase: Alone, Needs: []Need{NeedInventory, NeedKey}, Title: "creates one account with one active key, regardless of the number of calls",
			Rule: kep(sectionGrant, textOneAccess), Why: "the quoted text uses \"should\"; its account_name is the account_id of the request",
			Fix: "return the stored credential, or replace the key that was not delivered",
			Run: func(c *C) {
				b := c.created()
				before := c.inventory()
				a := c.granted(b)
				c.listsAccess(before)
				keys := c.grown(KindKey, before)
				for range c.suite.limits.Repeats {
					c.grant(a)
				}
				c.oneAccount(before, keys)
			},
		},
		{
			ID: "ACC-GRT-009", Level: Must, Title: "rejects an existing account_id with other buckets or modes",
			Rule: kep(sectionGrant, "AlreadyExists (not retryable) when the bucket already exists but is incompatible with the request"),
			Why:  whyListed + "; the quoted text uses \"bucket\" for the access", Fix: "record the granted request, compare, and return AlreadyExists",
			Run: runOtherGrant,
		},
	}, grantRefusalCases()...)
}

func grantRefusalCases() []Case {
	return []Case{
		{
			ID: "ACC-GRT-024", Level: Should, Needs: []Need{NeedServiceAccount}, Title: "returns no static secret for SERVICE_ACCOUNT",
			Rule: kep("BucketAccess", "The driver should configure the system so that Pods using the ServiceAccount authenticate to the OSP backend automatically."),
			Why:  "the quoted text uses \"should\"", Fix: "leave the credentials empty for SERVICE_ACCOUNT",
			Run: func(c *C) {
				request := c.anyAccess()
				c.suite.useServiceAccount(request)
				a := c.grant(c.accessAs(request))
				eachSecret(a.response.ProtoReflect(), func(field, _ string) {
					c.Fail("the response to a grant with type SERVICE_ACCOUNT contains the secret %s", field)
				})
			},
		},
		{
			ID: "ACC-GRT-026", Level: Should, Phase: Alone, Title: "returns NotFound for a bucket that does not exist, and leaves no account",
			Rule: advice("A grant for a missing bucket cannot work; after NotFound, COSI tries again later, when the bucket may exist."),
			Why:  "no list of this RPC has the code; any response except a retryable error hides the mistake", Fix: "look up the buckets before creating the account",
			Run: runGrantOnMissing,
		},
		{
			ID: "ACC-GRT-028", Level: Must, Needs: []Need{NeedInvalidAccess}, Title: "rejects invalid parameters",
			Rule: kep(sectionGrant, textInvalidParameters), Why: whyListed, Fix: "check the parameters and return InvalidArgument",
			Run: func(c *C) {
				a := c.accessTo(c.created())
				a.request.Parameters = c.suite.config.Params.InvalidAccess
				refused(c, c.provisioner.DriverGrantBucketAccess, a.request, codes.InvalidArgument)
			},
		},
		{
			ID: "ACC-GRT-029", Level: Must, Needs: []Need{NeedMissingProtocol}, Title: "rejects an unsupported protocol",
			Rule: spec(errorScheme, "Invalid or unsupported field in the request: 3 INVALID_ARGUMENT."),
			Why:  "under the conditions of the table, the plugin MUST return the associated code", Fix: "check that DriverGetInfo returns the protocol",
			Run: func(c *C) {
				a := c.accessTo(c.created())
				a.request.Protocol = c.unsupported()[0]
				refused(c, c.provisioner.DriverGrantBucketAccess, a.request, codes.InvalidArgument)
			},
		},
	}
}

func (c *C) oneAccount(before []string, keys int) {
	if n := c.grown(KindAccount, before); n > 1 {
		c.Fail("the backend has %d new accounts for one account_id", n)
	}
	if n := c.grown(KindKey, before); n > keys {
		c.Fail("the backend has %d active keys after repeated grants, but had %d after the first", n, keys)
	}
}

// grantedBy grants access to a new bucket through a protocol.
func (c *C) grantedBy(protocol cosi.ObjectProtocol_Type) *access {
	b := c.createdBy(protocol)
	return c.grant(c.accessAs(c.accessRequest(c.name(), protocol, []*cosi.AccessedBucket{readWrite(b.id)})))
}

func credentialProtocols(credentials *cosi.CredentialInfo) []cosi.ObjectProtocol_Type {
	var found []cosi.ObjectProtocol_Type
	for protocol, present := range map[cosi.ObjectProtocol_Type]bool{
		cosi.ObjectProtocol_S3: credentials.GetS3() != nil, cosi.ObjectProtocol_AZURE: credentials.GetAzure() != nil,
		cosi.ObjectProtocol_GCS: credentials.GetGcs() != nil,
	} {
		if present {
			found = append(found, protocol)
		}
	}
	slices.Sort(found)
	return found
}

func runExactProtocol(c *C) {
	for _, protocol := range c.suite.offered() {
		a := c.grantedBy(protocol)
		want := []cosi.ObjectProtocol_Type{protocol}
		if got := credentialProtocols(a.response.GetCredentials()); !slices.Equal(got, want) {
			c.Fail("the response to a grant with protocol %s contains credentials for %v", protocol, got)
		}
		for _, granted := range a.response.GetBuckets() {
			if got := cosi.ProtocolsOf(granted.GetBucketInfo()); !slices.Equal(got, want) {
				c.Fail("the response to a grant with protocol %s contains bucket info for %v", protocol, got)
			}
		}
	}
}

func (c *C) present(fields map[string]string) {
	var absent []string
	for name, value := range fields {
		if value == "" {
			absent = append(absent, name)
		}
	}
	slices.Sort(absent)
	if len(absent) > 0 {
		c.Fail("the response lacks %q", absent)
	}
}

func (c *C) firstBucket(a *access) *cosi.ObjectProtocolAndBucketInfo {
	if len(a.response.GetBuckets()) == 0 {
		c.Fail("the response describes no bucket")
	}
	return a.response.GetBuckets()[0].GetBucketInfo()
}

func runS3Grant(c *C) {
	a := c.grantedBy(cosi.ObjectProtocol_S3)
	info, credentials := c.firstBucket(a).GetS3(), a.response.GetCredentials().GetS3()
	c.present(map[string]string{
		"bucket_info.s3.bucket_id": info.GetBucketId(), "bucket_info.s3.endpoint": info.GetEndpoint(), "bucket_info.s3.region": info.GetRegion(),
		"credentials.s3.access_key_id": credentials.GetAccessKeyId(), "credentials.s3.access_secret_key": credentials.GetAccessSecretKey(),
	})
	if info.GetAddressingStyle() == nil {
		c.Fail("the response lacks bucket_info.s3.addressing_style")
	}
	c.s3Info(info)
}

func runAzureGrant(c *C) {
	a := c.grantedBy(cosi.ObjectProtocol_AZURE)
	credentials := a.response.GetCredentials().GetAzure()
	c.present(map[string]string{
		"bucket_info.azure.storage_account": c.firstBucket(a).GetAzure().GetStorageAccount(), "credentials.azure.access_token": credentials.GetAccessToken(),
	})
	stamp := credentials.GetExpiryTimestamp()
	if stamp == "" {
		return
	}
	expiry, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		c.Fail("the expiry %q is not an ISO 8601 date and time with a time zone, such as 2030-01-31T12:00:00Z", stamp)
	}
	if time.Until(expiry) <= 0 {
		c.Fail("the token expired at %s", stamp)
	}
}

func runGCSGrant(c *C) {
	a := c.grantedBy(cosi.ObjectProtocol_GCS)
	info, credentials := c.firstBucket(a).GetGcs(), a.response.GetCredentials().GetGcs()
	c.present(map[string]string{"bucket_info.gcs.project_id": info.GetProjectId(), "bucket_info.gcs.bucket_name": info.GetBucketName()})
	hmac := map[string]string{"credentials.gcs.access_id": credentials.GetAccessId(), "credentials.gcs.access_secret": credentials.GetAccessSecret()}
	key := map[string]string{
		"credentials.gcs.private_key_name": credentials.GetPrivateKeyName(), "credentials.gcs.private_key": credentials.GetPrivateKey(),
		"credentials.gcs.client_email": credentials.GetClientEmail(), "credentials.gcs.client_id": credentials.GetClientId(),
	}
	if credentials.GetPrivateKey() == "" {
		c.present(hmac)
		return
	}
	c.present(key)
}

func runGrantedBuckets(c *C) {
	b := c.created()
	asked := []*bucket{b}
	several := c.accessRequest(c.name(), c.protocol(), []*cosi.AccessedBucket{readWrite(b.id)})
	if other := c.created(); c.multiBucket(b, other) {
		asked = append(asked, other)
		several.Buckets = append(several.Buckets, readWrite(other.id))
	}
	a := c.grant(c.accessAs(several))
	var want, got []string
	for _, b := range asked {
		want = append(want, b.id)
	}
	for _, granted := range a.response.GetBuckets() {
		got = append(got, granted.GetBucketId())
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		c.Fail("access to the buckets %q was requested, but %q are returned", want, got)
	}
}

// multiBucket reports whether the driver issues one credential for several buckets.
func (c *C) multiBucket(buckets ...*bucket) bool {
	var list []*cosi.AccessedBucket
	for _, b := range buckets {
		list = append(list, readWrite(b.id))
	}
	_, code := try(c.ctx, c, c.provisioner.DriverGenerateBucketAccessId, c.accessRequest(c.name(), c.protocol(), list))
	return code == codes.OK
}

func runOtherGrant(c *C) {
	one, other := c.created(), c.created()
	a := c.granted(one)
	isolated := c.isolated(a, other)
	changed, isGrant := proto.Clone(a.request).(*cosi.DriverGrantBucketAccessRequest)
	if !isGrant {
		c.Fail("the suite cannot copy a request")
	}
	changed.Buckets = []*cosi.AccessedBucket{readWrite(other.id)}
	refused(c, c.provisioner.DriverGrantBucketAccess, changed, codes.AlreadyExists)
	changed.Buckets = []*cosi.AccessedBucket{{BucketId: one.id, ObjectDataAccessMode: mode(cosi.AccessMode_READ_ONLY)}}
	// A driver that does not support the mode at all may report that first.
	refused(c, c.provisioner.DriverGrantBucketAccess, changed, codes.AlreadyExists, codes.InvalidArgument)
	if c.multiBucket(one, other) {
		changed.Buckets = []*cosi.AccessedBucket{readWrite(one.id), readWrite(other.id)}
		refused(c, c.provisioner.DriverGrantBucketAccess, changed, codes.AlreadyExists)
	}
	c.worksIfProbed(a, one)
	if isolated {
		c.cannot(a, other, ListObjects, "", "only a rejected grant named this bucket")
	}
}

// isolated reports whether the store denies an access the use of another bucket. It adds the other bucket to the
// access's response, for attempts to use it.
func (c *C) isolated(a *access, other *bucket) bool {
	if c.suite.lacks(probedOwnKey()) != "" {
		return false
	}
	a.response.Buckets = append(a.response.Buckets, c.granted(other).response.GetBuckets()...)
	outcome, err := c.attempt(a, other.id, ListObjects, "", nil)
	return err == nil && outcome.Verdict == Refused
}

func runGrantOnMissing(c *C) {
	missing := c.generated()
	a := c.accessTo(missing)
	var before []string
	if c.hasInventory() {
		before = c.inventory()
	}
	refused(c, c.provisioner.DriverGrantBucketAccess, a.request, codes.NotFound)
	if c.hasInventory() {
		c.unchanged(before)
	}
}
