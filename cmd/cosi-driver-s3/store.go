// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/credstore/kube"
)

// namespaceFile is where a pod finds the name of its own namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// openStore opens the credential store that the flag names.
func openStore(ctx context.Context, value, driver string, logger *slog.Logger) (credstore.Store, error) {
	kind, place, _ := strings.Cut(value, ":")
	switch {
	case kind == "directory" && place != "":
		return credstore.OpenDirectory(place)
	case kind == "kubernetes":
		return openSecrets(ctx, place, driver)
	case value == "memory":
		logger.Warn("the credential store is in memory: after a restart of this process no access can be granted again without new keys")
		return credstore.NewMemory(), nil
	case value == "":
		return nil, errors.New("--credential-store is needed: stores show a secret key only once, so the driver must keep it; use kubernetes or directory:/path")
	default:
		return nil, fmt.Errorf("--credential-store %q is not one of: kubernetes, kubernetes:namespace, directory:/path, memory", value)
	}
}

// openSecrets uses the pod's service account, or the file that KUBECONFIG names.
func openSecrets(ctx context.Context, namespace, driver string) (credstore.Store, error) {
	if namespace == "" {
		data, err := os.ReadFile(namespaceFile)
		if err != nil {
			return nil, fmt.Errorf("--credential-store kubernetes: this is not a pod; name the namespace, as in kubernetes:cosi-system: %w", err)
		}
		namespace = strings.TrimSpace(string(data))
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, fmt.Errorf("--credential-store kubernetes: %w", err)
	}
	client, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("--credential-store kubernetes: %w", err)
	}
	return kube.Open(ctx, client.Secrets(namespace), driver)
}
