// SPDX-License-Identifier: Apache-2.0

// Command cosi-obc serves ObjectBucketClaims with COSI. `cosi-obc adopt` plans the migration of another
// provisioner's claims to COSI.
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
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/obc"
)

func main() {
	command, args := server(), os.Args[1:]
	if len(args) > 0 && args[0] == "adopt" {
		command, args = adopt(), args[1:]
	}
	os.Exit(serve.Main(command, args, os.Stdout, os.Stderr))
}

func server() serve.Command {
	o := obc.Options{Registerer: ctrlmetrics.Registry}
	leaderElect := true
	api := apiserver.Access{}
	return serve.Command{
		Name:  "cosi-obc",
		Short: "serves ObjectBucketClaims of objectbucket.io/v1alpha1 by COSI",
		Notes: "\n`cosi-obc adopt` prints how claims of another provisioner move to COSI; see its own --help.\n",
		Flags: func(f *pflag.FlagSet) {
			api.Flags(f)
			apiserver.MetricsFlags(f, &o.Metrics)
			f.StringVar(&o.HealthAddress, "health-address", ":8081", "TCP address that serves /healthz and /readyz; empty serves none")
			f.BoolVar(&leaderElect, "leader-elect", true, "hold a Lease, so that several instances may run")
			f.StringVar(&o.LeaderNamespace, "leader-namespace", deploy.SystemNamespace, "namespace of the Lease")
			f.StringSliceVar(&o.Scope.Namespaces, "namespaces", nil, "only namespaces to work in; none means all")
			f.IntVar(&o.Workers, "workers", reconciler.DefaultWorkers, "number of claims worked on at a time")
			f.DurationVar(&o.Resync, "resync", reconciler.DefaultResync, "maximum time between reconciles of an unchanged claim")
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
			mgr, err := obc.NewManager(config, o)
			if err != nil {
				return err
			}
			if err := mgr.Start(ctx); err != nil {
				return fmt.Errorf("stopped: %w", err)
			}
			return nil
		},
	}
}

func adopt() serve.Command {
	a := obc.Adoption{}
	api := apiserver.Access{}
	return serve.Command{
		Name:  "cosi-obc adopt",
		Short: "prints the plan and the manifests by which ObjectBucketClaims of another provisioner move to COSI",
		Notes: "\nIt changes nothing. What is done already is said to be done, so ask again at any time.\n",
		Flags: func(f *pflag.FlagSet) {
			api.Flags(f)
			f.StringVar(&a.StorageClass, "from", "", "StorageClass of the claims, which another provisioner serves; required")
			f.StringVar(&a.AccessClass, "bucket-access-class", "", "BucketAccessClass of the new credentials, of the driver that reaches the buckets; required")
			f.StringVar(&a.Namespace, "namespace", "", "only claims of this namespace; empty means all")
			f.StringVar(&a.Name, "name", "", "only the claim of this name; empty means all")
			f.StringVar(&a.IDPrefix, "id-prefix", "", "what comes before the name of a bucket in the driver's ID of it, such as BACKEND. for the S3 driver")
			f.StringVar(&a.Suffix, "suffix", "-cosi", "what is added to the name of a claim for that of the new one")
		},
		Run: func(ctx context.Context, _ *slog.Logger) error {
			switch {
			case a.StorageClass == "" || a.AccessClass == "":
				return serve.Usagef("say which claims and which class with --from and --bucket-access-class; see --help")
			case a.Suffix == "":
				return serve.Usagef("--suffix must not be empty: the new claim stands beside the old one")
			}
			config, err := api.Config()
			if err != nil {
				return err
			}
			return obc.Plan(ctx, config, a, os.Stdout)
		},
	}
}
