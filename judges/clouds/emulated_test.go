// SPDX-License-Identifier: Apache-2.0

package clouds_test

import (
	"bytes"
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
)

// emulatedFailures are the tests of Google's client for Go that fail by HTTP.
var emulatedFailures = map[string]string{
	"TestRetryNeverEmulated":                    testbench,
	"TestRetryTimeoutEmulated":                  testbench,
	"TestRetryMaxAttemptsEmulated":              testbench,
	"TestRetryMaxDurationEmulated":              testbench,
	"TestRetryDeadlineExceededEmulated":         testbench,
	"TestWriterChunkTransferTimeoutEmulated":    testbench,
	"TestWriterChunkRetryDeadlineEmulated":      testbench,
	"TestWriterIgnoresMaxRetryDurationEmulated": testbench,
	"TestListNotificationsEmulated":             pubsub,
	"TestCreateNotificationEmulated":            pubsub,
	"TestDeleteNotificationEmulated":            pubsub,
	"TestUpdateBucketEmulated":                  "it expects that the key key2 is valid",
	"TestGetSetTestIamPolicyEmulated":           "it expects that a bucket's policy may contain roles/viewer",
	"TestDefaultObjectACLCRUDEmulated":          "it expects an owner in the default list publicRead, which the traffic of 2019 does not have",
	"TestHMACKeyCRUDEmulated":                   "it expects a service account that it does not create",
	"TestBucketConditionsEmulated":              "it expects that a bucket without a retention policy can be locked",
}

// TestGooglesEmulatorTests runs the tests for emulators of Google's client for Go, from its module. It compares the
// results of those that use HTTP.
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
	// The clients for gRPC are created even if no test uses them.
	tests.Env = append(os.Environ(), "STORAGE_EMULATOR_HOST="+server.URL(), "STORAGE_EMULATOR_HOST_GRPC="+strings.TrimPrefix(server.URL(), "http://"))
	var out bytes.Buffer
	tests.Stdout, tests.Stderr = &out, &out
	_ = tests.Run() // some tests fail

	passed, failed, skipped := 0, map[string]string{}, 0
	for _, m := range regexp.MustCompile(`(?m)^    --- (PASS|FAIL|SKIP): (\w+)/http `).FindAllStringSubmatch(out.String(), -1) {
		switch m[1] {
		case "PASS":
			passed++
		case "SKIP":
			skipped++
		default:
			failed[m[2]] = emulatedFailures[m[2]]
		}
	}
	t.Logf("%d passed, %d failed, %d skipped", passed, len(failed), skipped)
	if diff := cmp.Diff(emulatedFailures, failed); diff != "" || passed < 27 {
		t.Errorf("the failures have changed (-want +got):\n%s\n%s", diff, out.String())
	}
}
