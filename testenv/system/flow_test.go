// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
	"github.com/cooper-cosi/cooper/testenv/system"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

// flow is a claim and an access to it, with a driver that only this test uses.
type flow struct {
	*systemtest.System

	driver *memdriver.Driver
	class  *cosiapi.BucketClass
	claim  *cosiapi.BucketClaim
	access *cosiapi.BucketAccess
	secret *corev1.Secret
}

// shortTests are the tests with newFlow that run in the short tier.
var shortTests = []string{
	"TestAClaimAndAnAccessComeAndGo", "TestAUserWithTheRoleEditServesThemselves",
}

// newFlow starts a system and creates the classes.
func newFlow(t *testing.T, o system.Options) *flow {
	t.Helper()
	fulltest.Named(t, shortTests)
	return newFlowOn(t, testenv.Start(t, testenv.Options{}), o)
}

// newFlowOn is newFlow on the control plane of env.
func newFlowOn(t *testing.T, env *testenv.Env, o system.Options) *flow {
	t.Helper()
	driver, part := systemtest.NewDriver(t, memdriver.Options{})
	o.Drivers = []system.Driver{part}
	f := &flow{System: systemtest.StartOn(t, env, o), driver: driver}
	f.class = newClass(f.Namespace)
	f.class.Spec.DriverName, f.class.Spec.DeletionPolicy = driver.Name(), cosiapi.DeletionPolicyDelete
	accessClass := &cosiapi.BucketAccessClass{
		ObjectMeta: metav1.ObjectMeta{Name: f.Namespace},
		Spec:       cosiapi.BucketAccessClassSpec{DriverName: driver.Name(), AuthenticationType: cosiapi.AuthenticationTypeKey},
	}
	f.claim = newClaim(f.Namespace, "photos", f.class)
	f.access = &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: "app"},
		Spec: cosiapi.BucketAccessSpec{
			BucketAccessClassName: accessClass.Name, Protocol: cosiapi.ProtocolS3,
			BucketClaims: []cosiapi.BucketClaimAccess{{
				BucketClaimName: f.claim.Name, AccessSecretName: "app-credentials",
				AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite},
			}},
		},
	}
	f.secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: "app-credentials"}}
	f.Create(f.class, accessClass)
	return f
}

func TestAClaimAndAnAccessComeAndGo(t *testing.T) {
	t.Parallel()
	newFlow(t, system.Options{}).run(t)
}

// TestOwnerReferencesPermissionEnforcement runs a whole system with an admission plugin that OpenShift
// enables. With it, setting an owner reference with blockOwnerDeletion requires permission to update the
// owner's finalizers.
func TestOwnerReferencesPermissionEnforcement(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "it needs a control plane of its own")
	env := testenv.Start(t, testenv.Options{AdmissionPlugins: []string{"OwnerReferencesPermissionEnforcement"}})
	f := newFlowOn(t, env, system.Options{})
	f.run(t)
	writer := env.ClientFor(env.User("only-writes-secrets"))
	f.Create(&rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "secret-writer"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}}},
	}, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "secret-writer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "secret-writer"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "only-writes-secrets"}},
	})
	owned := newSecret(f.Namespace, "owned", ofAccess(f.access))
	env.Eventually("the plugin refuses the reference", func(ctx context.Context) error {
		if err := writer.Create(ctx, owned.DeepCopy()); err == nil || !strings.Contains(err.Error(), "cannot set blockOwnerDeletion") {
			return fmt.Errorf("want a refusal by the plugin, got %w", err)
		}
		return nil
	})
}

