// SPDX-License-Identifier: Apache-2.0

package sanity

import cosi "github.com/cooper-cosi/cooper/proto"

const (
	textDisallowed = "disallowedBucketAccessModes is a list of disallowed Read/Write access modes for each access type. " +
		"A BucketAccess using this class will not be allowed to request access to a BucketClaim with any access mode listed here."
	fixDisallowed = "look at what the credential can do in each category in the end, and leave out what disallowed_access_modes leaves no mode for, or return InvalidArgument"
)

func grantLimitCases() []Case {
	return []Case{
		{
			ID: "ACC-GRT-031", Level: Must, Needs: append(probedKey(), NeedKeptModes),
			Title: "gives a category that is left open no more than the class allows, as it announces, or refuses",
			Rule:  kep("BucketAccessClass", textDisallowed),
			Why:   "the class must keep what it disallows from everybody; the driver announces by keeps_disallowed_access_modes, an addition to the KEP's messages, that it does",
			Fix:   fixDisallowed, Run: runDisallowedModes,
		},
		{
			ID: "ACC-GRT-032", Level: Should, Needs: append(probedKey(), NeedUnkeptModes),
			Title: "gives a category that is left open no more than the class allows, or refuses",
			Rule:  kep("BucketAccessClass", textDisallowed),
			Why:   "the sentence is about what is asked for; that the driver hears of it is an addition to the KEP's messages, which it may not know",
			Fix:   fixDisallowed + "; then announce it by keeps_disallowed_access_modes", Run: runDisallowedModes,
		},
	}
}

// limit is an access that leaves a category unset in which a class forbids some modes.
type limit struct {
	data, bucketMetadata cosi.AccessMode_Mode
	disallowed           *cosi.DisallowedAccessModes
	// forbidden lists the actions that the credential must then not be able to do.
	forbidden []Action
	why       string
}

func limits() []limit {
	const read, write, both = cosi.AccessMode_READ_ONLY, cosi.AccessMode_WRITE_ONLY, cosi.AccessMode_READ_WRITE
	all := []cosi.AccessMode_Mode{read, write, both}
	return []limit{
		{
			data: read, disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: []cosi.AccessMode_Mode{write, both}},
			forbidden: []Action{SetObjectTags}, why: "object metadata was left open, and only ReadOnly is not disallowed",
		},
		{
			data: both, disallowed: &cosi.DisallowedAccessModes{ObjectMetadata: all},
			forbidden: []Action{GetObjectTags, SetObjectTags}, why: "object metadata was left open, and every mode is disallowed",
		},
		{
			data: read, disallowed: &cosi.DisallowedAccessModes{BucketMetadata: all},
			forbidden: []Action{GetBucketTags, SetBucketPolicy}, why: "bucket metadata was left open, and every mode is disallowed",
		},
		{
			data: both, disallowed: &cosi.DisallowedAccessModes{BucketMetadata: all},
			forbidden: []Action{GetBucketTags, SetBucketPolicy}, why: "bucket metadata was left open, and every mode is disallowed",
		},
		{
			bucketMetadata: read, disallowed: &cosi.DisallowedAccessModes{ObjectData: all},
			forbidden: []Action{GetObject, PutObject}, why: "object data was left open, and every mode is disallowed",
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
