// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// newer returns a newer API server, which has an optional field "future" in the spec and status of BucketAccesses and
// in the items of both lists of the status. Its status has no default.
func newer(t *testing.T) *testenv.Env {
	t.Helper()
	env := testenv.Start(t, testenv.Options{Private: true})
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName("bucketaccesses.objectstorage.k8s.io")
	testenv.Change(env, crd, func(crd *unstructured.Unstructured) {
		versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil {
			t.Fatal(err)
		}
		version, _ := versions[0].(map[string]any)
		const properties = "properties"
		root := []string{"schema", "openAPIV3Schema", properties}
		for _, path := range [][]string{
			{"spec", properties},
			{"status", properties},
			{"status", properties, "conditions", "items", properties},
			{"status", properties, "accessedBuckets", "items", properties},
		} {
			field := append(append(append([]string{}, root...), path...), "future")
			if err := unstructured.SetNestedField(version, "string", append(field, "type")...); err != nil {
				t.Fatal(err)
			}
		}
		unstructured.RemoveNestedField(version, append(root, "status", "default")...)
		unstructured.RemoveNestedField(version, append(root, "status", properties, "conditions", "default")...)
		if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
			t.Fatal(err)
		}
	})
	env.Eventually("the API server serves the fields", func(ctx context.Context) error {
		probe := access("probe-" + env.Namespace())
		probe.SetNamespace("default")
		if err := unstructured.SetNestedField(probe.Object, "x", "spec", "future"); err != nil {
			return err
		}
		if err := env.Client.Create(ctx, probe, client.DryRunAll); err != nil {
			return err
		}
		if value, _, _ := unstructured.NestedString(probe.Object, "spec", "future"); value != "x" {
			return errors.New("it drops them")
		}
		return nil
	})
	return env
}

func access(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "objectstorage.k8s.io/v1alpha2", "kind": "BucketAccess",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"bucketAccessClassName": "class", "protocol": "S3",
			"bucketClaims": []any{map[string]any{"bucketClaimName": "c1", "accessSecretName": "s1", "accessModes": map[string]any{"objectData": "ReadWrite"}}},
		},
	}}
}

// fixture creates an access with a status and returns it as decoded by Go.
func fixture(t *testing.T, env *testenv.Env, name string, status map[string]any) (reconciler.Store, *cosiapi.BucketAccess) {
	t.Helper()
	stored := access(name)
	stored.SetNamespace(env.Namespace())
	if err := unstructured.SetNestedField(stored.Object, "spec", "spec", "future"); err != nil {
		t.Fatal(err)
	}
	env.Create(stored)
	if status != nil {
		stored.Object["status"] = status
		if err := env.Client.Status().Update(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
	}
	a := &cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{Namespace: stored.GetNamespace(), Name: name}}
	return reconciler.NewStore(env.Client, env.Client), testenv.Get(env, a)
}

// rich returns a status with an unknown field in every possible place.
func rich() map[string]any {
	return map[string]any{
		"future": "status", "driverName": "d", "authenticationType": "Key",
		"conditions": []any{
			condition("A", "False"), condition("B", "False"), condition("C", "False"),
		},
		"accessedBuckets": []any{map[string]any{"bucketClaimName": "c1", "bucketName": "b1", "bucketID": "1", "future": "bucket c1"}},
	}
}

