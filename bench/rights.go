// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/deploy"
)

// allow creates Cooper's deployed roles and admission policies, and the role of the bare client.
func (s *system) allow(ctx context.Context) error {
	err := errors.Join(
		s.create(ctx, &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: bareUser},
			Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{floorGroup}, Resources: []string{"*"}, Verbs: []string{"*"}},
				{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create", "patch", "delete"}},
				{APIGroups: []string{cosiapi.GroupName}, Resources: []string{"bucketaccesses"}, Verbs: []string{"override"}}, // for the finalizer of a Secret
			},
		}),
		s.bind(ctx, bareUser, bareUser, ""))
	if err != nil || s.what.dir != "" {
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
	for _, d := range s.drivers {
		if manifests[d.name], err = deploy.DriverLease(d.name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(manifests)) {
		objects, err := decode(manifests[name])
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := s.create(ctx, object); err != nil {
				return err
			}
		}
	}
	for _, p := range s.programs {
		switch p.role {
		case "controller":
			err = s.bind(ctx, p.user(), deploy.ControllerRole, deploy.ControllerLeaderRole)
		case "sidecar":
			err = s.bind(ctx, p.user(), deploy.SidecarRole, deploy.DriverLeaderRole(p.of.name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bind binds a user to a role in all namespaces, and to one in the system namespace unless it is empty.
func (s *system) bind(ctx context.Context, user, clusterRole, role string) error {
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}
	err := s.create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user + "-" + clusterRole}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: clusterRole},
	})
	if err != nil || role == "" {
		return err
	}
	return s.create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user, Namespace: deploy.SystemNamespace}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
	})
}
