// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

const (
	sectionGenerateBucket = "DriverGenerateBucketId"
	sectionCreate         = "DriverCreateBucket"
	whyMust               = "the quoted text uses \"must\""
	whyRequired           = "a REQUIRED field MUST be specified, and the code for a missing one MUST be INVALID_ARGUMENT"
	whyListed             = "the section lists the code; by the v1alpha1 error scheme, a listed code MUST be returned under its condition"
	whyRetry              = "the quoted text is a requirement without a keyword; retries are safe only if it holds"

	textGenerateIdempotent = "This API must be idempotent."
	textUnique             = "The returned ID must be unique, and the driver must be able to correlate bucket_id to an OSP backend bucket provisioned in phase 2."
	textNoLeak             = "Therefore, drivers must ensure that their implementation does not leak backend resources in this deletion edge case."
	textInvalidParameters  = "InvalidArgument (not retryable) if any parameters are invalid for the backend"
	textProtocols          = "\"protocols\": an optional list of protocols the bucket MUST support"
	textExists             = "AlreadyExists (not retryable) when the bucket already exists but is incompatible with the request"
	textContinue           = "Idempotency requirements ensure that a retried call with the same fields continues where it left off when retried."
	textMissingField       = "Missing required field: 3. Indicates that a required field is missing from the request."

	maxID   = cosi.MaxIDLength
	maxName = cosi.MaxNameLength
)

