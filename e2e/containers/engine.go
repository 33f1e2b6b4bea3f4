// SPDX-License-Identifier: Apache-2.0

package containers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

const (
	// RequireVariable, if set, makes tests fail instead of being skipped when Docker or an image is missing.
	RequireVariable = "COOPER_REQUIRE_CONTAINERS"
	// Label is the label of every container, network and volume that this package creates. Its value is
	// Session.
	Label = "dev.cooper.session"

	// hostVariable and ryukVariable are read once by testcontainers-go.
	hostVariable = "TESTCONTAINERS_HOST_OVERRIDE"
	ryukVariable = "TESTCONTAINERS_RYUK_DISABLED"

	loopback = "127.0.0.1"
	// responseTimeout limits the first request to Docker, pullTimeout the download of an image, and
	// endTimeout the removal of an object.
	responseTimeout = time.Minute
	pullTimeout     = 10 * time.Minute
	endTimeout      = time.Minute
	// readyTimeout limits waits and only delays failures. It exceeds the timeout with which a control plane
	// waits for its components, because that failure has the better message. With durable writes, etcd waits
	// for everything that other processes write to the same disk.
	readyTimeout = 10 * time.Minute
)

// An engine is this process's connection to Docker.
type engine struct {
	client  *client.Client
	session string
	// host is the address of published ports.
	host string
	// guard stops Cooper's own reaper; nil if Ryuk is used.
	guard io.Closer
}

// connect runs once per process, because testcontainers-go reads its settings once.
var connect = sync.OnceValues(newEngine)

func newEngine() (*engine, error) {
	ctx, cancel := context.WithTimeout(context.Background(), responseTimeout)
	defer cancel()
	c, err := client.New(client.FromEnv)
	if err != nil {
		return nil, fmt.Errorf("create a Docker client: %w", err)
	}
	if _, err := c.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	e := &engine{client: c, session: strings.ToLower(rand.Text()), host: os.Getenv(hostVariable)}
	if e.host == "" {
		// If /.dockerenv exists, the library assumes that it runs in a container and looks for published
		// ports at another address.
		e.host = loopback
		if err := os.Setenv(hostVariable, loopback); err != nil {
			return nil, fmt.Errorf("set the host of published ports for testcontainers-go: %w", err)
		}
	}
	return e, e.chooseReaper()
}

// chooseReaper uses Ryuk to remove the leftovers of killed tests if its image is available, and otherwise
// Cooper's guard.
func (e *engine) chooseReaper() error {
	if os.Getenv(ryukVariable) != "true" {
		ryuk := Image{published: testcontainers.ReaperDefaultImage} //nolint:staticcheck // the only source of the version
		ctx, cancel := context.WithTimeout(context.Background(), pullTimeout)
		defer cancel()
		if _, err := e.find(ctx, ryuk); err == nil {
			return nil
		}
		if err := os.Setenv(ryukVariable, "true"); err != nil {
			return fmt.Errorf("disable Ryuk in testcontainers-go: %w", err)
		}
	}
	var err error
	e.guard, err = startGuard(Label + "=" + e.session)
	return err
}

// need returns Docker, or ends the test with the reason why it is not available.
func need(tb testing.TB) *engine {
	tb.Helper()
	e, err := connect()
	if err != nil {
		absent(tb, "Docker does not respond: %v", err)
	}
	return e
}

// absent skips a test that cannot run here, or fails it if containers are required.
func absent(tb testing.TB, format string, args ...any) {
	tb.Helper()
	if os.Getenv(RequireVariable) != "" {
		tb.Fatalf(format, args...)
	}
	tb.Skipf(format, args...)
}

// Require skips or fails the test unless Docker responds and has the images or can pull them.
func Require(tb testing.TB, images ...Image) {
	tb.Helper()
	e := need(tb)
	for _, i := range images {
		e.needImage(tb, i)
	}
}

// Session returns the value of Label for everything that this process creates.
func Session(tb testing.TB) string {
	tb.Helper()
	return need(tb).session
}

// labels are the labels that Cooper's reaper and Ryuk look for.
func (e *engine) labels() map[string]string {
	labels := testcontainers.GenericLabels()
	labels[Label] = e.session
	return labels
}

// Left lists the containers, networks and volumes with the label of a session.
func Left(tb testing.TB, session string) []string {
	tb.Helper()
	e := need(tb)
	carries := client.Filters{}.Add("label", Label+"="+session)
	var left []string
	containers, err := e.client.ContainerList(tb.Context(), client.ContainerListOptions{All: true, Filters: carries})
	if err != nil {
		tb.Fatalf("list containers: %v", err)
	}
	for _, c := range containers.Items {
		left = append(left, "container "+strings.Join(c.Names, " "))
	}
	networks, err := e.client.NetworkList(tb.Context(), client.NetworkListOptions{Filters: carries})
	if err != nil {
		tb.Fatalf("list networks: %v", err)
	}
	for _, n := range networks.Items {
		left = append(left, "network "+n.Name)
	}
	volumes, err := e.client.VolumeList(tb.Context(), client.VolumeListOptions{Filters: carries})
	if err != nil {
		tb.Fatalf("list volumes: %v", err)
	}
	for _, v := range volumes.Items {
		left = append(left, "volume "+v.Name)
	}
	return left
}
