// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/kinds"
	"github.com/cooper-cosi/cooper/internal/scope"
	"github.com/cooper-cosi/cooper/sidecar/internal/bucketaccess"
)

// CacheOptions limits the cache of a manager to the objects of one driver, by
// the selectable fields of the CRDs, to access Secrets, by their label, and to
// the namespaces in scope. Buckets have no namespace: those of other namespaces
// are in the cache and left alone.
func CacheOptions(driverName string, s scope.Scope) cache.Options {
	options := cache.Options{
		DefaultTransform: kinds.Slim,
		ByObject: map[client.Object]cache.ByObject{
			&cosiapi.Bucket{}:       {Field: fields.OneTermEqualSelector("spec.driverName", driverName)},
			&cosiapi.BucketAccess{}: {Field: fields.OneTermEqualSelector("status.driverName", driverName)},
			&corev1.Secret{}:        {Label: accessSecrets(selection.Exists), Transform: bucketaccess.Slim},
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

// accessSecrets selects the Secrets that have, or do not have, the label of
// access Secrets.
func accessSecrets(has selection.Operator) labels.Selector {
	label, err := labels.NewRequirement(cosiapi.AccessSecretLabel, has, nil)
	if err != nil {
		return labels.Nothing() // a constant, which is valid
	}
	return labels.NewSelector().Add(*label)
}
