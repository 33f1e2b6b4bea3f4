// SPDX-License-Identifier: Apache-2.0

// Package memdriver is an in-memory COSI driver with the storage system behind it, written on plain
// gRPC. Without defects it passes the whole conformance suite; with a named defect it makes one
// mistake that a real driver could make, so that the suite itself can be tested.
//
// It is the backend half of fakes/driverfake for testing suites: driverfake answers scripts and hooks
// and records, for tests of the sidecar, and keeps every rule by a guard in front of its backend, so
// that a mistake in that backend would not show. Here nothing stands in front of the mistake. Both
// run in the same Program and pass the same suite.
//
// A defect sits where the mistake would be made. It must not look at names or at which case of the
// suite is running.
package memdriver
