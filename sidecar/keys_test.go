// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/sidecar/internal/scheduling"
	"github.com/cooper-cosi/cooper/testenv"
)

// withKeys returns an access with the annotation for added keys, granted for a new Bucket.
func (s *system) withKeys(annotation string) *cosiapi.BucketAccess {
	s.t.Helper()
	b := s.readyBucket()
	a := s.access(b)
	a.Annotations = map[string]string{cosiapi.SecretKeysAnnotation: annotation}
	s.handOff(a, b)
	s.ready(a)
	return a
}

func (s *system) annotate(a *cosiapi.BucketAccess, annotation string) {
	s.t.Helper()
	testenv.Change(s.Env, a, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.SecretKeysAnnotation, annotation) })
}

// untilKey waits until the first Secret of an access has a key with this value.
func (s *system) untilKey(a *cosiapi.BucketAccess, key, value string) *corev1.Secret {
	s.t.Helper()
	secret := s.secrets(a)[0]
	testenv.Until(s.Env, secret, "the Secret has the key "+key, func(secret *corev1.Secret) error {
		if got := string(secret.Data[key]); got != value {
			return fmt.Errorf("the value is %q", got)
		}
		return nil
	})
	return secret
}

// Added keys need no write of their own at a grant. After that, a change of the annotation needs one write for each
// Secret, and none of the status. A restarted sidecar renders the same and writes nothing.
func TestWritesOfAddedKeys(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	stop := s.run()
	a := s.withKeys("a: {template: one}")
	s.untilWrites(append(slices.Clone(writesOfBucket), writesOfAccess...)...)
	s.untilCondition(a, cosiapi.ConditionSecretKeysRendered, metav1.ConditionTrue, conditions.SecretKeysRendered)
	s.annotate(a, "a: {template: two}")
	s.untilKey(a, "a", "two")
	want := append(append(slices.Clone(writesOfBucket), writesOfAccess...), "patch secrets")
	s.untilWrites(want...)
	stop()
	s.run()
	testenv.Change(s.Env, a, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, "poke", "look at the Secret") })
	s.settled()
	if version := testenv.Get(s.Env, s.secrets(a)[0]).Annotations["cooper.dev/data"]; version == "" {
		t.Error("the Secret has no digest")
	}
	if n := len(s.driver.Calls(memdriver.GrantAccess)); n != 1 {
		t.Errorf("DriverGrantBucketAccess: want 1 call, got %d", n)
	}
	if n := len(slices.DeleteFunc(s.writes(), func(write string) bool { return write != "patch secrets" })); n != 2 {
		t.Errorf("want 2 writes of the Secret, got %d", n)
	}
}

// A user who changes the annotation again and again causes only a few writes of Secrets, and no call.
func TestChangesOfAddedKeysAreLimited(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	a := s.withKeys("a: {template: first}")
	changes, waits := 0, false
	for ; !waits && changes < 30; changes++ { // the limit rises by one a minute
		value := fmt.Sprintf("change %d", changes)
		s.annotate(a, "a: {template: "+value+"}")
		testenv.Until(s.Env, a, value+" is written or waits", func(a *cosiapi.BucketAccess) error {
			waits = testenv.Condition(a, cosiapi.ConditionSecretKeysRendered).Reason == string(conditions.SecretKeysPending)
			if got := string(testenv.Get(s.Env, s.secrets(a)[0]).Data["a"]); got != value && !waits {
				return fmt.Errorf("the value is %q", got)
			}
			return nil
		})
	}
	if !waits {
		t.Errorf("the Secret was written after each of %d changes", changes)
	}
	if n := len(s.driver.Calls(memdriver.GrantAccess)); n != 1 {
		t.Errorf("DriverGrantBucketAccess: want 1 call, got %d", n)
	}
}

