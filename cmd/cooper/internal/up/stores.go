// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/docs/tutorial"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/testenv/system"
)

// A store is a running fake store with its driver.
type store struct {
	// name is the name of the store in the report.
	name string
	url  string
	// driver is run by the system with a socket and a sidecar.
	driver system.Driver
	// administrator, unless nil, holds the environment variables with the root credential.
	administrator map[string]string
	// join, unless nil, configures the store for the API server once that is ready.
	join func(ctx context.Context, config *rest.Config) error
	stop func() error
}

// startS3 starts the fake S3 and IAM.
func startS3(_ context.Context, o Options, logger *slog.Logger) (*store, error) {
	server, err := s3fake.New(s3fake.Options{Address: address(o.portOf("s3", o.S3Port)), Dir: o.stateOf("s3")})
	if err != nil {
		return nil, fmt.Errorf("create the fake S3: %w", err)
	}
	s, err := o.start(&store{name: "S3 and IAM", driver: system.Driver{Name: tutorial.DriverName}}, "s3", server, logger, func() (driverkit.Driver, error) {
		return newS3Driver(o, server)
	})
	if err != nil {
		return nil, err
	}
	s.administrator = map[string]string{
		endpointKey: s.url, "AWS_DEFAULT_REGION": server.Region(),
		"AWS_ACCESS_KEY_ID": server.Root().AccessKeyID, "AWS_SECRET_ACCESS_KEY": server.Root().SecretAccessKey,
	}
	return s, nil
}

// stateOf returns the directory for the state of a fake, or "" if it is not kept.
func (o Options) stateOf(service string) string {
	if !o.Keep {
		return ""
	}
	return o.Dir.Store(service)
}

// fake is the server of a store.
type fake interface {
	Start() error
	URL() string
	Close() error
}

// start starts the fake of a store, creates its driver, and completes the store. If it fails, it closes the fake.
func (o Options) start(s *store, service string, server fake, logger *slog.Logger, newDriver func() (driverkit.Driver, error)) (*store, error) {
	if err := server.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the fake %s: %w", s.name, err), server.Close())
	}
	s.url, s.stop = server.URL(), server.Close
	if err := o.keepPort(service, s.url); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	driver, err := newDriver()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up the driver of %s: %w", s.name, err), server.Close())
	}
	s.driver.Serve = func(ctx context.Context, endpoint string) error {
		return driverkit.Serve(ctx, driver, driverkit.Options{Endpoint: endpoint, Logger: logger.With("driver", s.driver.Name), TracerProvider: o.tracer})
	}
	return s, nil
}

// newS3Driver creates a driver with the root credential of the fake.
func newS3Driver(o Options, server *s3fake.Server) (*s3driver.Driver, error) {
	keys, err := credentials.OpenDirectory(o.Dir.Credentials("s3"))
	if err != nil {
		return nil, fmt.Errorf("open the credential store of the S3 driver: %w", err)
	}
	root := server.Root()
	return s3driver.New(s3driver.Options{
		Config: s3driver.Config{
			DriverName: tutorial.DriverName,
			Backends: map[string]s3driver.BackendConfig{"fake": {
				Type:     s3driver.TypeAWS,
				Endpoint: server.URL(),
				Region:   server.Region(),
				Credentials: s3driver.CredentialsConfig{
					AccessKeyID: root.AccessKeyID, SecretAccessKey: cosi.NewSecret(root.SecretAccessKey),
				},
			}},
		},
		Credentials: keys, TracerProvider: o.tracer,
	})
}
