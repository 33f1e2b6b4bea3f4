// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/upstream"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

const (
	endpointVariable = "COSI_ENDPOINT"
	unixScheme       = "unix://"
	socketName       = "cosi.sock"
	pollInterval     = 5 * time.Millisecond
)

// driver is the driver under test: its address, the connection, and the process if the suite started it.
type driver struct {
	contract    Contract
	launcher    Launcher
	environment []string
	start, rpc  time.Duration
	interceptor grpc.UnaryClientInterceptor

	// directory contains the socket, and work is the process's working directory.
	directory, work string
	endpoint        string
	output          *output

	mu       sync.RWMutex
	conn     *grpc.ClientConn
	instance Instance
}

func newDriver(config Config, limits Limits, interceptor grpc.UnaryClientInterceptor) (*driver, error) {
	d := &driver{
		contract: config.Contract, launcher: config.Launcher, environment: config.Environment, start: limits.Start, rpc: limits.RPC,
		interceptor: interceptor, endpoint: config.Endpoint, output: &output{},
	}
	switch {
	case config.Launcher == nil && config.Endpoint == "":
		return nil, errors.New("no driver is configured: set the address of a running driver, or a command that starts one")
	case config.Launcher != nil && config.Endpoint != "":
		return nil, errors.New("set either the address of a running driver or a command that starts one, not both")
	case config.Endpoint != "":
		if !strings.HasPrefix(config.Endpoint, unixScheme) {
			return nil, fmt.Errorf("address %q of the driver: only UNIX sockets are allowed, such as unix:///run/cosi/cosi.sock", config.Endpoint)
		}
		return d, nil
	}
	base, err := os.MkdirTemp("", "cosi-sanity-")
	if err != nil {
		return nil, fmt.Errorf("create a directory for the socket: %w", err)
	}
	d.directory, d.work = filepath.Join(base, "socket"), filepath.Join(base, "work")
	d.endpoint = unixScheme + filepath.Join(d.directory, socketName)
	return d, errors.Join(os.Mkdir(d.directory, 0o700), os.Mkdir(d.work, 0o700))
}

// up starts the driver if the suite owns it, connects, and waits until it responds.
func (d *driver) up(ctx context.Context) error {
	if d.launcher != nil {
		instance, err := d.launch(ctx, d.output, endpointVariable+"="+d.endpoint)
		if err != nil {
			return err
		}
		d.set(instance)
	}
	return d.connect(ctx)
}

// launch starts an instance with the given variables, in an environment that refers to no Kubernetes cluster.
func (d *driver) launch(ctx context.Context, out *output, variables ...string) (Instance, error) {
	return d.launchWith(ctx, out, nil, variables...)
}

func (d *driver) launchWith(ctx context.Context, out *output, arguments []string, variables ...string) (Instance, error) {
	environment := append(inherited(os.Environ()), "HOME="+d.work)
	environment = append(append(environment, d.environment...), variables...)
	instance, err := d.launcher.Launch(ctx, Launch{
		Environment: environment, Arguments: arguments, Directory: d.work, Stdout: out, Stderr: out,
	})
	if err != nil {
		return nil, fmt.Errorf("start the driver: %w", err)
	}
	return instance, nil
}

// inherited removes variables that could refer to a Kubernetes cluster, and those that the suite sets.
func inherited(environment []string) []string {
	var kept []string
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		if name == "HOME" || name == "KUBECONFIG" || strings.HasPrefix(name, "KUBERNETES_") || strings.HasPrefix(name, "COSI_") {
			continue
		}
		kept = append(kept, variable)
	}
	return kept
}

// connect opens a new connection and waits until DriverGetInfo returns.
func (d *driver) connect(ctx context.Context) error {
	d.disconnect()
	if err := d.awaitSocket(ctx); err != nil {
		return err
	}
	conn, err := grpc.NewClient(d.endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()),
		// The file may be a leftover of a killed driver until the next instance replaces it.
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: redial, MinConnectTimeout: d.start}),
		grpc.WithChainUnaryInterceptor(d.interceptor))
	if err != nil {
		return fmt.Errorf("connect to the driver at %q: %w", d.endpoint, err)
	}
	d.mu.Lock()
	d.conn = conn
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, d.start)
	defer cancel()
	_, err = identify(ctx, d.contract, conn, grpc.WaitForReady(true))
	if unimplemented(err) && d.contract != V1Alpha1 {
		if _, old := identify(ctx, V1Alpha1, conn); old == nil {
			return errors.New("the driver supports v1alpha1 but not v1alpha2: test it with --contract v1alpha1")
		}
	}
	if err != nil {
		return fmt.Errorf("the driver at %s does not respond to DriverGetInfo: %w", d.endpoint, err)
	}
	return nil
}

