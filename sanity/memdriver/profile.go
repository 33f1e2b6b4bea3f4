// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Profile is what a driver offers.
type Profile struct {
	// Name is the driver's name.
	Name string
	// Protocols are those it supports, and Authentication the types.
	Protocols      []cosi.ObjectProtocol_Type
	Authentication []cosi.AuthenticationType_Type
	// MultiBucket says that one credential can serve several buckets.
	MultiBucket bool
	// V1Alpha1 says that it speaks the contract v1alpha1 and no other.
	V1Alpha1 bool
}

// Wide offers S3 and Azure, both authentication types, and one credential for several buckets.
func Wide() Profile {
	return Profile{
		Name:      "wide.memory.example.com",
		Protocols: []cosi.ObjectProtocol_Type{cosi.ObjectProtocol_S3, cosi.ObjectProtocol_AZURE},
		Authentication: []cosi.AuthenticationType_Type{
			cosi.AuthenticationType_KEY, cosi.AuthenticationType_SERVICE_ACCOUNT,
		},
		MultiBucket: true,
	}
}

// Narrow offers GCS with keys, and one bucket at a time.
func Narrow() Profile {
	return Profile{
		Name:           "narrow.memory.example.com",
		Protocols:      []cosi.ObjectProtocol_Type{cosi.ObjectProtocol_GCS},
		Authentication: []cosi.AuthenticationType_Type{cosi.AuthenticationType_KEY},
	}
}
