// SPDX-License-Identifier: Apache-2.0

// Package secretkeys defines the keys of access Secrets and of a Bucket's bucketInfo, with the names in KEP-1979,
// section "BucketAccess Secret data". It converts a driver's responses to maps with these keys.
//
// It does not validate the responses (see ValidateResponse in package cosi), and does not read or write Secrets.
package secretkeys

import (
	"maps"
	"strings"
	"time"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Keys of every protocol.
const (
	// Protocol is S3, Azure or GCS. In the bucketInfo of a Bucket with several protocols it is their comma-separated
	// list.
	Protocol = "COSI_PROTOCOL"
	// CertificateAuthority holds PEM certificates that verify the endpoint.
	CertificateAuthority = "COSI_CERTIFICATE_AUTHORITY"
)

// Keys of S3.
const (
	S3Endpoint        = "AWS_ENDPOINT_URL"
	S3BucketName      = "BUCKET_NAME"
	S3Region          = "AWS_DEFAULT_REGION"
	S3AddressingStyle = "AWS_S3_ADDRESSING_STYLE"
	S3AccessKeyID     = "AWS_ACCESS_KEY_ID"
	S3AccessSecretKey = "AWS_SECRET_ACCESS_KEY" //nolint:gosec // the name of a key, not its value
)

// Keys of Azure.
const (
	AzureStorageAccount = "AZURE_STORAGE_ACCOUNT"
	AzureAccessToken    = "AZURE_STORAGE_SAS_TOKEN"
	AzureExpiry         = "AZURE_STORAGE_SAS_TOKEN_EXPIRY_TIMESTAMP"
)

// Keys of Google Cloud Storage. The bucket name shares its key with S3.
const (
	GCSProjectID      = "PROJECT_ID"
	GCSBucketName     = "BUCKET_NAME"
	GCSServiceAccount = "SERVICE_ACCOUNT_NAME"
	GCSClientEmail    = "CLIENT_EMAIL"
	GCSClientID       = "CLIENT_ID"
	GCSPrivateKeyID   = "PRIVATE_KEY_ID"
	GCSPrivateKey     = "PRIVATE_KEY"
	GCSHMACAccessID   = "HMAC_ACCESS_ID"
	GCSHMACSecret     = "HMAC_SECRET"
)

// Values of S3AddressingStyle.
const (
	addressingPath    = "path"
	addressingVirtual = "virtual"
)

// Protocols returns the protocols that info offers, in the order S3, Azure, GCS.
func Protocols(info *cosi.ObjectProtocolAndBucketInfo) []cosiapi.Protocol {
	var offered []cosiapi.Protocol
	if info.GetS3() != nil {
		offered = append(offered, cosiapi.ProtocolS3)
	}
	if info.GetAzure() != nil {
		offered = append(offered, cosiapi.ProtocolAzure)
	}
	if info.GetGcs() != nil {
		offered = append(offered, cosiapi.ProtocolGCS)
	}
	return offered
}

// BucketInfo converts info to the bucketInfo of a Bucket's status. If protocols share a key, the first of S3, Azure
// and GCS that has a value provides it. Only users and Known read the map.
func BucketInfo(info *cosi.ObjectProtocolAndBucketInfo) map[string]string {
	offered := Protocols(info)
	names := make([]string, len(offered))
	rendered := map[string]string{}
	for i := len(offered) - 1; i >= 0; i-- {
		names[i] = string(offered[i])
		maps.Copy(rendered, bucketValues(offered[i], info))
	}
	rendered[Protocol] = strings.Join(names, ",")
	return rendered
}

// Data converts a grant to the data of one Secret. A grant consists of the driver's response for one bucket and the
// credential that all buckets of the access share. Data omits the keys of values that the driver did not set. The
// exception is the expiry of an Azure SAS token, which is then empty (KEP-1979,
// "AZURE_STORAGE_SAS_TOKEN_EXPIRY_TIMESTAMP").
func Data(
	protocol cosiapi.Protocol, info *cosi.ObjectProtocolAndBucketInfo, credential *cosi.CredentialInfo,
) map[string][]byte {
	values := bucketValues(protocol, info)
	maps.Copy(values, credentialValues(protocol, credential))
	values[Protocol] = string(protocol)
	data := make(map[string][]byte, len(values))
	for key, value := range values {
		data[key] = []byte(value)
	}
	return data
}

// Secrets returns the secret values in data.
func Secrets(data map[string][]byte) []string {
	var secrets []string
	for _, key := range []string{S3AccessSecretKey, AzureAccessToken, GCSPrivateKey, GCSHMACSecret} {
		if value := data[key]; len(value) > 0 {
			secrets = append(secrets, string(value))
		}
	}
	return secrets
}

// Expiry returns the time at which the credential in data expires; ok is false if it does not expire.
func Expiry(data map[string][]byte) (at time.Time, ok bool) {
	at, err := time.Parse(time.RFC3339, string(data[AzureExpiry]))
	return at, err == nil
}

func bucketValues(protocol cosiapi.Protocol, info *cosi.ObjectProtocolAndBucketInfo) map[string]string {
	switch protocol {
	case cosiapi.ProtocolS3:
		s3 := info.GetS3()
		return present(map[string]string{
			S3Endpoint:        s3.GetEndpoint(),
			S3BucketName:      s3.GetBucketId(),
			S3Region:          s3.GetRegion(),
			S3AddressingStyle: addressing(s3.GetAddressingStyle().GetStyle()),
		})
	case cosiapi.ProtocolAzure:
		return present(map[string]string{AzureStorageAccount: info.GetAzure().GetStorageAccount()})
	case cosiapi.ProtocolGCS:
		return present(map[string]string{
			GCSProjectID:  info.GetGcs().GetProjectId(),
			GCSBucketName: info.GetGcs().GetBucketName(),
		})
	default:
		return map[string]string{}
	}
}

func credentialValues(protocol cosiapi.Protocol, credential *cosi.CredentialInfo) map[string]string {
	values := map[string]string{CertificateAuthority: credential.GetCertificateAuthority()}
	switch protocol {
	case cosiapi.ProtocolS3:
		values[S3AccessKeyID] = credential.GetS3().GetAccessKeyId()
		values[S3AccessSecretKey] = credential.GetS3().GetAccessSecretKey()
	case cosiapi.ProtocolAzure:
		values[AzureAccessToken] = credential.GetAzure().GetAccessToken()
	case cosiapi.ProtocolGCS:
		gcs := credential.GetGcs()
		values[GCSServiceAccount] = gcs.GetServiceAccount()
		values[GCSClientEmail] = gcs.GetClientEmail()
		values[GCSClientID] = gcs.GetClientId()
		values[GCSPrivateKeyID] = gcs.GetPrivateKeyName()
		values[GCSPrivateKey] = gcs.GetPrivateKey()
		values[GCSHMACAccessID] = gcs.GetAccessId()
		values[GCSHMACSecret] = gcs.GetAccessSecret()
	}
	values = present(values)
	if _, hasToken := values[AzureAccessToken]; hasToken {
		values[AzureExpiry] = credential.GetAzure().GetExpiryTimestamp()
	}
	return values
}

func addressing(style cosi.S3AddressingStyle_Style) string {
	switch style {
	case cosi.S3AddressingStyle_PATH:
		return addressingPath
	case cosi.S3AddressingStyle_VIRTUAL:
		return addressingVirtual
	default:
		return ""
	}
}

// present drops the keys without a value.
func present(values map[string]string) map[string]string {
	maps.DeleteFunc(values, func(_, value string) bool { return value == "" })
	return values
}
