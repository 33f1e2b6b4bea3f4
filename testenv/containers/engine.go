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
	// RequireVariable, if set, makes a test fail that would be skipped because
	// Docker or an image is missing.
	RequireVariable = "COOPER_REQUIRE_CONTAINERS"
	// Label is on every container, network and volume that this package makes; its
	// value is that of Session.
	Label = "dev.cooper.session"

	// hostVariable and ryukVariable are read by testcontainers-go, once.
	hostVariable = "TESTCONTAINERS_HOST_OVERRIDE"
	ryukVariable = "TESTCONTAINERS_RYUK_DISABLED"

	loopback = "127.0.0.1"
	// responseTimeout bounds the first words with Docker, pullTimeout the download of
	// an image, endTimeout the removal of something.
	responseTimeout = time.Minute
	pullTimeout     = 10 * time.Minute
	endTimeout      = time.Minute
	// readyTimeout is for what a test waits for; it only delays failures. It is longer than the patience of a control
	// plane with its components, which then says what is wrong: etcd that writes safely waits for all that other
	// processes write to the same disk.
	readyTimeout = 10 * time.Minute
)

// An engine is Docker as this process uses it.
type engine struct {
	client  *client.Client
	session string
	// host is where published ports are.
	host string
	// guard is what ends our own reaper; nil with Ryuk.
	guard io.Closer
}

// connect is done once in a process: testcontainers-go reads its settings once.
var connect = sync.OnceValues(newEngine)

func newEngine() (*engine, error) {
	ctx, cancel := context.WithTimeout(context.Background(), responseTimeout)
	defer cancel()
	c, err := client.New(client.FromEnv)
	if err != nil {
		return nil, fmt.Errorf("client of Docker: %w", err)
	}
	if _, err := c.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	e := &engine{client: c, session: strings.ToLower(rand.Text()), host: os.Getenv(hostVariable)}
	if e.host == "" {
		// The library takes a machine with a file /.dockerenv for a container, and
		// looks for published ports elsewhere.
		e.host = loopback
		if err := os.Setenv(hostVariable, loopback); err != nil {
			return nil, fmt.Errorf("tell testcontainers-go where ports are: %w", err)
		}
	}
	return e, e.chooseReaper()
}

// chooseReaper leaves the end of what a killed test leaves to Ryuk if there is its
// image, else to our own guard.
func (e *engine) chooseReaper() error {
	if os.Getenv(ryukVariable) != "true" {
		ryuk := Image{published: testcontainers.ReaperDefaultImage} //nolint:staticcheck // nothing else tells the version
		ctx, cancel := context.WithTimeout(context.Background(), pullTimeout)
		defer cancel()
		if _, err := e.find(ctx, ryuk); err == nil {
			return nil
		}
		if err := os.Setenv(ryukVariable, "true"); err != nil {
			return fmt.Errorf("tell testcontainers-go that there is no Ryuk: %w", err)
		}
	}
	var err error
	e.guard, err = startGuard(Label + "=" + e.session)
	return err
}

// need returns Docker, or ends the test with the reason why there is none.
func need(tb testing.TB) *engine {
	tb.Helper()
	e, err := connect()
	if err != nil {
		absent(tb, "Docker does not respond: %v", err)
	}
	return e
}

// absent skips a test that cannot run here, or fails it where it must.
func absent(tb testing.TB, format string, args ...any) {
	tb.Helper()
	if os.Getenv(RequireVariable) != "" {
		tb.Fatalf(format, args...)
	}
	tb.Skipf(format, args...)
}

// Require skips the test, or fails it, unless Docker responds and has the images or
// can pull them.
func Require(tb testing.TB, images ...Image) {
	tb.Helper()
	e := need(tb)
	for _, i := range images {
		e.needImage(tb, i)
	}
}

// Session is the value of Label on everything that this process makes.
func Session(tb testing.TB) string {
	tb.Helper()
	return need(tb).session
}

// labels mark what this process makes, for our own reaper and for Ryuk.
func (e *engine) labels() map[string]string {
	labels := testcontainers.GenericLabels()
	labels[Label] = e.session
	return labels
}

// Left lists the containers, networks and volumes that carry the label of a
// session.
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
