// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/fakes/driverfake"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/sidecar"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// TestRolesHoldNoUnusedRight lives through all that controller
// and sidecar need rights for, and compares their roles with what they did.
// That they lack none, every test sees.
func TestRolesHoldNoUnusedRight(t *testing.T) {
	t.Parallel()
	w := start(t, setup{idle: true, leases: true, watchSecrets: true})
	w.nameTaken()
	w.newClass("fast")
	w.newAccessClass("keys")
	claim, bucket := w.provisioned("photos", "fast")
	access := w.granted("app", "keys", "photos")
	w.repeatedEvents(access)
	change(w, secret(access, 0), func(s *corev1.Secret) { s.Annotations = nil })
	until(w, secret(access, 0), "the Secret is repaired", func(s *corev1.Secret) error {
		if len(s.Annotations) == 0 {
			return errNot
		}
		return nil
	})
	imported := w.imported("archive", "archive", "archive")
	w.create(imported)
	lost, held := w.provisioned("lost", "fast")
	w.removeByHand(lost)
	w.untilHeld(held)
	w.confirm(held)
	w.gone(held)
	w.delete(access, claim)
	w.gone(access, claim, bucket)
	w.delete(imported)
	w.gone(imported)
	w.stop(theSidecar) // a watch is recorded when it ends
	w.stop(theController)
	for who, roles := range map[string][]string{
		theController: {deploy.ControllerRole, deploy.ControllerLeaderRole},
		theSidecar:    {deploy.SidecarRole, deploy.DriverLeaderRole(w.driver.Name()), deploy.SidecarWatchSecretsRole},
	} {
		granted := w.rightsOf(roles)
		if !slices.Contains(granted, "update coordination.k8s.io/leases") {
			t.Errorf("the check is blind: the %s has the rights %q", who, granted)
		}
		var unused []string
		w.eventually("the audit log is complete", func(context.Context) error {
			used := map[string]bool{
				// The API server asks for it when it sees that an owner's deletion is blocked.
				right("update", cosiapi.GroupName, "bucketaccesses/finalizers"): true,
				// A policy asks for it, which confines the writes of its holder.
				right("confine", "cooper.dev", "secrets"):        true,
				right("confine", "cooper.dev", "buckets"):        true,
				right("confine", "cooper.dev", "bucketaccesses"): true,
				// The controller reads an access past its cache when a patch of it is refused, as TestSkewOfTwoControllers
				// has it.
				right("get", cosiapi.GroupName, "bucketaccesses"): true,
				// A policy asks for it when one of the objects is changed.
				right("override", cosiapi.GroupName, "buckets"):        true,
				right("override", cosiapi.GroupName, "bucketaccesses"): true,
				right("override", cosiapi.GroupName, "bucketclaims"):   true,
			}
			for _, e := range w.Audit(controlplane.AuditFilter{User: w.user(who)}) {
				resource := strings.TrimSuffix(e.Resource+"/"+e.Subresource, "/")
				used[right(e.Verb, e.Group, resource)] = true
				if e.Verb == "watch" { // an API server that cannot begin a watch with what there is, is asked for a list first
					used[right("list", e.Group, resource)] = true
				}
			}
			unused = slices.DeleteFunc(slices.Clone(granted), func(r string) bool { return used[r] })
			if !used["watch objectstorage.k8s.io/buckets"] {
				return errNot
			}
			return nil
		})
		if len(unused) > 0 {
			t.Errorf("the %s has rights that it does not use: %q", who, unused)
		}
	}
}

// nameTaken starts controller and sidecar while the driver's name belongs to
// somebody else, and gives it to the sidecar.
func (w *world) nameTaken() {
	w.t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: sidecar.LeaseName(w.driver.Name())}}
	change(w, lease, func(l *coordinationv1.Lease) {
		l.Annotations = map[string]string{sidecar.OwnerAnnotation: "elsewhere/driver"}
	})
	w.runController()
	w.runSidecar()
	w.untilEvent(w.namespace, lease, events.DriverNameTaken)
	change(w, lease, func(l *coordinationv1.Lease) { l.Annotations = nil })
}

// repeatedEvents makes an Event of the sidecar and one of the controller come
// twice, which is a patch of the first one.
func (w *world) repeatedEvents(access *cosiapi.BucketAccess) {
	w.t.Helper()
	w.driver.Script(driverfake.Fault{RPC: driverfake.GrantAccess, Code: codes.Unavailable, Times: 2})
	change(w, access, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "1") })
	w.condition(access, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.Retrying)
	w.reconfigure()
	w.untilSeries(access, events.FailedGrantAccess)
	w.reconfigure()
	w.condition(access, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse)
	class := w.newAccessClass("odd")
	waiting := w.access("waiting", "odd", "nothing")
	w.create(waiting)
	w.condition(waiting, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForBucketClaim)
	w.delete(class)
	w.condition(waiting, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForClass)
	w.newAccessClass("odd")
	w.untilSeries(waiting, events.WaitingForBucket)
	w.delete(waiting)
	w.gone(waiting)
}

// untilSeries waits until an Event on an object has come again.
func (w *world) untilSeries(on client.Object, reason events.Reason) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the Event %s on %s is repeated", reason, on.GetName()), func(ctx context.Context) error {
		list := &eventsv1.EventList{}
		if err := w.Client.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		n := 0
		for _, e := range list.Items {
			if e.Reason == string(reason) && e.Regarding.UID == on.GetUID() {
				if n++; n > 1 {
					w.t.Fatalf("there are several Events %s on %s", reason, on.GetName())
				}
				if e.Series != nil && e.Series.Count > 1 {
					return nil
				}
			}
		}
		return errNot
	})
}

// rightsOf are all rights in roles of deploy/.
func (w *world) rightsOf(roles []string) []string {
	w.t.Helper()
	manifests, err := deploy.RBAC()
	w.must(err)
	manifests["driver"], err = deploy.DriverLease(w.driver.Name())
	w.must(err)
	var rights []string
	for _, manifest := range manifests {
		decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(string(manifest)), 4096)
		for {
			role := &rbacv1.ClusterRole{} // a Role has the same fields
			err := decoder.Decode(role)
			if errors.Is(err, io.EOF) {
				break
			}
			w.must(err)
			if !slices.Contains(roles, role.Name) {
				continue
			}
			for _, rule := range role.Rules {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						rights = append(rights, right(verb, rule.APIGroups[0], resource))
					}
				}
			}
		}
	}
	return rights
}

func right(verb, group, resource string) string { return verb + " " + group + "/" + resource }
