// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/deploy"
)

// TestPolicyProtectsFinalizersAndAnnotations changes objects as a user with the role edit, and as a user who may override
// the policy. All other tests verify that the policy does not affect controller and sidecar.
//
//nolint:paralleltest,tparallel // its rows change the same objects
func TestPolicyProtectsFinalizersAndAnnotations(t *testing.T) {
	t.Parallel()
	covers(t, "notes-guarded")
	w := pair(t, setup{})
	access, tenant := w.granted("app", "keys", "photos"), w.tenant()
	objects := map[string]client.Object{"access": access, "claim": w.claim("photos", ""), "Secret": secret(access, 0)}
	bare := func(o client.Object) { o.SetFinalizers(nil) }
	note := func(key, value string) func(client.Object) {
		return func(o client.Object) { cosiapi.SetAnnotation(o, key, value) }
	}
	misspelled := strings.Replace(cosiapi.SidecarCleanupFinishedAnnotation, "k8s", "k8", 1)
	for name, tc := range map[string]struct {
		object  string
		change  func(client.Object)
		refused bool
	}{
		"the finalizer of an access":             {"access", bare, true},
		"the finalizer of a claim":               {"claim", bare, true},
		"the finalizer of a Secret":              {"Secret", bare, true},
		"the sidecar's word":                     {"access", note(cosiapi.SidecarCleanupFinishedAnnotation, ""), true},
		"the sidecar's word, misspelled":         {"access", note(misspelled, ""), true},
		"the mark of a claim":                    {"claim", note(cosiapi.HasBucketAccessReferencesAnnotation, "other"), true},
		"the mark of a claim, taken off":         {"claim", func(o client.Object) { o.SetAnnotations(nil) }, true},
		"the reference of a Secret":              {"Secret", note(cosiapi.BucketAccessReferenceAnnotation, "a/b"), true},
		"the driver of a Secret":                 {"Secret", note("cooper.dev/driver", "other.example.com"), true},
		"the access of a Secret":                 {"Secret", note(cosiapi.AccessUIDAnnotation, "other"), true},
		"a rotation":                             {"access", note(cosiapi.RotateAnnotation, "now"), false},
		"an annotation of the user's":            {"claim", note("example.com/team", "a"), false},
		"an annotation that only looks like one": {"claim", note("objectstorage.example.com/a", "a"), false},
		"a finalizer of the user's": {"access", func(o client.Object) {
			o.SetFinalizers(append(o.GetFinalizers(), "example.com/mine"))
		}, false},
		"the data of a Secret": {"Secret", func(o client.Object) { o.(*corev1.Secret).StringData = map[string]string{"a": "b"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			obj, ok := objects[tc.object].DeepCopyObject().(client.Object)
			if !ok {
				t.Fatal("no object")
			}
			w.eventually("the policy counts", func(ctx context.Context) error { // with a delay
				if err := tenant.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
					return err
				}
				tc.change(obj)
				err := tenant.Update(ctx, obj, client.DryRunAll)
				switch {
				case !tc.refused:
					return err
				case err == nil:
					return errNot
				case strings.Contains(err.Error(), "cosi-protection") && strings.Contains(err.Error(), deploy.OverrideRole):
					return nil
				default:
					return err
				}
			})
		})
	}
	w.mayOverride(tenant, access)
}

// mayOverride grants the tenant permission to override the policy and verifies that they can remove the
// finalizer.
func (w *world) mayOverride(tenant client.Client, access *cosiapi.BucketAccess) {
	w.t.Helper()
	w.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: deploy.OverrideRole},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "tenant-" + w.namespace}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: deploy.OverrideRole},
	})
	w.eventually("an account with the verb override removes the finalizer", func(ctx context.Context) error {
		now := get(w, access.DeepCopy())
		now.SetFinalizers(nil)
		return tenant.Update(ctx, now, client.DryRunAll)
	})
	w.must(tenant.Delete(w.t.Context(), access.DeepCopy()))
	w.gone(access.DeepCopy(), secret(access, 0))
	if err := tenant.Get(w.t.Context(), client.ObjectKeyFromObject(access), access.DeepCopy()); !apierrors.IsNotFound(err) {
		w.t.Error(err)
	}
}