func bucketIDCases() []Case {
	return []Case{
		{
			ID: "BKT-GEN-001", Level: Must, Needs: []Need{NeedCreation}, Title: "returns an ID",
			Rule: kep(sectionGenerateBucket, "This call requests a bucket_id that COSI will use for all subsequent gRPC calls related to the Bucket"),
			Why:  "without an ID there are no later calls", Fix: "return a bucket_id",
			Run: func(c *C) {
				if c.generated().id == "" {
					c.Fail("DriverGenerateBucketId returns no bucket_id")
				}
			},
		},
		{
			ID: "BKT-GEN-002", Level: Must, Needs: []Need{NeedCreation}, Title: "rejects an empty name",
			Rule: spec(errorScheme, textMissingField), Why: whyRequired, Fix: "check name and return InvalidArgument",
			Run: func(c *C) {
				refused(c, c.provisioner.DriverGenerateBucketId, c.bucketRequest(""), codes.InvalidArgument)
			},
		},
		{
			ID: "BKT-GEN-003", Level: Must, Needs: []Need{NeedCreation}, Title: "returns the same ID for the same name every time",
			Rule: kep(sectionGenerateBucket, textGenerateIdempotent), Why: whyMust,
			Fix: "derive the ID from the request, without random parts",
			Run: func(c *C) {
				b := c.generated()
				for range c.suite.limits.Repeats {
					if again := c.generatedAs(b.request); again.id != b.id {
						c.Fail("the same name has the IDs %q and %q", b.id, again.id)
					}
				}
			},
		},
		{
			ID: "BKT-GEN-004", Level: Must, Needs: []Need{NeedCreation}, Title: "returns distinct IDs for distinct names",
			Rule: kep(sectionGenerateBucket, textUnique), Why: whyMust, Fix: "use the whole name or its hash",
			Run: func(c *C) {
				seen := map[string]string{}
				for range c.suite.limits.Names {
					b := c.generated()
					if other, taken := seen[b.id]; taken {
						c.Fail("the names %q and %q have the same ID %q", other, b.request.GetName(), b.id)
					}
					seen[b.id] = b.request.GetName()
				}
			},
		},
		{
			ID: "BKT-GEN-005", Level: Must, Needs: []Need{NeedCreation}, Title: "does not truncate long names to the same ID",
			Rule: kep(sectionGenerateBucket, textUnique), Why: whyMust, Fix: "hash a name that is too long, or reject it with InvalidArgument",
			Run: runLongBucketNames,
		},
		{
			ID: "BKT-GEN-006", Level: Must, Needs: []Need{NeedCreation}, Title: "returns an ID of at most 2048 characters of A-Z, a-z, 0-9 and ._/-",
			Rule: spec("Size limits", "The general size limit for a particular field MAY be overridden by specifying a different size limit in said field's description."),
			Why:  "fields SHALL NOT exceed their limits; cosi.proto sets this limit for bucket_id", Fix: "encode the ID with allowed characters",
			Run: func(c *C) { c.wellFormed(c.generated().id) },
		},
		{
			ID: "BKT-GEN-007", Level: Should, Needs: []Need{NeedCreation}, Title: "returns the same ID to concurrent calls",
			Rule: kep(sectionGenerateBucket, textGenerateIdempotent),
			Why:  "idempotency is a must, but the caller should avoid concurrent calls", Fix: "derive the ID only from the request",
			Run: func(c *C) {
				request := c.bucketRequest(c.name())
				ids := make([]string, c.suite.limits.Concurrency)
				c.onlyCodes(c.together(len(ids), func(i int) codes.Code {
					response, code := try(c.ctx, c, c.provisioner.DriverGenerateBucketId, request)
					ids[i] = response.GetBucketId()
					return code
				}), codes.OK, codes.Aborted)
				c.oneID(ids)
			},
		},
		{
			ID: "BKT-GEN-008", Level: Should, Phase: Process, Needs: []Need{NeedCreation, NeedProcess}, Title: "returns the same ID after a restart",
			Rule: kep(sectionGenerateBucket, "If possible, COSI recommends that each driver use a deterministic rule for generating the bucket_id without provisioning backend resources."),
			Why:  "the quoted text is a recommendation", Fix: "derive the ID from the request, without state in memory",
			Run: func(c *C) {
				b := c.generated()
				c.restart()
				if again := c.generatedAs(b.request); again.id != b.id {
					c.Fail("the same name has the ID %q before a restart and %q after it", b.id, again.id)
				}
			},
		},
		{
			ID: "BKT-GEN-009", Level: Should, Phase: Alone, Needs: []Need{NeedCreation}, Title: "creates nothing in the backend",
			Rule: kep(sectionGenerateBucket, textNoLeak),
			Why:  "avoiding leaks is a must; for this purpose, the KEP recommends to create nothing in phase 1",
			Fix:  "create the bucket in DriverCreateBucket",
			Run:  runNothingGenerated,
		},
		{
			ID: "BKT-GEN-010", Level: Must, Needs: []Need{NeedCreation, NeedInvalid}, Title: "rejects invalid parameters, in this phase or the next",
			Rule: kep(sectionGenerateBucket, textInvalidParameters),
			Why:  whyListed + "; a driver that needs no parameters for the ID encounters it in phase 2", Fix: "check the parameters and return InvalidArgument",
			Run: func(c *C) {
				request := c.bucketRequest(c.name())
				request.Parameters = c.suite.config.Params.Invalid
				c.refusedInEither(request, codes.InvalidArgument)
			},
		},
		{
			ID: "BKT-GEN-011", Level: Must, Needs: []Need{NeedCreation, NeedMissingProtocol}, Title: "rejects an unsupported protocol, in this phase or the next",
			Rule: kep(sectionGenerateBucket, textProtocols), Why: "the quoted text uses MUST", Fix: "check that DriverGetInfo returns all protocols of the request",
			Run: func(c *C) {
				request := c.bucketRequest(c.name())
				request.Protocols = c.unsupported()
				c.refusedInEither(request, codes.InvalidArgument)
			},
		},
		{
			ID: "BKT-GEN-012", Level: Must, Needs: []Need{NeedCreation}, Title: "accepts an empty list of protocols, or explains that it needs one",
			Rule: kep(sectionGenerateBucket, "Another might return an InvalidArgument error with a message saying that the driver requires this field."),
			Why:  "the field is optional; the text allows only this error", Fix: "choose protocols in the driver, or return InvalidArgument",
			Run: func(c *C) {
				request := c.bucketRequest(c.name())
				request.Protocols = nil
				code := refused(c, c.provisioner.DriverGenerateBucketId, request, codes.OK, codes.InvalidArgument)
				if code == codes.InvalidArgument && c.lastMessage() == "" {
					c.Fail("the status that rejects an empty list of protocols has no message")
				}
			},
		},
		{
			ID: "BKT-GEN-013", Level: Must, Needs: []Need{NeedCreation, NeedIncompatible}, Title: "rejects the name of an incompatible bucket, in this phase or the next",
			Rule: kep(sectionGenerateBucket, "AlreadyExists (not retryable) if the bucket already exists but is incompatible with the request"),
			Why:  whyListed + "; the KEP recommends IDs without a call to the backend, and such a driver encounters the condition in phase 2",
			Fix:  "compare the request with the existing bucket and return AlreadyExists",
			Run: func(c *C) {
				b := c.created()
				request := c.bucketRequest(b.request.GetName())
				request.Parameters = c.suite.config.Params.Incompatible
				c.refusedInEither(request, codes.AlreadyExists)
			},
		},
	}
}

