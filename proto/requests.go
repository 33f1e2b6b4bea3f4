// SPDX-License-Identifier: Apache-2.0

package cosi

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
)

// ValidateRequest checks a request against the field rules of cosi.proto: REQUIRED fields, sizes, characters, known
// enum values, and no duplicate buckets. It returns a *FieldError about the first invalid field, for which a driver
// returns INVALID_ARGUMENT. It does not check what a particular driver supports. It also returns an error if the
// message is not a request of the contract.
func ValidateRequest(request proto.Message) error {
	switch r := request.(type) {
	case *DriverGetInfoRequest:
		return nil
	case *DriverGenerateBucketIdRequest:
		return firstError(ValidateName("name", r.GetName()),
			validateProtocols("protocols", r.GetProtocols()), ValidateParameters(r.GetParameters()))
	case *DriverCreateBucketRequest:
		return firstError(validateBucketRequest(r), validateUpdate(r))
	case *DriverGetBucketRequest:
		return validateBucketRequest(r)
	case *DriverDeleteBucketRequest:
		return firstError(ValidateBucketID(r.GetBucketId()), ValidateParameters(r.GetParameters()))
	case *DriverGenerateBucketAccessIdRequest:
		return firstError(ValidateName("account_name", r.GetAccountName()),
			validateAccess(r), validateAccessedBuckets(r.GetBuckets()), limitString("rotation", r.GetRotation(), MaxNameLength),
			validateDisallowed(r.GetDisallowedAccessModes()))
	case *DriverGrantBucketAccessRequest:
		return firstError(ValidateAccountID(r.GetAccountId()),
			validateAccess(r), validateAccessedBuckets(r.GetBuckets()), limitString("rotation", r.GetRotation(), MaxNameLength),
			validateDisallowed(r.GetDisallowedAccessModes()))
	case *DriverRevokeBucketAccessRequest:
		return firstError(ValidateAccountID(r.GetAccountId()), validateAccess(r), validateRevokedBuckets(r.GetBuckets()))
	default:
		return fmt.Errorf("%T is not a request of the COSI contract", request)
	}
}

type bucketRequest interface {
	GetBucketId() string
	GetProtocols() []*ObjectProtocol
	GetParameters() map[string]string
}

func validateBucketRequest(r bucketRequest) error {
	return firstError(ValidateBucketID(r.GetBucketId()),
		validateProtocols("protocols", r.GetProtocols()), ValidateParameters(r.GetParameters()))
}

// validateUpdate rejects an update that changes nothing, or a parameter that it does not name.
func validateUpdate(r *DriverCreateBucketRequest) error {
	update := r.GetUpdate()
	if update == nil {
		return nil
	}
	const field = "update.changed"
	if len(update.GetChanged()) == 0 {
		return fieldErrorf(field, "is required")
	}
	if err := validateKeys(field, update.GetChanged()); err != nil {
		return err
	}
	if err := ValidateParameters(update.GetParameters()); err != nil {
		return fieldErrorf("update", "is not valid: %v", err)
	}
	for _, parameters := range []map[string]string{r.GetParameters(), update.GetParameters()} {
		for key := range parameters {
			was, had := r.GetParameters()[key]
			is, has := update.GetParameters()[key]
			if (was != is || had != has) && !slices.Contains(update.GetChanged(), key) {
				return fieldErrorf("update.parameters", "differs from parameters in %q, which is not in changed", key)
			}
		}
	}
	return nil
}

// validateKeys rejects a list of parameter keys that is too long, has an empty key or repeats a key.
func validateKeys(field string, keys []string) error {
	if len(keys) > MaxParameters {
		return fieldErrorf(field, "has %d entries, more than %d", len(keys), MaxParameters)
	}
	seen := map[string]bool{}
	for i, key := range keys {
		at := fmt.Sprintf("%s[%d]", field, i)
		if err := requireString(at, key, MaxInfoLength); err != nil {
			return err
		}
		if seen[key] {
			return fieldErrorf(at, "repeats %q", key)
		}
		seen[key] = true
	}
	return nil
}

type accessRequest interface {
	GetProtocol() *ObjectProtocol
	GetAuthenticationType() *AuthenticationType
	GetServiceAccountName() string
	GetServiceAccountNamespace() string
	GetParameters() map[string]string
}

func validateAccess(r accessRequest) error {
	var account error
	if r.GetAuthenticationType().GetType() == AuthenticationType_SERVICE_ACCOUNT && r.GetServiceAccountName() == "" {
		account = fieldErrorf("service_account_name", "is required with authentication type SERVICE_ACCOUNT")
	}
	return firstError(
		validateProtocol("protocol", r.GetProtocol()),
		validateAuthenticationType(r.GetAuthenticationType()),
		account,
		limitString("service_account_name", r.GetServiceAccountName(), MaxNameLength),
		limitString("service_account_namespace", r.GetServiceAccountNamespace(), MaxNamespaceLength),
		ValidateParameters(r.GetParameters()),
	)
}

