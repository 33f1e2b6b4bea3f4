// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// TestUsersCannotSpeedUpTheDriver verifies that a user who constantly writes to an access does not cause early
// driver calls.
func TestUsersCannotSpeedUpTheDriver(t *testing.T) {
	t.Parallel()
	covers(t, "users-hurry-nothing")
	w := pair(t, setup{})
	access := w.granted("app", "keys", "photos")
	rotate := func(value string) {
		change(w, access, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, value) })
	}
	w.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Code: codes.Unavailable, Times: memdriver.Always})
	rotate("1")
	w.condition(access, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.Retrying)
	for i := range 3 {
		change(w, access, func(a *cosiapi.BucketAccess) {
			cosiapi.SetAnnotation(a, "note", fmt.Sprint(i))
			a.Labels = map[string]string{"note": fmt.Sprint(i)}
		})
		w.settled()
		rotate("again " + fmt.Sprint(i))
		w.settled()
	}
	w.called(memdriver.GrantAccess, 2)
	w.driver.ClearScript()
	w.stop(theSidecar) // administrators are not rate limited
	w.runSidecar()
	w.condition(access, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse)
}

// TestRotationsWithoutEnd verifies that a few rotations in quick succession are performed at once. Many are
// rate limited, and so are repairs of Secrets that a user keeps changing, until the driver has a new
// revision.
func TestRotationsWithoutEnd(t *testing.T) {
	t.Parallel()
	covers(t, "users-hurry-nothing")
	w := pair(t, setup{})
	const atOnce = 10
	began := time.Now()
	access := w.granted("app", "keys", "photos")
	for i := 1; i < atOnce+3; i++ { // the first grant is not a rotation, but counts
		change(w, access, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, fmt.Sprint(i)) })
		if i < atOnce {
			w.awaitCalls(memdriver.Finished(i+1), memdriver.GrantAccess)
		}
		w.settled()
	}
	change(w, secret(access, 0), func(s *corev1.Secret) { s.Data["AWS_ACCESS_KEY_ID"] = []byte("spoilt") })
	w.touch(access)
	w.settled()
	most := atOnce + int(time.Since(began)/time.Minute)
	if n := len(w.driver.Calls(memdriver.GrantAccess)); n > most {
		t.Errorf("want at most %d grants, got %d", most, n)
	}
	w.reconfigure()
	until(w, secret(access, 0), "the Secret is repaired", func(s *corev1.Secret) error {
		if string(s.Data["AWS_ACCESS_KEY_ID"]) == "spoilt" {
			return errNot
		}
		return nil
	})
}

func TestClassThatDoesNotExist(t *testing.T) {
	t.Parallel()
	covers(t, "class-missing")
	w := start(t, setup{})
	claim, access := w.claim("photos", "misspelt"), w.access("app", "misspelt", "photos")
	w.create(claim, access)
	for _, e := range []eventsv1.Event{
		w.untilEvent(w.namespace, claim, reconciler.FailedCreateBucket), w.untilEvent(w.namespace, access, reconciler.FailedGrantAccess),
	} {
		if e.Type != corev1.EventTypeWarning || !strings.Contains(e.Note, "misspelt") {
			t.Errorf("the Event does not warn of the class: %+v", e)
		}
	}
	w.newClass("misspelt")
	w.newAccessClass("misspelt")
	w.ready(claim, access)
	// An object that waits only for its class is found through the class.
	claim, access = w.claim("films", "later"), w.access("second", "later", "photos")
	w.create(claim, access)
	w.untilEvent(w.namespace, claim, reconciler.FailedCreateBucket)
	w.untilEvent(w.namespace, access, reconciler.FailedGrantAccess)
	w.settled()
	w.newClass("later")
	w.newAccessClass("later")
	w.ready(claim, access)
}

// unnamed fails the test if a condition or an Event of an object contains one of the names.
func (w *world) unnamed(obj client.Object, conds []metav1.Condition, reason reconciler.EventReason, names ...string) {
	w.t.Helper()
	said := []string{w.untilEvent(w.namespace, obj, reason).Note}
	for _, c := range conds {
		said = append(said, c.Message)
	}
	for _, text := range said {
		for _, name := range names {
			if strings.Contains(text, name) {
				w.t.Errorf("users of %s read of %q, which is not theirs: %s", w.namespace, name, text)
			}
		}
	}
}

// TestFailuresAreCounted verifies that failed reconciles are counted, for driver errors and Kubernetes API
// errors. A creation that was abandoned is counted for its driver.
func TestFailuresAreCounted(t *testing.T) {
	t.Parallel()
	covers(t, "failures-counted")
	w := start(t, setup{backoff: patient()})
	w.newClass("fast")
	w.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.Unavailable})
	w.tape.strike(&fault{Who: theController, What: "patch bucketclaims/status", Times: 1, Status: 500})
	w.provisioned("photos", "fast")
	w.stop(theSidecar)
	early := w.newClaim("early", "fast")
	bucket := w.bucketOf(early)
	w.drop(t.Context(), bucket)
	w.gone(bucket)
	w.delete(early)
	w.gone(early)
	for _, tc := range []struct{ who, kind, status string }{
		{theSidecar, "Bucket", "Unknown"},
		{theController, "BucketClaim", "Unknown"},
		{theController, "BucketClaim", "Canceled"},
	} {
		labels := map[string]string{"driver_name": w.driver.Name(), "resource_kind": tc.kind, "operation": "Create", "status": tc.status}
		w.eventually(fmt.Sprintf("the creation of a %s counts as %s", tc.kind, tc.status), func(context.Context) error {
			if n := w.sample(tc.who, "cosi_operation_count", labels); n != 1 {
				return fmt.Errorf("want 1, got %v", n)
			}
			return nil
		})
	}
}
