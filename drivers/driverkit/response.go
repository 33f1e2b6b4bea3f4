// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"time"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// BucketInfo describes a bucket: each protocol that is set is one it supports. None of it is
// secret. Fields may be empty in responses of CreateBucket and GetBucket; GrantAccess must fill all
// fields of the requested protocol.
type BucketInfo struct {
	S3    *S3Bucket
	Azure *AzureBucket
	GCS   *GCSBucket
}

// S3Bucket is how a client reaches a bucket by S3.
type S3Bucket struct {
	// Name is the bucket name for clients.
	Name string
	// Endpoint is an http or https URL without the bucket.
	Endpoint string
	Region   string
	Style    AddressingStyle
}

// AddressingStyle is the place of an S3 bucket's name in a URL.
type AddressingStyle string

// The addressing styles of S3.
const (
	// PathStyle is https://endpoint/bucket/key.
	PathStyle AddressingStyle = "path"
	// VirtualStyle is https://bucket.endpoint/key.
	VirtualStyle AddressingStyle = "virtual"
)

// AzureBucket is how a client reaches an Azure Blob container.
type AzureBucket struct {
	StorageAccount string
}

// GCSBucket is how a client reaches a Google Cloud Storage bucket.
type GCSBucket struct {
	ProjectID  string
	BucketName string
}

// Access is what a workload needs to use its buckets.
type Access struct {
	// Buckets describes every requested bucket, by bucket ID. The kit passes on only the requested
	// protocol.
	Buckets map[string]BucketInfo
	// Credential is set if AuthType is Key.
	Credential Credential
	// Shared says that others have the credential, too, and that RevokeAccess does not end it. The user is told.
	Shared bool
}

// Credential proves the identity of an account. Only the field of the requested protocol may be
// set.
type Credential struct {
	S3    *S3Credential
	Azure *AzureCredential
	GCS   *GCSCredential
	// CertificateAuthority is PEM by which clients verify the endpoint; empty if their own trust
	// store is enough. At most 16 KiB.
	CertificateAuthority string
}

// S3Credential is a key pair.
type S3Credential struct {
	AccessKeyID string
	SecretKey   cosi.Secret
}

// AzureCredential is a shared access signature.
type AzureCredential struct {
	// Token is the resource URI with the signature as its query.
	Token cosi.Secret
	// Expiry is when the token stops working; zero if it does not.
	Expiry time.Time
}

// GCSCredential is an HMAC pair (AccessID, AccessSecret), a service account key (all others), or
// both.
type GCSCredential struct {
	AccessID       string
	AccessSecret   cosi.Secret
	ServiceAccount string
	ClientEmail    string
	ClientID       string
	PrivateKeyID   string
	PrivateKey     cosi.Secret
}
