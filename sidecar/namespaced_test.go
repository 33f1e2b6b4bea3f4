// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"context"
	"fmt"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/fakes/driverfake"
)

// TestRightsInOneNamespace lives through a bucket and an access with the rights of the namespaced
// installation: whatever the API server refuses fails the test at its end.
func TestRightsInOneNamespace(t *testing.T) {
	t.Parallel()
	s := newSystem(t, driverfake.Options{})
	s.Delete(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: s.user + "-" + deploy.SidecarRole}})
	s.bind(deploy.SidecarBucketsRole)
	s.bindIn(s.namespace, "ClusterRole", deploy.SidecarRole)
	s.bindIn("default", "ClusterRole", deploy.SidecarEventsRole)
	s.untilMay(false, authorizationv1.ResourceAttributes{Resource: "secrets", Verb: "get", Namespace: "default", Name: "a"})
	s.untilMay(true, authorizationv1.ResourceAttributes{Resource: "secrets", Verb: "get", Namespace: s.namespace, Name: "a"})
	s.untilMay(true, authorizationv1.ResourceAttributes{Group: "events.k8s.io", Resource: "events", Verb: "create", Namespace: "default"})
	s.run()
	bucket := s.readyBucket()
	access := s.readyAccess(bucket)
	s.Delete(access)
	s.release(access)
	s.leave(bucket)
	s.Gone(bucket)
}

// untilMay waits until the Sidecar's user has a right, or has it no more.
func (s *system) untilMay(want bool, right authorizationv1.ResourceAttributes) {
	s.t.Helper()
	s.Eventually(fmt.Sprintf("the rights are those of the namespace: %+v", right), func(ctx context.Context) error {
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
