// SPDX-License-Identifier: Apache-2.0

// Package lifecycle holds the tests of controller and sidecar together: the
// cases that package cases lists, crashes at every write and call, faults, and
// random operations. Controller and sidecar run as their commands run them, each with
// exactly its deployed role, on a real API server and with a recording driver
// behind a real socket.
//
// It has no code of its own besides tests, and must not be imported.
package lifecycle
