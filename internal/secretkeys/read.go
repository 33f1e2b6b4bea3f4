// SPDX-License-Identifier: Apache-2.0

package secretkeys

import (
	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Keys returns the keys that Data may set in a Secret of the protocol, in the order in which they are shown to users.
// Other keys of a Secret do not belong to COSI.
func Keys(protocol cosiapi.Protocol) []string {
	switch protocol {
	case cosiapi.ProtocolS3:
		return []string{Protocol, S3Endpoint, S3Region, S3AddressingStyle, S3BucketName, S3AccessKeyID, S3AccessSecretKey, CertificateAuthority}
	case cosiapi.ProtocolAzure:
		return []string{Protocol, AzureStorageAccount, AzureAccessToken, AzureExpiry, CertificateAuthority}
	case cosiapi.ProtocolGCS:
		return []string{
			Protocol, GCSProjectID, GCSBucketName, GCSServiceAccount, GCSClientEmail, GCSClientID, GCSPrivateKeyID, GCSPrivateKey,
			GCSHMACAccessID, GCSHMACSecret, CertificateAuthority,
		}
	default:
		return nil
	}
}

// Read is the inverse of Data.
func Read(data map[string][]byte) (cosiapi.Protocol, *cosi.ObjectProtocolAndBucketInfo, *cosi.CredentialInfo) {
	value := func(key string) string { return string(data[key]) }
	info := &cosi.ObjectProtocolAndBucketInfo{}
	credential := &cosi.CredentialInfo{CertificateAuthority: value(CertificateAuthority)}
	protocol := cosiapi.Protocol(value(Protocol))
	switch protocol {
	case cosiapi.ProtocolS3:
		info.S3 = &cosi.S3BucketInfo{BucketId: value(S3BucketName), Endpoint: value(S3Endpoint), Region: value(S3Region), AddressingStyle: styleOf(value(S3AddressingStyle))}
		if value(S3AccessKeyID) != "" {
			credential.S3 = &cosi.S3CredentialInfo{AccessKeyId: value(S3AccessKeyID), AccessSecretKey: value(S3AccessSecretKey)}
		}
	case cosiapi.ProtocolAzure:
		info.Azure = &cosi.AzureBucketInfo{StorageAccount: value(AzureStorageAccount)}
		if value(AzureAccessToken) != "" {
			credential.Azure = &cosi.AzureCredentialInfo{AccessToken: value(AzureAccessToken), ExpiryTimestamp: value(AzureExpiry)}
		}
	case cosiapi.ProtocolGCS:
		info.Gcs = &cosi.GcsBucketInfo{ProjectId: value(GCSProjectID), BucketName: value(GCSBucketName)}
		if value(GCSHMACAccessID) != "" || value(GCSPrivateKey) != "" {
			credential.Gcs = &cosi.GcsCredentialInfo{
				ServiceAccount: value(GCSServiceAccount), ClientEmail: value(GCSClientEmail), ClientId: value(GCSClientID),
				PrivateKeyName: value(GCSPrivateKeyID), PrivateKey: value(GCSPrivateKey),
				AccessId: value(GCSHMACAccessID), AccessSecret: value(GCSHMACSecret),
			}
		}
	}
	return protocol, info, credential
}

// Type returns the contract's type of a protocol, or UNKNOWN if the contract has none.
func Type(protocol cosiapi.Protocol) cosi.ObjectProtocol_Type {
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

func styleOf(text string) *cosi.S3AddressingStyle {
	switch text {
	case addressingPath:
		return &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_PATH}
	case addressingVirtual:
		return &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_VIRTUAL}
	default:
		return nil
	}
}
