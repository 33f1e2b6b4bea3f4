// SPDX-License-Identifier: Apache-2.0

// Package memdriver is an in-memory COSI driver with its storage system, implemented with plain gRPC. Without defects
// it passes the whole conformance suite. With a named defect it makes one mistake that a real driver could make, to
// test the suite itself.
//
// It is also the driver in tests of the sidecar. It records every call, including failed ones (Calls), fails as
// scripted (Script), runs hooks inside handlers (On), counts overlapping calls for one ID (MaxConcurrency), and lists
// the contents of its store (Inventory). New creates a Driver; Start serves it on a socket and can be called again to
// simulate a restart.
//
// A defect is implemented where a real driver would make the mistake. It must not depend on names or on the running
// case of the suite.
package memdriver
