// SPDX-License-Identifier: Apache-2.0

// Package accessmode merges the access modes that several BucketClaims of one
// BucketAccess ask of the same backend bucket. It holds the rule only: what a
// class allows is the Controller's to judge, what the driver is sent is the
// sidecar's.
package accessmode

import cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"

// Merge returns the least modes that include both a and b, category by
// category. An empty mode asks for nothing and yields to the other one.
func Merge(a, b cosiapi.BucketAccessModes) cosiapi.BucketAccessModes {
	return cosiapi.BucketAccessModes{
		ObjectData:     merge(a.ObjectData, b.ObjectData),
		ObjectMetadata: merge(a.ObjectMetadata, b.ObjectMetadata),
		BucketMetadata: merge(a.BucketMetadata, b.BucketMetadata),
	}
}

func merge(a, b cosiapi.BucketAccessMode) cosiapi.BucketAccessMode {
	switch {
	case a == "" || a == b:
		return b
	case b == "":
		return a
	default:
		// Two different modes are read-only with write-only, or one of them is
		// read-write already.
		return cosiapi.BucketAccessModeReadWrite
	}
}
