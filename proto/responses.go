// SPDX-License-Identifier: Apache-2.0

package cosi

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/proto"
)

// ValidateResponse checks the response to a request against the field rules of cosi.proto: REQUIRED fields, sizes,
// characters and known enum values. A response about a bucket must offer the requested protocols. A grant must return
// exactly the requested buckets through exactly the requested protocol, with a complete credential. ValidateResponse
// returns a *FieldError about the first invalid field. It does not take the response of DriverGetInfo into account.
// It also returns an error if the messages are not the request and response of one RPC of the contract.
func ValidateResponse(request, response proto.Message) error {
	switch r := response.(type) {
	case *DriverGetInfoResponse:
		return validateInfo(r)
	case *DriverGenerateBucketIdResponse:
		return ValidateBucketID(r.GetBucketId())
	case *DriverCreateBucketResponse:
		return validateBucketResponse(request, r.GetProtocols())
	case *DriverGetBucketResponse:
		return validateBucketResponse(request, r.GetProtocols())
	case *DriverGenerateBucketAccessIdResponse:
		return ValidateAccountID(r.GetAccountId())
	case *DriverGrantBucketAccessResponse:
		asked, ok := request.(*DriverGrantBucketAccessRequest)
		if !ok {
			return fmt.Errorf("%T is not a response to %T", response, request)
		}
		return validateGrant(asked, r)
	case *DriverDeleteBucketResponse, *DriverRevokeBucketAccessResponse:
		return nil
	default:
		return fmt.Errorf("%T is not a response of the COSI contract", response)
	}
}

// ProtocolsOf returns the protocols that info offers, in the order of the enum.
func ProtocolsOf(info *ObjectProtocolAndBucketInfo) []ObjectProtocol_Type {
	var offered []ObjectProtocol_Type
	if info.GetS3() != nil {
		offered = append(offered, ObjectProtocol_S3)
	}
	if info.GetAzure() != nil {
		offered = append(offered, ObjectProtocol_AZURE)
	}
	if info.GetGcs() != nil {
		offered = append(offered, ObjectProtocol_GCS)
	}
	return offered
}

func validateInfo(info *DriverGetInfoResponse) error {
	const field = "supported_protocols"
	if err := ValidateDriverName(info.GetName()); err != nil {
		return err
	}
	if len(info.GetSupportedProtocols()) == 0 {
		return fieldErrorf(field, "is required")
	}
	return firstError(validateProtocols(field, info.GetSupportedProtocols()),
		limitString("revision", info.GetRevision(), MaxNameLength),
		validateKeys("changeable_bucket_parameters", info.GetChangeableBucketParameters()))
}

func validateBucketResponse(request proto.Message, info *ObjectProtocolAndBucketInfo) error {
	asked, ok := request.(bucketRequest)
	if !ok {
		return fmt.Errorf("%T does not request a bucket", request)
	}
	const field = "protocols"
	offered := ProtocolsOf(info)
	if len(offered) == 0 {
		return fieldErrorf(field, "is required: the response has no protocol for the bucket")
	}
	for _, protocol := range asked.GetProtocols() {
		if !slices.Contains(offered, protocol.GetType()) {
			return fieldErrorf(field, "lacks the requested %s", protocol.GetType())
		}
	}
	return validateBucketInfo(field, info)
}

// validateBucketInfo checks the fields that are set; none is required.
func validateBucketInfo(field string, info *ObjectProtocolAndBucketInfo) error {
	s3, azure, gcs := info.GetS3(), info.GetAzure(), info.GetGcs()
	return firstError(
		validateInfoString(field+".s3.bucket_id", s3.GetBucketId()),
		validateInfoString(field+".s3.endpoint", s3.GetEndpoint()),
		validateEndpoint(field+".s3.endpoint", s3.GetEndpoint()),
		validateInfoString(field+".s3.region", s3.GetRegion()),
		validateStyle(field+".s3.addressing_style", s3.GetAddressingStyle()),
		validateInfoString(field+".azure.storage_account", azure.GetStorageAccount()),
		validateInfoString(field+".gcs.project_id", gcs.GetProjectId()),
		validateInfoString(field+".gcs.bucket_name", gcs.GetBucketName()),
	)
}

