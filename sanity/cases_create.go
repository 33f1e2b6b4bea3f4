// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"

	cosi "github.com/cooper-cosi/cooper/proto"
)

func createCases() []Case {
	return []Case{
		{
			ID: "BKT-CRT-001", Level: Must, Needs: []Need{NeedCreation}, Title: "creates the bucket and returns its protocols",
			Rule: kep(sectionCreate, "at least one protocol must be returned, or provisioning will be considered failed"),
			Why:  whyMust, Fix: "fill the message of each protocol that the bucket supports",
			Run: func(c *C) {
				b := c.generated()
				if len(cosi.ProtocolsOf(ok(c, c.provisioner.DriverCreateBucket, b.create()).GetProtocols())) == 0 {
					c.Fail("DriverCreateBucket returns no protocol")
				}
			},
		},
		{
			ID: "BKT-CRT-002", Level: Must, Needs: []Need{NeedCreation}, Title: "rejects an empty bucket_id",
			Rule: spec(errorScheme, textMissingField), Why: whyRequired, Fix: "check bucket_id and return InvalidArgument",
			Run: func(c *C) {
				b := &bucket{request: c.bucketRequest(c.name())}
				refused(c, c.provisioner.DriverCreateBucket, b.create(), codes.InvalidArgument)
			},
		},
		{
			ID: "BKT-CRT-003", Level: Must, Needs: []Need{NeedCreation}, Title: "returns the same response to the first call and to repeated calls",
			Rule: kep(sectionCreate, "This API must be idempotent."), Why: whyMust,
			Fix: "return OK with the same info if the bucket exists and is compatible",
			Run: func(c *C) {
				b := c.generated()
				first := ok(c, c.provisioner.DriverCreateBucket, b.create())
				for range c.suite.limits.Repeats {
					c.sameInfo(first.GetProtocols(), ok(c, c.provisioner.DriverCreateBucket, b.create()).GetProtocols(), "in the response to a repeated creation")
				}
			},
		},
		{
			ID: "BKT-CRT-004", Level: Should, Phase: Alone, Needs: []Need{NeedCreation, NeedInventory}, Title: "creates one backend bucket, regardless of the number of calls",
			Rule: kep(sectionCreate, "The driver should ensure that multiple DriverCreateBucket calls for the same bucket_id do not result in more than one OSP backend bucket being provisioned corresponding to that ID."),
			Why:  "the quoted text uses \"should\"", Fix: "derive the backend bucket's name from bucket_id",
			Run: func(c *C) {
				before := c.inventory()
				b := c.generated()
				for range c.suite.limits.Repeats {
					ok(c, c.provisioner.DriverCreateBucket, b.create())
				}
				c.bucketsMore(before, 1)
			},
		},
		{
			ID: "BKT-CRT-005", Level: Must, Needs: []Need{NeedCreation}, Title: "supports the requested protocols",
			Rule: kep(sectionCreate, textProtocols), Why: "the quoted text uses MUST", Fix: "return the message of every requested protocol, or InvalidArgument",
			Run: runAskedProtocols,
		},
		{
			ID: "BKT-CRT-006", Level: Must, Needs: []Need{NeedCreation, NeedIncompatible}, Title: "rejects the name of an existing bucket that has other parameters",
			Rule: kep(sectionCreate, textExists), Why: whyListed, Fix: "record the parameters at creation, compare, and return AlreadyExists",
			Run: func(c *C) {
				b := c.created()
				refused(c, c.provisioner.DriverCreateBucket, c.incompatible(b), codes.AlreadyExists)
			},
		},
		{
			ID: "BKT-CRT-007", Level: Advice, Needs: []Need{NeedCreation, NeedIncompatible}, Title: "does not change the bucket when it rejects other parameters",
			Rule: advice("A rejected call should have no effect: afterwards the original request is still compatible."),
			Why:  "no specification covers this", Fix: "compare before changing anything",
			Run: func(c *C) {
				b := c.generated()
				first := ok(c, c.provisioner.DriverCreateBucket, b.create())
				// Another case checks whether this is rejected.
				_, _ = try(c.ctx, c, c.provisioner.DriverCreateBucket, c.incompatible(b))
				c.sameInfo(first.GetProtocols(), ok(c, c.provisioner.DriverCreateBucket, b.create()).GetProtocols(), "after a rejected call")
			},
		},
		{
			ID: "BKT-CRT-008", Level: Must, Needs: []Need{NeedCreation}, Title: "supports only protocols that DriverGetInfo returns",
			Rule: kep("DriverGetInfo", "\"supported_protocols\": [ // one or more of"),
			Why:  "supported_protocols lists the driver's protocols; a bucket cannot support others", Fix: "return every protocol in DriverGetInfo",
			Run: func(c *C) {
				b := c.generated()
				response := ok(c, c.provisioner.DriverCreateBucket, b.create())
				c.offeredOnly(response.GetProtocols())
			},
		},
		{
			ID: "BKT-CRT-009", Level: Must, Needs: []Need{NeedCreation, NeedInvalid}, Title: "rejects invalid parameters and creates nothing",
			Rule: kep(sectionCreate, textInvalidParameters), Why: whyListed, Fix: "check all parameters before the first call to the backend",
			Run: func(c *C) {
				b := c.generated()
				request := b.create()
				request.Parameters = c.suite.config.Params.Invalid
				refused(c, c.provisioner.DriverCreateBucket, request, codes.InvalidArgument)
				refused(c, c.provisioner.DriverGetBucket, b.get(), codes.NotFound)
			},
		},
		{
			ID: "BKT-CRT-010", Level: Must, Needs: []Need{NeedCreation, NeedMissingProtocol}, Title: "rejects an unsupported protocol",
			Rule: kep(sectionCreate, textProtocols), Why: "the quoted text uses MUST", Fix: "check that DriverGetInfo returns all protocols of the request; otherwise return InvalidArgument",
			Run: func(c *C) {
				b := c.generated()
				request := b.create()
				request.Protocols = c.unsupported()
				refused(c, c.provisioner.DriverCreateBucket, request, codes.InvalidArgument)
			},
		},
		{
			ID: "BKT-CRT-015", Level: Should, Needs: []Need{NeedCreation}, Title: "returns no credential",
			Rule: kep(sectionCreate, "returned bucket info is applied to Bucket status and should not contain any sensitive data"),
			Why:  "the quoted text uses \"should\"", Fix: "keep user information and signatures out of endpoints and names",
			Run: runNoCredentialInInfo,
		},
		{
			ID: "BKT-CRT-016", Level: Should, Needs: []Need{NeedCreation, NeedS3}, Title: "returns an http or https URL and a known addressing style for an S3 bucket",
			Rule: kep("BucketAccess Secret data, S3", "AWS_ENDPOINT_URL: S3 endpoint URL, e.g., https://s3.amazonaws.com. AWS_S3_ADDRESSING_STYLE: S3 addressing style. one of path or virtual."),
			Why:  "the fields are optional here, and required only in the response to a grant", Fix: "return a complete URL, and PATH or VIRTUAL",
			Run: func(c *C) {
				request := c.bucketRequest(c.name())
				request.Protocols = protocols(cosi.ObjectProtocol_S3)
				c.s3Info(ok(c, c.provisioner.DriverCreateBucket, c.generatedAs(request).create()).GetProtocols().GetS3())
			},
		},
		{
			ID: "BKT-CRT-017", Level: Should, Needs: []Need{NeedCreation, NeedDataPlane, NeedKey}, Title: "creates buckets without public access",
			Rule: spec("Provisioner", "Default, disallow uncredentialed access to the backend storage."),
			Why:  "the default of anonymous access is private in v1alpha1; v1alpha2 does not mention it", Fix: "block public access at creation",
			Run: runPrivate,
		},
	}
}

