// SPDX-License-Identifier: Apache-2.0

// Package lifecycle contains the tests of controller and sidecar together: the cases of package cases,
// crashes at every write and call, faults, and random operations. Controller and sidecar run with the
// configuration of their commands and exactly the deployed roles, on a real API server and with a recording
// driver behind a real socket.
//
// The package contains only tests.
package lifecycle
