// SPDX-License-Identifier: Apache-2.0

// Package memdriver is a COSI driver with a simulated storage system, implemented with plain gRPC. Without defects it
// passes the whole conformance suite. With a named defect it makes one mistake that a real driver could make, to test
// the suite itself.
//
// Tests of the sidecar use the driver, too. It records every call, including failed ones (Calls), fails as
// scripted (Script), runs hooks inside handlers (On), counts concurrent calls for one ID (MaxConcurrency), and lists
// the contents of its store (Inventory). New creates a Driver, and Driver.Start serves it on a socket. To simulate a
// restart, stop the server and call Start again.
//
// A defect is implemented where a real driver would make the mistake. Its code must not depend on names or on the
// running case of the suite.
package memdriver
