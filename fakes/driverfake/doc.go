// SPDX-License-Identifier: Apache-2.0

// Package driverfake is a COSI driver for tests: it speaks the real contract over a UNIX socket and
// keeps the rules of it, with an in-memory backend whose credentials can be tried (Works).
//
// It records every call, also those that fail (Calls), fails as scripted (Script), runs hooks
// inside of handlers (On), counts calls that overlap for one ID (MaxConcurrency), and shows what
// exists in its backend (Inventory). New makes a Driver, Start serves it on a socket, as often as a test
// restarts it. It is built on proto alone, not on driverkit, so that it can
// also misbehave where driverkit would not let it.
//
// It must not be imported by product code, and knows nothing of Kubernetes.
package driverfake
