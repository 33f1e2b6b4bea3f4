// SPDX-License-Identifier: Apache-2.0

package driverkit

import "slices"

// DisallowedModes lists the access modes that a class forbids in each category. Each mode is independent: disallowing
// ReadWrite does not disallow ReadOnly. The zero value forbids nothing.
type DisallowedModes struct {
	// ObjectData applies to the contents of objects.
	ObjectData []Mode
	// ObjectMetadata applies to metadata and tags of objects.
	ObjectMetadata []Mode
	// BucketMetadata applies to metadata and configuration of the bucket.
	BucketMetadata []Mode
}

// Check returns InvalidArgument if the effective access to a bucket exceeds what the class permits. In each category,
// the class must allow a mode that includes the effective access. The effective access can exceed the requested
// access: for instance, reading an object also shows its metadata.
func (d DisallowedModes) Check(effective BucketAccess) error {
	for _, category := range d.categories(effective) {
		if !allows(category.disallowed, category.mode) {
			return InvalidArgument("bucket %s: on this backend, the requested access modes also grant %s for %s, but the class disallows %s for it; "+
				"request other access modes, or use another BucketAccessClass", effective.BucketID, category.mode, category.name, join(category.disallowed))
		}
	}
	return nil
}

// checkAsked returns an error if a mode is requested explicitly although the class disallows it.
func (d DisallowedModes) checkAsked(bucket BucketAccess) error {
	for _, category := range d.categories(bucket) {
		if slices.Contains(category.disallowed, category.mode) {
			return InvalidArgument("bucket %s: the class disallows access mode %s for %s; request another mode, or use another BucketAccessClass",
				bucket.BucketID, category.mode, category.name)
		}
	}
	return nil
}

// category is one category of an access, with the modes that the class disallows.
type category struct {
	name       string
	mode       Mode
	disallowed []Mode
}

func (d DisallowedModes) categories(of BucketAccess) []category {
	return []category{
		{"object data", of.ObjectData, d.ObjectData},
		{"object metadata", of.ObjectMetadata, d.ObjectMetadata},
		{"bucket metadata", of.BucketMetadata, d.BucketMetadata},
	}
}

// allows reports whether one of the remaining modes includes the given one.
func allows(disallowed []Mode, effective Mode) bool {
	for _, left := range []Mode{ReadWrite, ReadOnly, WriteOnly} {
		if !slices.Contains(disallowed, left) && left.With(effective) == left {
			return true
		}
	}
	return effective.With(Any) == Any
}

// With returns the union of two modes. Any and the empty mode contribute nothing.
func (m Mode) With(other Mode) Mode {
	switch {
	case m == Any || m == "":
		if other == "" {
			return Any
		}
		return other
	case other == Any || other == "" || m == other:
		return m
	default:
		return ReadWrite
	}
}