func TestAddedKeysOfImmutableSecret(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	a := s.withKeys("a: {template: one}")
	testenv.Change(s.Env, s.secrets(a)[0], func(secret *corev1.Secret) { secret.Immutable = new(true) })
	s.annotate(a, "a: {template: two}")
	s.untilCondition(a, cosiapi.ConditionSecretKeysRendered, metav1.ConditionFalse, conditions.SecretNotWritable)
	for _, condition := range []string{cosiapi.ConditionResourcesValidated, cosiapi.ConditionReady} {
		if got := testenv.Condition(a, condition); got.Status != metav1.ConditionTrue {
			t.Errorf("%s: want True, got %s: %s", condition, got.Status, got.Message)
		}
	}
	s.annotate(a, "a: {template: one}")
	s.untilCondition(a, cosiapi.ConditionSecretKeysRendered, metav1.ConditionTrue, conditions.SecretKeysRendered)
}

// A driver that knows a rendered value must not be able to show it to users.
func TestRenderedValuesAreRedacted(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	stop := s.run()
	a := s.withKeys("token: {template: '{{ b64enc .AWS_ACCESS_KEY_ID }}:{{ b64enc .BUCKET_NAME }}'}")
	token := string(testenv.Get(s.Env, s.secrets(a)[0]).Data["token"])
	if !strings.Contains(token, ":") {
		t.Fatalf("the rendered value is %q", token)
	}
	failNext := func(rotation string) {
		t.Helper()
		s.driver.Script(memdriver.Fault{
			RPC: memdriver.GrantAccess, Code: codes.InvalidArgument,
			Message: "refused: " + token + " and " + base64.StdEncoding.EncodeToString([]byte(token)) + " " + rotation,
		})
		testenv.Change(s.Env, a, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, rotation) })
	}
	untilReported := func(rotation string) {
		t.Helper()
		testenv.Until(s.Env, a, "the failure is reported", func(a *cosiapi.BucketAccess) error {
			message := testenv.Condition(a, cosiapi.ConditionProvisionFailed).Message
			if !strings.Contains(message, rotation) {
				return fmt.Errorf("it says: %s", message)
			}
			if strings.Contains(message, token) || strings.Count(message, "[redacted]") != 2 {
				t.Errorf("the message shows a rendered value: %s", message)
			}
			return nil
		})
	}
	failNext("once")
	untilReported("once")
	stop()
	failNext("after a restart") // while no Sidecar runs, because a new one repeats the failed grant at once
	s.run()
	untilReported("after a restart")
}

// A change of the annotation must not bring back the credential that the sidecar has read if a newer one was delivered
// in the meantime, for example by the next leader.
func TestAddedKeysKeepNewerCredential(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	s.options.Backoff = reconciler.BackoffOptions{Base: 10 * time.Millisecond, Max: time.Second} // a conflict is retried
	var meanwhile atomic.Pointer[func()]
	s.wrap = func(config *rest.Config) *rest.Config {
		config = rest.CopyConfig(config)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(request *http.Request) (*http.Response, error) {
				if request.Method == http.MethodPatch && strings.Contains(request.URL.Path, "/secrets/") {
					if deliver := meanwhile.Swap(nil); deliver != nil {
						(*deliver)()
					}
				}
				return next.RoundTrip(request)
			})
		})
		return config
	}
	s.run()
	a := s.withKeys("a: {template: old}")
	delivered := s.secrets(a)[0] // deliver runs in the Sidecar, while the test still changes a
	deliver := func() {
		testenv.Change(s.Env, delivered, func(secret *corev1.Secret) {
			secret.Data["AWS_SECRET_ACCESS_KEY"] = []byte("newer")
			secret.Annotations["cooper.dev/data"] = scheduling.Digest(secret.Data)
		})
	}
	meanwhile.Store(&deliver)
	s.annotate(a, "a: {template: '{{ .AWS_SECRET_ACCESS_KEY }}'}")
	secret := s.untilKey(a, "a", "newer")
	if got := string(secret.Data["AWS_SECRET_ACCESS_KEY"]); got != "newer" {
		t.Errorf("the credential is %q", got)
	}
	if n := len(s.driver.Calls(memdriver.GrantAccess)); n != 1 {
		t.Errorf("DriverGrantBucketAccess: want 1 call, got %d", n)
	}
}
