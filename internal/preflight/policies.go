// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Policies returns the names of the admission policies that every installation has. Each has a binding of the same
// name.
func Policies() []string {
	return append(ProtectionPolicies(), "cosi-sidecar-driver", "cosi-sidecar-secrets", "cosi-crd-deletion")
}

// ProtectionPolicies returns the policies that reserve COSI's finalizer and annotations for COSI.
func ProtectionPolicies() []string { return []string{"cosi-protection", "cosi-protection-create"} }

// MissingPolicies returns those of the named admission policies that have no effect, because the policy or its binding
// does not exist, or because the binding does not deny requests. The error satisfies apierrors.IsForbidden if the user
// is not allowed to read them.
func MissingPolicies(ctx context.Context, reader client.Reader, names ...string) ([]string, error) {
	var missing []string
	for _, name := range names {
		policy, binding := &admissionv1.ValidatingAdmissionPolicy{}, &admissionv1.ValidatingAdmissionPolicyBinding{}
		err := reader.Get(ctx, client.ObjectKey{Name: name}, policy)
		if err == nil {
			err = reader.Get(ctx, client.ObjectKey{Name: name}, binding)
		}
		denies := binding.Spec.PolicyName == name && slices.Contains(binding.Spec.ValidationActions, admissionv1.Deny)
		switch {
		case apierrors.IsNotFound(err), err == nil && !denies:
			missing = append(missing, name)
		case err != nil:
			return nil, fmt.Errorf("read admission policy %q: %w", name, err)
		}
	}
	return missing, nil
}
