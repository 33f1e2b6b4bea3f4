// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/sidecar"
)

type (
	roundTripper  = http.RoundTripper
	runtimeObject = runtime.Object
)

// unguardedLabel exempts a namespace from the policy of deploy/.
const unguardedLabel = "cooper.dev/unguarded"

// applyRoles creates the roles of deploy/: the ClusterRoles and the policy for all worlds, and the Leases
// with their Roles in this world's namespace. It binds the roles to this world's users.
func (w *world) applyRoles() {
	w.t.Helper()
	manifests, err := deploy.RBAC()
	w.must(err)
	manifests["driver"], err = deploy.DriverLease(w.setup.fake.Name)
	w.must(err)
	policies, err := deploy.Policies()
	w.must(err)
	manifests["protection"] = policies[deploy.ProtectionPolicies]
	for _, manifest := range manifests {
		w.applyManifest(manifest)
	}
	if w.setup.watchSecrets {
		w.create(&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: w.user(theSidecar) + "-secrets"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: w.user(theSidecar)}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: deploy.SidecarWatchSecretsRole},
		})
	}
	for who, roles := range map[string][2]string{
		theController: {deploy.ControllerRole, deploy.ControllerLeaderRole}, theSidecar: {deploy.SidecarRole, deploy.DriverLeaderRole(w.setup.fake.Name)},
	} {
		subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: w.user(who)}}
		w.create(
			&rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: w.user(who)}, Subjects: subjects,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: roles[0]},
			},
			&rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: roles[1], Namespace: w.namespace}, Subjects: subjects,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: roles[1]},
			})
	}
}

// applyManifest creates the objects in a file with several YAML documents unless they exist. Objects of the
// system namespace are created in this world's namespace.
func (w *world) applyManifest(manifest []byte) {
	w.t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		obj := &unstructured.Unstructured{}
		err := decoder.Decode(obj)
		if errors.Is(err, io.EOF) {
			return
		}
		w.must(err)
		if obj.GetNamespace() != "" {
			obj.SetNamespace(w.namespace)
		}
		if obj.GetKind() == "ValidatingAdmissionPolicyBinding" {
			guarded := map[string]any{"key": unguardedLabel, "operator": "DoesNotExist"}
			w.must(unstructured.SetNestedSlice(obj.Object, []any{guarded}, "spec", "matchResources", "namespaceSelector", "matchExpressions"))
		}
		if err := w.Client.Create(w.t.Context(), obj); err != nil && !apierrors.IsAlreadyExists(err) {
			w.t.Fatal(err)
		}
	}
}

// untilAllowed waits until the roles of a component are in effect, without sending requests as the component,
// which would be denied.
func (w *world) untilAllowed(who string) {
	w.t.Helper()
	w.eventually("the role of the "+who+" counts", func(ctx context.Context) error {
		lease := controller.LeaseName
		if who == theSidecar {
			lease = sidecar.LeaseName(w.driver.Name())
		}
		rights := []authorizationv1.ResourceAttributes{
			{Group: cosiapi.GroupName, Resource: "buckets", Verb: "list"},
			{Group: "coordination.k8s.io", Resource: "leases", Verb: "update", Namespace: w.namespace, Name: lease},
		}
		if who == theSidecar && w.setup.watchSecrets {
			rights = append(rights, authorizationv1.ResourceAttributes{Resource: "secrets", Verb: "watch", Namespace: w.namespace})
		}
		for _, right := range rights {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: w.user(who), ResourceAttributes: &right,
			}}
			if err := w.Client.Create(ctx, review); err != nil {
				return err
			}
			if !review.Status.Allowed {
				return fmt.Errorf("%s is not allowed to %s %s", who, right.Verb, right.Resource)
			}
		}
		return nil
	})
}

// terminating reports whether the namespace is terminating or does not exist.
func (w *world) terminating() bool {
	w.t.Helper()
	namespace := &corev1.Namespace{}
	err := w.Client.Get(context.WithoutCancel(w.t.Context()), client.ObjectKey{Name: w.namespace}, namespace)
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
	return err != nil || !namespace.DeletionTimestamp.IsZero()
}
