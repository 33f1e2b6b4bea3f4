// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"google.golang.org/grpc/codes"

	cosi "github.com/cooper-cosi/cooper/proto"
)

const textModes = "Read/write access modes are split into 3 categories: object data, object metadata, bucket metadata. " + textPermissions

func probedKey() []Need { return []Need{NeedDataPlane, NeedKey} }

func probedOwnKey() []Need { return []Need{NeedDataPlane, NeedKey, NeedOwnCredential} }

func grantModeCases() []Case {
	return []Case{
		{
			ID: "ACC-GRT-010", Level: Must, Needs: probedKey(), Title: "ReadWrite: put, get, list and delete work",
			Rule: kep("BucketAccess", "ReadWrite - read and write access allowed"), Why: "OK means that the requested access is granted", Fix: "grant reading, writing, listing and deleting objects",
			Run: func(c *C) {
				b := c.created()
				c.works(c.granted(b), b)
			},
		},
		{
			ID: "ACC-GRT-011", Level: Must, Needs: probedKey(), Title: "ReadOnly: get works and put does not, or the mode is rejected",
			Rule: kep("BucketAccess", "ReadOnly - only read access allowed. "+textPermissions),
			Why:  "\"only\"; a mode that cannot be enforced is InvalidArgument", Fix: "grant reading and listing only, or return InvalidArgument",
			Run: runReadOnly,
		},
		{
			ID: "ACC-GRT-012", Level: Must, Needs: probedKey(), Title: "WriteOnly: put works and get does not, or the mode is rejected",
			Rule: kep("BucketAccess", "WriteOnly - only write access allowed. "+textPermissions),
			Why:  "\"only\"; a mode that cannot be enforced is InvalidArgument", Fix: "grant writing only, or return InvalidArgument",
			Run: runWriteOnly,
		},
		{
			ID: "ACC-GRT-013", Level: Should, Needs: probedOwnKey(), Title: "gives no access to a bucket that was not requested",
			Rule: kep("BucketAccess", "BucketAccess A referencing BucketClaim A should generally not be able to read or write to an un-referenced BucketClaim B."),
			Why:  "the quoted text uses \"should generally not\"", Fix: "limit the account to the buckets of the request",
			Run: runOtherBucket,
		},
		{
			ID: "ACC-GRT-014", Level: Should, Needs: probedOwnKey(), Title: "object access allows neither to delete the bucket nor to change its policy",
			Rule: kep("BucketAccess", "Users can assume access also allows corresponding access to bucket and object metadata except metadata which would alter behavior of the storage backend."),
			Why:  "the quoted text is about assumptions of users and has no keyword for drivers", Fix: "do not grant administration of the bucket",
			Run: func(c *C) {
				b := c.created()
				a := c.granted(b)
				c.cannot(a, b, SetBucketPolicy, "", "access to objects was requested")
				c.cannot(a, b, DeleteBucket, "", "access to objects was requested")
			},
		},
		{
			ID: "ACC-GRT-015", Level: Must, Needs: probedKey(), Title: "metadata modes are enforced, or rejected",
			Rule: kep("BucketAccess", textModes), Why: "a mode that cannot be enforced is InvalidArgument; more access than requested is wrong", Fix: "support each category, or return InvalidArgument",
			Run: runMetadataModes,
		},
		{
			ID: "ACC-GRT-016", Level: Must, Title: "accepts an unspecified category",
			Rule: kep("BucketAccess", "an empty mode means the user does not require the permission and does not care if the corresponding access is allowed or not."),
			Why:  "the user may leave the mode empty, so a driver must accept it", Fix: "treat UNKNOWN and ANY as not requested",
			Run: runOpenModes,
		},
		{
			ID: "ACC-GRT-017", Level: Must, Title: "several buckets: one credential works on all, or OutOfRange",
			Rule: kep(sectionGrant, textOutOfRange), Why: "\"if (and only if)\"; several buckets with OK means one credential for all", Fix: "grant all buckets to one account, or return OutOfRange in both phases",
			Run: runMultiBucket,
		},
		{
			ID: "ACC-GRT-018", Level: Should, Needs: probedOwnKey(), Title: "two accounts for one bucket both work, with separate credentials",
			Rule: kep("BucketAccess", "For many OSP drivers, each BucketAccess will correspond with a unique OSP backend 'user' (e.g., an S3 user). COSI suggests this as a starting point, but this is not a strict requirement."),
			Why:  "the quoted text is a suggestion", Fix: "create an account for each account_id",
			Run: func(c *C) {
				b := c.created()
				one, other := c.granted(b), c.granted(b)
				if sameSecrets(one.response, other.response) {
					c.Fail("two accounts have the same credential")
				}
				c.works(one, b)
				c.works(other, b)
			},
		},
	}
}

func (c *C) accessWith(b *bucket, data, objectMetadata, bucketMetadata cosi.AccessMode_Mode) *cosi.DriverGenerateBucketAccessIdRequest {
	return c.accessRequest(c.name(), c.protocol(), []*cosi.AccessedBucket{{
		BucketId: b.id, ObjectDataAccessMode: mode(data), ObjectMetadataAccessMode: mode(objectMetadata), BucketMetadataAccessMode: mode(bucketMetadata),
	}})
}

