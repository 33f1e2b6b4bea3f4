// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// Stranded reports whether a Secret cannot go because of our finalizer although
// nothing on it says any more for which access that is.
func Stranded(secret metav1.Object) bool {
	return secret.GetDeletionTimestamp() != nil && stripped(secret)
}

// stripped reports whether a Secret has our finalizer, and nothing on it says for
// which access. Users may write Secrets, and take off what mark put on.
func stripped(secret metav1.Object) bool {
	name, uid := madeFor(secret)
	return cosiapi.HasProtection(secret) && (name == "" || uid == "")
}

// releaseStripped takes our finalizer off a stripped Secret, unless somebody else needs it:
// another access that names it, another driver that is said to have written it, or
// the revocation of an access that is gone, as a record proves. Otherwise it tells
// nobody anything, and would hold its namespace for ever. last is the access that
// the Secret may go with, if any. Unless the finalizer is off it returns a
// *TakenError.
func (s Secrets) releaseStripped(ctx context.Context, secret *corev1.Secret, last types.UID) error {
	taken := &TakenError{Name: secret.Name, Why: "belongs to " + ownerOf(secret) + " and not to this BucketAccess"}
	if driver := writer(secret); secret.Type != corev1.SecretTypeOpaque || driver != "" && driver != s.keeper.Driver {
		return taken
	}
	list := &cosiapi.BucketAccessList{}
	if err := s.store.Live.List(ctx, list, client.InNamespace(secret.Namespace)); err != nil {
		return fmt.Errorf("list the BucketAccesses in namespace %q: %w", secret.Namespace, err)
	}
	for i := range list.Items {
		if other := &list.Items[i]; other.UID != last && uses(other, secret.Name) {
			return taken
		}
	}
	switch left, err := s.recorded(ctx, secret); {
	case err != nil:
		return err
	case left != nil && left.UID != last:
		s.keeper.Inherit(left)
		taken.Why, taken.Held = fmt.Sprintf("was left by BucketAccess %q, which is being revoked", left.Name), true
		return taken
	default:
		return s.removeProtection(ctx, secret)
	}
}

// uses reports whether an access was handed to a sidecar and names a Secret.
func uses(a *cosiapi.BucketAccess, name string) bool {
	for _, claim := range a.Spec.BucketClaims {
		if claim.AccessSecretName == name {
			return a.Status.DriverName != ""
		}
	}
	return false
}

// writer returns the driver whose sidecar a Secret says that it is of: nobody else
// can tell whether what it says is proven.
func writer(secret *corev1.Secret) string {
	if driver := secret.Annotations[driverAnnotation]; driver != "" {
		return driver
	}
	var r record
	if json.Unmarshal([]byte(secret.Annotations[recordAnnotation]), &r) != nil {
		return ""
	}
	return r.Status.DriverName
}
