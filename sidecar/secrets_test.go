// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

// startWatching calls start in one of the secretModes.
func startWatching(t *testing.T, watch bool) *system {
	t.Helper()
	s := newSystem(t, memdriver.Options{})
	s.options.WatchSecrets = watch
	s.options.SecretPoll = 100 * time.Millisecond // for foreign Secrets, which no watch reports
	if watch {
		s.bind(deploy.SidecarWatchSecretsRole)
	} else {
		s.options.Resync = 100 * time.Millisecond
	}
	s.run()
	return s
}

// An access that was deleted without cleanup, because its finalizer was removed manually, leaves a Secret that only
// our own finalizer keeps.
func TestOrphanedSecretIsReleased(t *testing.T) {
	t.Parallel()
	for name, tc := range fulltest.Rows(t, map[string]struct {
		alter func(s *system, secret *corev1.Secret)
		stays bool
	}{
		"deleted by the garbage collector": {alter: func(*system, *corev1.Secret) {}},
		"deleted by its user, restored without its owner": {alter: func(s *system, secret *corev1.Secret) {
			secret.OwnerReferences = nil
			secret.Annotations = map[string]string{
				"cooper.dev/access-uid": "of-the-one-before", cosiapi.BucketAccessReferenceAnnotation: s.namespace + "/gone",
			}
		}},
		"of an access that exists but does not name it": {alter: func(s *system, secret *corev1.Secret) {
			other := s.access(s.bucket())
			s.Create(other)
			secret.OwnerReferences = nil
			secret.Annotations = map[string]string{
				"cooper.dev/access-uid": string(other.UID), cosiapi.BucketAccessReferenceAnnotation: s.namespace + "/" + other.Name,
			}
		}},
		"without owner and annotations": {alter: func(_ *system, secret *corev1.Secret) { secret.OwnerReferences = nil }},
		"without the name of its access": {alter: func(_ *system, secret *corev1.Secret) {
			secret.OwnerReferences, secret.Annotations = nil, map[string]string{"cooper.dev/access-uid": "of-the-one-before"}
		}},
		"of another driver": {alter: func(_ *system, secret *corev1.Secret) {
			secret.OwnerReferences, secret.Annotations = nil, map[string]string{"cooper.dev/driver": "another.example.com"}
		}, stays: true},
	}, "deleted by the garbage collector", "of another driver") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startWatching(t, false)
			b := s.readyBucket()
			a := s.access(b)
			leftover := s.secrets(a)[0]
			leftover.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: "objectstorage.k8s.io/v1alpha2", Kind: "BucketAccess", Name: a.Name, UID: "of-the-one-before", Controller: new(true),
			}}
			leftover.Finalizers = []string{cosiapi.ProtectionFinalizer}
			tc.alter(s, leftover)
			s.Create(leftover)
			s.Delete(leftover)
			s.handOff(a, b)
			if tc.stays {
				s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.SecretTaken)
				s.settled()
				if got := testenv.Get(s.Env, s.secrets(a)[0]); got.UID != leftover.UID || !cosiapi.HasProtection(got) {
					t.Errorf("the finalizer was removed from the Secret of another owner: %+v", got.ObjectMeta)
				}
				testenv.Change(s.Env, leftover, func(secret *corev1.Secret) { secret.Finalizers = nil })
			}
			s.ready(a)
			if !metav1.IsControlledBy(testenv.Get(s.Env, s.secrets(a)[0]), a) {
				t.Error("the Secret does not belong to the access")
			}
		})
	}
}

func sameContent(want *corev1.Secret) func(*corev1.Secret) error {
	return func(got *corev1.Secret) error {
		if diff := cmp.Diff(want.Data, got.Data) + cmp.Diff(want.Annotations, got.Annotations) + cmp.Diff(want.Finalizers, got.Finalizers) +
			cmp.Diff(want.Labels, got.Labels) + cmp.Diff(want.OwnerReferences, got.OwnerReferences); diff != "" {
			return fmt.Errorf("it differs: %s", diff)
		}
		return nil
	}
}

func TestSecretsOfAccessDeletedAsOrphanAreDeleted(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.readyBucket()
	a := s.readyAccess(b)
	secret := s.secrets(a)[0]
	testenv.Change(s.Env, secret, func(secret *corev1.Secret) { secret.OwnerReferences = nil })
	s.Delete(a)
	s.release(a)
	s.Gone(secret)
}