func condition(kind, status string) map[string]any {
	return map[string]any{
		"type": kind, "status": status, "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z", "future": "condition " + kind,
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	env := newer(t)
	everything := []string{"spec", "status", "condition A", "condition B", "condition C", "bucket c1"}
	for name, tc := range map[string]struct {
		name   string
		status map[string]any
		// meanwhile is the write of another client after the object was read.
		meanwhile func(*cosiapi.BucketAccess)
		write     func(context.Context, reconciler.Store, *cosiapi.BucketAccess) error
		refused   func(error) bool
		// unknown are the fields that the Go type does not have and that must not change.
		unknown []string
	}{
		"a change of the status keeps unknown fields": {
			name: "status", status: rich(), unknown: everything,
			write: func(ctx context.Context, s reconciler.Store, a *cosiapi.BucketAccess) error {
				_, err := s.PatchStatus(ctx, a, func() {
					a.Status.AccountID = "account"
					conditions.Set(&a.Status.Conditions, conditions.Change{Type: "B", Status: metav1.ConditionTrue, Reason: "New"})
					conditions.Set(&a.Status.Conditions, conditions.Change{Type: "D", Status: metav1.ConditionTrue, Reason: "New"})
				})
				return err
			},
		},
		"removing a condition keeps the others": {
			name: "fewer", status: rich(), unknown: []string{"spec", "status", "condition B", "condition C", "bucket c1"},
			write: func(ctx context.Context, s reconciler.Store, a *cosiapi.BucketAccess) error {
				_, err := s.PatchStatus(ctx, a, func() { a.Status.Conditions = a.Status.Conditions[1:] })
				return err
			},
		},
		"a change of metadata keeps unknown fields": {
			name: "metadata", status: rich(), unknown: everything,
			write: func(ctx context.Context, s reconciler.Store, a *cosiapi.BucketAccess) error {
				for _, change := range []func(){
					func() { cosiapi.AddProtection(a) },
					func() { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "1") },
					func() { cosiapi.RemoveAnnotation(a, cosiapi.RotateAnnotation) },
					func() { cosiapi.RemoveProtection(a) },
				} {
					if changed, err := s.Patch(ctx, a, change); err != nil || !changed {
						return errors.Join(err, errors.New("every one of them is a change"))
					}
				}
				return nil
			},
		},
		"the first status is added": {
			name: "first", unknown: []string{"spec"},
			write: handOff,
		},
		"a status of which nothing is known is kept": {
			name: "unknown", status: map[string]any{"future": "status"}, unknown: []string{"spec", "status"},
			write: handOff,
		},
		"a write to an older version is a conflict": {
			name: "older", status: rich(), unknown: everything, refused: apierrors.IsConflict,
			meanwhile: func(a *cosiapi.BucketAccess) { a.Labels = map[string]string{"a": "b"} },
			write: func(ctx context.Context, s reconciler.Store, a *cosiapi.BucketAccess) error {
				_, err := s.PatchStatus(ctx, a, func() { a.Status.AccountID = "account" })
				return err
			},
		},
		"a write to a removed item is a conflict": {
			name: "gone", status: rich(), unknown: everything, refused: apierrors.IsConflict,
			meanwhile: func(a *cosiapi.BucketAccess) { a.Finalizers = nil },
			write: func(ctx context.Context, s reconciler.Store, a *cosiapi.BucketAccess) error {
				a.Finalizers = []string{"cosi.io/a", "cosi.io/b"} // as read earlier
				_, err := s.Patch(ctx, a, func() { a.Finalizers = a.Finalizers[1:] })
				return err
			},
		},
		"an object that the API server finds invalid stays so": {
			name: "invalid", status: rich(), unknown: everything, refused: apierrors.IsInvalid,
			write: func(ctx context.Context, s reconciler.Store, a *cosiapi.BucketAccess) error {
				_, err := s.Patch(ctx, a, func() { a.Spec.Protocol = "FTP" })
				return err
			},
		},
		"an object that was never read is not written": {
			name: "unread", status: rich(), unknown: everything, refused: func(err error) bool { return !apierrors.IsConflict(err) },
			write: func(ctx context.Context, s reconciler.Store, a *cosiapi.BucketAccess) error {
				a.ResourceVersion = ""
				_, err := s.PatchStatus(ctx, a, func() { a.Status.AccountID = "account" })
				return err
			},
		},
		"an outcome is recorded although a label changed": {
			name: "outcome", status: rich(), unknown: everything,
			meanwhile: func(a *cosiapi.BucketAccess) { a.Labels = map[string]string{"a": "b"} },
			write: func(ctx context.Context, s reconciler.Store, a *cosiapi.BucketAccess) error {
				err := s.RecordStatus(ctx, a, sameProtocol, func() { a.Status.AccountID = "account" })
				if a.Labels["a"] != "b" || a.Status.AccountID != "account" {
					return errors.Join(err, errors.New("the copy in hand is not the one that was written"))
				}
				return err
			},
		},
		"a result for an outdated request is a conflict": {
			name: "another", status: rich(), unknown: everything, refused: apierrors.IsConflict,
			meanwhile: func(a *cosiapi.BucketAccess) { a.Labels = map[string]string{"a": "b"} },
			write: func(ctx context.Context, s reconciler.Store, a *cosiapi.BucketAccess) error {
				return s.RecordStatus(ctx, a, func(_, _ client.Object) bool { return false }, func() { a.Status.AccountID = "account" })
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, a := fixture(t, env, tc.name, tc.status)
			if tc.meanwhile != nil {
				patched := a.DeepCopy()
				tc.meanwhile(patched)
				patched.Annotations = map[string]string{"touched": "yes"}
				if err := env.Client.Patch(t.Context(), patched, client.MergeFrom(a.DeepCopy())); err != nil {
					t.Fatal(err)
				}
			}
			err := tc.write(t.Context(), store, a)
			if tc.refused == nil && err != nil || tc.refused != nil && (err == nil || !tc.refused(err)) {
				t.Errorf("the write returned %v", err)
			}
			if err == nil && !store.Seen(a).Goes() {
				t.Error("the copy that was written is behind the write")
			}
			if diff := cmp.Diff(tc.unknown, unknownOf(t, env, a)); diff != "" {
				t.Errorf("fields that Go does not know (-want +got):\n%s", diff)
			}
		})
	}
}

