// SPDX-License-Identifier: Apache-2.0

// Package sanity is the conformance suite for COSI v1alpha2 drivers. Cases are data, each with the sentence of
// KEP-1979 or of the v1alpha1 gRPC specification that it checks. Run tests a driver over its UNIX socket. The suite
// depends only on the contract, so the driver can be written in any language.
//
// Run takes a Config, which only requires the driver (Endpoint or Launcher), and returns a Report. Report.Verdict is
// a one-line summary. For each failed case, Result.Explain shows the request, the response and what to change. Use
// sanity/sanitytest with go test, or the program cmd/cosi-sanity. The meaning of a case ID never changes.
//
// The package does not import testing (sanity/sanitytest does), Kubernetes, a driver SDK or a driver. It never
// modifies resources in a storage system that it did not create.
package sanity
