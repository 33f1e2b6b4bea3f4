// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/drivers/adapter/kubeapi"
	"github.com/cooper-cosi/cooper/sanity"
)

// kubernetesAPI are the flags of the Kubernetes API for drivers of v1alpha1 that read their Bucket objects.
type kubernetesAPI struct {
	dir, address, secrets string
}

func (k *kubernetesAPI) flags(flags *pflag.FlagSet) {
	flags.StringVar(&k.dir, "kubernetes-api-dir", "", "directory for the service account files of a v1alpha1 driver that reads Bucket objects (default: none are served)")
	flags.StringVar(&k.address, "kubernetes-api-address", "127.0.0.1:6443", "loopback address of the Kubernetes API of --kubernetes-api-dir")
	flags.StringVar(&k.secrets, "kubernetes-secrets-dir", "", "directory with NAMESPACE/NAME/KEY files, the Secrets that this API serves (default: none)")
}

// configure makes the run record its Bucket objects, and sets the variables of a Pod for a driver that the suite starts.
func (k *kubernetesAPI) configure(config *sanity.Config) error {
	if k.dir == "" {
		return nil
	}
	if config.Contract != sanity.V1Alpha1 {
		return fmt.Errorf("--kubernetes-api-dir requires --contract %s", sanity.V1Alpha1)
	}
	host, port, err := net.SplitHostPort(k.address)
	if err != nil {
		return fmt.Errorf("--kubernetes-api-address: %w", err)
	}
	config.Objects = &sanity.BucketObjects{}
	config.Environment = append(config.Environment, "KUBERNETES_SERVICE_HOST="+host, "KUBERNETES_SERVICE_PORT="+port)
	return nil
}

// serve serves the objects until stop is called. It logs failed requests of the driver to problems.
func (k *kubernetesAPI) serve(ctx context.Context, objects *sanity.BucketObjects, problems io.Writer) (stop func(), err error) {
	if objects == nil {
		return func() {}, nil
	}
	server, err := kubeapi.New(kubeapi.Options{
		Dir: k.dir, Address: k.address, SecretsDir: k.secrets, Logger: slog.New(slog.NewTextHandler(problems, nil)),
		Buckets: func(_ context.Context, name string) (kubeapi.Bucket, bool, error) {
			b, found := objects.Find(name)
			return kubeapi.Bucket{Name: b.Name, ID: b.ID, Driver: b.Driver, Parameters: b.Parameters, Protocols: []string{"S3"}}, found, nil
		},
	})
	if err != nil {
		return nil, err
	}
	if err := server.Listen(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(ctx); err != nil {
			_, _ = fmt.Fprintln(problems, "cosi-sanity:", err)
		}
	}()
	return func() { cancel(); <-ended }, nil
}
