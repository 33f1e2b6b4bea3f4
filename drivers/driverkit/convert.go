// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"maps"
	"slices"
	"strings"
	"time"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// This file translates between the contract's messages and the kit's types. Requests have already passed
// cosi.ValidateRequest, so enum values are known.

func protocolFrom(protocol *cosi.ObjectProtocol) Protocol {
	switch protocol.GetType() {
	case cosi.ObjectProtocol_S3:
		return S3
	case cosi.ObjectProtocol_AZURE:
		return Azure
	case cosi.ObjectProtocol_GCS:
		return GCS
	default:
		return ""
	}
}

func protocolTo(protocol Protocol) *cosi.ObjectProtocol {
	types := map[Protocol]cosi.ObjectProtocol_Type{
		S3: cosi.ObjectProtocol_S3, Azure: cosi.ObjectProtocol_AZURE, GCS: cosi.ObjectProtocol_GCS,
	}
	return &cosi.ObjectProtocol{Type: types[protocol]}
}

func protocolsFrom(protocols []*cosi.ObjectProtocol) []Protocol {
	var out []Protocol
	for _, protocol := range protocols {
		out = append(out, protocolFrom(protocol))
	}
	slices.Sort(out)
	return out
}

func authTypeFrom(authentication *cosi.AuthenticationType) AuthType {
	if authentication.GetType() == cosi.AuthenticationType_SERVICE_ACCOUNT {
		return ServiceAccount
	}
	return Key
}

func disallowedFrom(message *cosi.DisallowedAccessModes) DisallowedModes {
	return DisallowedModes{
		ObjectData:     modesFrom(message.GetObjectData()),
		ObjectMetadata: modesFrom(message.GetObjectMetadata()),
		BucketMetadata: modesFrom(message.GetBucketMetadata()),
	}
}

func modesFrom(modes []cosi.AccessMode_Mode) []Mode {
	var out []Mode
	for _, mode := range modes {
		out = append(out, modeFrom(mode))
	}
	return out
}

func modeFrom(mode cosi.AccessMode_Mode) Mode {
	switch mode {
	case cosi.AccessMode_READ_WRITE:
		return ReadWrite
	case cosi.AccessMode_READ_ONLY:
		return ReadOnly
	case cosi.AccessMode_WRITE_ONLY:
		return WriteOnly
	default:
		return Any
	}
}

// accessMessage has the getters that the requests of both phases of an access share.
type accessMessage interface { //nolint:interfacebloat // getters of generated messages
	GetProtocol() *cosi.ObjectProtocol
	GetAuthenticationType() *cosi.AuthenticationType
	GetServiceAccountName() string
	GetServiceAccountNamespace() string
	GetParameters() map[string]string
	GetBuckets() []*cosi.AccessedBucket
	GetRotation() string
	GetDisallowedAccessModes() *cosi.DisallowedAccessModes
}

func (r *rpcs) accessFrom(message accessMessage) AccessSpec {
	spec := AccessSpec{
		OnlyPairs:  r.onlyPairs,
		Protocol:   protocolFrom(message.GetProtocol()),
		AuthType:   authTypeFrom(message.GetAuthenticationType()),
		Parameters: maps.Clone(message.GetParameters()),
		Rotation:   message.GetRotation(),
		Disallowed: disallowedFrom(message.GetDisallowedAccessModes()),
	}
	if spec.AuthType == ServiceAccount {
		spec.ServiceAccount = ServiceAccountRef{
			Name: message.GetServiceAccountName(), Namespace: message.GetServiceAccountNamespace(),
		}
	}
	for _, bucket := range message.GetBuckets() {
		spec.Buckets = append(spec.Buckets, BucketAccess{
			BucketID:       bucket.GetBucketId(),
			ObjectData:     modeFrom(bucket.GetObjectDataAccessMode().GetMode()),
			ObjectMetadata: modeFrom(bucket.GetObjectMetadataAccessMode().GetMode()),
			BucketMetadata: modeFrom(bucket.GetBucketMetadataAccessMode().GetMode()),
		})
	}
	// Sidecars send buckets in any order. Drivers hash the list or generate policies from it, so it is sorted.
	slices.SortFunc(spec.Buckets, func(a, b BucketAccess) int { return strings.Compare(a.BucketID, b.BucketID) })
	return spec
}

