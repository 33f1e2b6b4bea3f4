// SPDX-License-Identifier: Apache-2.0

// Package terms says in the terms of the contract with drivers what the API
// says in its own. It must not judge: what a driver cannot serve has a term,
// too.
package terms

import (
	"slices"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// ProtocolType returns the type of a protocol, or UNKNOWN for one that the contract lacks.
func ProtocolType(protocol cosiapi.Protocol) cosi.ObjectProtocol_Type {
	switch protocol {
	case cosiapi.ProtocolS3:
		return cosi.ObjectProtocol_S3
	case cosiapi.ProtocolAzure:
		return cosi.ObjectProtocol_AZURE
	case cosiapi.ProtocolGCS:
		return cosi.ObjectProtocol_GCS
	default:
		return cosi.ObjectProtocol_UNKNOWN
	}
}

// Protocols returns the protocols of which the types are given.
func Protocols(types []cosi.ObjectProtocol_Type) []cosiapi.Protocol {
	all := []cosiapi.Protocol{cosiapi.ProtocolS3, cosiapi.ProtocolAzure, cosiapi.ProtocolGCS}
	return slices.DeleteFunc(all, func(p cosiapi.Protocol) bool { return !slices.Contains(types, ProtocolType(p)) })
}

// Protocol returns a protocol as requests hold it.
func Protocol(protocol cosiapi.Protocol) *cosi.ObjectProtocol {
	return &cosi.ObjectProtocol{Type: ProtocolType(protocol)}
}

// AccessMode returns an access mode. A category that the user left open is an
// explicit ANY.
func AccessMode(mode cosiapi.BucketAccessMode) *cosi.AccessMode {
	term := cosi.AccessMode_ANY
	switch mode {
	case cosiapi.BucketAccessModeReadWrite:
		term = cosi.AccessMode_READ_WRITE
	case cosiapi.BucketAccessModeReadOnly:
		term = cosi.AccessMode_READ_ONLY
	case cosiapi.BucketAccessModeWriteOnly:
		term = cosi.AccessMode_WRITE_ONLY
	}
	return &cosi.AccessMode{Mode: term}
}

// Authentication returns an authentication type; one that is not chosen is KEY.
func Authentication(chosen cosiapi.AuthenticationType) *cosi.AuthenticationType {
	if chosen == cosiapi.AuthenticationTypeServiceAccount {
		return &cosi.AuthenticationType{Type: cosi.AuthenticationType_SERVICE_ACCOUNT}
	}
	return &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY}
}