func validateEndpoint(field, endpoint string) error {
	if endpoint == "" {
		return nil
	}
	if parsed, err := url.Parse(endpoint); err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		// The error omits the text, because an invalid URL may contain a password.
		return fieldErrorf(field, "is not an http or https URL")
	}
	return nil
}

// validateInfoString accepts strings that may appear in the status of a Bucket.
func validateInfoString(field, value string) error {
	if RedactURLs(value) != value {
		return fieldErrorf(field, "contains a user name or password, which must not appear in the Bucket's status")
	}
	return limitString(field, value, MaxInfoLength)
}

func validateStyle(field string, style *S3AddressingStyle) error {
	if style == nil {
		return nil
	}
	switch style.GetStyle() {
	case S3AddressingStyle_PATH, S3AddressingStyle_VIRTUAL:
		return nil
	default:
		return fieldErrorf(field, "is neither PATH nor VIRTUAL")
	}
}

func validateGrant(asked *DriverGrantBucketAccessRequest, granted *DriverGrantBucketAccessResponse) error {
	if err := validateGrantedBuckets(asked, granted.GetBuckets()); err != nil {
		return err
	}
	return validateCredentials(asked, granted.GetCredentials())
}

func validateGrantedBuckets(
	asked *DriverGrantBucketAccessRequest, granted []*DriverGrantBucketAccessResponse_BucketInfo,
) error {
	missing := map[string]bool{}
	for _, bucket := range asked.GetBuckets() {
		missing[bucket.GetBucketId()] = true
	}
	for i, bucket := range granted {
		field := fmt.Sprintf("buckets[%d]", i)
		if !missing[bucket.GetBucketId()] {
			// The error omits the ID, because users see it: it may be another user's bucket, or a credential in the wrong
			// field.
			return fieldErrorf(field+".bucket_id", "was not requested or is repeated")
		}
		delete(missing, bucket.GetBucketId())
		if err := validateGrantedInfo(field+".bucket_info", asked.GetProtocol().GetType(), bucket.GetBucketInfo()); err != nil {
			return err
		}
	}
	for _, bucket := range asked.GetBuckets() {
		if missing[bucket.GetBucketId()] {
			return fieldErrorf("buckets", "lacks the requested %q", bucket.GetBucketId())
		}
	}
	return nil
}

func validateGrantedInfo(field string, protocol ObjectProtocol_Type, info *ObjectProtocolAndBucketInfo) error {
	offered := ProtocolsOf(info)
	if len(offered) != 1 || offered[0] != protocol {
		return fieldErrorf(field, "must contain exactly the requested protocol %s, not %v", protocol, offered)
	}
	if err := validateBucketInfo(field, info); err != nil {
		return err
	}
	switch protocol {
	case ObjectProtocol_S3:
		return firstError(requirePresent(field+".s3.bucket_id", info.GetS3().GetBucketId()),
			requirePresent(field+".s3.endpoint", info.GetS3().GetEndpoint()),
			requirePresent(field+".s3.region", info.GetS3().GetRegion()),
			requireStyle(field+".s3.addressing_style", info.GetS3().GetAddressingStyle()))
	case ObjectProtocol_AZURE:
		return requirePresent(field+".azure.storage_account", info.GetAzure().GetStorageAccount())
	default:
		return firstError(requirePresent(field+".gcs.project_id", info.GetGcs().GetProjectId()),
			requirePresent(field+".gcs.bucket_name", info.GetGcs().GetBucketName()))
	}
}

func requirePresent(field, value string) error {
	if value == "" {
		return fieldErrorf(field, "is required")
	}
	return nil
}

func requireStyle(field string, style *S3AddressingStyle) error {
	if style == nil {
		return fieldErrorf(field, "is required")
	}
	return nil
}

// requirePrintable refuses control characters, such as line breaks. The error does not contain the value.
func requirePrintable(field, value string) error {
	if strings.ContainsFunc(value, unicode.IsControl) {
		return fieldErrorf(field, "contains a control character")
	}
	return nil
}

