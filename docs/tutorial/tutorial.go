// SPDX-License-Identifier: Apache-2.0

// Package tutorial embeds the manifests of the tutorial, so that `cooper up` applies the same files that the
// text of the tutorial shows. It contains only the files and their names.
package tutorial

import "embed"

// Names in the manifests. The claim and the access have no namespace and are created in the one to which they
// are applied.
const (
	// DriverName is the driver of both classes.
	DriverName = "s3.cooper.dev"
	// AzureDriverName is the driver of the classes in the directory azure.
	AzureDriverName = "azure.cooper.dev"
	// GCSDriverName is the driver of the classes in the directory gcs.
	GCSDriverName = "gcs.cooper.dev"
	// Name is the name of both classes, of the BucketClaim and of the BucketAccess.
	Name = "sample"
	// SecretName is the Secret of the BucketAccess.
	SecretName = "sample-credentials" //nolint:gosec // the name of a Secret
)

// Manifests contains the manifests, *.yaml in its root. They must be applied in the order of their names. A
// file may contain several documents.
//
//go:embed *.yaml
var Manifests embed.FS

// Others contains the manifests for the other clouds, in the directories azure and gcs.
//
//go:embed azure/*.yaml gcs/*.yaml
var Others embed.FS
