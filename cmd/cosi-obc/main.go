// SPDX-License-Identifier: Apache-2.0

// Command cosi-obc is a controller that serves ObjectBucketClaims with COSI. `cosi-obc adopt` prints a plan
// to migrate the ObjectBucketClaims of another provisioner to COSI.
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
		Short: "serves ObjectBucketClaims (objectbucket.io/v1alpha1) with COSI",
		Notes: "\n`cosi-obc adopt` plans the migration of another provisioner's claims to COSI; see its --help.\n",
		Flags: func(f *pflag.FlagSet) {
			api.Flags(f)
			apiserver.MetricsFlags(f, &o.Metrics)
			f.StringVar(&o.HealthAddress, "health-address", ":8081", "bind address for /healthz and /readyz; empty disables it")
			f.BoolVar(&leaderElect, "leader-elect", true, "use leader election, so several instances can run")
			f.StringVar(&o.LeaderNamespace, "leader-namespace", deploy.SystemNamespace, "namespace of the Lease")
			f.StringSliceVar(&o.Scope.Namespaces, "namespaces", nil, "namespaces to reconcile; empty means all")
			f.IntVar(&o.Workers, "workers", reconciler.DefaultWorkers, "number of concurrent reconciles")
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
				return fmt.Errorf("run cosi-obc: %w", err)
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
		Short: "prints a plan and manifests to migrate another provisioner's ObjectBucketClaims to COSI",
		Notes: "\nIt changes nothing, and marks completed steps as done. It can be run again at any time.\n",
		Flags: func(f *pflag.FlagSet) {
			api.Flags(f)
			f.StringVar(&a.StorageClass, "from", "", "StorageClass of the other provisioner's claims; required")
			f.StringVar(&a.AccessClass, "bucket-access-class", "", "BucketAccessClass of the new credentials; its driver must serve the buckets; required")
			f.StringVar(&a.Namespace, "namespace", "", "namespace of the claims; empty means all")
			f.StringVar(&a.Name, "name", "", "name of the claim; empty means all")
			f.StringVar(&a.IDPrefix, "id-prefix", "", "prefix of the bucket name in the driver's bucket ID, such as \"BACKEND.\" for the S3 driver")
			f.StringVar(&a.Suffix, "suffix", "-cosi", "suffix that is appended to the name of a claim for the new claim")
		},
		Run: func(ctx context.Context, _ *slog.Logger) error {
			switch {
			case a.StorageClass == "" || a.AccessClass == "":
				return serve.Usagef("--from and --bucket-access-class are required; see --help")
			case a.Suffix == "":
				return serve.Usagef("--suffix must not be empty: the old and the new claim exist at the same time")
			}
			config, err := api.Config()
			if err != nil {
				return err
			}
			return obc.Plan(ctx, config, a, os.Stdout)
		},
	}
}
