// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/fakes/driverfake"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/sidecar"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// A driver that nobody installed, or whose sidecar does not run, can not say so.
// The controller says it for them, to users who wait for it, by the Lease.
func TestDriverWithoutASidecar(t *testing.T) {
	t.Parallel()
	w := start(t, setup{leases: true, patience: time.Second, idle: true})
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: sidecar.LeaseName(w.driver.Name())}}
	w.must(w.Client.Delete(t.Context(), lease))
	w.runController()
	w.newClass("fast")
	w.newAccessClass("keys")
	early := w.newClaim("early", "fast")
	never := w.condition(early, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.WaitingForSidecar)
	w.names(never, "has run yet")
	w.create(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: lease.Namespace, Name: lease.Name}}) // the driver is installed
	w.runSidecar()
	w.ready(early)
	leaving, bucket := w.provisioned("leaving", "fast")
	w.stop(theSidecar)

	late := w.newClaim("late", "fast")
	gone := w.condition(late, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.WaitingForSidecar)
	w.names(gone, "nobody holds")
	access := w.access("app", "keys", "early")
	w.create(access)
	w.names(w.condition(access, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.WaitingForSidecar), "nobody holds")
	asked, said := w.asked(), get(w, late).ResourceVersion
	w.touch(w.bucketOf(late))
	w.askedMoreThan(asked)
	fence := w.newClaim("fence", "no-such-class")
	w.condition(fence, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForClass)
	if now := get(w, late).ResourceVersion; now != said {
		t.Errorf("what was said already is written again: %+v", late.Status.Conditions)
	}
	w.delete(leaving)
	w.gone(leaving)
	w.names(w.untilEvent(w.namespace, leaving, events.BucketReleased).Note, "nobody holds")

	w.runSidecar()
	w.ready(late)
	w.ready(access)
	w.gone(bucket)
	w.delete(access)
	w.gone(access)
}

// names fails the test unless a message holds a text and names the Lease of the
// driver, and where it is.
func (w *world) names(message, text string) {
	w.t.Helper()
	for _, want := range []string{text, `Lease "` + w.namespace + "/" + sidecar.LeaseName(w.driver.Name()) + `"`, w.driver.Name()} {
		if !strings.Contains(message, want) {
			w.t.Errorf("the message does not say %q: %s", want, message)
		}
	}
}

// A sidecar that is merely slow is not taken for one that is missing.
func TestSlowDriver(t *testing.T) {
	t.Parallel()
	w := start(t, setup{leases: true, patience: time.Second})
	w.newClass("fast")
	proceed := make(chan struct{})
	w.driver.Script(driverfake.Fault{RPC: driverfake.CreateBucket, Hold: proceed})
	claim := w.newClaim("photos", "fast")
	w.askedMoreThan(0)
	w.touch(w.bucketOf(claim))
	w.askedMoreThan(1)
	fence := w.newClaim("fence", "no-such-class")
	w.condition(fence, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForClass)
	w.condition(claim, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.WaitingForBucket)
	close(proceed)
	w.ready(claim)
	w.called(driverfake.CreateBucket, 1)
}

// asked is how often the controller has looked at the Lease of the driver.
func (w *world) asked() int {
	return len(slices.DeleteFunc(w.Audit(controlplane.AuditFilter{User: w.user(theController), Resources: []string{"leases"}}), func(e controlplane.AuditEvent) bool {
		return e.Name != sidecar.LeaseName(w.driver.Name())
	}))
}

// askedMoreThan waits until the controller has looked at it more often.
func (w *world) askedMoreThan(times int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the controller has looked at the Lease of the driver more than %d times", times), func(context.Context) error {
		if now := w.asked(); now <= times {
			return fmt.Errorf("%d times", now)
		}
		return nil
	})
}
