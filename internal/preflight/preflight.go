// SPDX-License-Identifier: Apache-2.0

// Package preflight checks whether an API server has what a component needs: the kinds of api/v1alpha2, without which it
// cannot start, and the admission policies. It must not write.
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

// A MapperProvider is how a manager gets its mapper of kinds.
type MapperProvider func(*rest.Config, *http.Client) (meta.RESTMapper, error)

// Kinds looks up kinds of api/v1alpha2, such as BucketClaim, in an API server.
// If it has all of them, the manager that is made next should use the mapper
// that found them, so that nothing is asked twice.
func Kinds(config *rest.Config, kinds ...string) (MapperProvider, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client for the API server at %s: %w", config.Host, err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, client)
	if err != nil {
		return nil, fmt.Errorf("mapper for the API server at %s: %w", config.Host, err)
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
			return fmt.Errorf("the API server at %s refuses to list its kinds: %w", host, err)
		default:
			return fmt.Errorf("cannot reach the API server at %s: %w", host, err)
		}
	}
	return nil
}