func revokeFrom(message *cosi.DriverRevokeBucketAccessRequest) RevokeAccessRequest {
	request := RevokeAccessRequest{
		AccountID:  message.GetAccountId(),
		Protocol:   protocolFrom(message.GetProtocol()),
		AuthType:   authTypeFrom(message.GetAuthenticationType()),
		Parameters: maps.Clone(message.GetParameters()),
	}
	if request.AuthType == ServiceAccount {
		request.ServiceAccount = ServiceAccountRef{
			Name: message.GetServiceAccountName(), Namespace: message.GetServiceAccountNamespace(),
		}
	}
	for _, bucket := range message.GetBuckets() {
		request.BucketIDs = append(request.BucketIDs, bucket.GetBucketId())
	}
	slices.Sort(request.BucketIDs)
	return request
}

func updateFrom(message *cosi.BucketUpdate) *BucketUpdate {
	if message == nil {
		return nil
	}
	return &BucketUpdate{Changed: slices.Sorted(slices.Values(message.GetChanged())), Parameters: maps.Clone(message.GetParameters())}
}

func infoTo(info Info) *cosi.DriverGetInfoResponse {
	message := &cosi.DriverGetInfoResponse{
		Name: info.Name, Revision: info.Revision, KeepsDisallowedAccessModes: info.KeepsDisallowedModes,
		ChangeableBucketParameters: info.BucketParameters.changeable(),
	}
	for _, protocol := range info.Protocols {
		message.SupportedProtocols = append(message.SupportedProtocols, protocolTo(protocol))
	}
	return message
}

func bucketTo(info BucketInfo) *cosi.ObjectProtocolAndBucketInfo {
	message := &cosi.ObjectProtocolAndBucketInfo{}
	if s3 := info.S3; s3 != nil {
		message.S3 = &cosi.S3BucketInfo{
			BucketId: s3.Name, Endpoint: s3.Endpoint, Region: s3.Region, AddressingStyle: styleTo(s3.Style),
		}
	}
	if info.Azure != nil {
		message.Azure = &cosi.AzureBucketInfo{StorageAccount: info.Azure.StorageAccount}
	}
	if info.GCS != nil {
		message.Gcs = &cosi.GcsBucketInfo{ProjectId: info.GCS.ProjectID, BucketName: info.GCS.BucketName}
	}
	return message
}

// styleTo maps an unknown style to UNKNOWN, which response validation rejects.
func styleTo(style AddressingStyle) *cosi.S3AddressingStyle {
	switch style {
	case "":
		return nil
	case PathStyle:
		return &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_PATH}
	case VirtualStyle:
		return &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_VIRTUAL}
	default:
		return &cosi.S3AddressingStyle{}
	}
}

// only returns the part of info for one protocol.
func only(protocol Protocol, info BucketInfo) BucketInfo {
	switch protocol {
	case S3:
		return BucketInfo{S3: info.S3}
	case Azure:
		return BucketInfo{Azure: info.Azure}
	default:
		return BucketInfo{GCS: info.GCS}
	}
}

func accessTo(protocol Protocol, access Access) *cosi.DriverGrantBucketAccessResponse {
	message := &cosi.DriverGrantBucketAccessResponse{Credentials: credentialTo(access.Credential), SharedCredential: access.Shared}
	for _, id := range slices.Sorted(maps.Keys(access.Buckets)) {
		message.Buckets = append(message.Buckets, &cosi.DriverGrantBucketAccessResponse_BucketInfo{
			BucketId: id, BucketInfo: bucketTo(only(protocol, access.Buckets[id])),
		})
	}
	return message
}

func credentialTo(credential Credential) *cosi.CredentialInfo {
	if credential == (Credential{}) {
		return nil
	}
	message := &cosi.CredentialInfo{CertificateAuthority: credential.CertificateAuthority}
	if s3 := credential.S3; s3 != nil {
		message.S3 = &cosi.S3CredentialInfo{AccessKeyId: s3.AccessKeyID, AccessSecretKey: s3.SecretKey.Reveal()}
	}
	if azure := credential.Azure; azure != nil {
		message.Azure = &cosi.AzureCredentialInfo{AccessToken: azure.Token.Reveal()}
		if !azure.Expiry.IsZero() {
			message.Azure.ExpiryTimestamp = azure.Expiry.UTC().Format(time.RFC3339)
		}
	}
	if gcs := credential.GCS; gcs != nil {
		message.Gcs = &cosi.GcsCredentialInfo{
			AccessId: gcs.AccessID, AccessSecret: gcs.AccessSecret.Reveal(),
			ServiceAccount: gcs.ServiceAccount, ClientEmail: gcs.ClientEmail, ClientId: gcs.ClientID,
			PrivateKeyName: gcs.PrivateKeyID, PrivateKey: gcs.PrivateKey.Reveal(),
		}
	}
	return message
}
