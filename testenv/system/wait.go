// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// WaitCondition polls object, a BucketClaim, Bucket or BucketAccess with its name set, until its condition
// has the status for its generation. If ctx ends, the error lists all conditions.
func WaitCondition(ctx context.Context, c client.Client, object client.Object, condition string, status metav1.ConditionStatus) error {
	err := controlplane.Until(ctx, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return fmt.Errorf("cannot read the object: %w", err)
		}
		conditions, err := conditionsOf(object)
		if err != nil {
			return err
		}
		found := apimeta.FindStatusCondition(conditions, condition)
		if found == nil || found.Status != status || found.ObservedGeneration != object.GetGeneration() {
			return fmt.Errorf("conditions: %s", describe(conditions))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%T %s is not %s=%s: %w", object, client.ObjectKeyFromObject(object), condition, status, err)
	}
	return nil
}

// WaitGone polls object until it no longer exists or ctx ends.
func WaitGone(ctx context.Context, c client.Client, object client.Object) error {
	err := controlplane.Until(ctx, func(ctx context.Context) error {
		err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return fmt.Errorf("cannot read the object: %w", err)
		default:
			conditions, _ := conditionsOf(object)
			return fmt.Errorf("deleted at %v, finalizers %q, conditions: %s",
				object.GetDeletionTimestamp(), object.GetFinalizers(), describe(conditions))
		}
	})
	if err != nil {
		return fmt.Errorf("%T %s still exists: %w", object, client.ObjectKeyFromObject(object), err)
	}
	return nil
}

func conditionsOf(object client.Object) ([]metav1.Condition, error) {
	switch o := object.(type) {
	case *cosiapi.BucketClaim:
		return o.Status.Conditions, nil
	case *cosiapi.Bucket:
		return o.Status.Conditions, nil
	case *cosiapi.BucketAccess:
		return o.Status.Conditions, nil
	default:
		return nil, fmt.Errorf("%T is not a BucketClaim, Bucket or BucketAccess", object)
	}
}

func describe(conditions []metav1.Condition) string {
	if len(conditions) == 0 {
		return "none"
	}
	lines := make([]string, 0, len(conditions))
	for _, c := range conditions {
		lines = append(lines, fmt.Sprintf("%s=%s (%s: %s)", c.Type, c.Status, c.Reason, c.Message))
	}
	return strings.Join(lines, ", ")
}
