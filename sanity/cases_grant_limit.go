// SPDX-License-Identifier: Apache-2.0

package sanity

import cosi "github.com/cooper-cosi/cooper/proto"

const (
	textDisallowed = "disallowedBucketAccessModes is a list of disallowed Read/Write access modes for each access type. " +
		"A BucketAccess using this class will not be allowed to request access to a BucketClaim with any access mode listed here."
	fixDisallowed = "for each category, grant only modes that are not in disallowed_access_modes, and no access if no mode remains; otherwise return InvalidArgument"
)

func grantLimitCases() []Case {
	return []Case{
		{
			ID: "ACC-GRT-031", Level: Must, Needs: append(probedKey(), NeedKeptModes),
			Title: "grants no disallowed mode in an unspecified category, as announced, or rejects the request",
			Rule:  kep("BucketAccessClass", textDisallowed),
			Why:   "no user may get a mode that the class disallows; the driver announces this with keeps_disallowed_access_modes, an addition to the KEP's messages",
			Fix:   fixDisallowed, Run: runDisallowedModes,
		},
		{
			ID: "ACC-GRT-032", Level: Should, Needs: append(probedKey(), NeedUnkeptModes),
			Title: "grants no disallowed mode in an unspecified category, or rejects the request",
			Rule:  kep("BucketAccessClass", textDisallowed),
			Why:   "the quoted text is about requested modes; disallowed_access_modes is an addition to the KEP's messages that the driver may not support",
			Fix:   fixDisallowed + "; then announce this with keeps_disallowed_access_modes", Run: runDisallowedModes,
		},
	}
}

// limit is an access that leaves a category unset although its class forbids some modes of that category.
type limit struct {
	data, bucketMetadata cosi.AccessMode_Mode
	disallowed           *cosi.DisallowedAccessModes
	// forbidden lists the actions that the credential must not permit.
	forbidden []Action
	why       string
}

func limits() []limit {
	const read, write, both = cosi.AccessMode_READ_ONLY, cosi.AccessMode_WRITE_ONLY, cosi.AccessMode_READ_WRITE
	all := []cosi.AccessMode_Mode{read, write, both}
	return []limit{
		{
			data: read, disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: []cosi.AccessMode_Mode{write, both}},
			forbidden: []Action{SetObjectTags}, why: "no mode was requested for object metadata, and every mode except ReadOnly is disallowed",
		},
		{
			data: both, disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: all},
			forbidden: []Action{GetObjectTags, SetObjectTags}, why: "no mode was requested for object metadata, and every mode is disallowed",
		},
		{
			data: read, disallowed: &cosi.DisallowedAccessModes{BucketMetadata: all},
			forbidden: []Action{GetBucketTags, SetBucketPolicy}, why: "no mode was requested for bucket metadata, and every mode is disallowed",
		},
		{
			data: both, disallowed: &cosi.DisallowedAccessModes{BucketMetadata: all},
			forbidden: []Action{GetBucketTags, SetBucketPolicy}, why: "no mode was requested for bucket metadata, and every mode is disallowed",
		},
		{
			bucketMetadata: read, disallowed: &cosi.DisallowedAccessModes{ObjectData: all},
			forbidden: []Action{GetObject, PutObject}, why: "no mode was requested for object data, and every mode is disallowed",
		},
	}
}

func runDisallowedModes(c *C) {
	for _, limit := range limits() {
		// Use a separate bucket for each, because some stores allow only few accesses per bucket.
		b := c.created()
		owner, key := c.stocked(b)
		request := c.accessWith(b, openUnless(limit.data), cosi.AccessMode_ANY, openUnless(limit.bucketMetadata))
		request.DisallowedAccessModes = limit.disallowed
		if a, supported := c.acceptedModes(request); supported {
			for _, action := range limit.forbidden {
				c.cannot(a, b, action, key, limit.why)
			}
		}
		c.can(owner, b, DeleteObject, key)
	}
}

func openUnless(mode cosi.AccessMode_Mode) cosi.AccessMode_Mode {
	if mode == cosi.AccessMode_UNKNOWN {
		return cosi.AccessMode_ANY
	}
	return mode
}