func TestSecretsThatAPIRefuses(t *testing.T) {
	t.Parallel()
	s := startWatching(t, false)
	s.refused = true
	b := s.readyBucket()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "no-secrets"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/secrets": resource.MustParse("0")}},
	}
	s.Create(quota)
	s.Eventually("the API server counts", func(ctx context.Context) error {
		probe := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "probe"}}
		if err := s.Client.Create(ctx, probe, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "exceeded quota") {
			return fmt.Errorf("want a refusal by the quota, got %w", err)
		}
		return nil
	})
	a := s.access(b)
	s.handOff(a, b)
	message := s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.SecretNotWritable)
	if !strings.Contains(message, "quota") {
		t.Errorf("the message does not say why: %s", message)
	}
	if n := len(s.driver.Calls(memdriver.GenerateAccessID)); n > 0 {
		t.Errorf("the driver was called %d times", n)
	}
	s.Delete(quota)
	s.ready(a)
}

func TestSecretWithForeignFinalizerIsRecreated(t *testing.T) {
	t.Parallel()
	s := startWatching(t, false)
	a := s.readyAccess(s.readyBucket())
	original := testenv.Get(s.Env, s.secrets(a)[0])
	testenv.Change(s.Env, original.DeepCopy(), func(secret *corev1.Secret) { secret.Finalizers = append(secret.Finalizers, "example.com/backup") })
	s.Delete(original.DeepCopy())
	message := s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.SecretTaken)
	if !strings.Contains(message, "example.com/backup") || !strings.Contains(message, "after the deletion") {
		t.Errorf("the message does not say what holds the Secret: %s", message)
	}
	testenv.Change(s.Env, original.DeepCopy(), func(secret *corev1.Secret) { secret.Finalizers = nil })
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.SidecarValidated)
	if again := testenv.Get(s.Env, s.secrets(a)[0]); again.UID == original.UID || len(again.Data) != len(original.Data) {
		t.Errorf("the Secret is not made again: %+v", again.ObjectMeta)
	}
}

// A Secret that cannot be written is reported before the driver is called, and a Secret that is current needs no
// write.
func TestImmutableSecret(t *testing.T) {
	t.Parallel()
	s := startWatching(t, false)
	a := s.readyAccess(s.readyBucket())
	sealed := s.secrets(a)[0]
	testenv.Change(s.Env, sealed, func(secret *corev1.Secret) { secret.Immutable = new(true) })
	testenv.Change(s.Env, a, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, "poke", "look at the Secret") })
	s.settled()
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.SidecarValidated)
	testenv.Change(s.Env, a, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "once") })
	message := s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.SecretNotWritable)
	if !strings.Contains(message, "immutable") || !strings.Contains(message, "Delete that Secret") {
		t.Errorf("the message does not say what to do: %s", message)
	}
	s.settled()
	if n := len(s.driver.Calls(memdriver.GrantAccess)); n != 1 {
		t.Errorf("DriverGrantBucketAccess: want 1 call before there is a place for the response, got %d", n)
	}
	s.ready(a)
	s.Delete(sealed)
	s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionTrue, conditions.SidecarValidated)
	if got := testenv.Get(s.Env, s.secrets(a)[0]); len(got.Data) == 0 || got.Annotations["cooper.dev/delivered-rotation"] != "once" {
		t.Errorf("the new credential is not in the Secret: %+v", got.ObjectMeta)
	}
	s.await(memdriver.GrantAccess, 2)
}

func TestSecretHeldByForeignFinalizerStopsRevocation(t *testing.T) {
	t.Parallel()
	s := startWatching(t, false)
	b := s.readyBucket()
	a := s.readyAccess(b)
	secret := s.secrets(a)[0]
	testenv.Change(s.Env, secret, func(secret *corev1.Secret) { secret.Finalizers = append(secret.Finalizers, "example.com/backup") })
	s.Delete(a)
	s.untilCondition(a, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.SecretNotWritable)
	if n := len(s.driver.Calls(memdriver.RevokeAccess)); n > 0 {
		t.Errorf("access was revoked while its Secret exists")
	}
	testenv.Change(s.Env, secret, func(secret *corev1.Secret) { secret.Finalizers = nil })
	s.release(a)
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret exists: %v", err)
	}
}