// refusedInEither requires that phase 1 or phase 2 rejects a bucket with the code.
func (c *C) refusedInEither(request *cosi.DriverGenerateBucketIdRequest, want codes.Code) {
	named, code := try(c.ctx, c, c.provisioner.DriverGenerateBucketId, request)
	switch code {
	case want:
	case codes.OK:
		b := &bucket{id: named.GetBucketId(), request: request}
		refused(c, c.provisioner.DriverCreateBucket, b.create(), want)
	default:
		c.Fail("DriverGenerateBucketId must return %s, or OK if DriverCreateBucket returns the error, but not %s", want, code)
	}
}

// unsupported returns a list with a protocol that the driver does not offer.
func (c *C) unsupported() []*cosi.ObjectProtocol {
	protocol, _ := c.suite.missingProtocol()
	return protocols(protocol)
}

func (c *C) wellFormed(id string) {
	if len(id) > maxID {
		c.Fail("the ID has %d characters", len(id))
	}
	for _, char := range id {
		if !isIDChar(char) {
			c.Fail("the ID %q contains the character %q", id, char)
		}
	}
}

func isIDChar(char rune) bool {
	return char >= 'a' && char <= 'z' || char >= 'A' && char <= 'Z' || char >= '0' && char <= '9' || slices.Contains([]rune("._/-"), char)
}

// oneID requires that there is at least one ID and that all are equal.
func (c *C) oneID(ids []string) {
	ids = slices.Compact(slices.Sorted(slices.Values(slices.DeleteFunc(ids, func(id string) bool { return id == "" }))))
	if len(ids) != 1 {
		c.Fail("concurrent calls for one name return %d IDs: %q", len(ids), ids)
	}
}

func runLongBucketNames(c *C) {
	base := c.longName(maxName-1, "")
	var ids []string
	for _, last := range []string{"a", "b"} {
		response, code := try(c.ctx, c, c.provisioner.DriverGenerateBucketId, c.bucketRequest(base+last))
		switch code {
		case codes.OK:
			ids = append(ids, response.GetBucketId())
		case codes.InvalidArgument:
		default:
			c.Fail("a name of %d characters must return OK or InvalidArgument, not %s", maxName, code)
		}
	}
	if len(ids) == 2 && ids[0] == ids[1] {
		c.Fail("two names of %d characters that differ in the last character have the same ID %q", maxName, ids[0])
	}
}

func runNothingGenerated(c *C) {
	if !c.hasInventory() {
		b := c.generated()
		refused(c, c.provisioner.DriverGetBucket, b.get(), codes.NotFound)
		return
	}
	before := c.inventory()
	c.generated()
	c.unchanged(before)
}

// sameInfo requires that two responses about a bucket are equal.
func (c *C) sameInfo(first, again *cosi.ObjectProtocolAndBucketInfo, when string) {
	if !proto.Equal(first, again) {
		c.Fail("the driver describes the bucket as %s, and %s as %s", cosi.RedactedString(first), when, cosi.RedactedString(again))
	}
}
