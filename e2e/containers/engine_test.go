// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/e2e/containers"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// panicVariable makes the test binary run the test as a child that panics.
const panicVariable = "COOPER_TEST_PANIC"

// guardedLabel, followed by a session, labels what the child creates outside the package.
const guardedLabel = "dev.cooper.test.guarded="

// TestNothingIsLeftAfterAPanic panics in a goroutine of a child process, where no deferred function runs.
func TestNothingIsLeftAfterAPanic(t *testing.T) {
	t.Parallel()
	if os.Getenv(panicVariable) != "" {
		containers.FakeS3(t, containers.NewNetwork(t))
		project := guardedLabel + containers.Session(t)
		containers.Guard(t, project)
		if _, err := run(t.Context(), nil, "docker", "volume", "create", "--label", project); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("session %s has %q\n", containers.Session(t), containers.Left(t, containers.Session(t)))
		go func() { panic("as a test might") }()
		<-t.Context().Done()
	}
	containers.Require(t, containers.Ours("cooper"))
	out, err := child(t, "TestNothingIsLeftAfterAPanic", panicVariable+"=1")
	if err == nil || !strings.Contains(out, "panic: as a test might") {
		t.Fatalf("the child did not panic: %v\n%s", err, out)
	}
	_, session, _ := strings.Cut(out, "session ")
	session, had, _ := strings.Cut(session, " ")
	had, _, _ = strings.Cut(had, "\n")
	for _, kind := range []string{"container ", "network ", "volume "} {
		if !strings.Contains(had, kind) {
			t.Errorf("before the panic there was no %sin %s", kind, had)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	err = controlplane.Until(ctx, func(ctx context.Context) error {
		if left := containers.Left(t, session); len(left) > 0 {
			return fmt.Errorf("there are %q", left)
		}
		left, err := run(ctx, nil, "docker", "volume", "ls", "--quiet", "--filter", "label="+guardedLabel+session)
		if err != nil || left != "" {
			return fmt.Errorf("what others made is left: %q %w", left, err)
		}
		return nil
	})
	if err != nil {
		t.Errorf("after the panic: %v", err)
	}
	t.Logf("before the panic the child %s; afterwards there is nothing", had)
}

// TestWithoutDocker runs a test of this package with an address at which Docker does not respond.
func TestWithoutDocker(t *testing.T) {
	t.Parallel()
	if os.Getenv(panicVariable) != "" {
		return
	}
	const reason = "Docker does not respond: "
	nowhere := "DOCKER_HOST=unix:///nowhere/docker.sock"
	out, err := child(t, "TestStoresKeepWhatTheyHoldWhenTheyAreKilled/MinIO", nowhere, containers.RequireVariable+"=")
	if err != nil || !strings.Contains(out, "--- SKIP") || !strings.Contains(out, reason) {
		t.Errorf("want a skip with its reason: %v\n%s", err, out)
	}
	out, err = child(t, "TestStoresKeepWhatTheyHoldWhenTheyAreKilled/MinIO", nowhere, containers.RequireVariable+"=1")
	if err == nil || !strings.Contains(out, "--- FAIL") || !strings.Contains(out, reason) {
		t.Errorf("where containers are required, want a failure with its reason: %v\n%s", err, out)
	}
}

// child runs a test of this binary in a child process.
func child(t *testing.T, name string, environment ...string) (string, error) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pattern := "^" + strings.ReplaceAll(name, "/", "$/^") + "$"
	cmd := exec.CommandContext(t.Context(), executable, "-test.v", "-test.run="+pattern)
	cmd.Env = append(os.Environ(), environment...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// verdict is a testing.TB that records the result.
type verdict struct {
	testing.TB

	skipped, failed string
}

func (v *verdict) Skipf(format string, args ...any) {
	v.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (v *verdict) Fatalf(format string, args ...any) {
	v.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// verdictOf runs a function as a test and returns the result.
func verdictOf(t *testing.T, test func(tb testing.TB)) *verdict {
	t.Helper()
	v := &verdict{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(v)
	}()
	<-done
	return v
}

// TestAMissingImageSaysHowToGetIt sets environment variables of the process, so it is not parallel.
func TestAMissingImageSaysHowToGetIt(t *testing.T) {
	containers.Require(t)
	t.Setenv("COOPER_TAG", "never-built")
	t.Setenv("COOPER_MINIO_IMAGE", "registry.invalid/minio:never-built")
	tests := map[string]struct {
		image containers.Image
		want  []string
	}{
		"an image of ours":      {containers.Ours("cosi-sidecar"), []string{"cosi-sidecar:never-built", "`make images`", "COOPER_TAG"}},
		"an image of a store's": {containers.MinIOImage(), []string{"registry.invalid/minio:never-built", "cannot be pulled", "`make store-images`", "COOPER_MINIO_IMAGE"}},
	}
	for name, tc := range tests {
		for _, required := range []string{"", "1"} {
			t.Setenv(containers.RequireVariable, required)
			got := verdictOf(t, func(tb testing.TB) {
				tb.Helper()
				containers.Require(tb, tc.image)
			})
			said := got.skipped + got.failed
			if (required == "") != (got.skipped != "") {
				t.Errorf("%s, required %q: skipped %q, failed %q", name, required, got.skipped, got.failed)
			}
			for _, part := range tc.want {
				if !strings.Contains(said, part) {
					t.Errorf("%s: %q is not in %q", name, part, said)
				}
			}
		}
	}
}
