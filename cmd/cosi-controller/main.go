// SPDX-License-Identifier: Apache-2.0

// Command cosi-controller is the COSI Controller. It binds BucketClaims to Buckets and hands BucketAccesses
// off to the sidecars of their drivers. Leader election ensures that only one instance in a cluster is
// active.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/pflag"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/cooper-cosi/cooper/cmd/internal/apiserver"
	"github.com/cooper-cosi/cooper/cmd/internal/serve"
	"github.com/cooper-cosi/cooper/cmd/internal/uninstall"
	"github.com/cooper-cosi/cooper/controller"
	"github.com/cooper-cosi/cooper/deploy"
)

func main() {
	command, args := command(), os.Args[1:]
	if len(args) > 0 && args[0] == uninstall.CommandName {
		command, args = uninstall.Command("cosi-controller", false), args[1:]
	}
	os.Exit(serve.Main(command, args, os.Stdout, os.Stderr))
}

func command() serve.Command {
	o := controller.ManagerOptions{Controller: controller.Options{Registerer: ctrlmetrics.Registry}}
	leaderElect := true
	api := apiserver.Access{}
	var collector serve.TraceCollector
	return serve.Command{
		Name:  "cosi-controller",
		Short: "the COSI Controller of KEP-1979 v1alpha2",
		Notes: uninstall.Note("cosi-controller"),
		Flags: func(f *pflag.FlagSet) {
			api.Flags(f)
			collector.Flags(f)
			apiserver.MetricsFlags(f, &o.Metrics)
			f.StringVar(&o.HealthAddress, "health-address", ":8081", "bind address for /healthz and /readyz; empty disables it")
			f.StringVar(&o.PprofAddress, "pprof-address", "", "bind address for profiles at /debug/pprof/, such as 127.0.0.1:6060; empty disables it")
			f.BoolVar(&leaderElect, "leader-elect", true, "use leader election, so several instances can run")
			f.StringVar(&o.LeaderNamespace, "leader-namespace", deploy.SystemNamespace, "namespace of the Lease for leader election")
			f.StringSliceVar(&o.Controller.Scope.Namespaces, "namespaces", nil, "namespaces to reconcile; empty means all")
			f.IntVar(&o.Controller.Workers, "workers", controller.DefaultWorkers, "number of concurrent reconciles of claims, and of accesses")
			f.DurationVar(&o.Controller.LostClaimGrace, "lost-claim-grace", 0, "time until a Bucket whose claim was lost is released without confirmation; 0 means never")
			f.DurationVar(&o.Controller.Resync, "resync", controller.DefaultResync, "maximum time between reconciles of an unchanged object")
		},
		Run: func(ctx context.Context, log *slog.Logger) error {
			o.Logger = apiserver.LogTo(log)
			config, err := api.Config()
			if err != nil {
				return err
			}
			if !leaderElect {
				o.LeaderNamespace = ""
			}
			provider, flush, err := collector.Provider(ctx, "cosi-controller")
			if err != nil {
				return err
			}
			defer flush()
			o.Controller.TracerProvider = provider
			mgr, err := controller.NewManager(config, o)
			if err != nil {
				return err
			}
			if err := mgr.Start(ctx); err != nil {
				return fmt.Errorf("run the controller: %w", err)
			}
			return nil
		},
	}
}
