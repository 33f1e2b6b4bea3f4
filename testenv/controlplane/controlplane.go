// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

// Options configure a control plane. The zero value is a temporary one on free ports.
type Options struct {
	// Binaries configures where the executables come from.
	Binaries binaries.Options

	// DataDir persists the state of etcd, with durable writes. It is created if needed, and one process at a
	// time may use it. Empty means a temporary directory that Stop removes.
	DataDir string
	// Port is the TCP port of the API server on 127.0.0.1; 0 means a free port.
	Port int
	// AllInterfaces makes the API server listen on all addresses, as required in a container, instead of on
	// 127.0.0.1 only. Its certificate is still for localhost: clients that use another name must set
	// ServerName.
	AllInterfaces bool
	// CRDs are manifests of CustomResourceDefinitions, one YAML document each, by a name for messages. They
	// are served when Start returns; existing ones are updated.
	CRDs map[string][]byte
	// BeforeCRDs, if set, checks the existing state before any CRD is written. Start returns its error.
	BeforeCRDs func(context.Context, *rest.Config) error
	// Audit records every request that AuditPolicy selects. AuditEvents reads the records.
	Audit bool
	// Cluster configures the control plane of a cluster with nodes; nil means no nodes.
	Cluster *Cluster
	// AdmissionPlugins are enabled in addition to Kubernetes' defaults.
	AdmissionPlugins []string
	// AuditPolicy is an audit.k8s.io/v1 Policy; empty means DefaultAuditPolicy.
	AuditPolicy string
}

// startTimeout limits how long one component takes to become healthy on a busy machine. A component that
// fails exits much earlier.
const (
	startTimeout = 8 * time.Minute
	stopTimeout  = 30 * time.Second
)

// ControlPlane is a running control plane.
type ControlPlane struct {
	executables binaries.Paths
	layout      layout
	lease       *lease
	env         *envtest.Environment
	controllers []*Process
	logs        []*os.File

	auditLog string // empty if there is none

	users   sync.Mutex // envtest's AddUser is not safe for concurrent use
	stop    sync.Once
	stopErr error
}

// Start builds the executables if needed, starts etcd and the API server with RBAC, installs the CRDs and
// starts the controllers. It first ends the processes that an earlier, killed process left running on
// DataDir.
//
// It returns a *HeldError if a running process uses DataDir. After an error nothing is left running. Each
// start creates all certificates, which are valid for a week.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	executables, err := binaries.Find(ctx, o.Binaries)
	if err != nil {
		return nil, err
	}
	if err := checkPort(o.Port); err != nil {
		return nil, err
	}
	sweepTemporary()
	layout, lease, err := acquire(o.DataDir)
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{executables: executables, layout: layout, lease: lease}
	if o.Audit {
		c.auditLog = filepath.Join(layout.logs(), "audit.log")
	}
	if err := c.start(ctx, o); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *ControlPlane) start(ctx context.Context, o Options) error {
	if err := c.layout.prepare(c.executables, o.Cluster); err != nil {
		return err
	}
	if err := c.lease.holdAlive(c.layout.alive()); err != nil {
		return err
	}
	crds, err := parseCRDs(o.CRDs)
	if err != nil {
		return err
	}
	env, err := c.environment(o)
	if err != nil {
		return err
	}
	c.env = env
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("the start of the control plane was interrupted: %w", context.Cause(ctx))
	}
	if _, err := env.Start(); err != nil {
		return fmt.Errorf("cannot start the control plane: %w%s", err, c.layout.lastLogs())
	}
	if err := c.lease.describe(c.layout, env.Config.Host); err != nil {
		return err
	}
	if err := c.installCRDs(ctx, crds, o.BeforeCRDs); err != nil {
		return err
	}
	return c.startControllers(ctx, o.Cluster)
}

// Stop ends all processes of the control plane and, unless it has a DataDir, removes its files. Later calls
// return the same result.
func (c *ControlPlane) Stop() error {
	c.stop.Do(func() { c.stopErr = c.end() })
	return c.stopErr
}

