// SPDX-License-Identifier: Apache-2.0

// Package accessmode merges access modes. A BucketAccess can request the same backend bucket through several
// BucketClaims, each with its own mode. The Controller checks whether the class allows the merged mode, and the sidecar
// sends the merged mode to the driver.
package accessmode

import cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"

// Merge returns, for each category, the smallest mode that includes those of both a and b. An empty mode requests
// nothing, so the result is then the other mode.
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
		// Two different modes are either ReadOnly and WriteOnly, or one of them is ReadWrite.
		return cosiapi.BucketAccessModeReadWrite
	}
}
