// SPDX-License-Identifier: Apache-2.0

// Package keystore opens the credential store that the flags of a driver command select. The store keeps
// credentials that the backend returns only once.
package keystore

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/cmd/internal/apiserver"
	"github.com/cooper-cosi/cooper/cmd/internal/serve"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/credstore/kube"
)

// sidecarAddress is the socket at which the sidecar serves the store, in the directory of the driver's own
// socket.
const sidecarAddress = "unix:///var/lib/cosi/credentials.sock"

// A Place holds the values of the flags.
type Place struct {
	value   string
	keyFile string
	access  apiserver.Access
}

// Flags defines --credential-store and the flags for the API server.
func (p *Place) Flags(f *pflag.FlagSet) {
	f.StringVar(&p.value, "credential-store", "", "store of the delivered keys: sidecar (at "+sidecarAddress+"), sidecar:unix:///path/to/name.sock, kubernetes (Secrets of its own namespace), kubernetes:namespace, directory:/path, or memory (lost at a restart)")
	f.StringVar(&p.keyFile, "credential-key-file", "", "file with keys to encrypt the stored secrets, one per line: an ID and 32 bytes in base64; empty disables encryption")
	p.access.Flags(f)
}

// Open opens the store of a driver. It does not wait for a sidecar: if a sidecar serves the store, the first
// call connects to it.
func (p *Place) Open(ctx context.Context, driver string, log *slog.Logger) (credentials.Store, error) {
	store, err := p.open(ctx, driver, log)
	if err != nil {
		return nil, err
	}
	encrypted, err := credstore.Encrypted(store, p.keyFile)
	if err != nil {
		return nil, serve.Usagef("--credential-key-file: %w", err)
	}
	return encrypted, nil
}

func (p *Place) open(ctx context.Context, driver string, log *slog.Logger) (credentials.Store, error) {
	kind, place, _ := strings.Cut(p.value, ":")
	switch {
	case kind == "directory" && place != "":
		return credentials.OpenDirectory(place)
	case kind == "sidecar":
		store, err := credentials.OpenSidecar(cmp.Or(place, sidecarAddress))
		if err != nil {
			return nil, serve.Usagef("--credential-store sidecar: %w", err)
		}
		return store, nil
	case kind == "kubernetes":
		return p.openSecrets(ctx, place, driver, log)
	case p.value == "memory":
		log.WarnContext(ctx, "the credential store is in memory: after a restart of this process, each access that is granted again needs a new key")
		return credentials.NewMemory(), nil
	case p.value == "":
		return nil, serve.Usagef("--credential-store is not set: storage systems return a secret key only once, so the driver must store it; use sidecar, kubernetes or directory:/path")
	default:
		return nil, serve.Usagef("--credential-store %q is not one of: sidecar, sidecar:unix:///path/to/name.sock, kubernetes, kubernetes:namespace, directory:/path, memory", p.value)
	}
}

func (p *Place) openSecrets(ctx context.Context, namespace, driver string, log *slog.Logger) (credentials.Store, error) {
	if namespace == "" {
		own, err := apiserver.OwnNamespace()
		if err != nil {
			return nil, serve.Usagef("--credential-store kubernetes: the namespace is unknown; add it, as in kubernetes:cosi-system: %w", err)
		}
		namespace = own
	}
	apiserver.LogTo(log)
	config, err := p.access.Config()
	if err != nil {
		return nil, fmt.Errorf("--credential-store kubernetes: %w", err)
	}
	secrets, err := kube.Open(ctx, config, namespace, driver)
	if err != nil {
		return nil, fmt.Errorf("--credential-store kubernetes: %w", err)
	}
	return credstore.OnBlobs(secrets), nil
}
