// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cooper-cosi/cooper/cmd/internal/tree"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/sanity"
)

// startPage serves the demo page until ctx ends.
func (r *running) startPage(ctx context.Context) error {
	port := r.options.portOf("page", r.options.PagePort)
	listener, err := tree.Listen(ctx, address(port))
	if err != nil {
		return err
	}
	if err := r.options.keepPort("page", "http://"+listener.Addr().String()); err != nil {
		return err
	}
	probers := sanity.ProberOptions{}
	for _, s := range r.stores {
		if s.name == gcsName { // its Secrets contain no endpoint
			probers.GCSEndpoint = s.url
		}
	}
	served := tree.NewPage(tree.PageOptions{
		Client: r.system.Client(), Namespace: metav1.NamespaceAll, System: deploy.SystemNamespace, Spans: r.spans, Probers: sanity.Probers(probers),
	})
	r.pageURL = served.URL(listener.Addr())
	go func() { _ = served.Serve(ctx, listener) }() // the page is optional
	return nil
}
