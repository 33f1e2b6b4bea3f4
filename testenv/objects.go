// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/deploy"
)

// Create creates an object as administrator. A cluster-scoped object is deleted at the end of the test. An
// error fails the test.
func (e *Env) Create(obj client.Object) {
	e.tb.Helper()
	if err := e.Client.Create(e.tb.Context(), obj); err != nil {
		e.tb.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
	}
	if obj.GetNamespace() == "" {
		e.tb.Cleanup(func() {
			if err := client.IgnoreNotFound(e.Client.Delete(context.WithoutCancel(e.tb.Context()), obj)); err != nil {
				e.tb.Errorf("delete %T %s: %v", obj, obj.GetName(), err)
			}
		})
	}
}

// Delete deletes an object as administrator without waiting for the deletion to complete.
func (e *Env) Delete(obj client.Object) {
	e.tb.Helper()
	if err := e.Client.Delete(e.tb.Context(), obj); err != nil {
		e.tb.Fatalf("delete %T %s: %v", obj, obj.GetName(), err)
	}
}

// Gone waits until an object does not exist.
func (e *Env) Gone(obj client.Object) {
	e.tb.Helper()
	e.Eventually(fmt.Sprintf("%T %s is deleted", obj, obj.GetName()), func(ctx context.Context) error {
		err := e.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the object: %w", err)
		}
		return fmt.Errorf("the object still exists, deletionTimestamp %v, finalizers %v", obj.GetDeletionTimestamp(), obj.GetFinalizers())
	})
}

// Get reads an object again and returns it.
func Get[T client.Object](e *Env, obj T) T {
	e.tb.Helper()
	if err := e.Client.Get(e.tb.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		e.tb.Fatalf("get %T %s: %v", obj, obj.GetName(), err)
	}
	return obj
}

// Change reads an object again, lets change modify it, and writes it. It retries on conflicts.
func Change[T client.Object](e *Env, obj T, change func(T)) {
	e.tb.Helper()
	e.Eventually("the change of "+obj.GetName()+" is stored", func(ctx context.Context) error {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return fmt.Errorf("read the object: %w", err)
		}
		change(obj)
		return e.Client.Update(ctx, obj)
	})
}

// ChangeStatus is Change for the status subresource.
func ChangeStatus[T client.Object](e *Env, obj T, change func(T)) {
	e.tb.Helper()
	e.Eventually("the status of "+obj.GetName()+" is stored", func(ctx context.Context) error {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return fmt.Errorf("read the object: %w", err)
		}
		change(obj)
		return e.Client.Status().Update(ctx, obj)
	})
}

// Until waits until check returns nil for an object, and returns the object. The error of check describes the
// difference.
func Until[T client.Object](e *Env, obj T, what string, check func(T) error) T {
	e.tb.Helper()
	var last error
	e.Eventually(what, func(ctx context.Context) error {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return errors.Join(err, last) // at the deadline, the earlier result is more informative
		}
		last = check(obj)
		return last
	})
	return obj
}

// ApplyClusterRoles creates the ClusterRoles of deploy/rbac and the policy that restricts them, which all
// tests of a control plane share. It does not create the Roles and Leases of an installation.
func (e *Env) ApplyClusterRoles() {
	e.tb.Helper()
	manifests, err := deploy.RBAC()
	if err != nil {
		e.tb.Fatal(err)
	}
	for name, manifest := range manifests {
		if err := e.applyClusterRoles(manifest); err != nil {
			e.tb.Fatalf("apply %s: %v", name, err)
		}
	}
}

func (e *Env) applyClusterRoles(manifest []byte) error {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		obj := &unstructured.Unstructured{}
		err := decoder.Decode(obj)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("decode the manifest: %w", err)
		}
		if obj.GetNamespace() != "" {
			continue
		}
		if err := e.Client.Create(e.tb.Context(), obj); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
	}
}
