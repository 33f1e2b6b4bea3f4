// SPDX-License-Identifier: Apache-2.0

package containers

import (
	"maps"
	"net"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// A Driver is a driver in a System, which runs it with a sidecar as in a Pod.
type Driver struct {
	// Name is the driver name in classes, such as s3.cooper.dev.
	Name string
	// Image is an image with the driver as its entry point. The driver must run as user 65532 and listen at
	// COSI_ENDPOINT.
	Image Image
	// Environment configures the driver.
	Environment map[string]string
	// Sidecar contains additional environment variables for the driver's sidecar.
	Sidecar map[string]string
	// Data, if set, is a directory with persistent state.
	Data string
	// Volumes maps the names of additional volumes to their mount points.
	Volumes map[string]string
	// Probe is a command in the image that exits 0 when the driver is ready.
	Probe []string
}

// A System is a control plane, the controller, and a driver and a sidecar for each Driver, each in its own
// container on one network.
type System struct {
	// These are the containers. The keys of Sidecars and Drivers are driver names.
	ControlPlane, Controller *Container
	Sidecars, Drivers        map[string]*Container

	tb     testing.TB
	config *rest.Config
	admin  client.Client
}

const (
	socketDirectory = "/var/lib/cosi"
	kubeDirectory   = "/kube"
	healthAddress   = ":8081"
)

// StartSystem starts a system and returns when claims can be created. The drivers' stores must be on the
// network.
func StartSystem(tb testing.TB, on *Network, drivers ...Driver) *System {
	tb.Helper()
	images := []Image{Ours("control-plane"), Ours("cosi-controller"), Ours("cosi-sidecar")}
	for _, d := range drivers {
		images = append(images, d.Image)
	}
	Require(tb, images...)
	s := &System{tb: tb, Sidecars: map[string]*Container{}, Drivers: map[string]*Container{}}
	kube := newVolume(tb, "kube")
	s.startControlPlane(on, kube, drivers)
	s.Controller = start(tb, spec{
		name: "controller", image: Ours("cosi-controller"), network: on,
		environment: map[string]string{"KUBECONFIG": kubeDirectory + "/cosi-controller.kubeconfig", "COOPER_HEALTH_ADDRESS": healthAddress},
		volumes:     map[string]string{kube: kubeDirectory},
		probe:       []string{"/cosi-controller", "--probe"},
	})
	for _, d := range drivers {
		socket := newVolume(tb, "socket")
		s.Drivers[d.Name] = start(tb, d.spec(tb, on, socket))
		s.Sidecars[d.Name] = start(tb, sidecarOf(d, on, socket, kube))
	}
	return s
}

func (s *System) startControlPlane(on *Network, kube string, drivers []Driver) {
	s.tb.Helper()
	var names []string
	for _, d := range drivers {
		names = append(names, d.Name)
	}
	port := freeport.ForTest(s.tb).Number
	s.ControlPlane = start(s.tb, spec{
		name: "control-plane", image: Ours("control-plane"), network: on, port: 6443, hostPort: port,
		command: []string{
			"control-plane", "--all-interfaces", "--port=6443", "--server=control-plane:6443",
			"--host-server=" + net.JoinHostPort(need(s.tb).host, strconv.Itoa(port)),
			"--data=/data", "--kubeconfigs=" + kubeDirectory, "--health-address=" + healthAddress, "--driver=" + strings.Join(names, ","),
		},
		volumes: map[string]string{newVolume(s.tb, "control-plane"): "/data", kube: kubeDirectory},
		probe:   []string{"/cooper", "probe"},
	})
	s.reachControlPlane()
}

// reachControlPlane updates the client configuration, which a restart of the API server changes.
func (s *System) reachControlPlane() {
	s.tb.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(s.ControlPlane.File(kubeDirectory + "/host.kubeconfig"))
	if err != nil {
		s.tb.Fatalf("read the kubeconfig: %v", err)
	}
	scheme, err := reconciler.NewScheme()
	if err != nil {
		s.tb.Fatal(err)
	}
	if s.admin, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		s.tb.Fatalf("create a client: %v", err)
	}
	s.config = config
}

// spec returns the driver's container.
func (d Driver) spec(tb testing.TB, on *Network, socket string) spec {
	tb.Helper()
	environment := map[string]string{"COSI_ENDPOINT": "unix://" + socketDirectory + "/cosi.sock", "COOPER_HEALTH_ADDRESS": healthAddress}
	maps.Copy(environment, d.Environment)
	volumes := map[string]string{socket: socketDirectory}
	maps.Copy(volumes, d.Volumes)
	if d.Data != "" {
		volumes[newVolume(tb, "driver")] = d.Data
	}
	return spec{name: "driver-" + short(d.Name), image: d.Image, network: on, environment: environment, volumes: volumes, probe: d.Probe}
}

func sidecarOf(d Driver, on *Network, socket, kube string) spec {
	environment := map[string]string{
		"KUBECONFIG":            kubeDirectory + "/cosi-sidecar-" + d.Name + ".kubeconfig",
		"COOPER_DRIVER_ADDRESS": "unix://" + socketDirectory + "/cosi.sock",
		"COOPER_OWNER":          "containers/" + short(d.Name),
		"COOPER_HEALTH_ADDRESS": healthAddress,
	}
	maps.Copy(environment, d.Sidecar)
	return spec{
		name: "sidecar-" + short(d.Name), image: Ours("cosi-sidecar"), network: on, environment: environment,
		volumes: map[string]string{socket: socketDirectory, kube: kubeDirectory},
		probe:   []string{"/cosi-sidecar", "--probe"},
	}
}

// short returns the first label of a driver's name.
func short(name string) string {
	first, _, _ := strings.Cut(name, ".")
	return first
}

// Client returns an uncached client with all permissions.
func (s *System) Client() client.Client { return s.admin }

// Config returns an administrator's client configuration.
func (s *System) Config() *rest.Config { return rest.CopyConfig(s.config) }

// Kubectl runs kubectl in the container of the control plane and returns its output.
func (s *System) Kubectl(args ...string) string {
	s.tb.Helper()
	return s.ControlPlane.Run(append([]string{"kubectl"}, args...)...)
}

// Restart kills a container of the system and starts it again.
func (s *System) Restart(c *Container) {
	s.tb.Helper()
	c.Kill()
	c.Start()
	if c == s.ControlPlane {
		s.reachControlPlane()
	}
}
