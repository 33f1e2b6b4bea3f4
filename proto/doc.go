// SPDX-License-Identifier: Apache-2.0

// Package cosi is the contract between a COSI sidecar and an object storage driver: the generated
// messages and services of KEP-1979 v1alpha2, and the rules about them that every party shares,
// namely what a gRPC code means for the caller (DispositionOf), which fields are secret (Redact), and
// how large a field may be (ValidateBucketID and its siblings).
//
// It must not know Kubernetes, a storage backend, or how either party is built.
package cosi

//go:generate ../hack/generate-proto.sh
