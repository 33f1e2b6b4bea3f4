// SPDX-License-Identifier: Apache-2.0

// Package memdriver is an in-memory COSI driver with the storage system behind it, written on plain
// gRPC. Without defects it passes the whole conformance suite; with a named defect it makes one
// mistake that a real driver could make, so that the suite itself can be tested.
//
// It is also the driver in tests of the sidecar. It records every call, also failed ones (Calls), fails as scripted
// (Script), runs hooks inside handlers (On), counts calls that overlap for one ID (MaxConcurrency), and lists the
// content of its store (Inventory). New makes a Driver; Start serves it on a socket, as often as a test restarts it.
//
// A defect sits where the mistake would be made. It must not look at names or at which case of the suite is running.
package memdriver
