// SPDX-License-Identifier: Apache-2.0

// Package tutorial carries the manifests of the tutorial, so that `cooper up`
// applies the very files that the text beside them shows. It holds files and their
// names and must not import anything.
package tutorial

import "embed"

// Names in the manifests. They hold no namespace: the claim and the access go
// where they are applied.
const (
	// DriverName is the driver of both classes.
	DriverName = "s3.cooper.dev"
	// AzureDriverName is the driver of the classes in the directory azure.
	AzureDriverName = "azure.cooper.dev"
	// GCSDriverName is the driver of the classes in the directory gcs.
	GCSDriverName = "gcs.cooper.dev"
	// Name is the name of both classes, of the BucketClaim and of the BucketAccess.
	Name = "sample"
	// SecretName is the Secret that the BucketAccess asks for.
	SecretName = "sample-credentials" //nolint:gosec // the name of a Secret
)

// Manifests holds the manifests, *.yaml in its root, in the order in which they
// are to be applied when sorted by name. A file may hold several documents.
//
//go:embed *.yaml
var Manifests embed.FS

// Others holds the same for the other clouds, in the directories azure and gcs.
//
//go:embed azure/*.yaml gcs/*.yaml
var Others embed.FS
