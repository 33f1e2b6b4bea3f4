// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/cooper/internal/migrate"
	"github.com/cooper-cosi/cooper/cmd/cooper/internal/standalone"
	"github.com/cooper-cosi/cooper/cmd/cooper/internal/storageversion"
	"github.com/cooper-cosi/cooper/cmd/cooper/internal/up"
	"github.com/cooper-cosi/cooper/cmd/internal/apiserver"
	"github.com/cooper-cosi/cooper/cmd/internal/crds"
	"github.com/cooper-cosi/cooper/cmd/internal/serve"
	"github.com/cooper-cosi/cooper/docs/tutorial"
)

// sampleTimeout is the default timeout for a sample.
const sampleTimeout = 2 * time.Minute

func prepareControlPlane(flags *pflag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	o := standalone.Options{}
	flags.StringVar(&o.Data, "data", "", "directory that keeps the state for the next start; empty keeps none")
	flags.IntVar(&o.Port, "port", 0, "port of the API server; 0 means a free one")
	flags.BoolVar(&o.AllInterfaces, "all-interfaces", false, "listen on every address, as in a container, and not on 127.0.0.1 alone")
	flags.StringVar(&o.Kubeconfigs, "kubeconfigs", "", "directory that gets a kubeconfig for each component")
	flags.StringVar(&o.Server, "server", "", "host and port by which components reach the API server; empty means where it listens")
	flags.StringVar(&o.HostServer, "host-server", "", "host and port by which people outside of the components' network reach it, for the file "+standalone.HostFile)
	flags.StringSliceVar(&o.Drivers, "driver", []string{tutorial.DriverName}, "name of a driver whose sidecar may work; repeat it for several")
	flags.BoolVar(&o.ReplaceCRDs, "replace-crds", false, replaceCRDs)
	flags.StringVar(&o.HealthAddress, "health-address", "", "TCP address that serves /readyz; empty serves none")
	return func(ctx context.Context, _, stderr io.Writer) error {
		o.Progress = stderr
		return standalone.Run(ctx, o)
	}
}

func prepareApply(flags *pflag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	o, kubeconfig := up.ApplyOptions{}, kubeconfigFlag(flags)
	flags.StringVar(&o.Namespace, "namespace", sampleNamespace, "namespace of objects that name none")
	flags.DurationVar(&o.SampleTimeout, "timeout", sampleTimeout, "how long everything may take to be provisioned")
	manifests := flags.String("manifests", "", "file or directory to apply in place of the tutorial's manifests")
	cloud := flags.String("cloud", "s3", "which of the tutorial's manifests: s3, azure or gcs")
	return func(ctx context.Context, stdout, stderr io.Writer) error {
		if o.Kubeconfig = *kubeconfig; o.Kubeconfig == "" {
			return errNoKubeconfig
		}
		o.Out, o.Progress = stdout, stderr
		var err error
		if o.Manifests, err = sampleFiles(*manifests, *cloud); err != nil {
			return err
		}
		return up.Apply(ctx, o)
	}
}

func prepareCheck(flags *pflag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	o, kubeconfig := crds.Options{Policies: true}, kubeconfigFlag(flags)
	flags.BoolVar(&o.Replace, "replace-crds", false, replaceCRDs)
	return func(ctx context.Context, stdout, _ io.Writer) error {
		if *kubeconfig == "" {
			return errNoKubeconfig
		}
		o.Out = stdout
		if err := up.Check(ctx, *kubeconfig, o); err != nil {
			return err
		}
		fmt.Fprintln(stdout, "Cooper's CustomResourceDefinitions can be installed.")
		return nil
	}
}

var errNoKubeconfig = errors.New("--kubeconfig is not set: say how to reach the API server")

// kubeconfigFlag defines --kubeconfig, which defaults to KUBECONFIG.
func kubeconfigFlag(flags *pflag.FlagSet) *string {
	path := flags.String("kubeconfig", "", "file that says how to reach the API server")
	serve.NameVariable(flags.Lookup("kubeconfig"), clientcmd.RecommendedConfigPathEnvVar)
	return path
}

func prepareMigrate(flags *pflag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	o := migrate.Options{}
	api := apiserver.Access{}
	api.Flags(flags)
	flags.StringVar(&o.Backup, "backup", "", "file with the objects of v1alpha1, as kubectl get -o yaml writes them; required")
	flags.StringVar(&o.From, "from", "", "name of the driver whose buckets are to move; required")
	flags.StringVar(&o.Driver, "driver", "", "name of the driver that serves them from now on; empty means the same one")
	flags.StringVar(&o.IDPrefix, "id-prefix", "", "what comes before the old ID of a bucket in the new driver's ID of it, such as BACKEND. for the S3 driver")
	flags.StringToStringVar(&o.AccessClasses, "bucket-access-class", nil, "OLD=NEW, the BucketAccessClass of v1alpha2 for accesses of one of v1alpha1; repeat it for several")
	flags.StringVar(&o.Suffix, "suffix", "-v1alpha2", "what is added to the name of an old Secret for that of the new one")
	return func(ctx context.Context, stdout, _ io.Writer) error {
		config, err := api.Config()
		if err != nil {
			return err
		}
		return migrate.Run(ctx, config, o, stdout)
	}
}

// pageSize is the page size of cooper migrate-storage.
const pageSize = 500

func prepareMigrateStorage(flags *pflag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	o := storageversion.Options{PageSize: pageSize}
	api := apiserver.Access{}
	api.Flags(flags)
	flags.StringVar(&o.Version, "storage-version", cosiapi.Version, "Storage version that all CRDs must have.")
	return func(ctx context.Context, stdout, _ io.Writer) error {
		o.Out = stdout
		config, err := api.Config()
		if err != nil {
			return err
		}
		return storageversion.Migrate(ctx, config, o)
	}
}

// sampleFiles returns the manifests at a path, or the tutorial's manifests for a cloud if path is empty.
func sampleFiles(path, cloud string) (fs.FS, error) {
	switch {
	case path != "" || cloud == "s3":
		return manifestFiles(path, false)
	case cloud == "azure" || cloud == "gcs":
		return fs.Sub(tutorial.Others, cloud)
	default:
		return nil, fmt.Errorf("--cloud %q is not one of s3, azure, gcs", cloud)
	}
}

func prepareProbe(flags *pflag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	url := flags.String("url", "http://127.0.0.1:8081/readyz", "what to ask for")
	return func(ctx context.Context, _, _ io.Writer) error { return serve.Probe(ctx, *url) }
}
