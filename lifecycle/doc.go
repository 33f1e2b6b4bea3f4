// SPDX-License-Identifier: Apache-2.0

// Package lifecycle tests the controller and the sidecar together. The tests cover the cases of package cases,
// crashes at every write and call, faults, and random operations. The controller and the sidecar have the
// configuration of their commands and exactly the permissions that deploy/ grants them. The API server and
// the driver's socket are real, and the driver records every call.
//
// The package contains only tests.
package lifecycle
