// SPDX-License-Identifier: Apache-2.0

// Package apps_test installs applications with the libraries of deployment tools: Helm, Flux's server-side apply with
// kstatus, and the Lua interpreter of Argo CD. A test sets the Deployment's status, because no node runs Pods here.
package apps_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"testing"

	fluxstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/system"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

const (
	pages    = "../../docs/howto/gitops/"
	chartDir = pages + "chart"
	release  = "photos"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// An app is a system with a CD controller that may deploy to its namespace and has the ClusterRoles of
// docs/howto/gitops/role.yaml.
type app struct {
	*systemtest.System

	driver     *memdriver.Driver
	cd         *rest.Config
	kubeconfig string
}

func newApp(t *testing.T, o memdriver.Options) app {
	t.Helper()
	driver, part := systemtest.NewDriver(t, o)
	a := app{System: systemtest.Start(t, system.Options{Drivers: []system.Driver{part}}), driver: driver}
	user := "cd-" + a.Namespace
	text, err := os.ReadFile(pages + "role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	subjects := []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		role := &rbacv1.ClusterRole{}
		if err := yaml.UnmarshalStrict(document, role); err != nil {
			t.Fatal(err)
		}
		role.Name += "-" + a.Namespace
		a.Create(role, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}, Subjects: subjects,
		})
	}
	a.Create(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: "cd"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"}, Subjects: subjects})
	a.cd = a.Env.User(user)
	a.kubeconfig = a.Env.Kubeconfig(a.cd, a.Namespace)
	c := a.Env.ClientFor(a.cd)
	a.Env.Eventually("the roles are effective", func(ctx context.Context) error {
		return errors.Join(
			c.List(ctx, &cosiapi.BucketClaimList{}, client.InNamespace(a.Namespace)), c.List(ctx, &cosiapi.BucketClassList{}),
			client.IgnoreNotFound(c.Get(ctx, client.ObjectKey{Name: a.Namespace}, &cosiapi.Bucket{})))
	})
	for _, list := range []client.ObjectList{&cosiapi.BucketClaimList{}, &cosiapi.BucketAccessList{}, &cosiapi.BucketList{}} {
		if err := c.List(t.Context(), list); !apierrors.IsForbidden(err) {
			t.Errorf("list %T of all namespaces: want forbidden, got %v", list, err)
		}
	}
	return a
}

// values returns values of the chart that create the classes under the name of the namespace.
func (a app) values(more map[string]any) map[string]any {
	values := map[string]any{"className": a.Namespace, "accessClassName": a.Namespace, "driverName": a.driver.Name()}
	maps.Copy(values, more)
	return values
}

func (a app) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: a.Namespace, Name: release}
}

// message returns the message of the claim's condition Ready.
func (a app) message(t *testing.T) string {
	t.Helper()
	claim := &cosiapi.BucketClaim{ObjectMeta: a.meta()}
	if err := a.Client().Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
		t.Fatal(err)
	}
	ready := meta.FindStatusCondition(claim.Status.Conditions, cosiapi.ConditionReady)
	if ready == nil || ready.Message == "" {
		t.Fatalf("the claim has the conditions %v", claim.Status.Conditions)
	}
	return ready.Message
}

func (a app) claimIs(ctx context.Context, want string) error { return a.is(ctx, "BucketClaim", want) }

func (a app) accessIs(ctx context.Context, want string) error { return a.is(ctx, "BucketAccess", want) }

// is compares want with an object's status according to kstatus and to Flux's fork of it.
func (a app) is(ctx context.Context, kind, want string) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(cosiapi.GroupVersion().WithKind(kind))
	if err := a.Client().Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: release}, object); err != nil {
		return err
	}
	result, err := status.Compute(object)
	if err != nil {
		return err
	}
	flux, err := fluxstatus.Compute(object)
	if err != nil {
		return err
	}
	if result.Status.String() != want || flux.Status.String() != want {
		return fmt.Errorf("%s is %s (%s), for Flux %s, instead of %s", kind, result.Status, result.Message, flux.Status, want)
	}
	return nil
}

// startDeployment reports the Deployment as available, as its controller would in a cluster with nodes.
func (a app) startDeployment(ctx context.Context) error {
	deployment := &appsv1.Deployment{}
	if err := a.Client().Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: release}, deployment); err != nil {
		return err
	}
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable"},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
		},
	}
	return a.Client().Status().Update(ctx, deployment)
}
