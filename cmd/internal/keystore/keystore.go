// SPDX-License-Identifier: Apache-2.0

// Package keystore is where the command of a driver keeps the credentials that
// its backend shows only once, as its flags say. It must not know what they are
// for.
package keystore

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/cmd/internal/apiserver"
	"github.com/cooper-cosi/cooper/cmd/internal/serve"
	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/credstore/kube"
)

// namespaceFile is where a Pod finds the name of its own namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// A Place is what the flags came to.
type Place struct {
	value  string
	access apiserver.Access
}

// Flags defines --credential-store and the way to the API server.
func (p *Place) Flags(f *pflag.FlagSet) {
	f.StringVar(&p.value, "credential-store", "", "where delivered keys are kept: kubernetes (Secrets of its own namespace) or kubernetes:namespace, directory:/path, or memory, which forgets them")
	p.access.Flags(f)
}

// Open opens the store for the driver of a name.
func (p *Place) Open(ctx context.Context, driver string, log *slog.Logger) (credstore.Store, error) {
	kind, place, _ := strings.Cut(p.value, ":")
	switch {
	case kind == "directory" && place != "":
		return credstore.OpenDirectory(place)
	case kind == "kubernetes":
		return p.openSecrets(ctx, place, driver, log)
	case p.value == "memory":
		log.WarnContext(ctx, "the credential store is in memory: after a restart of this process no access can be granted again without new keys")
		return credstore.NewMemory(), nil
	case p.value == "":
		return nil, serve.Usagef("--credential-store is needed: stores show a secret key only once, so the driver must keep it; use kubernetes or directory:/path")
	default:
		return nil, serve.Usagef("--credential-store %q is not one of: kubernetes, kubernetes:namespace, directory:/path, memory", p.value)
	}
}

func (p *Place) openSecrets(ctx context.Context, namespace, driver string, log *slog.Logger) (credstore.Store, error) {
	if namespace == "" {
		data, err := os.ReadFile(namespaceFile)
		if err != nil {
			return nil, serve.Usagef("--credential-store kubernetes: this is not a Pod; name the namespace, as in kubernetes:cosi-system: %w", err)
		}
		namespace = strings.TrimSpace(string(data))
	}
	apiserver.LogTo(log)
	config, err := p.access.Config()
	if err != nil {
		return nil, fmt.Errorf("--credential-store kubernetes: %w", err)
	}
	secrets, err := kube.SecretsIn(config, namespace)
	if err != nil {
		return nil, fmt.Errorf("--credential-store kubernetes: %w", err)
	}
	return kube.Open(ctx, secrets, driver)
}
