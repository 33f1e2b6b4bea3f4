// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"fmt"
	"slices"
	"strings"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// This file checks requests and responses against the driver's Info.

// check returns an error if the declaration is invalid.
func (i Info) check() error {
	if err := cosi.ValidateResponse(&cosi.DriverGetInfoRequest{}, infoTo(i)); err != nil {
		return fmt.Errorf("the driver's Info is not valid: %w", err)
	}
	for _, authType := range slices.Concat(i.AuthTypes, i.MultiBucket) {
		if authType != Key && authType != ServiceAccount {
			return fmt.Errorf("the driver's Info is not valid: unknown authentication type %q", authType)
		}
	}
	for _, mode := range slices.Concat(i.Modes.ObjectData, i.Modes.ObjectMetadata, i.Modes.BucketMetadata) {
		if !slices.Contains([]Mode{Any, ReadWrite, ReadOnly, WriteOnly}, mode) {
			return fmt.Errorf("the driver's Info is not valid: unknown access mode %q", mode)
		}
	}
	return nil
}

func (i Info) checkProtocols(protocols []Protocol) error {
	for _, protocol := range protocols {
		if !slices.Contains(i.Protocols, protocol) {
			return InvalidArgument("protocol %s is not supported; this driver supports %s", protocol, join(i.Protocols))
		}
	}
	return nil
}

func (i Info) checkBucket(protocols []Protocol, parameters Values) error {
	if err := i.checkProtocols(protocols); err != nil {
		return err
	}
	return i.BucketParameters.check(parameters)
}

func (i Info) checkAccess(spec AccessSpec) error {
	if err := i.checkProtocols([]Protocol{spec.Protocol}); err != nil {
		return err
	}
	authTypes := i.AuthTypes
	if len(authTypes) == 0 {
		authTypes = []AuthType{Key}
	}
	if !slices.Contains(authTypes, spec.AuthType) {
		return InvalidArgument("authentication type %s is not supported; this driver supports %s", spec.AuthType, join(authTypes))
	}
	for _, bucket := range spec.Buckets {
		if err := i.Modes.check(bucket); err != nil {
			return err
		}
		if err := spec.Disallowed.checkAsked(bucket); err != nil {
			return err
		}
	}
	if err := i.AccessParameters.check(spec.Parameters); err != nil {
		return err
	}
	// This check is last because OUT_OF_RANGE means that the request would be valid with a single bucket.
	if len(spec.Buckets) > 1 && !slices.Contains(i.MultiBucket, spec.AuthType) {
		return OutOfRange("with authentication type %s, this driver cannot create one account for %d buckets; "+
			"create one BucketAccess for each bucket", spec.AuthType, len(spec.Buckets))
	}
	return nil
}

func (m Modes) check(bucket BucketAccess) error {
	categories := []struct {
		name      string
		asked     Mode
		supported []Mode
	}{
		{"object data", bucket.ObjectData, m.ObjectData},
		{"object metadata", bucket.ObjectMetadata, m.ObjectMetadata},
		{"bucket metadata", bucket.BucketMetadata, m.BucketMetadata},
	}
	for _, category := range categories {
		if category.asked != Any && !slices.Contains(category.supported, category.asked) {
			return InvalidArgument("bucket %s: access mode %s for %s is not supported; %s",
				bucket.BucketID, category.asked, category.name, modesText(category.supported))
		}
	}
	return nil
}

func modesText(supported []Mode) string {
	if len(supported) == 0 {
		return "leave it unset with this driver"
	}
	return "this driver supports " + join(supported)
}

// checkOffer returns an error if the driver offers a protocol that its Info does not declare.
func (i Info) checkOffer(info BucketInfo) error {
	offered := map[Protocol]bool{S3: info.S3 != nil, Azure: info.Azure != nil, GCS: info.GCS != nil}
	for _, protocol := range []Protocol{S3, Azure, GCS} {
		if offered[protocol] && !slices.Contains(i.Protocols, protocol) {
			return fmt.Errorf("the driver returns protocol %s for a bucket, but Info declares only %s", protocol, join(i.Protocols))
		}
	}
	return nil
}

func join[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = string(value)
	}
	return strings.Join(texts, ", ")
}