func (c *ControlPlane) end() error {
	var errs []error
	for _, controller := range c.controllers {
		errs = append(errs, controller.Stop(stopTimeout))
	}
	if c.env != nil {
		if err := c.env.Stop(); err != nil {
			errs = append(errs, fmt.Errorf("stop the control plane: %w", err))
		}
	}
	// A component that did not end in time must not outlive the lease on its data.
	errs = append(errs, endProcesses(c.layout))
	for _, log := range c.logs {
		errs = append(errs, log.Close())
	}
	errs = append(errs, c.layout.remove(), c.lease.release())
	return errors.Join(errs...)
}

// Config returns a client configuration with all permissions. Each call returns a copy.
func (c *ControlPlane) Config() *rest.Config {
	config := rest.CopyConfig(c.env.Config)
	config.QPS = -1
	return config
}

// User returns a client configuration for the user name in groups, with a client certificate. RBAC determines
// the permissions. The API server adds system:authenticated.
func (c *ControlPlane) User(name string, groups ...string) (*rest.Config, error) {
	c.users.Lock()
	defer c.users.Unlock()
	user, err := c.env.AddUser(envtest.User{Name: name, Groups: groups}, &rest.Config{QPS: -1})
	if err != nil {
		return nil, fmt.Errorf("cannot add the user %s: %w", name, err)
	}
	return user.Config(), nil
}

// Kubectl returns the path of a kubectl of a compatible version.
func (c *ControlPlane) Kubectl() string { return c.executables.Kubectl }

// LogDir returns the directory with one log file per component. Stop removes it unless the control plane has
// a DataDir.
func (c *ControlPlane) LogDir() string { return c.layout.logs() }

// checkPort returns an error for a port in use, which the API server would not report clearly.
func checkPort(port int) error {
	if port == 0 {
		return nil
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("cannot use port %d for the API server: %w; stop the process that uses it or choose another port", port, err)
	}
	return listener.Close()
}

const loopback = "127.0.0.1"

// ServerName is a name in the API server's certificate.
const ServerName = "localhost"

// layout names the files in the directory of one control plane.
type layout struct {
	dir       string
	temporary bool
}

func (l layout) lease() string { return filepath.Join(l.dir, "lease") }
func (l layout) etcd() string  { return filepath.Join(l.dir, "etcd") }
func (l layout) logs() string  { return filepath.Join(l.dir, "logs") }

// run is recreated at each start. The components are executed by their paths in it, which identify them among
// all processes of the machine.
func (l layout) run() string                { return filepath.Join(l.dir, "run") }
func (l layout) bin() string                { return filepath.Join(l.run(), "bin") }
func (l layout) program(name string) string { return filepath.Join(l.bin(), name) }
func (l layout) alive() string              { return filepath.Join(l.bin(), "alive") }
func (l layout) certs() string              { return filepath.Join(l.run(), "certs") }
func (l layout) kubeconfig() string {
	return filepath.Join(l.run(), "kube-controller-manager.kubeconfig")
}
func (l layout) auditPolicy() string { return filepath.Join(l.run(), "audit-policy.yaml") }

// prepare creates an empty run directory with links to the executables. The caller holds the lease, and no
// process of an earlier start is running.
func (l layout) prepare(b binaries.Paths, of *Cluster) error {
	if err := os.RemoveAll(l.run()); err != nil {
		return fmt.Errorf("cannot clean up after a previous run: %w", err)
	}
	for _, dir := range []string{l.bin(), l.certs(), l.logs(), l.etcd()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("cannot use the data directory: %w", err)
		}
	}
	programs := map[string]string{
		binaries.APIServer: b.APIServer, binaries.Etcd: b.Etcd, binaries.ControllerManager: b.ControllerManager,
	}
	if of != nil {
		programs[binaries.ControllerManager], programs[scheduler] = of.ControllerManager, of.Scheduler
	}
	for name, path := range programs {
		if err := os.Symlink(path, l.program(name)); err != nil {
			return fmt.Errorf("cannot use the data directory: %w", err)
		}
	}
	return nil
}

// remove deletes the files that Stop need not keep. It deletes the lease last, because a directory without
// one is never swept.
func (l layout) remove() error {
	paths := []string{l.run()}
	if l.temporary {
		paths = []string{l.run(), l.etcd(), l.logs(), l.lease(), l.dir}
	}
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot clean up after the control plane: %w", err)
		}
	}
	return nil
}
