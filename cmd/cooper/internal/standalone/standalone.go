// SPDX-License-Identifier: Apache-2.0

// Package standalone runs a Kubernetes API server for `cooper control-plane`. It prepares the API server for
// a controller and sidecars that users start themselves: it installs the CRDs and permissions, and writes a
// kubeconfig file for each component.
package standalone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/cmd/internal/crds"
	"github.com/cooper-cosi/cooper/deploy"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
	"github.com/cooper-cosi/cooper/testenv/system"
)

// Options configure the API server.
type Options struct {
	// Data is the directory in which state persists between runs. Empty means a temporary directory.
	Data string
	// Port is the TCP port of the API server; 0 means a free port.
	Port int
	// AllInterfaces listens on all addresses instead of 127.0.0.1 only.
	AllInterfaces bool
	// Kubeconfigs is the output directory for the kubeconfig of each component.
	Kubeconfigs string
	// Server is the host and port at which the components reach the API server. Empty means the address that
	// it listens on.
	Server string
	// HostServer is the host and port for clients outside the components' network. Empty means Server.
	HostServer string
	// Drivers are the names of the drivers whose sidecars get permissions.
	Drivers []string
	// HealthAddress is the address of /readyz, which responds once startup is complete. Empty disables it.
	HealthAddress string
	// ReplaceCRDs allows Cooper's CRDs to replace foreign CRDs in Data.
	ReplaceCRDs bool
	// Progress receives a short line for each completed step.
	Progress io.Writer
}

// Names of the files in Options.Kubeconfigs.
const (
	// AdminFile is for an administrator in the components' network, HostFile for one outside it.
	AdminFile = "admin.kubeconfig"
	HostFile  = "host.kubeconfig"
	// ControllerFile is for cosi-controller.
	ControllerFile = "cosi-controller.kubeconfig"
)

// SidecarFile returns the name of the kubeconfig file for the sidecar of a driver.
func SidecarFile(driver string) string { return "cosi-sidecar-" + driver + ".kubeconfig" }

// maxPort is the highest TCP port.
const maxPort = 65535

// readHeaderTimeout bounds a request to the health address.
const readHeaderTimeout = 5 * time.Second

// Run runs the API server until ctx ends, which is not an error. It stops all processes before it returns.
func Run(ctx context.Context, o Options) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Kubeconfigs, 0o700); err != nil {
		return fmt.Errorf("--kubeconfigs: %w", err)
	}
	manifests, err := deploy.CRDs()
	if err != nil {
		return err
	}
	cp, err := controlplane.Start(ctx, controlplane.Options{
		Binaries: binaries.Options{Progress: o.Progress},
		DataDir:  o.Data, Port: o.Port, AllInterfaces: o.AllInterfaces, CRDs: manifests,
		BeforeCRDs: func(ctx context.Context, config *rest.Config) error {
			return crds.Check(ctx, config, crds.Options{Replace: o.ReplaceCRDs, Out: o.Progress})
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cp.Stop()) }()
	accounts, err := system.Install(ctx, cp, o.Drivers...)
	if err != nil {
		return err
	}
	if err := o.publish(cp, accounts); err != nil {
		return err
	}
	o.say("the API server is ready at %s", cp.Config().Host)
	return o.serveHealth(ctx)
}

// validate checks the options before anything is started.
func (o Options) validate() error {
	if o.Kubeconfigs == "" {
		return errors.New("--kubeconfigs is not set: pass an output directory for the kubeconfig files of the components")
	}
	if o.Port < 0 || o.Port > maxPort {
		return fmt.Errorf("--port %d is not a port: use a number from 1 to %d, or 0 for a free port", o.Port, maxPort)
	}
	for _, driver := range o.Drivers {
		if err := cosi.ValidateDriverName(driver); err != nil {
			return fmt.Errorf("--driver: %w", err)
		}
	}
	if o.HealthAddress == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(o.HealthAddress); err != nil {
		return fmt.Errorf("--health-address: %w; use an address such as 127.0.0.1:8081", err)
	}
	return nil
}

func (o Options) say(format string, args ...any) {
	fmt.Fprintf(o.Progress, "cooper: "+format+"\n", args...)
}

// publish writes the kubeconfigs.
func (o Options) publish(cp *controlplane.ControlPlane, accounts system.Accounts) error {
	files := map[string]*rest.Config{AdminFile: cp.Config(), ControllerFile: accounts.Controller}
	for driver, config := range accounts.Sidecars {
		files[SidecarFile(driver)] = config
	}
	for name, config := range files {
		if err := o.write(name, config, o.Server); err != nil {
			return err
		}
	}
	server := o.HostServer
	if server == "" {
		server = o.Server
	}
	return o.write(HostFile, cp.Config(), server)
}

func (o Options) write(name string, config *rest.Config, server string) error {
	if server != "" {
		config = rest.CopyConfig(config)
		config.Host = (&url.URL{Scheme: "https", Host: server}).String()
		config.ServerName = controlplane.ServerName
	}
	return controlplane.WriteKubeconfig(filepath.Join(o.Kubeconfigs, name), config, "default")
}

// serveHealth serves /readyz until ctx ends.
func (o Options) serveHealth(ctx context.Context) error {
	if o.HealthAddress == "" {
		<-ctx.Done()
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n") // the client may have disconnected
	})
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.HealthAddress)
	if err != nil {
		return fmt.Errorf("--health-address: %w", err)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: readHeaderTimeout}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("--health-address: %w", err)
	}
	return nil
}
