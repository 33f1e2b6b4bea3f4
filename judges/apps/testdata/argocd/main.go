// SPDX-License-Identifier: Apache-2.0

// Command argocd reports how Argo CD sees objects. It reads a JSON array of objects, and writes a JSON array of results.
// KUBECONFIG selects the cluster with Argo CD's ConfigMap. TestArgoCD in judges/apps builds it with the dependencies of
// Argo CD.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/health"
	"github.com/argoproj/argo-cd/v3/util/argo/normalizers"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/argoproj/argo-cd/v3/util/settings"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// A result is what Argo CD shows of an object, and the parts of the object that it compares with the manifest.
type result struct {
	Status, Message string
	Compared        map[string]any
}

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "argocd:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	overrides, err := settings.NewSettingsManager(ctx, clients, "argocd").GetResourceOverrides()
	if err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	normalizer, err := normalizers.NewIgnoreNormalizer(nil, overrides, normalizers.IgnoreNormalizerOpts{})
	if err != nil {
		return fmt.Errorf("read the ignored differences: %w", err)
	}
	var objects []map[string]any
	if err := json.NewDecoder(in).Decode(&objects); err != nil {
		return fmt.Errorf("read the objects: %w", err)
	}
	results := []result{}
	for _, content := range objects {
		object := &unstructured.Unstructured{Object: content}
		status, err := health.GetResourceHealth(object, lua.ResourceHealthOverrides(overrides))
		if err != nil {
			return err
		}
		if status == nil {
			return fmt.Errorf("%s has no health check", object.GroupVersionKind())
		}
		if err := normalizer.Normalize(object); err != nil {
			return fmt.Errorf("ignore differences of %s: %w", object.GetName(), err)
		}
		results = append(results, result{Status: string(status.Status), Message: status.Message, Compared: object.Object})
	}
	return json.NewEncoder(out).Encode(results)
}
