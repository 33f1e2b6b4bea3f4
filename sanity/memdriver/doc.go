// SPDX-License-Identifier: Apache-2.0

// Package memdriver is an in-memory COSI driver with the storage system behind it, written on plain
// gRPC. Without defects it passes the whole conformance suite; with a named defect it makes one
// mistake that a real driver could make, so that the suite itself can be tested.
//
// fakes/driverfake is the fake driver for tests of the sidecar. It keeps every rule of the contract by a guard in
// front of its backend, so that a mistake in that backend would not show. Here nothing stands in front of the mistake.
//
// A defect sits where the mistake would be made. It must not look at names or at which case of the suite is running.
package memdriver
