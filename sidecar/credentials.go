// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/credstore/kube"
	"github.com/cooper-cosi/cooper/internal/unixsocket"
	"github.com/cooper-cosi/cooper/sidecar/internal/credentialstore"
)

// storeSocketMode gives access to owner and group. Driver and sidecar share a group in a Pod.
const storeSocketMode fs.FileMode = 0o660

// CredentialStoreOptions configure the credential store of a driver.
type CredentialStoreOptions struct {
	// Address is the socket to serve, such as unix:///var/lib/cosi/credentials.sock.
	Address string
	// Namespace is the namespace of the Secrets with the entries: the driver's own.
	Namespace string
	// Logger logs the calls, without secrets.
	Logger logr.Logger
}

// A CredentialStore serves credentials to the driver. It refuses every call as Unavailable until it is passed to a
// manager in ManagerOptions.CredentialStore and that manager is the leader.
type CredentialStore struct {
	server  *grpc.Server
	service *credentialstore.Server
	secrets kube.Secrets
	served  chan error
}

// ServeCredentialStore creates the socket and serves the store until Stop.
func ServeCredentialStore(ctx context.Context, config *rest.Config, o CredentialStoreOptions) (*CredentialStore, error) {
	secrets, err := kube.SecretsIn(config, o.Namespace)
	if err != nil {
		return nil, fmt.Errorf("sidecar: credential store: %w", err)
	}
	listener, err := unixsocket.Listen(ctx, o.Address, storeSocketMode)
	if err != nil {
		return nil, fmt.Errorf("sidecar: credential store: %w", err)
	}
	server, service := credentialstore.Register(o.Logger)
	s := &CredentialStore{server: server, service: service, secrets: secrets, served: make(chan error, 1)}
	go func() { s.served <- server.Serve(listener) }()
	return s, nil
}

// Stop stops the server and removes the socket. The driver needs the store until its last RPC has ended, so stop it
// after the manager and the Driver.
func (s *CredentialStore) Stop() error {
	s.server.Stop()
	if err := <-s.served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("sidecar: credential store: %w", err)
	}
	return nil
}

// serveWith accepts calls for the entries of that driver once the manager is the leader. A sidecar that may not hold
// the Lease of a driver name never becomes the leader, so a driver cannot read another driver's entries by using its
// name.
func (s *CredentialStore) serveWith(mgr manager.Manager, driverName string) error {
	open := func(ctx context.Context) (credstore.Blobs, error) { return kube.OpenBlobs(ctx, s.secrets, driverName) }
	let := manager.RunnableFunc(func(context.Context) error {
		s.service.OpenBy(open)
		return nil
	})
	if err := mgr.Add(let); err != nil {
		return fmt.Errorf("sidecar: credential store: %w", err)
	}
	return nil
}
