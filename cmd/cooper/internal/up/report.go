// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cooper-cosi/cooper/cmd/cooper/internal/rundir"
	"github.com/cooper-cosi/cooper/cmd/cooper/internal/sample"
	"github.com/cooper-cosi/cooper/internal/shellenv"
)

// report prints what runs and how to use it, and publishes it for other commands.
func (r *running) report(ctx context.Context, documents []sample.Document) error {
	secrets := accessSecrets(documents)
	var names []string
	for _, key := range secrets {
		names = append(names, key.Name)
	}
	namespace := r.options.Namespace
	if len(secrets) > 0 {
		namespace = secrets[0].Namespace
	}
	variables := map[string]string{"KUBECONFIG": r.options.Dir.Kubeconfig()}
	if len(secrets) > 0 {
		if err := r.awaitCurrent(ctx, secrets[0]); err != nil {
			return err
		}
		if err := addSecret(ctx, r.system.Client(), secrets[0], variables); err != nil {
			return err
		}
	}
	err := r.lease.Publish(func(i *rundir.Info) { i.Ready, i.Namespace, i.Secrets = true, namespace, names })
	if err != nil {
		return err
	}
	return r.print(documents, variables)
}

func (r *running) print(documents []sample.Document, variables map[string]string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "\nCooper is up after %s. Press Ctrl-C to stop it.\n\n", time.Since(r.began).Round(100*time.Millisecond))
	table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	fmt.Fprintf(table, "Kubernetes API\t%s\n", r.system.ControlPlane().Config().Host)
	fmt.Fprintf(table, "kubeconfig\t%s\n", r.options.Dir.Kubeconfig())
	for _, s := range r.stores {
		fmt.Fprintf(table, "%s\t%s\n", s.name, s.url)
		fmt.Fprintf(table, "driver %s\t%s\n", s.driver.Name, r.system.Endpoint(s.driver.Name))
	}
	fmt.Fprintf(table, "page\t%s\n", r.pageURL)
	fmt.Fprintf(table, "logs\t%s\n", r.options.Dir.Log())
	for _, d := range documents {
		if kind := d.Object.GetKind(); kind == "BucketClaim" || kind == "BucketAccess" {
			fmt.Fprintf(table, "%s\t%s/%s is provisioned\n", kind, d.Object.GetNamespace(), d.Object.GetName())
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	fmt.Fprintf(&text, "\nIn another shell: eval \"$(%s env%s)\"\nThis sets PATH, KUBECACHEDIR, and:\n\n", shellenv.Quote(os.Args[0]), rundir.Option(r.options.Dir.Path()))
	if err := shellenv.Write(&text, variables); err != nil {
		return err
	}
	if _, err := fmt.Fprint(r.options.Out, text.String()); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}

// accessSecrets returns the Secrets that the accesses of the sample request.
func accessSecrets(documents []sample.Document) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, d := range documents {
		if d.Object.GetKind() != "BucketAccess" {
			continue
		}
		claims, _, err := unstructured.NestedSlice(d.Object.Object, "spec", "bucketClaims")
		if err != nil {
			continue // impossible: the API server has accepted the object
		}
		for _, claim := range claims {
			fields, _ := claim.(map[string]any)
			name, _ := fields["accessSecretName"].(string)
			key := types.NamespacedName{Namespace: d.Object.GetNamespace(), Name: name}
			if name != "" && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}
