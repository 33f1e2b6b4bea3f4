// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// Names lists the names of the objects of a COSI kind, in the user's namespace if the kind is namespaced. It
// returns none for an empty kind.
func (p *Plugin) Names(ctx context.Context, kind string) ([]string, error) {
	namespace, err := p.Namespace()
	if err != nil || kind == "" {
		return nil, err
	}
	c, err := p.Client()
	if err != nil {
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(cosiapi.GroupVersion().WithKind(kind + "List"))
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list names for completion: %w", err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}
