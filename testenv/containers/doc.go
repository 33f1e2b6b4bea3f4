// SPDX-License-Identifier: Apache-2.0

// Package containers runs stores and whole COSI systems in containers, for the
// outermost ring of tests: real stores in place of fakes, behind the interfaces
// that the in-process fakes have (S3, Azure, GCS), and everything that a cluster
// would run, on a network of its own.
//
// Docker must run on this machine. Where it does not respond, or an image can be
// neither found nor pulled, the test is skipped and says why; with
// COOPER_REQUIRE_CONTAINERS=1 it fails. Images are those of the environment
// variables in Images, or else what `make images` and `make store-images` have
// built, or else what their makers publish.
//
// Everything is removed at the end of its test. What a test leaves that could not
// end, because its process was killed for example, is removed by Ryuk, the reaper
// of testcontainers-go; where there is no image of it, by a shell that outlives
// the test binary.
//
// It must not be needed by anything but tests.
package containers
