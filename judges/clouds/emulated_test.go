// SPDX-License-Identifier: Apache-2.0

package clouds_test

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// The reasons why a test fails.
const (
	testbench = "it configures faults by an API of Google's own emulator"
	pubsub    = "notifications are not supported"
	zonal     = "it writes appendable objects, which only zonal buckets have"
)

// emulatedFailures are the tests of Google's client for Go that fail by HTTP and by gRPC.
var emulatedFailures = map[string]string{
	"TestRetryNeverEmulated":                    testbench,
	"TestRetryTimeoutEmulated":                  testbench,
	"TestRetryMaxAttemptsEmulated":              testbench,
	"TestRetryMaxDurationEmulated":              testbench,
	"TestRetryDeadlineExceededEmulated":         testbench,
	"TestWriterChunkTransferTimeoutEmulated":    testbench,
	"TestWriterChunkRetryDeadlineEmulated":      testbench,
	"TestWriterIgnoresMaxRetryDurationEmulated": testbench,
	"TestUpdateBucketEmulated":                  "it expects that the key key2 is valid",
	"TestGetSetTestIamPolicyEmulated":           "it expects that a bucket's policy may contain roles/viewer",
	"TestDefaultObjectACLCRUDEmulated":          "it expects an owner in the default list publicRead, which the traffic of 2019 does not have",
	"TestBucketConditionsEmulated":              "it expects that a bucket without a retention policy can be locked",
}

// transports has the number of passing tests for each transport, and the tests that fail only with this transport.
var transports = map[string]struct {
	passed   int
	failures map[string]string
}{
	"http": {27, map[string]string{
		"TestListNotificationsEmulated":  pubsub,
		"TestCreateNotificationEmulated": pubsub,
		"TestDeleteNotificationEmulated": pubsub,
		"TestHMACKeyCRUDEmulated":        "it expects a service account that it does not create",
	}},
	"grpc": {33, map[string]string{
		"TestOpenAppendableWriterEmulated":                 zonal,
		"TestOpenAppendableWriterMultipleChunksEmulated":   zonal,
		"TestOpenAppendableWriterLeaveUnfinalizedEmulated": zonal,
		"TestWriterFlushEmulated":                          zonal,
		"TestWriterFlushAtCloseEmulated":                   zonal,
		"TestWriterSmallFlushEmulated":                     zonal,
		"TestWriterRetryAttrsEmulated":                     testbench,
	}},
}

// TestGooglesEmulatorTests runs the tests for emulators of Google's client for Go, from its module. It compares the
// results by transport.
func TestGooglesEmulatorTests(t *testing.T) {
	t.Parallel()
	fulltest.Long(t, "TestReplay in judges/replay replays the traffic of this client")
	server := faketest.Start(t, gcsfake.New, gcsfake.Options{AnonymousIs: "cooper-admin"})
	program := filepath.Join(t.TempDir(), "storage.test")
	const pkg = "cloud.google.com/go/storage"
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("go", "test", "-c", "-o", program, pkg)

	tests := exec.CommandContext(t.Context(), program, "-test.short", "-test.v", "-test.run", "Emulated$")
	tests.Dir = run("go", "list", "-f", "{{.Dir}}", pkg)
	tests.Env = append(os.Environ(), "STORAGE_EMULATOR_HOST="+server.URL(), "STORAGE_EMULATOR_HOST_GRPC="+strings.TrimPrefix(server.URL(), "http://"))
	var out bytes.Buffer
	tests.Stdout, tests.Stderr = &out, &out
	_ = tests.Run() // some tests fail

	for transport, want := range transports {
		maps.Copy(want.failures, emulatedFailures)
		passed, failed := 0, map[string]string{}
		for _, m := range regexp.MustCompile(`(?m)^ {4}--- (PASS|FAIL): (\w+)/`+transport+` `).FindAllStringSubmatch(out.String(), -1) {
			if m[1] == "PASS" {
				passed++
				continue
			}
			failed[m[2]] = want.failures[m[2]]
		}
		t.Logf("%s: %d passed, %d failed", transport, passed, len(failed))
		if diff := cmp.Diff(want.failures, failed); diff != "" || passed < want.passed {
			t.Errorf("%s: the failures have changed (-want +got):\n%s\n%s", transport, diff, out.String())
		}
	}
}