// limitToDriver applies the policy that limits the Sidecar's user to the objects of its driver, and waits until it is
// effective.
func (s *system) limitToDriver() {
	s.t.Helper()
	s.bindLeader()
	policies, err := deploy.Policies()
	if err != nil {
		s.t.Fatal(err)
	}
	text := strings.NewReplacer(
		"cosi-sidecar-driver", "cosi-sidecar-driver-"+s.namespace, "'cosi-system'", "'"+s.namespace+"'",
		"matchConditions:\n", "matchConditions:\n  - name: by-this-sidecar\n    expression: request.userInfo.username == '"+s.user+"'\n",
	).Replace(string(policies["drivers.yaml"]))
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			s.t.Fatal(err)
		}
		s.Create(object)
	}
	foreign := s.bucket()
	foreign.Spec.DriverName = "another.example.com"
	s.Create(foreign)
	sidecar := s.ClientFor(s.User(s.user))
	s.Eventually("the policy counts", func(ctx context.Context) error {
		err := sidecar.Patch(ctx, foreign.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`)), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "cosi-sidecar-driver") {
			return fmt.Errorf("want a refusal by the policy, got %w", err)
		}
		return nil
	})
}

// A tenant can make an access the controller of any Secret. The Secret of another driver's access is not touched,
// because only that driver's sidecar may write it, and does not delay the deletion of the access.
func TestSecretOfAnotherDriversAccess(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	s.refused, s.options.SecretPoll = true, 100*time.Millisecond
	s.limitToDriver()
	s.run()
	b := s.readyBucket()
	a := s.access(b)
	secret := s.secrets(a)[0]
	secret.Finalizers = []string{cosiapi.ProtectionFinalizer}
	secret.Annotations = map[string]string{"cooper.dev/driver": "another.example.com"}
	s.Create(secret)
	s.handOff(a, b)
	testenv.Change(s.Env, secret, func(secret *corev1.Secret) { secret.OwnerReferences = []metav1.OwnerReference{controlledBy(a)} })
	message := s.untilCondition(a, cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.SecretTaken)
	if n := len(s.driver.Calls(memdriver.GenerateAccessID)); n > 0 {
		t.Errorf("the driver was called %d times", n)
	}
	testenv.Until(s.Env, a, "the message names the other driver", func(a *cosiapi.BucketAccess) error {
		if message = testenv.Condition(a, cosiapi.ConditionResourcesValidated).Message; !strings.Contains(message, "another.example.com") {
			return fmt.Errorf("the message is %q", message)
		}
		return nil
	})
	s.Delete(a)
	s.release(a)
	if got := testenv.Get(s.Env, secret); !cosiapi.HasProtection(got) {
		t.Error("the finalizer was removed from the Secret of another driver")
	}
}

// The Secret of an access is released together with the access even if a tenant made an access of another driver its
// controller, because that driver's sidecar may not write it.
func TestSecretWhoseControllerIsAnAccessOfAnotherDriver(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.readyBucket()
	a, other := s.readyAccess(b), s.access(b)
	other.Spec.BucketClaims[0].AccessSecretName = a.Spec.BucketClaims[0].AccessSecretName
	s.Create(other)
	testenv.ChangeStatus(s.Env, other, func(other *cosiapi.BucketAccess) {
		a.Status.DeepCopyInto(&other.Status)
		other.Status.DriverName, other.Status.AccountID, other.Status.Cleanup = "another.example.com", "", ""
	})
	secret := s.secrets(a)[0]
	testenv.Change(s.Env, secret, func(secret *corev1.Secret) { secret.OwnerReferences = []metav1.OwnerReference{controlledBy(other)} })
	s.Delete(a)
	s.release(a)
	if got := testenv.Get(s.Env, secret); cosiapi.HasProtection(got) {
		t.Errorf("our finalizer still holds the Secret: %+v", got.ObjectMeta)
	}
}

func controlledBy(a *cosiapi.BucketAccess) metav1.OwnerReference {
	return *metav1.NewControllerRef(a, cosiapi.GroupVersion().WithKind("BucketAccess"))
}

// An admission policy may refuse the deletion of the Secret. Its credential works until then, and the access reports
// that.
func TestSecretThatMayNotBeWrittenStopsRevocation(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	s.refused, s.options.SecretPoll = true, 100*time.Millisecond
	var deny atomic.Bool
	s.wrap = func(config *rest.Config) *rest.Config {
		config = rest.CopyConfig(config)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(request *http.Request) (*http.Response, error) {
				if deny.Load() && request.Method == http.MethodPatch && strings.Contains(request.URL.Path, "/secrets/") {
					request = request.Clone(request.Context())
					request.URL.Path = strings.Replace(request.URL.Path, "/namespaces/"+s.namespace+"/", "/namespaces/default/", 1)
				}
				return next.RoundTrip(request)
			})
		})
		return config
	}
	s.confine()
	s.run()
	a := s.readyAccess(s.readyBucket())
	deny.Store(true)
	s.Delete(a)
	message := s.untilCondition(a, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.SecretNotWritable)
	if !strings.Contains(message, "forbidden") {
		t.Errorf("the message does not say why: %s", message)
	}
	if n := len(s.driver.Calls(memdriver.RevokeAccess)); n > 0 {
		t.Errorf("access was revoked while its Secret exists")
	}
	deny.Store(false)
	s.release(a)
}

// A roundTrip is a function as an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
