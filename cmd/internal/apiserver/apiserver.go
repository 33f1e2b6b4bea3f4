// SPDX-License-Identifier: Apache-2.0

// Package apiserver is the way of a command to the Kubernetes API server: its
// flag, its configuration and the log of the libraries behind it. It must not
// make requests.
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

// An Access is what the flag of a command came to.
type Access struct{ kubeconfig string }

// Flags defines --kubeconfig.
func (a *Access) Flags(f *pflag.FlagSet) {
	f.StringVar(&a.kubeconfig, "kubeconfig", "", "file that says how to reach the API server; empty means the cluster this runs in")
	serve.NameVariable(f.Lookup("kubeconfig"), clientcmd.RecommendedConfigPathEnvVar)
}

// Config says how to reach the API server: by the kubeconfig file or, if there
// is none, as the Pod's ServiceAccount.
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
		return nil, errors.New("this does not run in a Pod: say how to reach the API server with --kubeconfig FILE")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot reach the API server as this Pod: %w", err)
	}
	return unlimited(config), nil
}

// namespaceFile is where a Pod finds the name of its own namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// OwnNamespace returns the namespace of the Pod that this runs in.
func OwnNamespace() (string, error) {
	data, err := os.ReadFile(namespaceFile)
	if err != nil {
		return "", fmt.Errorf("this is not a Pod with a token: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// unlimited lets requests go out as they come. The API server has priority and
// fairness to protect itself; the default of client-go, five requests a second,
// would make a burst of claims wait for minutes.
func unlimited(config *rest.Config) *rest.Config {
	config.QPS = -1
	return config
}

// LogTo hands the log of a process to the Kubernetes libraries, which print to
// standard error in a form of their own otherwise, and returns it in their type.
func LogTo(log *slog.Logger) logr.Logger {
	logger := logr.FromSlogHandler(log.Handler())
	klog.SetLogger(logger)
	ctrllog.SetLogger(logger)
	return logger
}