func validateCredentials(asked *DriverGrantBucketAccessRequest, granted *CredentialInfo) error {
	protocol := asked.GetProtocol().GetType()
	s3, azure, gcs := granted.GetS3(), granted.GetAzure(), granted.GetGcs()
	if foreign := foreignCredential(protocol, granted); foreign != ObjectProtocol_UNKNOWN {
		return fieldErrorf("credentials", "contains protocol %s, but only %s was requested", foreign, protocol)
	}
	sizes := firstError(
		ValidateCredential("credentials.certificate_authority", granted.GetCertificateAuthority()),
		ValidateCredential("credentials.s3.access_key_id", s3.GetAccessKeyId()),
		ValidateCredential("credentials.s3.access_secret_key", s3.GetAccessSecretKey()),
		ValidateCredential("credentials.azure.access_token", azure.GetAccessToken()),
		requirePrintable("credentials.azure.access_token", azure.GetAccessToken()),
		validateExpiry("credentials.azure.expiry_timestamp", azure.GetExpiryTimestamp()),
		ValidateCredential("credentials.gcs.access_id", gcs.GetAccessId()),
		ValidateCredential("credentials.gcs.access_secret", gcs.GetAccessSecret()),
		ValidateCredential("credentials.gcs.private_key_name", gcs.GetPrivateKeyName()),
		ValidateCredential("credentials.gcs.service_account", gcs.GetServiceAccount()),
		ValidateCredential("credentials.gcs.client_email", gcs.GetClientEmail()),
		ValidateCredential("credentials.gcs.client_id", gcs.GetClientId()),
		ValidateCredential("credentials.gcs.private_key", gcs.GetPrivateKey()),
	)
	if sizes != nil || asked.GetAuthenticationType().GetType() != AuthenticationType_KEY {
		return sizes
	}
	switch protocol {
	case ObjectProtocol_S3:
		return firstError(requirePresent("credentials.s3.access_key_id", s3.GetAccessKeyId()),
			requirePresent("credentials.s3.access_secret_key", s3.GetAccessSecretKey()))
	case ObjectProtocol_AZURE:
		return requirePresent("credentials.azure.access_token", azure.GetAccessToken())
	default:
		return requireGCSKey(gcs)
	}
}

// foreignCredential returns a protocol other than wanted that has a credential, or UNKNOWN.
func foreignCredential(wanted ObjectProtocol_Type, granted *CredentialInfo) ObjectProtocol_Type {
	switch {
	case granted.GetS3() != nil && wanted != ObjectProtocol_S3:
		return ObjectProtocol_S3
	case granted.GetAzure() != nil && wanted != ObjectProtocol_AZURE:
		return ObjectProtocol_AZURE
	case granted.GetGcs() != nil && wanted != ObjectProtocol_GCS:
		return ObjectProtocol_GCS
	default:
		return ObjectProtocol_UNKNOWN
	}
}

// requireGCSKey requires an HMAC pair, a service account key, or both, each complete. A key's name without the key
// does not count as a key: drivers of the public contract may send it with an HMAC pair.
func requireGCSKey(gcs *GcsCredentialInfo) error {
	const field = "credentials.gcs."
	hmac := gcs.GetAccessId() != "" || gcs.GetAccessSecret() != ""
	key := gcs.GetPrivateKey() != "" || gcs.GetClientEmail() != "" || gcs.GetClientId() != ""
	if !hmac && !key {
		return fieldErrorf("credentials.gcs", "needs an HMAC pair (access_id, access_secret) or a service account key "+
			"(service_account, client_email, client_id, private_key_name, private_key)")
	}
	if hmac {
		if err := firstError(requirePresent(field+"access_id", gcs.GetAccessId()),
			requirePresent(field+"access_secret", gcs.GetAccessSecret())); err != nil {
			return err
		}
	}
	if !key {
		return nil
	}
	return firstError(
		requirePresent(field+"service_account", gcs.GetServiceAccount()),
		requirePresent(field+"client_email", gcs.GetClientEmail()),
		requirePresent(field+"client_id", gcs.GetClientId()),
		requirePresent(field+"private_key_name", gcs.GetPrivateKeyName()),
		requirePresent(field+"private_key", gcs.GetPrivateKey()),
	)
}

// validateExpiry accepts ISO 8601 with a time zone, of which RFC 3339 is the common profile, with any number of
// digits in the seconds. The error omits the value, which may be a credential in the wrong field.
func validateExpiry(field, timestamp string) error {
	if timestamp == "" {
		return nil
	}
	if _, err := time.Parse(time.RFC3339, timestamp); err != nil {
		return fieldErrorf(field, "is not a date and time such as 2030-01-31T12:00:00Z")
	}
	return limitString(field, timestamp, MaxInfoLength)
}
