// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// NewScheme returns a scheme with the kinds of Kubernetes, of api/v1alpha2 and of api/objectbucket.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), cosiapi.AddToScheme(scheme), objectbucket.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("register the API types: %w", err)
	}
	return scheme, nil
}
