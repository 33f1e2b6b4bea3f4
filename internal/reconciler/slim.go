// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"strings"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// Slim is a cache transform that saves memory. It removes managed fields, which no component reads. It interns strings
// that thousands of objects share. It clips lists, for which the decoder allocates space for four items. It does not
// change values that are not API objects, such as the tombstone of a missed deletion, whose object was transformed
// before.
func Slim(cached any) (any, error) {
	obj, ok := cached.(client.Object)
	if !ok {
		return cached, nil
	}
	obj.SetManagedFields(nil)
	finalizers := clipped(obj.GetFinalizers())
	for i := range finalizers {
		share(&finalizers[i])
	}
	obj.SetFinalizers(finalizers)
	switch o := obj.(type) {
	case *cosiapi.BucketClaim:
		share(&o.Kind, &o.APIVersion, &o.Spec.BucketClassName)
		o.Spec.Protocols, o.Status.Protocols = clipped(o.Spec.Protocols), clipped(o.Status.Protocols)
		o.Status.Conditions = slim(o.Status.Conditions)
	case *cosiapi.Bucket:
		share(&o.Kind, &o.APIVersion, &o.Spec.DriverName, &o.Spec.BucketClaimRef.Namespace)
		o.Spec.Protocols, o.Status.Protocols = clipped(o.Spec.Protocols), clipped(o.Status.Protocols)
		o.Status.Conditions = slim(o.Status.Conditions)
	case *cosiapi.BucketAccess:
		share(&o.Kind, &o.APIVersion, &o.Spec.BucketAccessClassName, &o.Status.DriverName)
		o.Spec.BucketClaims, o.Status.AccessedBuckets = clipped(o.Spec.BucketClaims), clipped(o.Status.AccessedBuckets)
		o.Status.Conditions = slim(o.Status.Conditions)
	}
	return obj, nil
}

func slim(conditions []metav1.Condition) []metav1.Condition {
	for i := range conditions {
		c := &conditions[i]
		share(&c.Type, &c.Reason)
		if !strings.Contains(c.Message, `"`) { // a message with quotes names an object and is therefore unique
			share(&c.Message)
		}
		c.Status = metav1.ConditionStatus(unique.Make(string(c.Status)).Value())
	}
	return clipped(conditions)
}

// clipped returns a list without spare capacity. An empty list is returned unchanged.
func clipped[T any](list []T) []T {
	if len(list) == 0 || len(list) == cap(list) {
		return list
	}
	exact := make([]T, len(list))
	copy(exact, list)
	return exact
}

func share(texts ...*string) {
	for _, text := range texts {
		*text = unique.Make(*text).Value()
	}
}
