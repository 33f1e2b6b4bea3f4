// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Manifest returns an object as a YAML manifest. Its apiVersion and kind must be set.
func Manifest(object client.Object) (string, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return "", fmt.Errorf("encode %T as YAML: %w", object, err)
	}
	if metadata, ok := content["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	text, err := yaml.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("encode %T as YAML: %w", object, err)
	}
	return string(text), nil
}
