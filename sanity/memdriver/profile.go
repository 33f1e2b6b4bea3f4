// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Wide returns the options of a driver for S3 and Azure with both authentication types. Each credential can access
// several buckets.
func Wide() Options {
	return Options{
		Name:             "wide.memory.example.com",
		Protocols:        []cosi.ObjectProtocol_Type{cosi.ObjectProtocol_S3, cosi.ObjectProtocol_AZURE},
		Parameters:       bucketParameters(),
		Changeable:       []string{parameterLimit},
		AccessParameters: accessParameters(),
	}
}

// Narrow returns the options of a driver for GCS with keys, each for one bucket.
func Narrow() Options {
	return Options{
		Name:             "narrow.memory.example.com",
		Protocols:        []cosi.ObjectProtocol_Type{cosi.ObjectProtocol_GCS},
		Authentication:   []cosi.AuthenticationType_Type{cosi.AuthenticationType_KEY},
		SingleBucket:     true,
		Parameters:       bucketParameters(),
		AccessParameters: accessParameters(),
	}
}

// Old returns the options of an S3 driver with keys that implements only v1alpha1 and uses the requested names as
// IDs.
func Old() Options {
	return Options{
		Name:             "old.memory.example.com",
		Authentication:   []cosi.AuthenticationType_Type{cosi.AuthenticationType_KEY},
		SingleBucket:     true,
		Speaks:           V1alpha1,
		NamesAsIDs:       true,
		Parameters:       bucketParameters(),
		AccessParameters: accessParameters(),
	}
}

// The parameters of these drivers.
const (
	parameterTier  = "tier"
	parameterLimit = "limit"
	parameterForce = "deleteNonEmpty"
	parameterNote  = "note"

	tierHot  = "hot"
	tierCold = "cold"
	noteTest = "made by a test"
)

func bucketParameters() map[string][]string {
	return map[string][]string{parameterTier: {tierHot, tierCold}, parameterLimit: nil, parameterForce: nil}
}

func accessParameters() map[string][]string { return map[string][]string{parameterNote: {noteTest}} }
