// SPDX-License-Identifier: Apache-2.0

// Package containers runs stores and whole COSI systems in Docker containers, for tests at the outermost
// level. It provides fakes and third-party stores with the same methods as the in-process fakes, and all
// components that a cluster would run, on a separate network.
//
// Docker must run on this machine. If it does not respond, or if an image can be neither found nor pulled,
// the test is skipped with the reason; with COOPER_REQUIRE_CONTAINERS=1 it fails. Images are chosen in this
// order: those in the environment variables of Images, those that `make images` and `make store-images` have
// built, and those that the projects publish.
//
// Everything is removed at the end of its test. If the test process is killed, Ryuk, the reaper of
// testcontainers-go, removes the leftovers. If there is no image of Ryuk, a shell process that outlives the
// test binary does so.
//
// Only tests may use this package.
package containers
