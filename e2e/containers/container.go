// SPDX-License-Identifier: Apache-2.0

package containers

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tcexec "github.com/testcontainers/testcontainers-go/exec"
	tcnetwork "github.com/testcontainers/testcontainers-go/network"
	"github.com/testcontainers/testcontainers-go/wait"

	"github.com/cooper-cosi/cooper/internal/freeport"
)

// spec describes how a container is run.
type spec struct {
	name        string // its name in messages and on the network
	image       Image
	command     []string
	environment map[string]string
	network     *Network          // nil means Docker's default network
	port        int               // TCP port to publish; 0 for none
	hostPort    int               // port on the host; 0 means a free one
	volumes     map[string]string // volume names to directories
	// ready is an HTTP path that returns 200 when the container is ready. probe is a command that then exits
	// 0. One of them is set.
	ready string
	probe []string
}

// A Container is a container that is removed at the end of its test.
type Container struct {
	// Name is the name of the container on its network.
	Name string

	tb      testing.TB
	engine  *engine
	network *Network
	running testcontainers.Container
	address string
	probe   wait.Strategy
}

// start runs a container and returns when it is ready. It skips the test if the image is not available.
func start(tb testing.TB, s spec) *Container {
	tb.Helper()
	e := need(tb)
	image := e.needImage(tb, s.image)
	c := &Container{Name: s.name, tb: tb, engine: e, network: s.network, probe: s.strategy()}
	if s.port != 0 {
		if s.hostPort == 0 {
			s.hostPort = freeport.ForTest(tb).Number
		}
		c.address = net.JoinHostPort(e.host, strconv.Itoa(s.hostPort))
	}
	ctx, cancel := context.WithTimeout(tb.Context(), readyTimeout)
	defer cancel()
	running, err := testcontainers.Run(ctx, image, s.customize(e)...)
	c.running = running
	tb.Cleanup(c.remove)
	if err != nil {
		tb.Fatalf("start container %s of image %s: %v\n%s", s.name, image, err, c.logs())
	}
	return c
}

// customize converts the spec to options of testcontainers-go.
func (s spec) customize(e *engine) []testcontainers.ContainerCustomizer {
	with := []testcontainers.ContainerCustomizer{
		testcontainers.WithLabels(e.labels()), testcontainers.WithEnv(s.environment), testcontainers.WithLogger(quiet{}),
		testcontainers.WithWaitStrategyAndDeadline(readyTimeout, s.strategy()),
		testcontainers.WithHostConfigModifier(s.host(e)),
	}
	if len(s.command) > 0 {
		with = append(with, testcontainers.WithCmd(s.command...))
	}
	if s.port != 0 {
		with = append(with, testcontainers.WithExposedPorts(fmt.Sprintf("%d/tcp", s.port)))
	}
	if s.network != nil {
		with = append(with, tcnetwork.WithNetworkName([]string{s.name}, s.network.Name))
	}
	return with
}

// host restricts a container like compose.yaml does. Containers that run as root, as the published images of
// stores do, keep their capabilities.
func (s spec) host(e *engine) func(*container.HostConfig) {
	return func(config *container.HostConfig) {
		if s.image.published == "" {
			config.ReadonlyRootfs = true
			config.CapDrop = []string{"ALL"}
			config.SecurityOpt = []string{"no-new-privileges:true"}
			config.Tmpfs = map[string]string{"/tmp": "mode=1777"}
			// The controller and the sidecars exit when the API server has new certificates.
			config.RestartPolicy = container.RestartPolicy{Name: container.RestartPolicyUnlessStopped}
		}
		for volume, directory := range s.volumes {
			config.Binds = append(config.Binds, volume+":"+directory)
		}
		if s.port != 0 {
			binding := network.PortBinding{HostPort: strconv.Itoa(s.hostPort)}
			if e.host == loopback {
				binding.HostIP = netip.MustParseAddr(loopback)
			}
			config.PortBindings = network.PortMap{network.MustParsePort(fmt.Sprintf("%d/tcp", s.port)): {binding}}
		}
	}
}

func (s spec) strategy() wait.Strategy {
	if s.probe != nil {
		return &probing{command: s.probe}
	}
	return wait.ForHTTP(s.ready).WithPort(fmt.Sprintf("%d/tcp", s.port)).WithPollInterval(100 * time.Millisecond).
		WithStartupTimeout(readyTimeout).
		WithStatusCodeMatcher(func(status int) bool { return status < 500 })
}

// Address is the host and port at which this process reaches the container.
func (c *Container) Address() string { return c.address }

// Kill kills the container with SIGKILL and returns when it has stopped.
func (c *Container) Kill() {
	c.tb.Helper()
	c.end("KILL")
}

// Stop stops the container with SIGTERM and returns when it has stopped.
func (c *Container) Stop() {
	c.tb.Helper()
	c.end("TERM")
}

func (c *Container) end(signal string) {
	c.tb.Helper()
	if _, err := c.engine.client.ContainerKill(c.tb.Context(), c.running.GetContainerID(), client.ContainerKillOptions{Signal: signal}); err != nil {
		c.tb.Fatalf("stop %s with SIG%s: %v", c.Name, signal, err)
	}
	ended := c.engine.client.ContainerWait(c.tb.Context(), c.running.GetContainerID(), client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case <-ended.Result:
	case err := <-ended.Error:
		c.tb.Fatalf("wait until %s has stopped: %v", c.Name, err)
	}
}

