// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/scope"
)

// CacheOptions limits the cache of a manager to the objects of one driver, by
// the selectable fields of the CRDs, and to the namespaces in scope. Buckets
// have no namespace: those of other namespaces are in the cache and left alone.
func CacheOptions(driverName string, s scope.Scope) cache.Options {
	options := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&cosiapi.Bucket{}:       {Field: fields.OneTermEqualSelector("spec.driverName", driverName)},
			&cosiapi.BucketAccess{}: {Field: fields.OneTermEqualSelector("status.driverName", driverName)},
		},
	}
	if len(s.Namespaces) == 0 {
		return options
	}
	options.DefaultNamespaces = map[string]cache.Config{}
	for _, namespace := range s.Namespaces {
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}
