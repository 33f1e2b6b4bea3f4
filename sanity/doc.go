// SPDX-License-Identifier: Apache-2.0

// Package sanity is the conformance suite for COSI v1alpha2 drivers: cases as data, each with the
// sentence of KEP-1979 or of the v1alpha1 gRPC specification that it checks, and Run, which holds a
// driver against them over its UNIX socket. It serves drivers in any language, since it knows
// only the contract.
//
// Run takes a Config, of which only the driver is required (Endpoint or Launcher), and returns a Report: its Verdict is
// one line, Result.Explain says for each failed case what was sent, what came back and what to change. Under go test
// use sanity/sanitytest; as a program, cmd/cosi-sanity. IDs of cases never change their meaning.
//
// It must not import testing (sanity/sanitytest does), Kubernetes, an SDK for drivers, or a
// driver; and it touches nothing in a storage system that it has not made itself.
package sanity
