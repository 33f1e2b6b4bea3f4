// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// TestRightsInOneNamespace creates and deletes a bucket and an access with the permissions of the namespaced
// installation. If the API server refuses a request, the test fails at its end.
func TestRightsInOneNamespace(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	s.confine()
	s.guard()
	s.run()
	bucket := s.readyBucket()
	access := s.readyAccess(bucket)
	s.Delete(access)
	s.release(access)
	s.leave(bucket)
	s.Gone(bucket)
}

// confine removes the permissions of the Sidecar's user in all namespaces except that of the test.
func (s *system) confine() {
	s.t.Helper()
	s.Delete(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: s.user + "-" + deploy.SidecarRole}})
	s.bind(deploy.SidecarBucketsRole)
	s.bindIn(s.namespace, "ClusterRole", deploy.SidecarRole)
	s.bindIn("default", "ClusterRole", deploy.SidecarEventsRole)
	s.untilMay(false, authorizationv1.ResourceAttributes{Resource: "secrets", Verb: "get", Namespace: "default", Name: "a"})
	s.untilMay(true, authorizationv1.ResourceAttributes{Resource: "secrets", Verb: "get", Namespace: s.namespace, Name: "a"})
	s.untilMay(true, authorizationv1.ResourceAttributes{Group: "events.k8s.io", Resource: "events", Verb: "create", Namespace: "default"})
}

// guard applies the policy that protects COSI's finalizers from users without the permission to override it, and waits
// until it is effective for a user who may change Buckets.
func (s *system) guard() {
	s.t.Helper()
	policies, err := deploy.Policies()
	if err != nil {
		s.t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(policies[deploy.ProtectionPolicies]), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			s.t.Fatal(err)
		}
		s.Create(object)
	}
	user := s.namespace + "-changes-buckets"
	s.Create(&rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{cosiapi.GroupName}, Resources: []string{"buckets"}, Verbs: []string{"update"}}},
	})
	s.Create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	})
	bucket := s.bucket()
	bucket.Spec.DriverName = "guard.example.test"
	s.Create(bucket)
	editor := s.ClientFor(s.User(user))
	s.Eventually("the policy counts", func(ctx context.Context) error {
		cosiapi.AddProtection(bucket)
		err := editor.Update(ctx, bucket.DeepCopy(), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "cosi-protection") {
			return fmt.Errorf("want a refusal by the policy, got %w", err)
		}
		return nil
	})
}

// untilMay waits until the Sidecar's user has a permission, or no longer has it.
func (s *system) untilMay(want bool, right authorizationv1.ResourceAttributes) {
	s.t.Helper()
	s.Eventually(fmt.Sprintf("the Sidecar may: %t, %+v", want, right), func(ctx context.Context) error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: s.user, ResourceAttributes: &right}}
		if err := s.Client.Create(ctx, review); err != nil {
			return err
		}
		if review.Status.Allowed != want {
			return fmt.Errorf("allowed: %v, want %v", review.Status.Allowed, want)
		}
		return nil
	})
}
