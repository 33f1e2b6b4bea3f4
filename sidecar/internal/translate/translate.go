// SPDX-License-Identifier: Apache-2.0

// Package translate converts values of the Kubernetes API to values of the driver contract. It does not check whether
// the driver supports a value: callers do.
package translate

import (
	"slices"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Protocols converts protocol types to the Kubernetes API.
func Protocols(types []cosi.ObjectProtocol_Type) []cosiapi.Protocol {
	all := []cosiapi.Protocol{cosiapi.ProtocolS3, cosiapi.ProtocolAzure, cosiapi.ProtocolGCS}
	return slices.DeleteFunc(all, func(p cosiapi.Protocol) bool { return !slices.Contains(types, secretkeys.Type(p)) })
}

// Protocol converts a protocol to its form in requests.
func Protocol(protocol cosiapi.Protocol) *cosi.ObjectProtocol {
	return &cosi.ObjectProtocol{Type: secretkeys.Type(protocol)}
}

// AccessMode converts an access mode. A category that the user did not set becomes an explicit ANY.
func AccessMode(mode cosiapi.BucketAccessMode) *cosi.AccessMode {
	return &cosi.AccessMode{Mode: modeType(mode)}
}

func modeType(mode cosiapi.BucketAccessMode) cosi.AccessMode_Mode {
	switch mode {
	case cosiapi.BucketAccessModeReadWrite:
		return cosi.AccessMode_READ_WRITE
	case cosiapi.BucketAccessModeReadOnly:
		return cosi.AccessMode_READ_ONLY
	case cosiapi.BucketAccessModeWriteOnly:
		return cosi.AccessMode_WRITE_ONLY
	default:
		return cosi.AccessMode_ANY
	}
}

// DisallowedAccessModes converts the modes that a class disallows. It returns nil if there are none.
func DisallowedAccessModes(modes cosiapi.DisallowedBucketAccessModes) *cosi.DisallowedAccessModes {
	if len(modes.ObjectData)+len(modes.ObjectMetadata)+len(modes.BucketMetadata) == 0 {
		return nil
	}
	return &cosi.DisallowedAccessModes{
		ObjectData:     modeTypes(modes.ObjectData),
		ObjectMetadata: modeTypes(modes.ObjectMetadata),
		BucketMetadata: modeTypes(modes.BucketMetadata),
	}
}

func modeTypes(modes []cosiapi.BucketAccessMode) []cosi.AccessMode_Mode {
	var terms []cosi.AccessMode_Mode
	for _, mode := range modes {
		terms = append(terms, modeType(mode))
	}
	return terms
}

// Authentication converts an authentication type. The default is KEY.
func Authentication(chosen cosiapi.AuthenticationType) *cosi.AuthenticationType {
	if chosen == cosiapi.AuthenticationTypeServiceAccount {
		return &cosi.AuthenticationType{Type: cosi.AuthenticationType_SERVICE_ACCOUNT}
	}
	return &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY}
}
