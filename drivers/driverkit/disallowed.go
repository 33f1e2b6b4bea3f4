// SPDX-License-Identifier: Apache-2.0

package driverkit

import "slices"

// DisallowedModes lists the access modes that a class forbids in each category. A mode stands for itself
// only: where ReadWrite is disallowed, ReadOnly is not. The zero value forbids nothing.
type DisallowedModes struct {
	// ObjectData is about the contents of objects.
	ObjectData []Mode
	// ObjectMetadata is about metadata and tags of objects.
	ObjectMetadata []Mode
	// BucketMetadata is about metadata and configuration of the bucket.
	BucketMetadata []Mode
}

// Check returns an InvalidArgument if an account that can do this with a bucket can do more than the
// class allows: in each category there must be one mode that is not disallowed and includes it. What an
// account can do may be more than what was asked for: reading an object shows its metadata, for instance.
func (d DisallowedModes) Check(effective BucketAccess) error {
	for _, category := range d.categories(effective) {
		if !allows(category.disallowed, category.mode) {
			return InvalidArgument("bucket %s: what is asked for includes %s for %s, which this backend cannot separate, and the class disallows %s there; "+
				"ask for other access modes, or use another BucketAccessClass", effective.BucketID, category.mode, category.name, join(category.disallowed))
		}
	}
	return nil
}

// checkAsked refuses what was asked for by name although the class disallows it.
func (d DisallowedModes) checkAsked(bucket BucketAccess) error {
	for _, category := range d.categories(bucket) {
		if slices.Contains(category.disallowed, category.mode) {
			return InvalidArgument("bucket %s: access mode %s for %s is disallowed by the class; ask for another, or use another BucketAccessClass",
				bucket.BucketID, category.mode, category.name)
		}
	}
	return nil
}

// category is one category of an access and of what the class forbids.
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

// allows reports whether one of the modes that are left includes the given one.
func allows(disallowed []Mode, effective Mode) bool {
	for _, left := range []Mode{ReadWrite, ReadOnly, WriteOnly} {
		if !slices.Contains(disallowed, left) && left.With(effective) == left {
			return true
		}
	}
	return effective.With(Any) == Any
}

// With returns the mode that allows what one of the two allows. Any, like an empty mode, allows nothing
// by itself.
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
