// SPDX-License-Identifier: Apache-2.0

package system

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// fieldOwner is the field manager of the objects that the system applies.
const fieldOwner = client.FieldOwner("cooper")

// identity is the user of a component, with its roles.
type identity struct {
	// account is the name of a service account in deploy.SystemNamespace. It need not exist: the component
	// authenticates as the corresponding user.
	account      string
	clusterRoles []string
	roles        []string
	// manifest contains further objects that the user needs, such as its own Role. Optional.
	manifest []byte
	// may are permissions that only these roles grant. They show when the bindings are in effect.
	may []authorizationv1.ResourceAttributes
}

func (i identity) user() string {
	return "system:serviceaccount:" + deploy.SystemNamespace + ":" + i.account
}

func (i identity) groups() []string {
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + deploy.SystemNamespace}
}

// applyRoles creates or updates the system namespace, the roles of deploy/ and its policies.
func applyRoles(ctx context.Context, admin client.Client) error {
	namespace := &unstructured.Unstructured{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	namespace.SetName(deploy.SystemNamespace)
	if err := apply(ctx, admin, namespace); err != nil {
		return err
	}
	manifests, err := deploy.RBAC()
	if err != nil {
		return err
	}
	policies, err := deploy.Policies()
	if err != nil {
		return err
	}
	maps.Copy(manifests, policies)
	for _, name := range slices.Sorted(maps.Keys(manifests)) {
		if err := applyManifest(ctx, admin, manifests[name]); err != nil {
			return fmt.Errorf("apply the manifest %s: %w", name, err)
		}
	}
	return nil
}

func applyManifest(ctx context.Context, admin client.Client, manifest []byte) error {
	objects, err := ParseManifest(manifest)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := apply(ctx, admin, object); err != nil {
			return err
		}
	}
	return nil
}

// ParseManifest returns the objects in a file with several YAML documents.
func ParseManifest(manifest []byte) ([]*unstructured.Unstructured, error) {
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), len(manifest))
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := documents.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("decode YAML: %w", err)
		case len(object.Object) > 0: // a document with only comments is empty
			objects = append(objects, object)
		}
	}
}

func apply(ctx context.Context, admin client.Client, object *unstructured.Unstructured) error {
	configuration := client.ApplyConfigurationFromUnstructured(object)
	if err := admin.Apply(ctx, configuration, fieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("cannot apply %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// admit binds the roles of the identity to its user and returns the user's client configuration once the
// bindings are in effect.
func admit(ctx context.Context, cp *controlplane.ControlPlane, admin client.Client, i identity) (*rest.Config, error) {
	if err := applyManifest(ctx, admin, i.manifest); err != nil {
		return nil, fmt.Errorf("apply the resources for %s: %w", i.user(), err)
	}
	for _, role := range i.clusterRoles {
		binding := &rbacv1.ClusterRoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
			ObjectMeta: metav1.ObjectMeta{Name: role + ":" + i.account},
			Subjects:   i.subjects(),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		}
		if err := applyTyped(ctx, admin, binding); err != nil {
			return nil, err
		}
	}
	for _, role := range i.roles {
		binding := &rbacv1.RoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
			ObjectMeta: metav1.ObjectMeta{Namespace: deploy.SystemNamespace, Name: role + ":" + i.account},
			Subjects:   i.subjects(),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		}
		if err := applyTyped(ctx, admin, binding); err != nil {
			return nil, err
		}
	}
	config, err := cp.User(i.user(), i.groups()...)
	if err != nil {
		return nil, err
	}
	return config, i.awaitRights(ctx, config)
}

func (i identity) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: i.user()}}
}

func applyTyped(ctx context.Context, admin client.Client, object client.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("convert %T: %w", object, err)
	}
	return apply(ctx, admin, &unstructured.Unstructured{Object: content})
}

// awaitRights waits until the API server has observed the bindings. A component that starts earlier is
// denied, and waits for seconds before it retries.
func (i identity) awaitRights(ctx context.Context, config *rest.Config) error {
	scheme, err := reconciler.NewScheme()
	if err != nil {
		return err
	}
	user, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("create a client for %s: %w", i.user(), err)
	}
	return controlplane.Until(ctx, func(ctx context.Context) error {
		for _, right := range i.may {
			review := &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
			}
			if err := user.Create(ctx, review); err != nil {
				return fmt.Errorf("cannot check the permissions of %s: %w", i.user(), err)
			}
			if !review.Status.Allowed {
				return fmt.Errorf("%s is not permitted to %s %s", i.user(), right.Verb, right.Resource)
			}
		}
		return nil
	})
}