// identify calls DriverGetInfo.
func identify(ctx context.Context, contract Contract, conn grpc.ClientConnInterface, options ...grpc.CallOption) (*cosi.DriverGetInfoResponse, error) {
	if contract != V1Alpha1 {
		return cosi.NewIdentityClient(conn).DriverGetInfo(ctx, &cosi.DriverGetInfoRequest{}, options...)
	}
	info, err := v1alpha1.NewIdentityClient(conn).DriverGetInfo(ctx, &v1alpha1.DriverGetInfoRequest{}, options...)
	return &cosi.DriverGetInfoResponse{Name: info.GetName()}, err
}

// unimplemented reports whether the driver does not implement a call.
func unimplemented(err error) bool { return status.Code(err) == codes.Unimplemented }

// checkDialect returns an error for a driver of the upstream dialect, which would fail most cases. The requests are
// empty and create nothing. The gRPC server of a driver of this contract rejects the first request; the second is not
// sent.
func checkDialect(ctx context.Context, conn grpc.ClientConnInterface) error {
	_, err := upstream.NewClient(conn).DriverGetExistingBucket(ctx, &upstream.DriverGetExistingBucketRequest{})
	if unimplemented(err) || status.Code(err) == codes.Unavailable {
		return nil
	}
	if _, err := cosi.NewProvisionerClient(conn).DriverGenerateBucketId(ctx, &cosi.DriverGenerateBucketIdRequest{}); !unimplemented(err) {
		return nil
	}
	return errors.New("the driver uses the upstream project's dialect of v1alpha2: it has DriverGetExistingBucket, but no DriverGenerateBucketId. " +
		"The suite has no cases for this dialect; docs/reference/upstream.md describes the differences, and how Cooper uses such a driver")
}

// redial is the backoff between connection attempts. gRPC's default of one second per driver restart would dominate
// the duration of a run.
var redial = backoff.Config{BaseDelay: pollInterval, Multiplier: 1.5, MaxDelay: 20 * pollInterval}

// awaitSocket waits for the socket file. It returns an error if the driver exits before it listens.
func (d *driver) awaitSocket(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, d.start)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		over := ctx.Err() != nil // before the check: a file that exists when the time is over is in time
		if _, err := os.Stat(strings.TrimPrefix(d.endpoint, unixScheme)); err == nil {
			return nil
		}
		if over {
			return d.silent()
		}
		select {
		case <-ticker.C:
		case <-d.ended():
			return fmt.Errorf("the driver exited before it listened on %s; it printed: %s", d.endpoint, d.output.tail())
		case <-ctx.Done():
		}
	}
}

// silent returns the error for a driver that does not respond.
func (d *driver) silent() error {
	if d.launcher == nil {
		return fmt.Errorf("no process listens on %s after %s; check that the driver was started with this address", d.endpoint, d.start)
	}
	return fmt.Errorf("no process listens on %s after %s; the driver printed: %s", d.endpoint, d.start, d.output.tail())
}

func (d *driver) ended() <-chan struct{} {
	if instance := d.running(); instance != nil {
		return instance.Done()
	}
	return nil
}

// restart kills the driver and starts it again.
func (d *driver) restart(ctx context.Context) error {
	d.disconnect()
	if err := d.kill(); err != nil {
		return err
	}
	return d.up(ctx)
}

// kill ends the instance without giving it a chance to clean up.
func (d *driver) kill() error {
	instance := d.running()
	if instance == nil {
		return nil
	}
	d.set(nil)
	return instance.Kill()
}

// down disconnects, kills the driver and removes the directory.
func (d *driver) down() error {
	d.disconnect()
	err := d.kill()
	if d.directory == "" {
		return err
	}
	return errors.Join(err, os.RemoveAll(filepath.Dir(d.directory)))
}

func (d *driver) disconnect() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn != nil {
		// Closing a client connection fails only if it is already closed.
		_ = d.conn.Close()
		d.conn = nil
	}
}

func (d *driver) set(instance Instance) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.instance = instance
}

func (d *driver) running() Instance {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.instance
}

// Invoke implements grpc.ClientConnInterface on the current connection, so clients remain usable after restarts.
func (d *driver) Invoke(ctx context.Context, method string, request, reply any, options ...grpc.CallOption) error {
	d.mu.RLock()
	conn := d.conn
	d.mu.RUnlock()
	if conn == nil {
		return errors.New("the driver is not running")
	}
	return conn.Invoke(ctx, method, request, reply, options...)
}

// NewStream implements grpc.ClientConnInterface; the contract has no streams.
func (d *driver) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errors.New("the COSI contract has no streams")
}

// output stores the driver's output, up to a limit.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const maxOutput = 64 << 20

// Write implements io.Writer.
func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.text.Len() < maxOutput {
		o.text.Write(text)
	}
	return len(text), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// tail returns the last lines for a failure report.
func (o *output) tail() string {
	text := strings.TrimSpace(o.String())
	if len(text) > 1000 {
		text = "..." + text[len(text)-1000:]
	}
	if text == "" {
		return "nothing"
	}
	return text
}
