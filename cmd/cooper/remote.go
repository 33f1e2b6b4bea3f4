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
	flags.StringVar(&o.Data, "data", "", "directory in which state persists between runs; empty disables persistence")
	flags.IntVar(&o.Port, "port", 0, "port of the API server; 0 means a free one")
	flags.BoolVar(&o.AllInterfaces, "all-interfaces", false, "listen on all addresses instead of 127.0.0.1 only, for example in a container")
	flags.StringVar(&o.Kubeconfigs, "kubeconfigs", "", "output directory for the kubeconfig of each component")
	flags.StringVar(&o.Server, "server", "", "host and port of the API server for the components; empty means its listen address")
	flags.StringVar(&o.HostServer, "host-server", "", "host and port of the API server for clients outside the components' network, for the file "+standalone.HostFile)
	flags.StringSliceVar(&o.Drivers, "driver", []string{tutorial.DriverName}, "name of a driver, for the permissions of its sidecar; repeat for several")
	flags.BoolVar(&o.ReplaceCRDs, "replace-crds", false, replaceCRDs)
	flags.StringVar(&o.HealthAddress, "health-address", "", "bind address for /readyz; empty disables it")
	return func(ctx context.Context, _, stderr io.Writer) error {
		o.Progress = stderr
		return standalone.Run(ctx, o)
	}
}

func prepareApply(flags *pflag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	o, kubeconfig := up.ApplyOptions{}, kubeconfigFlag(flags)
	flags.StringVar(&o.Namespace, "namespace", sampleNamespace, "namespace of objects without a namespace")
	flags.DurationVar(&o.SampleTimeout, "timeout", sampleTimeout, "timeout for provisioning all claims and accesses")
	manifests := flags.String("manifests", "", "file or directory to apply instead of the tutorial's manifests")
	cloud := flags.String("cloud", "s3", "cloud of the tutorial's manifests: s3, azure or gcs")
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

var errNoKubeconfig = errors.New("--kubeconfig is not set: pass the kubeconfig file of the cluster")

// kubeconfigFlag defines --kubeconfig, which defaults to KUBECONFIG.
func kubeconfigFlag(flags *pflag.FlagSet) *string {
	path := flags.String("kubeconfig", "", "kubeconfig file of the cluster")
	serve.NameVariable(flags.Lookup("kubeconfig"), clientcmd.RecommendedConfigPathEnvVar)
	return path
}

func prepareMigrate(flags *pflag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	o := migrate.Options{}
	api := apiserver.Access{}
	api.Flags(flags)
	flags.StringVar(&o.Backup, "backup", "", "file with the v1alpha1 objects, as written by kubectl get -o yaml; required")
	flags.StringVar(&o.From, "from", "", "name of the driver to migrate buckets from; required")
	flags.StringVar(&o.Driver, "driver", "", "name of the driver that serves them after the migration; empty means the same driver")
	flags.StringVar(&o.IDPrefix, "id-prefix", "", "prefix of the old bucket ID in the new driver's bucket ID, such as \"BACKEND.\" for the S3 driver")
	flags.StringToStringVar(&o.AccessClasses, "bucket-access-class", nil, "OLD=NEW: the v1alpha2 BucketAccessClass that replaces a v1alpha1 one; repeat for several")
	flags.StringVar(&o.Suffix, "suffix", "-v1alpha2", "suffix that is appended to an old Secret's name for the new Secret")
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
	flags.StringVar(&o.Version, "storage-version", cosiapi.Version, "storage version that all CRDs must have")
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
	url := flags.String("url", "http://127.0.0.1:8081/readyz", "URL to request")
	return func(ctx context.Context, _, _ io.Writer) error { return serve.Probe(ctx, *url) }
}
