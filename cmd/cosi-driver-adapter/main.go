// SPDX-License-Identifier: Apache-2.0

// Command cosi-driver-adapter serves the driver contract in front of a vendor's driver that implements COSI v1alpha1
// or the upstream project's v1alpha2. It runs between the COSI Sidecar and that driver, with one socket for each.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/cmd/internal/keystore"
	"github.com/cooper-cosi/cooper/cmd/internal/serve"
	"github.com/cooper-cosi/cooper/drivers/adapter"
	"github.com/cooper-cosi/cooper/drivers/adapter/kubeapi"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

const name = "cosi-driver-adapter"

func main() { os.Exit(serve.Main(command(), os.Args[1:], os.Stdout, os.Stderr)) }

// settings are the parsed flags.
type settings struct {
	options   driverkit.Options
	driver    adapter.Options
	store     keystore.Place
	kube      kubeapi.Options
	collector serve.TraceCollector
}

func command() serve.Command {
	s := &settings{options: driverkit.Options{Registry: prometheus.NewRegistry()}}
	return serve.Command{
		Name: name, Short: "serves the COSI driver contract in front of a driver of an older generation",
		Flags: s.flags, Run: s.run,
	}
}

func (s *settings) flags(f *pflag.FlagSet) {
	f.StringVar(&s.options.Endpoint, "endpoint", "", "socket to listen on for the sidecar, unix:///path/to/name.sock")
	serve.NameVariable(f.Lookup("endpoint"), driverkit.EndpointVariable)
	f.StringVar(&s.driver.Address, "driver-address", "", "socket of the vendor's driver, unix:///path/to/name.sock, in a directory that the sidecar does not use")
	f.StringVar(&s.driver.Contract, "driver-contract", adapter.V1alpha1, "contract of the vendor's driver: "+adapter.V1alpha1+" or "+adapter.Upstream+" (commit ee00c26)")
	s.store.Flags(f)
	f.StringVar(&s.kube.Dir, "kubernetes-api-dir", "", "directory in which to write ca.crt, token and namespace of the Kubernetes API for the vendor's driver; empty disables the API")
	f.StringVar(&s.kube.Address, "kubernetes-api-address", "127.0.0.1:6443", "loopback address of the Kubernetes API for the vendor's driver")
	f.StringVar(&s.kube.SecretsDir, "kubernetes-secrets-dir", "", "directory with the Secrets for the vendor's driver, as files NAMESPACE/NAME/KEY; empty means none")
	f.StringVar(&s.options.MetricsAddress, "metrics-address", "", "bind address for /metrics, different from that of the sidecar in the same Pod; empty disables it")
	f.StringVar(&s.options.HealthAddress, "health-address", "", "bind address for /healthz and for /readyz, which checks the vendor's driver; empty disables it")
	s.collector.Flags(f)
}

func (s *settings) run(ctx context.Context, log *slog.Logger) error {
	if _, err := driverkit.SocketPath(s.options.Endpoint); err != nil {
		return serve.Usagef("--endpoint or %s: %w", driverkit.EndpointVariable, err)
	}
	if _, err := driverkit.SocketPath(s.driver.Address); err != nil {
		return serve.Usagef("--driver-address: %w", err)
	}
	if c := s.driver.Contract; c != adapter.V1alpha1 && c != adapter.Upstream {
		return serve.Usagef("--driver-contract %q is not one of: %s, %s", c, adapter.V1alpha1, adapter.Upstream)
	}
	s.options.Logger, s.driver.Logger, s.kube.Logger = log, log, log
	provider, flush, err := s.collector.Provider(ctx, name)
	if err != nil {
		return err
	}
	defer flush()
	s.options.TracerProvider = provider
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// While the last calls end, the vendor's driver may still need the API.
	kubernetes, stopKubernetes := context.WithCancel(context.WithoutCancel(ctx))
	defer stopKubernetes()
	var served atomic.Pointer[adapter.Adapter]
	ended, err := s.serveKubernetes(kubernetes, stop, &served)
	if err != nil {
		return err
	}
	err = s.serve(ctx, log, &served)
	stopKubernetes()
	return errors.Join(err, <-ended)
}

// serveKubernetes serves the Kubernetes API before the vendor's driver responds, because the driver may need it to
// start. stop ends the program if the API fails.
func (s *settings) serveKubernetes(ctx context.Context, stop context.CancelCauseFunc, served *atomic.Pointer[adapter.Adapter]) (<-chan error, error) {
	ended := make(chan error, 1)
	if s.kube.Dir == "" {
		ended <- nil
		return ended, nil
	}
	s.kube.Buckets = func(ctx context.Context, name string) (kubeapi.Bucket, bool, error) {
		if a := served.Load(); a != nil {
			return a.Bucket(ctx, name)
		}
		return kubeapi.Bucket{}, false, errors.New("the adapter is starting and waits for the driver's first response to DriverGetInfo")
	}
	server, err := kubeapi.New(s.kube)
	if err != nil {
		return nil, serve.Usagef("--kubernetes-api-address: %w", err)
	}
	if err := server.Listen(ctx); err != nil {
		return nil, fmt.Errorf("--kubernetes-api-dir: %w", err)
	}
	go func() {
		err := server.Serve(ctx)
		stop(err)
		ended <- err
	}()
	return ended, nil
}

// serve waits for the vendor's driver and serves the contract until ctx ends.
func (s *settings) serve(ctx context.Context, log *slog.Logger, served *atomic.Pointer[adapter.Adapter]) error {
	waited, err := serve.Waiting(ctx, s.options.HealthAddress, "the vendor's driver at "+s.driver.Address+" does not respond yet")
	if err != nil {
		return fmt.Errorf("--health-address: %w", err)
	}
	driver, err := adapter.Connect(ctx, s.driver)
	waited() // driverkit serves the same address
	if ctx.Err() != nil && driver == nil {
		return nil // stopped while waiting for the driver
	}
	if err != nil {
		return err
	}
	store, err := s.store.Open(ctx, driver.Name(), log)
	if err != nil {
		return errors.Join(err, driver.Close())
	}
	a := adapter.New(driver, store)
	served.Store(a)
	return errors.Join(driverkit.ServeRPCs(ctx, driver.Name(), a, s.options), driver.Close())
}