// Start restarts the container and returns when it is ready.
func (c *Container) Start() {
	c.tb.Helper()
	if _, err := c.engine.client.ContainerStart(c.tb.Context(), c.running.GetContainerID(), client.ContainerStartOptions{}); err != nil {
		c.tb.Fatalf("start %s: %v", c.Name, err)
	}
	c.AwaitReady()
}

// AwaitReady returns when the container is ready.
func (c *Container) AwaitReady() {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(c.tb.Context(), readyTimeout)
	defer cancel()
	if err := c.probe.WaitUntilReady(ctx, c.running); err != nil {
		c.tb.Fatalf("%s is not ready: %v\n%s", c.Name, err, c.logs())
	}
}

// Cut disconnects the container from its network. Heal reconnects it.
func (c *Container) Cut() {
	c.tb.Helper()
	options := client.NetworkDisconnectOptions{Container: c.running.GetContainerID(), Force: true}
	if _, err := c.engine.client.NetworkDisconnect(c.tb.Context(), c.network.Name, options); err != nil {
		c.tb.Fatalf("disconnect %s from its network: %v", c.Name, err)
	}
}

// Heal reconnects the container to its network.
func (c *Container) Heal() {
	c.tb.Helper()
	options := client.NetworkConnectOptions{Container: c.running.GetContainerID(), EndpointConfig: &network.EndpointSettings{Aliases: []string{c.Name}}}
	if _, err := c.engine.client.NetworkConnect(c.tb.Context(), c.network.Name, options); err != nil {
		c.tb.Fatalf("reconnect %s to its network: %v", c.Name, err)
	}
}

// File returns the contents of a file in the container.
func (c *Container) File(path string) []byte {
	c.tb.Helper()
	file, err := c.running.CopyFileFromContainer(c.tb.Context(), path)
	if err != nil {
		c.tb.Fatalf("read %s in %s: %v", path, c.Name, err)
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		c.tb.Fatalf("read %s in %s: %v", path, c.Name, err)
	}
	return content
}

// Run runs a command in the container and returns its output.
func (c *Container) Run(command ...string) string {
	c.tb.Helper()
	code, output, err := c.running.Exec(c.tb.Context(), command, tcexec.Multiplexed())
	if err != nil {
		c.tb.Fatalf("run %s in %s: %v", strings.Join(command, " "), c.Name, err)
	}
	text, err := io.ReadAll(output)
	if err != nil || code != 0 {
		c.tb.Fatalf("run %s in %s: exit code %d, %v\n%s", strings.Join(command, " "), c.Name, code, err, text)
	}
	return string(text)
}

// remove removes the container without a grace period. If the test has failed, it first prints the
// container's log.
func (c *Container) remove() {
	if c.running == nil {
		return
	}
	if c.tb.Failed() {
		c.tb.Logf("the last log lines of %s:\n%s", c.Name, c.logs())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.tb.Context()), endTimeout)
	defer cancel()
	_, err := c.engine.client.ContainerRemove(ctx, c.running.GetContainerID(), client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) {
		c.tb.Errorf("remove %s: %v", c.Name, err)
	}
}

// logs returns the last lines of the container's output.
func (c *Container) logs() string {
	if c.running == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.tb.Context()), responseTimeout)
	defer cancel()
	output, err := c.running.Logs(ctx)
	if err != nil {
		return err.Error()
	}
	defer output.Close()
	text, err := io.ReadAll(output)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n") + errorText(err)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return "\n" + err.Error()
}

// A Network is a Docker network on which containers reach each other by name.
type Network struct {
	// Name is Docker's name of the network.
	Name string
}

// NewNetwork creates a network for the duration of the test.
func NewNetwork(tb testing.TB) *Network {
	tb.Helper()
	e := need(tb)
	made, err := tcnetwork.New(tb.Context(), tcnetwork.WithLabels(e.labels()))
	if err != nil {
		tb.Fatalf("create a network: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), endTimeout)
		defer cancel()
		if err := made.Remove(ctx); err != nil && !errdefs.IsNotFound(err) && !Miscounted(tb, made.Name, err) {
			tb.Errorf("remove the network: %v", err)
		}
	})
	return &Network{Name: made.Name}
}

// newVolume creates an empty volume for the duration of the test and returns its name.
func newVolume(tb testing.TB, purpose string) string {
	tb.Helper()
	e := need(tb)
	name := "cooper-test-" + purpose + "-" + strings.ToLower(rand.Text()[:10])
	if _, err := e.client.VolumeCreate(tb.Context(), client.VolumeCreateOptions{Name: name, Labels: e.labels()}); err != nil {
		tb.Fatalf("create a volume: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), endTimeout)
		defer cancel()
		if _, err := e.client.VolumeRemove(ctx, name, client.VolumeRemoveOptions{Force: true}); err != nil && !errdefs.IsNotFound(err) {
			tb.Errorf("remove the volume %s: %v", name, err)
		}
	})
	return name
}

// quiet discards the log of testcontainers-go, which reports every step.
type quiet struct{}

// Printf implements the logger interface of testcontainers-go.
func (quiet) Printf(string, ...any) {}
