// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// Conditions returns the conditions of a Bucket, BucketClaim or BucketAccess.
func Conditions(obj client.Object) []metav1.Condition {
	switch o := obj.(type) {
	case *cosiapi.Bucket:
		return o.Status.Conditions
	case *cosiapi.BucketClaim:
		return o.Status.Conditions
	case *cosiapi.BucketAccess:
		return o.Status.Conditions
	}
	return nil
}

// Condition returns the condition of a type, or an empty condition if there is none.
func Condition(obj client.Object, conditionType string) metav1.Condition {
	if c := meta.FindStatusCondition(Conditions(obj), conditionType); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// UntilCondition waits until an object has a condition of the wanted type, status and reason for its current
// generation, and returns the message.
func UntilCondition(e *Env, obj client.Object, want metav1.Condition) string {
	e.tb.Helper()
	var message string
	Until(e, obj, fmt.Sprintf("%T %s has %s=%s (%s)", obj, obj.GetName(), want.Type, want.Status, want.Reason), func(o client.Object) error {
		c := Condition(o, want.Type)
		if c.Status != want.Status || c.Reason != want.Reason {
			return fmt.Errorf("the condition is %s (%s): %s", c.Status, c.Reason, c.Message)
		}
		if c.ObservedGeneration != o.GetGeneration() {
			return fmt.Errorf("observedGeneration of the condition is %d, want generation %d", c.ObservedGeneration, o.GetGeneration())
		}
		message = c.Message
		return nil
	})
	return message
}
