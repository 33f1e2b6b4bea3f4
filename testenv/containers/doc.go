// SPDX-License-Identifier: Apache-2.0

// Package containers runs Cooper's images with Docker for the outermost ring of
// tests. It must not be needed by anything but tests.
package containers
