// SPDX-License-Identifier: Apache-2.0

// Package preflight checks whether an API server serves the kinds of api/v1alpha2 that a component needs to start, and
// whether the admission policies are in effect. It only reads.
package preflight

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// A MapperProvider creates the REST mapper of a manager.
type MapperProvider func(*rest.Config, *http.Client) (meta.RESTMapper, error)

// Kinds checks that an API server has all given kinds of api/v1alpha2, such as BucketClaim. It returns a provider of
// the REST mapper that found them. Pass the provider to the manager to avoid a second discovery.
func Kinds(config *rest.Config, kinds ...string) (MapperProvider, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for the API server at %s: %w", config.Host, err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, client)
	if err != nil {
		return nil, fmt.Errorf("create a REST mapper for the API server at %s: %w", config.Host, err)
	}
	if err := look(mapper, config.Host, kinds); err != nil {
		return nil, err
	}
	return func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil }, nil
}

func look(mapper meta.RESTMapper, host string, kinds []string) error {
	for _, kind := range kinds {
		known := cosiapi.GroupVersion().WithKind(kind)
		_, err := mapper.RESTMapping(known.GroupKind(), known.Version)
		var status apierrors.APIStatus
		switch {
		case err == nil:
		case meta.IsNoMatchError(err):
			return fmt.Errorf("the API server at %s has no kind %s in %s: install the CRDs of COSI there first", host, kind, known.GroupVersion())
		case errors.As(err, &status):
			return fmt.Errorf("the API server at %s rejected the request for its kinds: %w", host, err)
		default:
			return fmt.Errorf("cannot reach the API server at %s: %w", host, err)
		}
	}
	return nil
}
