// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/internal/tree"
)

// complete offers the kinds, then the names of what there is.
func (o *options) complete(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	kind, _, ok := strings.Cut(typed, "/")
	if !ok {
		return []string{"claim/", "access/", "bucket/"}, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	names, err := o.names(c.Context(), kindOf(kind))
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for i, name := range names {
		names[i] = kind + "/" + name
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// names lists the objects of a kind in the user's namespace.
func (o *options) names(ctx context.Context, kind string) ([]string, error) {
	namespace, err := o.Namespace()
	if err != nil || kind == "" {
		return nil, err
	}
	c, err := o.Client()
	if err != nil {
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(cosiapi.GroupVersion().WithKind(kind + "List"))
	if kind == tree.KindBucket {
		namespace = metav1.NamespaceAll
	}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list what there is: %w", err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}