func (c *C) incompatible(b *bucket) *cosi.DriverCreateBucketRequest {
	request := b.create()
	request.Parameters = c.suite.config.Params.Incompatible
	return request
}

func (c *C) offeredOnly(info *cosi.ObjectProtocolAndBucketInfo) {
	for _, protocol := range cosi.ProtocolsOf(info) {
		if !slices.Contains(c.suite.offered(), protocol) {
			c.Fail("the bucket supports %s, which DriverGetInfo does not return", protocol)
		}
	}
}

func (c *C) supportsAsked(asked []*cosi.ObjectProtocol, info *cosi.ObjectProtocolAndBucketInfo) {
	for _, protocol := range asked {
		if !slices.Contains(cosi.ProtocolsOf(info), protocol.GetType()) {
			c.Fail("%s was requested, but the bucket supports only %v", protocol.GetType(), cosi.ProtocolsOf(info))
		}
	}
}

// runAskedProtocols requests each protocol alone, and all together; a driver may reject a combination.
func runAskedProtocols(c *C) {
	asked := [][]*cosi.ObjectProtocol{protocols(c.suite.offered()...)}
	for _, protocol := range c.suite.offered() {
		asked = append(asked, protocols(protocol))
	}
	for _, list := range asked {
		request := c.bucketRequest(c.name())
		request.Protocols = list
		named, code := try(c.ctx, c, c.provisioner.DriverGenerateBucketId, request)
		if code == codes.InvalidArgument && len(list) > 1 {
			continue
		}
		if code != codes.OK {
			c.Fail("DriverGenerateBucketId with protocols from DriverGetInfo must return OK, not %s", code)
		}
		b := &bucket{id: named.GetBucketId(), request: request}
		response, code := try(c.ctx, c, c.provisioner.DriverCreateBucket, b.create())
		if code == codes.InvalidArgument && len(list) > 1 {
			continue
		}
		if code != codes.OK {
			c.Fail("DriverCreateBucket with protocols from DriverGetInfo must return OK, not %s", code)
		}
		c.supportsAsked(list, response.GetProtocols())
	}
}

