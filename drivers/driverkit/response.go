// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"time"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// BucketInfo describes a bucket. The bucket supports each protocol whose field is set. Nothing in BucketInfo is
// secret. CreateBucket and GetBucket may leave fields of S3Bucket, AzureBucket and GCSBucket empty. GrantAccess must
// set all fields of the requested protocol.
type BucketInfo struct {
	S3    *S3Bucket
	Azure *AzureBucket
	GCS   *GCSBucket
}

// S3Bucket describes how S3 clients reach a bucket.
type S3Bucket struct {
	// Name is the bucket name that clients use.
	Name string
	// Endpoint is an http or https URL that does not include the bucket.
	Endpoint string
	Region   string
	Style    AddressingStyle
}

// AddressingStyle determines the place of the bucket name in S3 URLs.
type AddressingStyle string

// The addressing styles of S3.
const (
	// PathStyle is https://endpoint/bucket/key.
	PathStyle AddressingStyle = "path"
	// VirtualStyle is https://bucket.endpoint/key.
	VirtualStyle AddressingStyle = "virtual"
)

// AzureBucket describes how clients reach an Azure Blob container.
type AzureBucket struct {
	StorageAccount string
}

// GCSBucket describes how clients reach a Google Cloud Storage bucket.
type GCSBucket struct {
	ProjectID  string
	BucketName string
}

// Access contains the information that a workload needs to use its buckets.
type Access struct {
	// Buckets describes every requested bucket, by bucket ID. The kit returns only the requested protocol to the caller.
	Buckets map[string]BucketInfo
	// Credential is set if AuthType is Key.
	Credential Credential
	// Shared means that other accounts have the same credential, and that RevokeAccess does not invalidate it. The user
	// is informed of this.
	Shared bool
}

// Credential proves the identity of an account. Only the field of the requested protocol may be set.
type Credential struct {
	S3    *S3Credential
	Azure *AzureCredential
	GCS   *GCSCredential
	// CertificateAuthority is the PEM-encoded certificate with which clients verify the endpoint. It is empty if the
	// trust store of the clients suffices. At most 16 KiB.
	CertificateAuthority string
}

// S3Credential is a key pair.
type S3Credential struct {
	AccessKeyID string
	SecretKey   cosi.Secret
}

// AzureCredential is a shared access signature.
type AzureCredential struct {
	// Token is the resource URI with the signature as its query string.
	Token cosi.Secret
	// Expiry is when the token expires; zero if it does not.
	Expiry time.Time
}

// GCSCredential is an HMAC pair (AccessID, AccessSecret), a service account key (all other fields), or both.
type GCSCredential struct {
	AccessID       string
	AccessSecret   cosi.Secret
	ServiceAccount string
	ClientEmail    string
	ClientID       string
	PrivateKeyID   string
	PrivateKey     cosi.Secret
}
