// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reasons"
)

// node is an object that COSI works on, as its conditions judge it.
func node(kind string, object client.Object, list []metav1.Condition) *Node {
	created := object.GetCreationTimestamp()
	n := &Node{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName(), Conditions: plain(list), Created: &created, Deleted: object.GetDeletionTimestamp()}
	var decides *metav1.Condition
	if n.Deleted != nil {
		n.Status = reasons.Deleting
		n.State, decides = deletion(list)
		if others := foreignFinalizers(object); len(others) > 0 && !cosiapi.HasProtection(object) {
			n.Message = "It is being deleted, and others than COSI hold it with their finalizers: " + strings.Join(others, ", ") + "."
			n.Do = "Ask whoever put them there why they stay."
		}
	} else {
		n.State, n.Status, decides = provisioning(list)
	}
	if decides == nil {
		return n
	}
	n.Reason = decides.Reason
	if n.State == Good {
		return n
	}
	n.Message, n.Do = Plain(decides.Message), reasons.OfCondition(decides.Reason).Do
	return n
}

// plain returns conditions whose messages are harmless: drivers have a say in them.
func plain(list []metav1.Condition) []metav1.Condition {
	harmless := slices.Clone(list)
	for i := range harmless {
		harmless[i].Message = Plain(harmless[i].Message)
	}
	return harmless
}

// provisioning judges an object that is to stay, by the condition that decides.
func provisioning(list []metav1.Condition) (State, reasons.Word, *metav1.Condition) {
	provisioned := meta.FindStatusCondition(list, cosiapi.ConditionProvisioned)
	validated := meta.FindStatusCondition(list, cosiapi.ConditionResourcesValidated)
	held := meta.FindStatusCondition(list, cosiapi.ConditionReleaseHeld)
	failed := meta.FindStatusCondition(list, cosiapi.ConditionProvisionFailed)
	is := func(c *metav1.Condition, status metav1.ConditionStatus) bool { return c != nil && c.Status == status }
	switch {
	case is(held, metav1.ConditionTrue):
		return Failed, reasons.Held, held
	case is(provisioned, metav1.ConditionFalse):
		return Failed, reasons.Failed, provisioned
	case is(validated, metav1.ConditionFalse):
		if is(provisioned, metav1.ConditionTrue) {
			return Failed, reasons.Degraded, validated
		}
		return Failed, reasons.Failed, validated
	case is(provisioned, metav1.ConditionTrue):
		return Good, reasons.Provisioned, provisioned
	case is(failed, metav1.ConditionTrue): // it may pass, and says more than that somebody waits
		return Waiting, reasons.Waiting, failed
	case provisioned == nil:
		return Waiting, reasons.Waiting, &metav1.Condition{Reason: string(conditions.Initial), Message: "Waiting for COSI."}
	default:
		return Waiting, reasons.Waiting, provisioned
	}
}

// deletion judges an object that is to go.
func deletion(list []metav1.Condition) (State, *metav1.Condition) {
	failed := meta.FindStatusCondition(list, cosiapi.ConditionDeprovisionFailed)
	switch {
	case failed == nil:
		return Waiting, nil
	case failed.Status == metav1.ConditionTrue:
		return Failed, failed
	case failed.Status == metav1.ConditionFalse:
		return Waiting, nil
	default:
		return Waiting, failed
	}
}

// foreignFinalizers are those that COSI does not take off.
func foreignFinalizers(object client.Object) []string {
	return slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(f string) bool { return f == cosiapi.ProtectionFinalizer })
}

// sidecarHasSeen reports whether a sidecar has said anything of an object.
func sidecarHasSeen(list []metav1.Condition) bool {
	return slices.ContainsFunc(list, func(c metav1.Condition) bool {
		return conditions.Reason(c.Reason).Owner() == conditions.Sidecar
	})
}

// driver is the node of a driver. seen says that its sidecar has worked on the object that asks; if not, it may have on another.
func (b builder) driver(name string, seen bool) *Node {
	n := &Node{Kind: KindDriver, Name: Plain(name)}
	if why := b.Unread["Lease"]; why != "" {
		n.State, n.Status, n.Message = Unknown, reasons.Unreadable, why
		return n
	}
	h := Holder(b.Leases[name], b.Now)
	n.State, n.Status, n.Message = h.State, h.Status, h.Message
	n.detail("holder", h.By)
	n.detail("owner", h.Owner)
	switch {
	case h.Never && (seen || b.sidecarSeen(name)):
		n.State, n.Status = Unknown, reasons.NoLease
		n.Message = "Its sidecar has worked, and nobody holds its Lease: it runs with --leader-elect=false, or it was removed."
	case h.State != Good:
		n.Message = fmt.Sprintf("Lease %q: %s", b.System+"/"+cosiapi.LeaseNameFor(name), h.Message)
		n.Do = "An administrator must install the driver, see why its Pods do not run, or correct the driverName of the class."
	}
	return n
}

// A Hold is what a Lease says of the component that works while it holds it.
type Hold struct {
	State   State
	Status  reasons.Word
	Message string
	// By is who holds it, Owner the deployment that the name belongs to.
	By, Owner string
	// Renewed is when the Lease was renewed last; zero if it never was.
	Renewed time.Time
	// Never says that nobody ever held a Lease, or that it does not exist.
	Never bool
}

// slack is how far the clocks of a cluster may differ before a Lease is taken for expired.
const slack = 30 * time.Second

// Holder judges a Lease; nil means that there is none. One look at a Lease cannot
// tell a clock that is wrong from a holder that is gone, so it has some slack.
func Holder(lease *coordinationv1.Lease, now time.Time) Hold {
	if lease == nil {
		return Hold{State: Failed, Status: reasons.NotInstalled, Never: true, Message: "It does not exist, so nothing has run yet that would hold it."}
	}
	h := Hold{By: ptr.Deref(lease.Spec.HolderIdentity, ""), Owner: lease.Annotations[cosiapi.LeaseOwnerAnnotation]}
	if lease.Spec.RenewTime == nil {
		h.State, h.Status, h.Never, h.Message = Failed, reasons.NotRunning, true, "Nobody has ever held it."
		return h
	}
	h.Renewed = lease.Spec.RenewTime.Time
	lasts := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	switch age := now.Sub(h.Renewed); {
	case h.By == "":
		h.State, h.Status = Failed, reasons.NotRunning
		h.Message = fmt.Sprintf("Nobody holds it since %s.", h.Renewed.UTC().Format(time.RFC3339))
	case age > lasts+slack:
		h.State, h.Status = Failed, reasons.NotRunning
		h.Message = fmt.Sprintf("Its holder %q has not renewed it since %s.", h.By, h.Renewed.UTC().Format(time.RFC3339))
	default:
		h.State, h.Status = Good, reasons.Running
	}
	return h
}

func list[T ~string](values []T) string {
	if len(values) == 0 {
		return ""
	}
	return conditions.List(values)
}
