// SPDX-License-Identifier: Apache-2.0

// Package cosi is the contract between a COSI sidecar and an object storage driver. It contains the generated messages
// and services of KEP-1979 v1alpha2, and the rules that apply to both parties: what a gRPC code means for the caller
// (DispositionOf), which fields are secret (Redact), and how large a field may be (ValidateBucketID and similar
// functions).
//
// The package is independent of Kubernetes, of any storage backend, and of the implementations of both parties.
package cosi

//go:generate ../hack/generate-proto.sh
