// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/credstore/kube"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/sanity/store"
	"github.com/cooper-cosi/cooper/sidecar"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// TestRolesHoldNoUnusedRight uses all features for which controller and sidecar need permissions, and
// compares their roles with the recorded requests. Missing permissions are found by all other tests and, for
// the credential store, by this one.
func TestRolesHoldNoUnusedRight(t *testing.T) {
	t.Parallel()
	w := start(t, setup{idle: true, leases: true, watchSecrets: true, patience: brief})
	entries := w.keepCredentials()
	w.nameTaken()
	w.newClass("fast")
	w.newAccessClass("keys")
	claim, bucket := w.provisioned("photos", "fast")
	access := w.granted("app", "keys", "photos")
	w.repeatedEvents(access)
	w.conforms(entries)
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
	w.stop(theController) // otherwise it releases the Bucket before the finalizer is removed
	w.removeByHand(lost)
	w.runController()
	w.untilHeld(held)
	w.confirm(held)
	w.gone(held)
	w.delete(claim)
	w.condition(claim, cosiapi.ConditionDeprovisionFailed, metav1.ConditionUnknown, conditions.WaitingForBucketAccess)
	w.delete(access)
	w.gone(access, claim, bucket)
	w.delete(imported)
	w.gone(imported)
	w.stop(theSidecar) // a watch is recorded when it ends
	w.stop(theController)
	for who, roles := range map[string][]string{
		theController: {deploy.ControllerRole, deploy.ControllerLeaderRole},
		theSidecar:    {deploy.SidecarRole, deploy.DriverLeaderRole(w.driver.Name()), deploy.SidecarWatchSecretsRole},
		theStore:      {deploy.DriverCredentialsRole},
	} {
		granted := w.rightsOf(roles)
		if len(granted) == 0 {
			t.Errorf("the check is blind: the %s has no rights", who)
		}
		w.eventually("the audit log shows that each right is used", func(context.Context) error {
			used := map[string]bool{
				// The API server checks this permission for owner references with blockOwnerDeletion.
				right("update", cosiapi.GroupName, "bucketaccesses/finalizers"): true,
				// An admission policy that restricts the writes of its holder checks this permission.
				right("confine", "cooper.dev", "secrets"):        true,
				right("confine", "cooper.dev", "buckets"):        true,
				right("confine", "cooper.dev", "bucketaccesses"): true,
				// The controller reads an access live when a patch of it is rejected, as in
				// TestSkewOfTwoControllers.
				right("get", cosiapi.GroupName, "bucketaccesses"): true,
				// An admission policy checks this permission when such an object is changed.
				right("override", cosiapi.GroupName, "buckets"):        true,
				right("override", cosiapi.GroupName, "bucketaccesses"): true,
				right("override", cosiapi.GroupName, "bucketclaims"):   true,
			}
			for _, e := range w.Audit(controlplane.AuditFilter{User: w.user(who)}) {
				resource := strings.TrimSuffix(e.Resource+"/"+e.Subresource, "/")
				used[right(e.Verb, e.Group, resource)] = true
				if e.Verb == "watch" { // clients list first if the API server does not support streaming lists
					used[right("list", e.Group, resource)] = true
				}
			}
			if unused := slices.DeleteFunc(slices.Clone(granted), func(r string) bool { return used[r] }); len(unused) > 0 {
				return fmt.Errorf("the %s has rights that it does not use: %q", who, unused)
			}
			return nil
		})
	}
}

// theStore is the sidecar in its role as server of the credential store, in the driver's namespace.
const theStore = "store"

// keepCredentials makes sidecars that are started later serve a credential store with an account that has
// only the Role for it, and returns a client of the store.
func (w *world) keepCredentials() cosi.CredentialStoreClient {
	w.t.Helper()
	manifest, err := deploy.DriverCredentials(w.namespace)
	w.must(err)
	w.applyManifest(manifest)
	w.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: deploy.DriverCredentialsRole, Namespace: w.namespace},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: w.user(theStore)}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: deploy.DriverCredentialsRole},
	})
	address := "unix://" + filepath.Join(w.sockets, "credentials.sock")
	w.store, err = kube.Serve(w.t.Context(), w.User(w.user(theStore)), w.namespace, address, slog.New(logr.ToSlogHandler(w.logger(theStore))))
	w.must(err)
	w.t.Cleanup(func() {
		if err := w.store.Stop(); err != nil {
			w.t.Error(err)
		}
	})
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	w.must(err)
	w.t.Cleanup(func() { _ = connection.Close() })
	return cosi.NewCredentialStoreClient(connection)
}

// conforms performs all operations that a driver may perform on a credential store.
func (w *world) conforms(entries cosi.CredentialStoreClient) {
	w.t.Helper()
	w.eventually("the credential store is open", func(ctx context.Context) error {
		_, err := entries.GetStoreId(ctx, &cosi.GetStoreIdRequest{})
		return err
	})
	results, err := store.Run(w.t.Context(), entries)
	w.must(err)
	for _, result := range results {
		if len(result.Problems) > 0 {
			w.t.Errorf("%s %s: %q", result.Case.ID, result.Case.Title, result.Problems)
		}
	}
}

// nameTaken starts controller and sidecar while the driver's name belongs to another sidecar, and then
// transfers the name.
func (w *world) nameTaken() {
	w.t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: sidecar.LeaseName(w.driver.Name())}}
	change(w, lease, func(l *coordinationv1.Lease) {
		l.Annotations = map[string]string{sidecar.OwnerAnnotation: "elsewhere/driver"}
	})
	w.runController()
	w.runSidecar()
	w.untilEvent(w.namespace, lease, reconciler.DriverNameTaken)
	change(w, lease, func(l *coordinationv1.Lease) { l.Annotations = nil })
}

// repeatedEvents makes an Event of the sidecar and one of the controller repeat, which patches the first
// Event.
func (w *world) repeatedEvents(access *cosiapi.BucketAccess) {
	w.t.Helper()
	w.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Code: codes.Unavailable, Times: 2})
	change(w, access, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "1") })
	w.condition(access, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.Retrying)
	w.reconfigure()
	w.untilSeries(access, reconciler.FailedGrantAccess)
	w.reconfigure()
	w.condition(access, cosiapi.ConditionProvisionFailed, metav1.ConditionFalse)
	class := w.newAccessClass("odd")
	waiting := w.access("waiting", "odd", "nothing")
	w.create(waiting)
	w.condition(waiting, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForBucketClaim)
	w.delete(class)
	w.condition(waiting, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForClass)
	w.newAccessClass("odd")
	w.untilSeries(waiting, reconciler.WaitingForBucket)
	w.delete(waiting)
	w.gone(waiting)
}

// untilSeries waits until an Event on an object has been repeated.
func (w *world) untilSeries(on client.Object, reason reconciler.EventReason) {
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

// rightsOf returns all permissions in roles of deploy/.
func (w *world) rightsOf(roles []string) []string {
	w.t.Helper()
	manifests, err := deploy.RBAC()
	w.must(err)
	manifests["driver"], err = deploy.DriverLease(w.driver.Name())
	w.must(err)
	manifests["credentials"], err = deploy.DriverCredentials(w.namespace)
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