// run waits until the access to the claim is granted, and deletes both.
func (f *flow) run(t *testing.T) {
	t.Helper()
	f.Create(f.claim, f.access)
	f.WaitCondition(f.access, cosiapi.ConditionProvisioned)
	f.WaitCondition(f.claim, cosiapi.ConditionProvisioned)
	wantNoError(t, f.Client().Get(t.Context(), client.ObjectKeyFromObject(f.secret), f.secret))
	if got := string(f.secret.Data["COSI_PROTOCOL"]); got != "S3" {
		t.Errorf("the Secret's protocol is %q: %v", got, f.secret.Data)
	}
	if has := f.driver.Inventory(); len(has.Buckets) != 1 || len(has.Accounts) != 1 {
		t.Errorf("the driver has %+v, want a bucket and an account", has)
	}

	f.Delete(f.access)
	if err := f.Client().Get(t.Context(), client.ObjectKeyFromObject(f.secret), f.secret); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret is still there: %v", err)
	}
	bucket := &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: f.claim.Status.BoundBucketName}}
	f.Delete(f.claim)
	f.Delete(bucket)
	if has := f.driver.Inventory(); len(has.Buckets) != 0 || len(has.Accounts) != 0 {
		t.Errorf("the driver still has %+v", has)
	}
}

func TestEachSidecarActsUnderItsOwnName(t *testing.T) {
	t.Parallel()
	f := newFlow(t, system.Options{})
	f.Create(f.claim, f.access)
	f.WaitCondition(f.access, cosiapi.ConditionProvisioned)
	user := "system:serviceaccount:cosi-system:cosi-sidecar-" + f.driver.Name() + "-" + f.Namespace
	f.Env.Eventually("its writes are recorded", func(context.Context) error {
		for _, resource := range []string{"buckets", "bucketaccesses", "secrets"} {
			if len(f.Env.Audit(controlplane.AuditFilter{User: user, WritesOnly: true, Resources: []string{resource}})) == 0 {
				return fmt.Errorf("no write to %s", resource)
			}
		}
		return nil
	})
	c := f.Env.ClientFor(f.Env.User(user))
	if err := c.List(t.Context(), &corev1.SecretList{}, client.InNamespace(f.Namespace)); !apierrors.IsForbidden(err) {
		t.Errorf("list Secrets: %v, want forbidden", err)
	}
}

func TestAnyPartMayBeRestartedWhileWorkWaits(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*flow) *system.Component{
		"the controller": func(f *flow) *system.Component { return f.Controller() },
		"the driver":     func(f *flow) *system.Component { return f.Driver(f.driver.Name()) },
		"the sidecar":    func(f *flow) *system.Component { return f.Sidecar(f.driver.Name()) },
	}
	for name, part := range fulltest.Rows(t, tests, "the sidecar") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFlow(t, system.Options{})
			f.StopComponent(part(f))
			f.Create(f.claim, f.access)
			f.StartComponent(part(f))
			f.WaitCondition(f.access, cosiapi.ConditionProvisioned)
			f.Restart(part(f))
			f.Delete(f.access)
		})
	}
}

func TestASidecarThatMayWatchSecretsRepairsThem(t *testing.T) {
	t.Parallel()
	o := system.Options{}
	o.Sidecar.WatchSecrets = true
	f := newFlow(t, o)
	f.Create(f.claim, f.access)
	f.WaitCondition(f.access, cosiapi.ConditionProvisioned)
	wantNoError(t, f.Client().Get(t.Context(), client.ObjectKeyFromObject(f.secret), f.secret))
	f.secret.Data["COSI_PROTOCOL"] = []byte("FTP")
	wantNoError(t, f.Client().Update(t.Context(), f.secret))
	f.Env.Eventually("the Secret is repaired", func(ctx context.Context) error {
		if err := f.Client().Get(ctx, client.ObjectKeyFromObject(f.secret), f.secret); err != nil {
			return err
		}
		if got := string(f.secret.Data["COSI_PROTOCOL"]); got != "S3" {
			return fmt.Errorf("its protocol is %s", got)
		}
		return nil
	})
}

func TestADriverOfAnotherNameFailsTheStart(t *testing.T) {
	t.Parallel()
	f := newFlow(t, system.Options{})
	_, err := system.Start(t.Context(), system.Options{
		ControlPlane: f.Env.ControlPlane, Namespaces: []string{f.Namespace}, Name: "misnamed",
		Drivers: []system.Driver{{Name: "expected.example.com", Endpoint: f.Endpoint(f.driver.Name())}},
	})
	wantParts(t, err, "the sidecar of expected.example.com did not start", "has the unexpected name "+f.driver.Name())
}
