// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/testenv"
)

// reported returns the Events of the namespace as "kind/name reason", sorted.
func (s *system) reported(ctx context.Context) ([]string, error) {
	list := &eventsv1.EventList{}
	if err := s.Client.List(ctx, list, inNamespace(s)); err != nil {
		return nil, err
	}
	var all []string
	for _, e := range list.Items {
		name, _, _ := strings.Cut(e.Regarding.Name, "-") // random suffix of a fence
		all = append(all, fmt.Sprintf("%s/%s %s %s", e.Regarding.Kind, name, e.Type, e.Reason))
	}
	slices.Sort(all)
	return all, nil
}

// Events refer to the object that they are about and are in its namespace. There is one per cause.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.patience = brief
	s.run()
	s.newClass("fast")
	s.newAccessClass("keys")
	access := s.newAccess(s.access("app", "keys", "photos"))
	s.untilCondition(access, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForBucketClaim)
	claim, _ := s.provisioned("photos", "fast")
	s.untilHandedOff(access)
	s.newImported("archive", "somebody")
	refused := s.importing("old", "archive")
	s.Create(refused)
	s.untilCondition(refused, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.BindingInvalid)
	wrong := s.access("wrong", "keys", "photos")
	wrong.Spec.Protocol = cosiapi.ProtocolGCS
	s.newAccess(wrong)
	s.untilCondition(wrong, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.ProtocolUnsupported)
	s.Delete(wrong)
	s.Gone(wrong)
	s.Delete(claim)
	s.untilCondition(claim, cosiapi.ConditionDeprovisionFailed, metav1.ConditionUnknown, conditions.WaitingForBucketAccess)
	s.settled() // its claim and its access have classes that do not exist
	s.Delete(access)
	s.cleanedUp(access)
	s.Gone(claim)
	want := []string{
		"BucketAccess/app Normal WaitingForBucket",
		"BucketAccess/fence Warning FailedGrantAccess",
		"BucketAccess/wrong Warning FailedGrantAccess",
		"BucketClaim/fence Warning FailedCreateBucket",
		"BucketClaim/old Warning FailedCreateBucket",
		"BucketClaim/photos Normal BucketReleased",
		"BucketClaim/photos Warning FailedDeleteBucket",
	}
	s.Eventually("the Events are there", func(ctx context.Context) error {
		got, err := s.reported(ctx)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("events (-want +got):\n%s", diff)
		}
		return nil
	})
}

// Each operation is observed once, with the driver's name if it is known.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	s.newAccessClass("keys")
	claim, bucket := s.provisioned("photos", "fast")
	access := s.newAccess(s.access("app", "keys", "photos"))
	s.untilHandedOff(access)
	s.grant(access)
	s.provision(bucket) // nothing new
	s.settled()         // the claim and access of settled end before they are provisioned
	s.Delete(access)
	s.cleanedUp(access)
	s.Gone(access)
	s.Delete(claim)
	s.Gone(claim)
	s.canceled("photos", "fast", "keys")
	want := `
# HELP cosi_operation_count Number of reconciles that completed an operation (Succeeded, Canceled) or failed (Unknown).
# TYPE cosi_operation_count counter
cosi_operation_count{driver_name="DRIVER",operation="Create",resource_kind="BucketAccess",status="Canceled"} 1
cosi_operation_count{driver_name="DRIVER",operation="Create",resource_kind="BucketClaim",status="Canceled"} 1
cosi_operation_count{driver_name="DRIVER",operation="Create",resource_kind="BucketClaim",status="Succeeded"} 1
cosi_operation_count{driver_name="DRIVER",operation="Delete",resource_kind="BucketAccess",status="Succeeded"} 2
cosi_operation_count{driver_name="DRIVER",operation="Delete",resource_kind="BucketClaim",status="Succeeded"} 2
cosi_operation_count{driver_name="unknown",operation="Create",resource_kind="BucketClaim",status="Canceled"} 1
cosi_operation_count{driver_name="unknown",operation="Delete",resource_kind="BucketClaim",status="Succeeded"} 1
`
	want = strings.ReplaceAll(want, "DRIVER", s.namespace)
	s.Eventually("the operations are counted", func(context.Context) error {
		return testutil.GatherAndCompare(s.metrics, strings.NewReader(want), "cosi_operation_count")
	})
	if got, err := testutil.GatherAndCount(s.metrics, "cosi_operation_total_seconds"); err != nil || got != 4 {
		t.Errorf("durations: want 4 series (three of the driver, one unknown), got %d, %v", got, err)
	}
	if got, err := testutil.GatherAndCount(s.metrics, "cosi_step_duration_seconds"); err != nil || got == 0 {
		t.Errorf("step durations: got %d, %v", got, err)
	}
}

