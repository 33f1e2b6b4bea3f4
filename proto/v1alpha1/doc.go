// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the driver contract of the COSI specification v1alpha1, with what the sidecar of
// the upstream project's v0.2 expects beyond it: the keys of the credentials map. Messages are redacted
// by package cosi, whose limits hold here too.
//
// It must not know Kubernetes, a storage backend, or how either party is built.
package v1alpha1

import "time"

// Protocols of DriverGrantBucketAccessResponse.credentials. The upstream sidecar wants exactly one of
// them, and drops what is under another key: there is none for Google's protocol.
const (
	ProtocolS3    = "s3"
	ProtocolAzure = "azure"
)

// Keys of CredentialDetails.secrets with ProtocolS3. The upstream sidecar takes the name of its Bucket
// object for that of the bucket.
const (
	KeyAccessKeyID     = "accessKeyID"
	KeyAccessSecretKey = "accessSecretKey"
	KeyEndpoint        = "endpoint"
	KeyRegion          = "region"
)

// Keys of CredentialDetails.secrets with ProtocolAzure. Without an expiry there is no KeyExpiry.
const (
	KeyAccessToken = "accessToken"
	KeyExpiry      = "expiryTs"
)

// ExpiryLayout is how KeyExpiry is written, for package time. What is written otherwise the upstream
// sidecar takes for no expiry at all, without a word.
const ExpiryLayout = "2006-01-02 15:04:05.999999999 -0700 MST"

// FormatExpiry writes a time as KeyExpiry has it.
func FormatExpiry(expiry time.Time) string { return expiry.UTC().Format(ExpiryLayout) }
