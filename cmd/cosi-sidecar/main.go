// SPDX-License-Identifier: Apache-2.0

// Command cosi-sidecar is the COSI Sidecar. It runs next to one driver, calls the driver over a UNIX socket,
// and writes the access Secrets. Leader election ensures that only one instance per driver is active.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/cooper-cosi/cooper/cmd/internal/apiserver"
	"github.com/cooper-cosi/cooper/cmd/internal/serve"
	"github.com/cooper-cosi/cooper/cmd/internal/uninstall"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/internal/credstore/kube"
	"github.com/cooper-cosi/cooper/sidecar"
)

func main() {
	command, args := command(), os.Args[1:]
	if len(args) > 0 && args[0] == uninstall.CommandName {
		command, args = uninstall.Command("cosi-sidecar", true), args[1:]
	}
	os.Exit(serve.Main(command, args, os.Stdout, os.Stderr))
}

// settings are the parsed flags.
type settings struct {
	api         apiserver.Access
	connect     sidecar.ConnectOptions
	manager     sidecar.ManagerOptions
	collector   serve.TraceCollector
	leaderElect bool
	// storeAddress and storeNamespace configure the credential store.
	storeAddress, storeNamespace string
}

func command() serve.Command {
	s := &settings{leaderElect: true}
	s.connect.Registerer = ctrlmetrics.Registry
	s.manager.Sidecar.Registerer = ctrlmetrics.Registry
	return serve.Command{
		Name:  "cosi-sidecar",
		Short: "the COSI Sidecar of KEP-1979 v1alpha2",
		Notes: uninstall.Note("cosi-sidecar"),
		Flags: s.flags,
		Run:   s.run,
	}
}

// leastRate is the minimum rate of background grants per second.
const leastRate = 1.0 / (24 * 60 * 60)

func (s *settings) flags(f *pflag.FlagSet) {
	s.api.Flags(f)
	s.collector.Flags(f)
	f.StringVar(&s.connect.Address, "driver-address", "unix:///var/lib/cosi/cosi.sock", "UNIX socket of the driver, unix:///path/to/driver.sock")
	f.DurationVar(&s.connect.Deadline, "rpc-timeout", sidecar.DefaultDeadline, "deadline of an RPC to the driver")
	apiserver.MetricsFlags(f, &s.manager.Metrics)
	f.StringVar(&s.manager.HealthAddress, "health-address", ":8081", "bind address for /healthz and /readyz; empty disables it")
	f.StringVar(&s.manager.PprofAddress, "pprof-address", "", "bind address for profiles at /debug/pprof/, such as 127.0.0.1:6060; empty disables it")
	f.BoolVar(&s.leaderElect, "leader-elect", true, "use leader election for the driver name, so several instances can run")
	f.StringVar(&s.manager.LeaderNamespace, "leader-namespace", deploy.SystemNamespace, "namespace of the Lease; must be the same for all drivers of a cluster")
	f.StringVar(&s.manager.Owner, "owner", "", "namespace and name of this Deployment, such as store/s3-driver; it owns the driver name")
	f.StringVar(&s.storeAddress, "credential-store-address", "", "UNIX socket that serves the driver a credential store, unix:///path/to/name.sock; empty serves none")
	f.StringVar(&s.storeNamespace, "credential-store-namespace", "", "namespace of the credential store's Secrets; empty means the namespace of the Pod")
	o := &s.manager.Sidecar
	f.StringSliceVar(&o.Scope.Namespaces, "namespaces", nil, "namespaces to reconcile; empty means all")
	f.IntVar(&o.Workers, "workers", sidecar.DefaultWorkers, "number of concurrent reconciles of Buckets, and of accesses; a class uses at most a quarter")
	f.DurationVar(&o.Resync, "resync", sidecar.DefaultResync, "maximum time between reconciles of an unchanged object")
	f.DurationVar(&o.SecretPoll, "secret-poll", sidecar.DefaultSecretPoll, "poll interval of an access that waits for a Secret")
	f.DurationVar(&o.RegrantInterval, "regrant-interval", sidecar.DefaultRegrantInterval, "interval between re-grants of an unchanged access; 0 disables them")
	f.Float64Var(&o.RegrantRate, "regrant-rate", sidecar.DefaultRegrantRate, "maximum background re-grants per second, such as after a change of the driver")
	f.BoolVar(&o.WatchSecrets, "watch-secrets", false, "watch access Secrets and repair them at once; requires the role "+deploy.SidecarWatchSecretsRole)
}

func (s *settings) run(ctx context.Context, log *slog.Logger) error {
	logger := apiserver.LogTo(log)
	s.connect.Logger, s.manager.Logger = logger, logger
	if rate := s.manager.Sidecar.RegrantRate; !(rate >= leastRate) {
		return serve.Usagef("--regrant-rate=%v is too low: use at least %v, one access per day", rate, leastRate)
	}
	switch {
	case !s.leaderElect:
		s.manager.LeaderNamespace = ""
	case s.manager.Owner == "":
		return serve.Usagef("--owner is not set: pass the namespace and name of this deployment, such as store/s3-driver, or --leader-elect=false if this is the only instance")
	}
	config, err := s.api.Config()
	if err != nil {
		return err
	}
	provider, flush, err := s.collector.Provider(ctx, "cosi-sidecar")
	if err != nil {
		return err
	}
	defer flush()
	s.connect.TracerProvider, s.manager.Sidecar.TracerProvider = provider, provider
	endStore, err := s.serveStore(ctx, config, log)
	if err != nil {
		return err
	}
	return errors.Join(s.work(ctx, config), endStore())
}

// serveStore serves the credential store, if it is configured. end stops it.
func (s *settings) serveStore(ctx context.Context, config *rest.Config, log *slog.Logger) (end func() error, err error) {
	if s.storeAddress == "" {
		return func() error { return nil }, nil
	}
	if s.storeNamespace == "" {
		if s.storeNamespace, err = apiserver.OwnNamespace(); err != nil {
			return nil, serve.Usagef("--credential-store-namespace is not set: %w", err)
		}
	}
	if s.manager.CredentialStore, err = kube.Serve(ctx, config, s.storeNamespace, s.storeAddress, log); err != nil {
		return nil, fmt.Errorf("--credential-store-address: %w", err)
	}
	return s.manager.CredentialStore.Stop, nil
}

// work runs the sidecar until ctx ends.
func (s *settings) work(ctx context.Context, config *rest.Config) error {
	waited, err := serve.Waiting(ctx, s.manager.HealthAddress, "the driver at "+s.connect.Address+" does not respond yet")
	if err != nil {
		return fmt.Errorf("--health-address: %w", err)
	}
	driver, err := sidecar.Connect(ctx, s.connect)
	waited() // the manager serves the same address
	if err != nil {
		if ctx.Err() != nil {
			return nil // stopped while waiting for the driver
		}
		return serve.Usagef("--driver-address: %w", err)
	}
	defer driver.Close()
	s.manager.Sidecar.Driver = driver
	mgr, err := sidecar.NewManager(config, s.manager)
	if err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the sidecar: %w", err)
	}
	return nil
}
