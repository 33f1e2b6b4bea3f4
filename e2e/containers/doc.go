// SPDX-License-Identifier: Apache-2.0

// Package containers runs object stores and whole COSI systems in Docker containers, for end-to-end tests.
// A store is a fake or a third-party store, and has the same methods as the in-process fakes. A system runs
// all COSI components in containers on a network of their own.
//
// Docker must run on this machine. If Docker does not respond, or if an image can be neither found nor pulled,
// the test is skipped with the reason, or fails if COOPER_REQUIRE_CONTAINERS=1. Each Image has an
// environment variable that selects the image to use. If the variable is not set, the package uses the image
// that `make images` or `make store-images` has built, or else the image that the store's project publishes.
//
// The containers and networks of a test are removed when it ends. If the test process is killed, Ryuk, the
// reaper of testcontainers-go, removes them. Without an image of Ryuk, a shell process that outlives the test
// binary removes them.
//
// Only tests may use this package.
package containers
