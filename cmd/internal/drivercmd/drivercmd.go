// SPDX-License-Identifier: Apache-2.0

// Package drivercmd contains the code that all driver commands share: configuration, listening, logging,
// metrics and health. It is independent of storage backends and of Kubernetes.
package drivercmd

import (
	"context"
	"io"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	_ "golang.org/x/crypto/x509roots/fallback" // the images contain no CA certificates, and the clouds use TLS

	"github.com/cooper-cosi/cooper/cmd/internal/serve"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/settings"
)

// A Program is the command of a driver. C is the type of its configuration, B that of one backend.
type Program[C, B any] struct {
	// Name is the name of the program, Short a one-line description.
	Name, Short string
	// Format is the format of the configuration.
	Format settings.Format[C, B]
	// Flags defines flags that only this driver has. Optional.
	Flags func(*pflag.FlagSet)
	// New creates the driver for a configuration. It may change the options with which the driver is served,
	// register metrics in their Registry, and send spans to their TracerProvider.
	New func(ctx context.Context, config C, options *driverkit.Options) (driverkit.Driver, error)
}

// Main runs a driver until SIGINT or SIGTERM and returns its exit code.
func Main[C, B any](p Program[C, B], args []string, stdout, stderr io.Writer) int {
	options := driverkit.Options{Registry: prometheus.NewRegistry()}
	var collector serve.TraceCollector
	var configFile string
	return serve.Main(serve.Command{
		Name: p.Name, Short: p.Short, Notes: p.Format.Help(),
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&configFile, "config", "", "YAML file with the configuration; empty means that the variables below configure one "+p.Format.Backend)
			f.StringVar(&options.Endpoint, "endpoint", "", "socket to listen on, unix:///path/to/name.sock")
			serve.NameVariable(f.Lookup("endpoint"), driverkit.EndpointVariable)
			f.BoolVar(&options.V1Alpha1, "v1alpha1", false, "also serve COSI v1alpha1 on the socket, for the upstream project's v0.2 sidecar")
			f.StringVar(&options.UpstreamEndpoint, "upstream-endpoint", "", "second socket, in its own directory, that serves the upstream project's v1alpha2 (commit ee00c26 or later), unix:///path/to/name.sock; empty disables it")
			f.StringVar(&options.MetricsAddress, "metrics-address", "", "bind address for /metrics, different from that of the sidecar in the same Pod; empty disables it")
			f.StringVar(&options.HealthAddress, "health-address", "", "bind address for /healthz and for /readyz, which checks the backend; empty disables it")
			collector.Flags(f)
			if p.Flags != nil {
				p.Flags(f)
			}
		},
		Run: func(ctx context.Context, log *slog.Logger) error {
			if _, err := driverkit.SocketPath(options.Endpoint); err != nil {
				return serve.Usagef("--endpoint or %s: %w", driverkit.EndpointVariable, err)
			}
			options.Logger = log
			provider, flush, err := collector.Provider(ctx, p.Name)
			if err != nil {
				return err
			}
			defer flush()
			options.TracerProvider = provider
			config, err := p.Format.Load(configFile)
			if err != nil {
				return err
			}
			warn(ctx, log, p.Format, config)
			driver, err := p.New(ctx, config, &options)
			if err != nil {
				return err
			}
			return driverkit.Serve(ctx, driver, options)
		},
	}, args, stdout, stderr)
}

// warn logs the endpoints that do not use TLS.
func warn[C, B any](ctx context.Context, log *slog.Logger, format settings.Format[C, B], config C) {
	if format.Reach == nil {
		return
	}
	for name, reach := range format.Reach(config) {
		for field, endpoint := range reach.Plain() {
			log.WarnContext(ctx, "endpoint without TLS: keys, tokens and objects can be read and changed in transit",
				"backend", name, "field", field, "endpoint", endpoint)
		}
	}
}
