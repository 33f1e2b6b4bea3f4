// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/e2e/containers"
	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// waitTimeout is long because it only delays failures, like readyTimeout.
const waitTimeout = 10 * time.Minute

// root is the root of the repository, which contains compose.yaml.
const root = "../.."

// needs runs the test only in the full tier. There it skips or fails the test unless Docker with Compose
// responds and has the images that make images builds.
func needs(t *testing.T, images ...string) {
	t.Helper()
	fulltest.Only(t, "a whole system of containers")
	var ours []containers.Image
	for _, name := range images {
		ours = append(ours, containers.Ours(name))
	}
	containers.Require(t, ours...)
	if out, err := run(t.Context(), nil, "docker", "compose", "version"); err != nil {
		if os.Getenv(containers.RequireVariable) != "" {
			t.Fatalf("Docker has no Compose: %v %s", err, out)
		}
		t.Skipf("Docker has no Compose: %v %s", err, out)
	}
}

// run runs a command in the root with additional environment variables and returns its standard output. An
// error includes the standard error.
func run(ctx context.Context, environment []string, name string, args ...string) (string, error) {
	return pipe(ctx, environment, "", name, args...)
}

// pipe is run with standard input.
func pipe(ctx context.Context, environment []string, stdin, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = root
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), environment...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// stack is a Compose project that is removed after the test.
type stack struct {
	t           *testing.T
	project     string
	environment []string
	// gcsPort is the host port of Cloud Storage.
	gcsPort string
	// ready is the duration of the first up.
	ready time.Duration
}

// newStack prepares a project with a unique name and free ports.
func newStack(t *testing.T, profile string) *stack {
	t.Helper()
	fulltest.Alone(t, "containers")
	s := &stack{t: t, project: "cooper-test-" + strings.ToLower(rand.Text()[:8]), gcsPort: strconv.Itoa(freeport.ForTest(t).Number)}
	s.environment = []string{
		"COMPOSE_PROJECT_NAME=" + s.project, "COMPOSE_PROFILES=" + profile,
		"COOPER_API_PORT=" + strconv.Itoa(freeport.ForTest(t).Number), "COOPER_S3_PORT=" + strconv.Itoa(freeport.ForTest(t).Number), "COOPER_S3_URL=",
		"COOPER_AZURE_PORT=" + strconv.Itoa(freeport.ForTest(t).Number), "COOPER_AZURE_URL=", "COOPER_GCS_PORT=" + s.gcsPort,
	}
	containers.Guard(t, "com.docker.compose.project="+s.project)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), waitTimeout)
		defer cancel()
		if t.Failed() {
			logs, _ := run(ctx, s.environment, "docker", "compose", "logs", "--no-color", "--tail", "15") // best effort
			t.Log(logs)
		}
		_, err := run(ctx, s.environment, "docker", "compose", "down", "--volumes")
		kinds := []string{"container", "volume", "network"}
		if containers.Miscounted(t, s.network(), err) {
			kinds = kinds[:2]
		} else if err != nil {
			t.Error(err)
		}
		for _, kind := range kinds {
			left, err := run(ctx, nil, "docker", kind, "ls", "--quiet", "--filter", "label=com.docker.compose.project="+s.project)
			if err != nil || left != "" {
				t.Errorf("after down: %s left: %q %v", kind, left, err)
			}
			t.Logf("docker compose down --volumes: %ss left: %q", kind, left)
		}
	})
	return s
}

// compose runs docker compose and returns its standard output.
func (s *stack) compose(args ...string) string {
	s.t.Helper()
	out, err := run(s.t.Context(), s.environment, "docker", append([]string{"compose"}, args...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// docker runs docker and returns its standard output.
func (s *stack) docker(args ...string) string {
	s.t.Helper()
	out, err := run(s.t.Context(), nil, "docker", args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// up returns when every service is healthy.
func (s *stack) up() {
	s.t.Helper()
	began := time.Now()
	s.compose("up", "--wait", "--no-build", "--pull=never", fmt.Sprintf("--wait-timeout=%d", int(waitTimeout.Seconds())))
	if s.ready == 0 {
		s.ready = time.Since(began)
		s.t.Logf("docker compose up --wait: ready in %s", s.ready.Round(100*time.Millisecond))
	}
}

// network returns the name of the project's network.
func (s *stack) network() string { return s.project + "_default" }

// restart kills a container with SIGKILL, starts it, and waits until all containers are healthy.
func (s *stack) restart(service string) {
	s.t.Helper()
	container := s.container(service)
	s.docker("kill", "--signal=KILL", container)
	s.docker("start", container)
	s.healthy()
}

// healthy waits until every container is healthy. `up --wait` fails on a container that is unhealthy, even if
// Docker is about to restart it. Components exit when they have lost the control plane for longer than their
// Lease.
func (s *stack) healthy() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), waitTimeout)
	defer cancel()
	all := strings.Fields(s.compose("ps", "--all", "--quiet"))
	err := controlplane.Until(ctx, func(ctx context.Context) error {
		inspect := append([]string{"inspect", "--format", "{{.Name}} {{with .State.Health}}{{.Status}}{{else}}no check{{end}}"}, all...)
		states, err := run(ctx, nil, "docker", inspect...)
		if err != nil {
			return err
		}
		for state := range strings.Lines(states) {
			if state = strings.TrimSpace(state); !strings.HasSuffix(state, " healthy") && !strings.HasSuffix(state, " no check") {
				return errors.New(state)
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// container returns the ID of a service's container.
func (s *stack) container(service string) string {
	s.t.Helper()
	return strings.TrimSpace(s.compose("ps", "--all", "--quiet", service))
}

// kubectl runs kubectl in the container of the control plane.
func (s *stack) kubectl(args ...string) string {
	s.t.Helper()
	return s.compose(append([]string{"exec", "--no-TTY", "control-plane", "kubectl"}, args...)...)
}
