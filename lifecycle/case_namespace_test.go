// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

func TestNamespaceIsDeleted(t *testing.T) {
	t.Parallel()
	covers(t, "bucket-deleted-first", "namespace-deleted")
	bothWays(t, setup{backoff: patient()}, func(t *testing.T, o setup) {
		// The namespace controller also deletes Secrets, which no watch reports.
		w := pair(t, o, multiBucket)
		w.newClass("kept", retain)
		kept, keptBucket := w.provisioned("kept", "kept")
		buckets := []*cosiapi.Bucket{w.bucketOf(w.claim("photos", "")), w.bucketOf(w.claim("films", ""))}
		one := w.granted("one", "keys", "photos")
		both := w.granted("both", "keys", "photos", "films")
		stuck := w.granted("stuck", "keys", "films")
		waiting := w.access("waiting", "keys", "nothing")
		w.create(waiting)
		w.condition(waiting, cosiapi.ConditionResourcesValidated, metav1.ConditionUnknown, conditions.WaitingForBucketClaim)
		w.driver.Script(memdriver.Fault{
			RPC: memdriver.RevokeAccess, ID: stuck.Status.AccountID, Code: codes.FailedPrecondition, Message: "the account is in use", Times: memdriver.Always,
		})
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
		w.delete(namespace)
		w.gone(one, both, waiting, kept, w.claim("photos", ""), buckets[0], secret(stuck, 0), secret(both, 0), secret(both, 1))
		// The condition explains why the object remains.
		message := w.condition(stuck, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.Retrying)
		if !strings.Contains(message, "the account is in use") {
			t.Errorf("the reason is lost: %s", message)
		}
		films := w.claim("films", "")
		if !cosiapi.HasProtection(get(w, films)) || released(get(w, buckets[1])) {
			t.Error("the claim of an access that is stuck was released")
		}
		w.driver.ClearScript() // and the backoff repeats the call
		w.gone(stuck, films, buckets[1], namespace)
		if get(w, keptBucket); !keptBucket.DeletionTimestamp.IsZero() {
			t.Error("a retained Bucket is being deleted")
		}
		w.eventually("the backend has the retained bucket and nothing else", func(context.Context) error {
			left := w.driver.Inventory()
			if len(left.Accounts) > 0 || len(left.Buckets) != 1 || left.Buckets[0].ID != keptBucket.Name {
				return fmt.Errorf("it has %+v", left)
			}
			return nil
		})
	})
}

// TestClaimsDeletedTogether releases several claims at the same moment: they all wait for revocations until
// then.
func TestClaimsDeletedTogether(t *testing.T) {
	t.Parallel()
	covers(t, "deletion-linear")
	const claims = 8
	w := start(t, setup{backoff: patient()})
	w.newClass("fast")
	w.newAccessClass("keys")
	var all []client.Object
	for n := range claims {
		name := fmt.Sprintf("photos-%d", n)
		all = append(all, w.newClaim(name, "fast"))
		access := w.access(name, "keys", name)
		w.create(access)
		all = append(all, access)
	}
	w.ready(all...)
	hold := make(chan struct{})
	w.driver.Script(memdriver.Fault{RPC: memdriver.RevokeAccess, Hold: hold, Times: memdriver.Always})
	before := w.listsOfAccesses()
	w.delete(all...)
	w.awaitCalls(func(calls []memdriver.Call) bool { return len(calls) == claims }, memdriver.RevokeAccess)
	close(hold)
	w.gone(all...)
	if n := w.listsOfAccesses() - before; n > 0 {
		t.Errorf("for %d claims, accesses were listed %d times", claims, n)
	}
}

// TestSecretsAreDeletedBeforeTheirAccesses covers the order of the namespace controller, which deletes one kind after
// the other. If it deletes Secrets first, their accesses will be deleted soon, and the API rejects new
// Secrets. A claim whose accesses are deleted later waits for them. The controller reports none of this in a
// status, because it is expected.
func TestSecretsAreDeletedBeforeTheirAccesses(t *testing.T) {
	t.Parallel()
	covers(t, "namespace-deleted")
	w := start(t, setup{backoff: patient()})
	w.newClass("fast")
	w.newAccessClass("keys")
	claim, bucket := w.provisioned("photos", "fast")
	access := w.granted("camera", "keys", "photos")
	keep := w.undeletable(access)
	told := controlplane.AuditFilter{User: w.user(theController), Verbs: []string{"patch"}, Resources: []string{"bucketclaims", "bucketaccesses"}}
	already := len(w.Audit(told))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	w.delete(namespace)
	w.eventually("the Secret is being deleted", func(ctx context.Context) error {
		left := secret(access, 0)
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(left), left)
		if err == nil && left.DeletionTimestamp.IsZero() {
			return errors.New("it is not")
		}
		return client.IgnoreNotFound(err)
	})
	refused := func() int {
		return len(w.Audit(controlplane.AuditFilter{User: w.user(theSidecar), Verbs: []string{"create"}, Resources: []string{"secrets"}}))
	}
	before := refused()
	w.reconfigure() // so that the sidecar reconciles the access
	w.eventually("the sidecar tries to write the Secret", func(context.Context) error {
		if refused() == before {
			return errors.New("it has not yet")
		}
		return nil
	})
	w.delete(keep...)
	w.gone(access, claim, bucket, namespace)
	for _, r := range w.Audit(told)[already:] {
		if r.Subresource == "status" {
			t.Errorf("the controller has something to say: %+v", r)
		}
	}
	for _, r := range w.Audit(controlplane.AuditFilter{User: w.user(theSidecar), Verbs: []string{"create"}, Resources: []string{"events"}}) {
		if r.Code == http.StatusForbidden {
			t.Errorf("the sidecar creates an Event in a namespace that is being deleted: %+v", r)
		}
	}
}

// undeletable blocks the deletion of an access until the returned objects are deleted.
func (w *world) undeletable(access *cosiapi.BucketAccess) []client.Object {
	w.t.Helper()
	name := w.global("keep-accesses")
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Delete},
					Rule: admissionv1.Rule{
						APIGroups: []string{cosiapi.GroupName}, APIVersions: []string{"*"}, Resources: []string{"bucketaccesses"},
					},
				},
			}}},
			Validations: []admissionv1.Validation{{Expression: fmt.Sprintf("oldObject.metadata.namespace != %q", w.namespace)}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	w.create(policy, binding)
	w.eventually("accesses stay", func(ctx context.Context) error {
		if err := w.Client.Delete(ctx, access.DeepCopy(), client.DryRunAll); err == nil {
			return errors.New("one would be deleted")
		}
		return nil
	})
	return []client.Object{binding, policy}
}
