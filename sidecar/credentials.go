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

// storeSocketMode lets owner and group in, as driver and sidecar share a group in a Pod.
const storeSocketMode fs.FileMode = 0o660

// CredentialStoreOptions say where a driver finds its credential store, and where the entries are.
type CredentialStoreOptions struct {
	// Address is the socket to serve, such as unix:///var/lib/cosi/credentials.sock.
	Address string
	// Namespace is that of the Secrets with the entries, the driver's own.
	Namespace string
	// Logger gets the calls, without their secrets.
	Logger logr.Logger
}

// A CredentialStore is served to the driver. Until ManagerOptions.CredentialStore hands it to a
// manager that works, every call is refused as Unavailable.
type CredentialStore struct {
	server  *grpc.Server
	service *credentialstore.Server
	secrets kube.Secrets
	served  chan error
}

// ServeCredentialStore makes the socket and serves it until Stop.
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

// Stop ends it and removes the socket. A driver needs it until its last RPC has ended: stop it after
// the manager and the Driver.
func (s *CredentialStore) Stop() error {
	s.server.Stop()
	if err := <-s.served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("sidecar: credential store: %w", err)
	}
	return nil
}

// serveWith lets the driver of that name in once the manager works. A sidecar that may not hold the
// Lease of a name never works: a driver cannot reach the entries of another one by taking its name.
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