// stocked puts an object into the bucket, through an additional access.
func (c *C) stocked(b *bucket) (owner *access, key string) {
	owner, key = c.granted(b), "stock-"+c.name()
	c.can(owner, b, PutObject, key)
	return owner, key
}

func runReadOnly(c *C) {
	b := c.created()
	owner, key := c.stocked(b)
	a, supported := c.acceptedModes(c.accessWith(b, cosi.AccessMode_READ_ONLY, cosi.AccessMode_ANY, cosi.AccessMode_ANY))
	if supported {
		c.can(a, b, GetObject, key)
		c.cannot(a, b, PutObject, "written-"+c.name(), "ReadOnly was requested")
		c.cannot(a, b, DeleteObject, key, "ReadOnly was requested")
	}
	c.can(owner, b, DeleteObject, key)
}

func runWriteOnly(c *C) {
	b := c.created()
	owner, key := c.stocked(b)
	a, supported := c.acceptedModes(c.accessWith(b, cosi.AccessMode_WRITE_ONLY, cosi.AccessMode_ANY, cosi.AccessMode_ANY))
	if supported {
		// This is a new object: in some stores replacing an object means deleting it, which exceeds write access.
		written := "written-" + c.name()
		c.can(a, b, PutObject, written)
		c.cannot(a, b, GetObject, written, "WriteOnly was requested")
		c.cannot(a, b, GetObject, key, "WriteOnly was requested")
		c.can(owner, b, DeleteObject, written)
	}
	c.can(owner, b, DeleteObject, key)
}

func runOtherBucket(c *C) {
	b, other := c.created(), c.created()
	owner, key := c.stocked(other)
	a := c.granted(b)
	c.can(a, b, ListObjects, "")
	// The attempt describes the other bucket but uses the credential for the first.
	a.response.Buckets = append(a.response.Buckets, owner.response.GetBuckets()...)
	for _, action := range []Action{GetObject, ListObjects, PutObject, DeleteObject} {
		c.cannot(a, other, action, key, "only another bucket was requested")
	}
	c.can(owner, other, DeleteObject, key)
}

func runMetadataModes(c *C) {
	b := c.created()
	owner, key := c.stocked(b)
	reader, supported := c.acceptedModes(c.accessWith(b, cosi.AccessMode_READ_ONLY, cosi.AccessMode_READ_ONLY, cosi.AccessMode_READ_ONLY))
	if supported {
		c.mayAskFor(reader, b, GetObjectTags, key)
		c.mayAskFor(reader, b, GetBucketTags, "")
		c.cannot(reader, b, SetObjectTags, key, "ReadOnly was requested for object metadata")
		c.cannot(reader, b, SetBucketPolicy, "", "ReadOnly was requested for bucket metadata")
	}
	c.can(owner, b, DeleteObject, key)
}

// mayAskFor waits until the store allows an action, regardless of whether it finds anything.
func (c *C) mayAskFor(a *access, b *bucket, action Action, key string) {
	c.eventually(func() string {
		outcome, err := c.attempt(a, b.id, action, key, nil)
		if err != nil {
			return "the granted credential cannot " + string(action) + ": " + err.Error()
		}
		if outcome.Verdict == Refused {
			return "the granted credential must be able to " + string(action) + ", but the store denies it: " + outcome.Detail
		}
		return ""
	})
}

func runOpenModes(c *C) {
	b := c.created()
	for _, open := range []cosi.AccessMode_Mode{cosi.AccessMode_UNKNOWN, cosi.AccessMode_ANY} {
		a := c.grant(c.accessAs(c.accessWith(b, cosi.AccessMode_READ_WRITE, open, open)))
		c.worksIfProbed(a, b)
	}
}

func runMultiBucket(c *C) {
	one, other := c.created(), c.created()
	phase1 := c.accessRequest(c.name(), c.protocol(), []*cosi.AccessedBucket{readWrite(one.id), readWrite(other.id)})
	named, code := try(c.ctx, c, c.provisioner.DriverGenerateBucketAccessId, phase1)
	if code == codes.OutOfRange {
		return
	}
	if code != codes.OK {
		c.Fail("DriverGenerateBucketAccessId for two buckets must return OK or OutOfRange, not %s", code)
	}
	a := &access{phase1: phase1, request: grantOf(named.GetAccountId(), phase1)}
	response, code := try(c.ctx, c, c.provisioner.DriverGrantBucketAccess, a.request)
	if code == codes.OutOfRange {
		return
	}
	if code != codes.OK {
		c.Fail("DriverGrantBucketAccess for two buckets must return OK or OutOfRange, not %s", code)
	}
	a.response = response
	c.worksIfProbed(a, one)
	c.worksIfProbed(a, other)
}

// sameSecrets reports whether two responses share a secret value.
func sameSecrets(one, other *cosi.DriverGrantBucketAccessResponse) bool {
	seen := map[string]bool{}
	eachSecret(one.ProtoReflect(), func(_, value string) { seen[value] = true })
	same := false
	eachSecret(other.ProtoReflect(), func(_, value string) { same = same || seen[value] })
	return same
}