// canceled deletes a claim and an access of two classes before they are provisioned. The claim's Bucket no longer
// exists then.
func (s *system) canceled(name, class, accessClass string) {
	s.t.Helper()
	claim := s.newClaim(name, class)
	bucket := s.bound(claim)
	access := s.newAccess(s.access("early", accessClass, name))
	testenv.Until(s.Env, access, "the access is protected", func(a *cosiapi.BucketAccess) error {
		if !cosiapi.HasProtection(a) {
			return fmt.Errorf("its finalizers are %v", a.Finalizers)
		}
		return nil
	})
	s.dropFinalizer(bucket)
	s.Gone(bucket)
	s.Delete(access)
	s.Gone(access)
	s.Delete(claim)
	s.Gone(claim)
}

// KEP-1979, "User Self-Service": users with the role edit in a namespace can claim buckets, and users with the role
// view can read the claims. Neither can change the administrator's objects.
func TestUsersServeThemselves(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newClass("fast")
	s.newAccessClass("keys")
	editor, viewer := s.person("edit"), s.person("view")
	claim := s.claim("photos", "fast", cosiapi.ProtocolS3)
	s.Eventually("the editor may claim a bucket", func(ctx context.Context) error { return editor.Create(ctx, claim.DeepCopy()) })
	bucket := s.bound(claim)
	s.provision(bucket)
	access := s.access("app", "keys", "photos")
	if err := editor.Create(t.Context(), access); err != nil {
		t.Fatalf("the editor may not ask for access: %v", err)
	}
	s.untilHandedOff(access)
	s.Eventually("the viewer may look", func(ctx context.Context) error {
		return errors.Join(viewer.List(ctx, &cosiapi.BucketClaimList{}, inNamespace(s)), viewer.List(ctx, &cosiapi.BucketAccessList{}, inNamespace(s)))
	})
	testenv.Get(s.Env, claim)
	for what, err := range map[string]error{
		"the viewer deletes a claim":         viewer.Delete(t.Context(), claim.DeepCopy()),
		"the editor writes a status":         editor.Status().Update(t.Context(), claim.DeepCopy()),
		"the editor reads a Bucket":          editor.Get(t.Context(), client.ObjectKeyFromObject(bucket), bucket.DeepCopy()),
		"the editor creates a class":         editor.Create(t.Context(), &cosiapi.BucketClass{ObjectMeta: metav1.ObjectMeta{Name: s.global("mine")}}),
		"the editor deletes a Bucket":        editor.Delete(t.Context(), bucket.DeepCopy()),
		"the viewer creates an access":       viewer.Create(t.Context(), s.access("mine", "keys", "photos")),
		"the editor lists another namespace": editor.List(t.Context(), &cosiapi.BucketClaimList{}, client.InNamespace("default")),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: want forbidden, got %v", what, err)
		}
	}
	if err := editor.Delete(t.Context(), access); err != nil {
		t.Fatalf("the editor may not give the access back: %v", err)
	}
	s.cleanedUp(access)
	if err := editor.Delete(t.Context(), claim); err != nil {
		t.Fatalf("the editor may not give the bucket back: %v", err)
	}
	s.Gone(claim)
}

// person returns the client of a user with a built-in role in the namespace. The API server of tests does not
// aggregate roles, so the roles with the aggregation label are bound directly.
func (s *system) person(role string) client.Client {
	s.t.Helper()
	name := role + "or-" + s.namespace
	roles := &rbacv1.ClusterRoleList{}
	label := "rbac.authorization.k8s.io/aggregate-to-" + role
	if err := s.Client.List(s.t.Context(), roles, client.MatchingLabels{label: "true"}); err != nil {
		s.t.Fatal(err)
	}
	for _, r := range roles.Items {
		s.Create(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name + "." + strings.ReplaceAll(r.Name, ":", ".")},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: r.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}},
		})
	}
	return s.ClientFor(s.User(name))
}
