// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the driver contract of the COSI specification v1alpha1. It also defines the keys of the
// credentials map. The specification does not define these keys, but the sidecar of the upstream project's v0.2 expects
// them. Package cosi redacts the messages, and its limits apply here too.
//
// The package is independent of Kubernetes, of any storage backend, and of the implementations of both parties.
package v1alpha1

import "time"

// Protocols in DriverGrantBucketAccessResponse.credentials. The upstream sidecar expects exactly one of them and
// ignores other keys. There is none for Google's protocol.
const (
	ProtocolS3    = "s3"
	ProtocolAzure = "azure"
)

// Keys of CredentialDetails.secrets with ProtocolS3. The upstream sidecar uses the name of its Bucket object as the
// name of the bucket.
const (
	KeyAccessKeyID     = "accessKeyID"
	KeyAccessSecretKey = "accessSecretKey"
	KeyEndpoint        = "endpoint"
	KeyRegion          = "region"
)

// Keys of CredentialDetails.secrets with ProtocolAzure. KeyExpiry is omitted if there is no expiry.
const (
	KeyAccessToken = "accessToken"
	KeyExpiry      = "expiryTs"
)

// ExpiryLayout is the format of KeyExpiry, for package time. The upstream sidecar silently ignores an expiry in any
// other format.
const ExpiryLayout = "2006-01-02 15:04:05.999999999 -0700 MST"

// FormatExpiry formats a time for KeyExpiry.
func FormatExpiry(expiry time.Time) string { return expiry.UTC().Format(ExpiryLayout) }
