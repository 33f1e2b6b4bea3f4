// SPDX-License-Identifier: Apache-2.0

// Package apiserver contains the code with which commands configure their Kubernetes clients: the
// --kubeconfig flag, the client configuration, and the log of the client libraries. It sends no requests to
// the API server.
package apiserver

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cooper-cosi/cooper/cmd/internal/serve"
)

// An Access is the value of the flag.
type Access struct{ kubeconfig string }

// Flags defines --kubeconfig.
func (a *Access) Flags(f *pflag.FlagSet) {
	f.StringVar(&a.kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster; empty means the in-cluster configuration")
	serve.NameVariable(f.Lookup("kubeconfig"), clientcmd.RecommendedConfigPathEnvVar)
}

// Config returns the client configuration, from the kubeconfig file or, if there is none, for the Pod's
// ServiceAccount.
func (a *Access) Config() (*rest.Config, error) {
	if a.kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", a.kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("--kubeconfig: %w", err)
		}
		return unlimited(config), nil
	}
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("not running in a Pod: pass the kubeconfig file of the cluster with --kubeconfig")
	}
	if err != nil {
		return nil, fmt.Errorf("read the in-cluster configuration: %w", err)
	}
	return unlimited(config), nil
}

// namespaceFile is the file in which a Pod finds its own namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// OwnNamespace returns the namespace of the Pod in which this process runs.
func OwnNamespace() (string, error) {
	data, err := os.ReadFile(namespaceFile)
	if err != nil {
		return "", fmt.Errorf("not running in a Pod with a ServiceAccount token: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// unlimited disables client-side rate limiting. The API server protects itself with API Priority and
// Fairness. With client-go's default of five requests per second, a burst of claims would wait for minutes.
func unlimited(config *rest.Config) *rest.Config {
	config.QPS = -1
	return config
}

// LogTo sets the logger of the Kubernetes libraries, which otherwise print to standard error in their own
// format, and returns it as a logr.Logger.
func LogTo(log *slog.Logger) logr.Logger {
	logger := logr.FromSlogHandler(log.Handler())
	klog.SetLogger(logger)
	ctrllog.SetLogger(logger)
	return logger
}
