// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// changed lets pass the events of an object that matter to others, which look at no more of it than seen returns. One
// that came in the place of another, unseen by the watch, is another.
func changed[T client.Object](seen func(T) any) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(T)
		after, also := e.ObjectNew.(T)
		return !ok || !also || before.GetUID() != after.GetUID() || !reflect.DeepEqual(seen(before), seen(after))
	}}
}

// freed is changed for what frees a name or an account for other accesses. One that is new frees nothing, or many that
// want one name would wake each other at every start.
func freed(seen func(*cosiapi.BucketAccess) any) predicate.Predicate {
	return predicate.And(changed(seen), predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool {
		return e.Object.GetDeletionTimestamp() != nil
	}})
}
