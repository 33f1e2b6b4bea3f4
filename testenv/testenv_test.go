// SPDX-License-Identifier: Apache-2.0

package testenv_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// wantNoError ends the test if there is an error.
func wantNoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func TestAllTestsOfABinaryShareOneControlPlane(t *testing.T) {
	t.Parallel()
	if one, two := testenv.Start(t, testenv.Options{}), testenv.Start(t, testenv.Options{}); one.ControlPlane != two.ControlPlane {
		t.Errorf("two control planes: %s and %s", one.Config().Host, two.Config().Host)
	}
}

func TestAPrivateControlPlaneIsAnotherOne(t *testing.T) {
	t.Parallel()
	shared, private := testenv.Start(t, testenv.Options{}), testenv.Start(t, testenv.Options{Private: true})
	if shared.Config().Host == private.Config().Host {
		t.Fatalf("both are %s", shared.Config().Host)
	}
	wantNoError(t, private.ControlPlane.Stop())
	if err := private.Client.List(t.Context(), &corev1.NamespaceList{}); err == nil {
		t.Error("a stopped control plane still responds")
	}
	if err := shared.Client.List(t.Context(), &corev1.NamespaceList{}); err != nil {
		t.Errorf("the shared one stopped with it: %v", err)
	}
}

func TestOurKindsAreServed(t *testing.T) {
	t.Parallel()
	e := testenv.Start(t, testenv.Options{})
	for _, list := range []client.ObjectList{
		&cosiapi.BucketList{}, &cosiapi.BucketClaimList{}, &cosiapi.BucketClassList{},
		&cosiapi.BucketAccessList{}, &cosiapi.BucketAccessClassList{},
	} {
		if err := e.Client.List(t.Context(), list); err != nil {
			t.Errorf("%T: %v", list, err)
		}
	}
}

func TestAUserMayDoOnlyWhatRBACGrants(t *testing.T) {
	t.Parallel()
	e := testenv.Start(t, testenv.Options{})
	ns := e.Namespace()
	user := e.ClientFor(e.User("anna", "team-a"))
	if err := user.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(ns)); !apierrors.IsForbidden(err) {
		t.Fatalf("without a role: %v, want forbidden", err)
	}
	grant(t, e, ns, rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "team-a"},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "create"}})
	e.Eventually("the group's role counts", func(ctx context.Context) error {
		return user.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(ns))
	})
	if err := user.List(t.Context(), &corev1.SecretList{}, client.InNamespace(ns)); !apierrors.IsForbidden(err) {
		t.Errorf("a resource that is not in the role: %v, want forbidden", err)
	}
}

func TestADeletedNamespaceIsReallyGone(t *testing.T) {
	t.Parallel()
	e := testenv.Start(t, testenv.Options{})
	ns := e.Namespace()
	wantNoError(t, e.Client.Create(t.Context(), configMap(ns, "content")))
	claim := &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "photos"},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: "fast", Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
	}
	wantNoError(t, e.Client.Create(t.Context(), claim))
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	if err := e.Client.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	e.Eventually("the namespace is deleted", gone(e, object))
}

func TestTheDependentsOfADeletedObjectAreCollected(t *testing.T) {
	t.Parallel()
	e := testenv.Start(t, testenv.Options{})
	ns := e.Namespace()
	owner := configMap(ns, "owner")
	wantNoError(t, e.Client.Create(t.Context(), owner))
	owned := configMap(ns, "owned")
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
	if err := e.Client.Create(t.Context(), owned); err != nil {
		t.Fatal(err)
	}
	if err := e.Client.Delete(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	e.Eventually("the dependent is deleted", gone(e, owned))
}

func TestAQuotaCounts(t *testing.T) {
	t.Parallel()
	e := testenv.Start(t, testenv.Options{})
	ns := e.Namespace()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("1")}},
	}
	wantNoError(t, e.Client.Create(t.Context(), quota))
	e.Eventually("the quota is exceeded", func(ctx context.Context) error { // its admission has a cache, which may be late
		err := e.Client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "one-more-"}})
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota: few") {
			return fmt.Errorf("want forbidden by the quota, got %w", err)
		}
		return nil
	})
}

func TestKubectlReadsTheKubeconfig(t *testing.T) {
	t.Parallel()
	e := testenv.Start(t, testenv.Options{})
	ns := e.Namespace()
	wantNoError(t, e.Client.Create(t.Context(), configMap(ns, "here")))
	kubectl := exec.CommandContext(t.Context(), e.ControlPlane.Kubectl(),
		"--kubeconfig", e.Kubeconfig(e.Config(), ns), "--cache-dir", t.TempDir(), "get", "configmaps", "-o", "name")
	output, err := kubectl.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "configmap/here") {
		t.Errorf("%v: %s", err, output)
	}
}

func TestTheAuditLogTellsWhoWroteWhat(t *testing.T) {
	t.Parallel()
	e := testenv.Start(t, testenv.Options{})
	ns := e.Namespace()
	user := e.ClientFor(e.User("writer", "system:masters"))
	object := configMap(ns, "written")
	wantNoError(t, user.Create(t.Context(), object))
	if err := user.Create(t.Context(), configMap(ns, "written")); !apierrors.IsAlreadyExists(err) {
		t.Fatalf("%v, want already exists", err)
	}
	wantNoError(t, user.Get(t.Context(), client.ObjectKeyFromObject(object), object))
	e.Eventually("all three requests are recorded", func(context.Context) error {
		if got := e.Audit(controlplane.AuditFilter{User: "writer", Namespace: ns}); len(got) != 3 {
			return fmt.Errorf("%d events: %+v", len(got), got)
		}
		return nil
	})
	writes := e.Audit(controlplane.AuditFilter{User: "writer", Namespace: ns, WritesOnly: true, Resources: []string{"configmaps"}})
	if len(writes) != 1 || writes[0].Verb != "create" || writes[0].Name != "written" || writes[0].Code != 201 {
		t.Errorf("writes: %+v, want the one create", writes)
	}
	if got := testenv.Start(t, testenv.Options{}).Audit(controlplane.AuditFilter{User: "writer", Namespace: ns}); len(got) != 0 {
		t.Errorf("events from before Start: %+v, want none", got)
	}
}

func gone(e *testenv.Env, object client.Object) func(context.Context) error {
	return func(ctx context.Context) error {
		err := e.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		default:
			return fmt.Errorf("%s is still there", object.GetName())
		}
	}
}

func configMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// grant binds a Role with one rule in the namespace to the subject.
func grant(t *testing.T, e *testenv.Env, namespace string, subject rbacv1.Subject, rule rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "granted"}
	for _, object := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, Subjects: []rbacv1.Subject{subject},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		},
	} {
		wantNoError(t, e.Client.Create(t.Context(), object))
	}
}