// handOff writes a first status, as the Controller does.
func handOff(ctx context.Context, s reconciler.Store, a *cosiapi.BucketAccess) error {
	changed, err := s.PatchStatus(ctx, a, func() {
		a.Status.DriverName, a.Status.AuthenticationType = "d", cosiapi.AuthenticationTypeKey
		a.Status.Parameters = map[string]string{"a/b": "c"}
		a.Status.AccessedBuckets = []cosiapi.AccessedBucket{{BucketClaimName: "c1", BucketName: "b1", BucketID: "1"}}
		conditions.Set(&a.Status.Conditions, conditions.Change{Type: "A", Status: metav1.ConditionTrue, Reason: "New"})
	})
	if err == nil && (!changed || a.Status.Parameters["a/b"] != "c" || len(a.Status.Conditions) != 1) {
		return errors.New("the status differs from the written one")
	}
	return err
}

func sameProtocol(before, now client.Object) bool {
	was, _ := before.(*cosiapi.BucketAccess)
	is, _ := now.(*cosiapi.BucketAccess)
	return was.Spec.Protocol == is.Spec.Protocol
}

// unknownOf returns the unknown fields of an access in the API server, in the order of the object.
func unknownOf(t *testing.T, env *testenv.Env, a *cosiapi.BucketAccess) []string {
	t.Helper()
	stored := access(a.Name)
	stored.SetNamespace(a.Namespace)
	if err := env.Client.Get(t.Context(), types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, stored); err != nil {
		t.Fatal(err)
	}
	var found []string
	note := func(object any) {
		members, _ := object.(map[string]any)
		if value, ok := members["future"].(string); ok {
			found = append(found, value)
		}
	}
	note(stored.Object["spec"])
	note(stored.Object["status"])
	for _, list := range []string{"conditions", "accessedBuckets"} {
		items, _, err := unstructured.NestedSlice(stored.Object, "status", list)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			note(item)
		}
	}
	return found
}

// TestRefusedWrites writes to an access that has an empty map where its Go type has none, so the first attempt is
// refused, and disturbs the second read.
func TestRefusedWrites(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	unreachable := apierrors.NewServiceUnavailable("the API server is going")
	tests := map[string]struct {
		disturb func(*testing.T, *cosiapi.BucketAccess) error
		want    func(error) bool
	}{
		"without other writers": {
			disturb: func(*testing.T, *cosiapi.BucketAccess) error { return nil },
			want:    func(err error) bool { return err == nil },
		},
		"the read after a refusal fails": {
			disturb: func(*testing.T, *cosiapi.BucketAccess) error { return unreachable },
			want:    func(err error) bool { return apierrors.IsServiceUnavailable(err) && !apierrors.IsInvalid(err) },
		},
		"it changes after that read": {
			disturb: func(t *testing.T, a *cosiapi.BucketAccess) error {
				t.Helper()
				first := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/status/conditions/2"}]`))
				return client.IgnoreNotFound(env.Client.Status().Patch(t.Context(), a.DeepCopy(), first))
			},
			want: apierrors.IsConflict,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status := map[string]any{ // not handed off yet: afterwards parameters are immutable
				"conditions": []any{condition("A", "False"), condition("B", "False"), condition("C", "False")},
				"parameters": map[string]any{},
			}
			store, a := fixture(t, env, strings.ReplaceAll(name, " ", "-"), status)
			store.Live = disturbed{Reader: env.Client, after: sync.OnceValue(func() error { return tc.disturb(t, a) })}
			_, err := store.PatchStatus(t.Context(), a, func() {
				a.Status.Parameters = map[string]string{"user": "plain"}
				a.Status.Conditions = a.Status.Conditions[:2]
			})
			if !tc.want(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// disturbed calls after whenever it has read an object.
type disturbed struct {
	client.Reader

	after func() error
}

func (d disturbed) Get(ctx context.Context, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
	if err := d.Reader.Get(ctx, key, obj, o...); err != nil {
		return err
	}
	return d.after()
}