// validateDisallowed rejects values that are not modes that an access can request.
func validateDisallowed(disallowed *DisallowedAccessModes) error {
	for _, category := range []struct {
		name  string
		modes []AccessMode_Mode
	}{
		{"object_data", disallowed.GetObjectData()},
		{"object_metadata", disallowed.GetObjectMetadata()},
		{"bucket_metadata", disallowed.GetBucketMetadata()},
	} {
		for i, mode := range category.modes {
			switch mode {
			case AccessMode_READ_WRITE, AccessMode_READ_ONLY, AccessMode_WRITE_ONLY:
			case AccessMode_UNKNOWN, AccessMode_ANY:
				return fieldErrorf(fmt.Sprintf("disallowed_access_modes.%s[%d]", category.name, i), "must not be %s", mode)
			default:
				return fieldErrorf(fmt.Sprintf("disallowed_access_modes.%s[%d]", category.name, i), "has the unknown value %d", mode)
			}
		}
	}
	return nil
}

func validateAuthenticationType(authentication *AuthenticationType) error {
	const field = "authentication_type"
	switch authentication.GetType() {
	case AuthenticationType_KEY, AuthenticationType_SERVICE_ACCOUNT:
		return nil
	case AuthenticationType_UNKNOWN:
		return fieldErrorf(field, "is required")
	default:
		return fieldErrorf(field, "has the unknown value %d", authentication.GetType())
	}
}

func validateProtocols(field string, protocols []*ObjectProtocol) error {
	seen := map[ObjectProtocol_Type]bool{}
	for i, protocol := range protocols {
		at := fmt.Sprintf("%s[%d]", field, i)
		if err := validateProtocol(at, protocol); err != nil {
			return err
		}
		if seen[protocol.GetType()] {
			return fieldErrorf(at, "repeats %s", protocol.GetType())
		}
		seen[protocol.GetType()] = true
	}
	return nil
}

func validateProtocol(field string, protocol *ObjectProtocol) error {
	switch protocol.GetType() {
	case ObjectProtocol_S3, ObjectProtocol_AZURE, ObjectProtocol_GCS:
		return nil
	case ObjectProtocol_UNKNOWN:
		return fieldErrorf(field, "is required")
	default:
		return fieldErrorf(field, "has the unknown value %d", protocol.GetType())
	}
}

func validateAccessedBuckets(buckets []*AccessedBucket) error {
	ids := make([]string, len(buckets))
	for i, bucket := range buckets {
		ids[i] = bucket.GetBucketId()
		err := firstError(
			validateMode(i, "object_data_access_mode", bucket.GetObjectDataAccessMode()),
			validateMode(i, "object_metadata_access_mode", bucket.GetObjectMetadataAccessMode()),
			validateMode(i, "bucket_metadata_access_mode", bucket.GetBucketMetadataAccessMode()),
		)
		if err != nil {
			return err
		}
		if !givesMode(bucket) {
			return fieldErrorf(fmt.Sprintf("buckets[%d]", i), "has no access mode: at least one of object_data_access_mode, "+
				"object_metadata_access_mode and bucket_metadata_access_mode is required")
		}
	}
	return validateBucketIDs(ids)
}

// givesMode reports whether at least one category is set, as KEP-1979, section "BucketAccess", requires.
func givesMode(bucket *AccessedBucket) bool {
	return bucket.GetObjectDataAccessMode().GetMode() != AccessMode_UNKNOWN ||
		bucket.GetObjectMetadataAccessMode().GetMode() != AccessMode_UNKNOWN ||
		bucket.GetBucketMetadataAccessMode().GetMode() != AccessMode_UNKNOWN
}

func validateRevokedBuckets(buckets []*DriverRevokeBucketAccessRequest_AccessedBucket) error {
	ids := make([]string, len(buckets))
	for i, bucket := range buckets {
		ids[i] = bucket.GetBucketId()
	}
	return validateBucketIDs(ids)
}

func validateBucketIDs(ids []string) error {
	if len(ids) == 0 {
		return fieldErrorf("buckets", "is required")
	}
	seen := map[string]bool{}
	for i, id := range ids {
		field := fmt.Sprintf("buckets[%d].bucket_id", i)
		if err := validateID(field, id); err != nil {
			return err
		}
		if seen[id] {
			return fieldErrorf(field, "repeats %q", id)
		}
		seen[id] = true
	}
	return nil
}

func validateMode(index int, category string, mode *AccessMode) error {
	if _, known := AccessMode_Mode_name[int32(mode.GetMode())]; !known {
		return fieldErrorf(fmt.Sprintf("buckets[%d].%s", index, category), "has the unknown value %d", mode.GetMode())
	}
	return nil
}

// firstError returns the first error that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// IsFieldError reports whether err is or wraps a *FieldError.
func IsFieldError(err error) bool {
	var field *FieldError
	return errors.As(err, &field)
}
