// SPDX-License-Identifier: Apache-2.0

// Package sanity is the conformance suite for COSI v1alpha2 drivers. Each Case quotes the sentence of KEP-1979 or of
// the v1alpha1 gRPC specification that it checks. Run tests a driver over its UNIX socket. The suite depends only on
// the gRPC contract, so the driver can be written in any language.
//
// Run takes a Config and returns a Report. A Config must set the driver (Endpoint or Launcher); all other fields are
// optional. Report.Verdict returns a one-line summary. For each failed case, Result.Explain shows the request, the
// response and what to change. The meaning of a case ID never changes. To run the suite without calling Run, use
// sanity/sanitytest with go test, or the program cmd/cosi-sanity.
//
// The package does not import testing (sanity/sanitytest does), Kubernetes, a driver SDK or a driver. In the storage
// system, it modifies only resources that it has created.
package sanity
