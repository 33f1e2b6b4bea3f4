// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

// readByGitLab reads a Secret like an application that knows only GitLab's format. It fails if the file does not
// contain the credential in the same version of the Secret.
func readByGitLab(s *corev1.Secret) error {
	var connection map[string]any
	if err := yaml.UnmarshalStrict(s.Data["connection"], &connection); err != nil {
		return err
	}
	for field, key := range map[string]string{"aws_access_key_id": "AWS_ACCESS_KEY_ID", "aws_secret_access_key": "AWS_SECRET_ACCESS_KEY", "endpoint": "AWS_ENDPOINT_URL"} {
		if connection[field] != string(s.Data[key]) {
			return fmt.Errorf("the file and %s differ", key)
		}
	}
	return nil
}

// TestKeysThatAUserAdds verifies that added keys follow rotation, repair and changes of the annotation, and that a bad
// annotation takes nothing from COSI's keys.
func TestKeysThatAUserAdds(t *testing.T) {
	t.Parallel()
	covers(t, "secret-keys-added")
	bothWays(t, setup{resync: 100 * time.Millisecond}, func(t *testing.T, o setup) {
		w := pair(t, o, multiBucket)
		access := w.access("app", "keys", "photos", "films")
		access.Annotations = map[string]string{cosiapi.SecretKeysAnnotation: "connection: {preset: gitlab}"}
		w.create(access)
		w.ready(access)
		w.condition(access, cosiapi.ConditionSecretKeysRendered, metav1.ConditionTrue, conditions.SecretKeysRendered)
		before := get(w, secret(access, 0)).DeepCopy()
		change(w, access, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "once") })
		for i := range 2 {
			until(w, secret(access, i), "the application reads the next credential", func(s *corev1.Secret) error {
				if err := readByGitLab(s); err != nil {
					t.Errorf("Secret %d: %v", i, err)
				}
				if bytes.Equal(s.Data["AWS_SECRET_ACCESS_KEY"], before.Data["AWS_SECRET_ACCESS_KEY"]) {
					return errNot
				}
				return nil
			})
		}
		w.called(memdriver.GrantAccess, 2)
		w.repairsAddedKeys(access)
		w.rendersAgain(access)
	})
}

// repairsAddedKeys changes an added key and deletes it.
func (w *world) repairsAddedKeys(access *cosiapi.BucketAccess) {
	w.t.Helper()
	want := get(w, secret(access, 0)).DeepCopy()
	for _, tamper := range []func(*corev1.Secret){
		func(s *corev1.Secret) { s.Data["connection"] = []byte("forged") },
		func(s *corev1.Secret) { delete(s.Data, "connection") },
	} {
		change(w, secret(access, 0), tamper)
		until(w, secret(access, 0), "it is repaired", sameAs(want))
	}
}

// rendersAgain changes, spoils and removes the annotation. The driver is not called.
func (w *world) rendersAgain(access *cosiapi.BucketAccess) {
	w.t.Helper()
	calls := len(w.driver.Calls(memdriver.GrantAccess))
	own := get(w, secret(access, 0)).DeepCopy()
	delete(own.Data, "connection")
	annotate := func(text string) {
		change(w, access, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.SecretKeysAnnotation, text) })
	}
	annotate(`buckets: {template: '{{ range .claims }}{{ .BUCKET_NAME }},{{ end }}'}`)
	buckets := []string{string(own.Data["BUCKET_NAME"]), string(get(w, secret(access, 1)).Data["BUCKET_NAME"])}
	slices.Sort(buckets)
	for i := range 2 {
		until(w, secret(access, i), "it has the other key", func(s *corev1.Secret) error {
			names := strings.Split(strings.TrimSuffix(string(s.Data["buckets"]), ","), ",")
			slices.Sort(names)
			if _, old := s.Data["connection"]; old || !slices.Equal(names, buckets) {
				return fmt.Errorf("keys %q, buckets %q", slices.Sorted(maps.Keys(s.Data)), names)
			}
			return nil
		})
	}
	annotate("AWS_ENDPOINT_URL: {template: forged}\nbad: {template: '{{ .NO_SUCH_KEY }}'}\ngood: {template: x}")
	message := w.condition(access, cosiapi.ConditionSecretKeysRendered, metav1.ConditionFalse, conditions.SecretKeysInvalid)
	if !strings.Contains(message, `key "bad" of Secret`) || !strings.Contains(message, "belongs to COSI") {
		w.t.Errorf("the message does not say why: %s", message)
	}
	w.untilEvent(w.namespace, access, reconciler.FailedRenderSecretKeys)
	own.Data["good"] = []byte("x")
	diff(w.t, "data with a bad annotation", own.Data, get(w, secret(access, 0)).Data)
	w.ready(access)
	change(w, access, func(a *cosiapi.BucketAccess) { delete(a.Annotations, cosiapi.SecretKeysAnnotation) })
	until(w, access, "the condition is removed", func(a *cosiapi.BucketAccess) error {
		if testenv.Condition(a, cosiapi.ConditionSecretKeysRendered).Type != "" {
			return errors.New("the access has it")
		}
		return nil
	})
	delete(own.Data, "good")
	diff(w.t, "data without the annotation", own.Data, get(w, secret(access, 0)).Data)
	if n := len(w.driver.Calls(memdriver.GrantAccess)); n != calls {
		w.t.Errorf("the driver was called %d times for changes of the annotation", n-calls)
	}
}