// signedQuery matches query parameters that only a signed URL has.
var signedQuery = regexp.MustCompile(`(?i)(x-amz-signature|x-goog-signature|[?&]sig)=`)

func runNoCredentialInInfo(c *C) {
	b := c.generated()
	response := ok(c, c.provisioner.DriverCreateBucket, b.create())
	eachString(response.ProtoReflect(), func(field protoreflect.FieldDescriptor, value string) {
		if parsed, err := url.Parse(value); err == nil && parsed.User != nil {
			c.Fail("the field %s contains a URL with user information", field.Name())
		}
		if signedQuery.MatchString(value) || strings.Contains(value, "PRIVATE KEY") {
			c.Fail("the field %s contains a credential", field.Name())
		}
	})
}

func (c *C) s3Info(info *cosi.S3BucketInfo) {
	if endpoint := info.GetEndpoint(); endpoint != "" {
		parsed, err := url.Parse(endpoint)
		if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
			c.Fail("the endpoint %q is not an http or https URL", endpoint)
		}
	}
	if info.GetAddressingStyle() == nil {
		return
	}
	switch style := info.GetAddressingStyle().GetStyle(); style {
	case cosi.S3AddressingStyle_PATH, cosi.S3AddressingStyle_VIRTUAL:
	case cosi.S3AddressingStyle_UNKNOWN:
		c.Fail("the addressing style is %s, not PATH or VIRTUAL", style)
	default:
		c.Fail("the addressing style is %s, not PATH or VIRTUAL", style)
	}
}

func runPrivate(c *C) {
	b := c.created()
	a := c.granted(b)
	key := "private-" + c.name()
	c.can(a, b, PutObject, key)
	for _, action := range []Action{GetObject, ListObjects} {
		anonymous := Attempt{BucketID: b.id, Info: a.response.GetBuckets()[0].GetBucketInfo(), Action: action, Key: key}
		// A store that does not even accept a request without a credential is closed, too.
		if outcome, err := c.try(c.protocol(), anonymous); err == nil && outcome.Verdict == Allowed {
			c.Fail("the store allows requests without a credential to %s", action)
		}
	}
	c.can(a, b, DeleteObject, key)
}

// bucketsMore requires that the backend contains this many more buckets than before.
func (c *C) bucketsMore(before []string, want int) {
	switch n := c.grown(KindBucket, before); n {
	case want:
	case 0:
		c.Fail("the inventory hook lists no new bucket for %d bucket IDs: fix the hook, or the driver if it created no bucket", want)
	default:
		c.Fail("the inventory hook lists %d new buckets for %d bucket IDs", n, want)
	}
}
