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

// node returns the node of an object with conditions.
func node(kind string, object client.Object, list []metav1.Condition) *Node {
	created := object.GetCreationTimestamp()
	n := &Node{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName(), Conditions: plain(list), Created: &created, Deleted: object.GetDeletionTimestamp()}
	var decides *metav1.Condition
	if n.Deleted != nil {
		n.Status = reasons.Deleting
		n.State, decides = deletion(list)
		if others := foreignFinalizers(object); len(others) > 0 && !cosiapi.HasProtection(object) {
			n.Message = "It is being deleted, but finalizers of other controllers block the deletion: " + strings.Join(others, ", ") + "."
			n.Do = "Check the controllers that added these finalizers."
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

// plain returns the conditions with messages that are safe for a terminal. Drivers supply part of them.
func plain(list []metav1.Condition) []metav1.Condition {
	harmless := slices.Clone(list)
	for i := range harmless {
		harmless[i].Message = Plain(harmless[i].Message)
	}
	return harmless
}

// provisioning returns the state of an object that is not being deleted, and the condition that determines
// it. It is the condition that Ready repeats, so it also applies to an object that has no Ready yet.
func provisioning(list []metav1.Condition) (State, reasons.Word, *metav1.Condition) {
	decisive := conditions.Decisive(list)
	switch {
	case decisive == nil:
		return Waiting, reasons.Waiting, &metav1.Condition{Reason: string(conditions.Initial), Message: "Waiting for COSI."}
	case decisive.Type == cosiapi.ConditionReleaseHeld:
		return Failed, reasons.Held, decisive
	case decisive.Type == cosiapi.ConditionResourcesValidated && meta.IsStatusConditionTrue(list, cosiapi.ConditionProvisioned):
		return Failed, reasons.Degraded, decisive
	case decisive.Status == metav1.ConditionFalse:
		return Failed, reasons.Failed, decisive
	case decisive.Type == cosiapi.ConditionProvisioned && decisive.Status == metav1.ConditionTrue:
		return Good, reasons.Provisioned, decisive
	default:
		return Waiting, reasons.Waiting, decisive
	}
}

// deletion returns the state of an object that is being deleted.
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

// foreignFinalizers returns the finalizers that COSI does not remove.
func foreignFinalizers(object client.Object) []string {
	return slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(f string) bool { return f == cosiapi.ProtectionFinalizer })
}

// sidecarHasSeen reports whether a sidecar has set one of the conditions.
func sidecarHasSeen(list []metav1.Condition) bool {
	return slices.ContainsFunc(list, func(c metav1.Condition) bool {
		return conditions.Reason(c.Reason).Owner() == conditions.Sidecar
	})
}

// driver returns the node of a driver. seen means that its sidecar has processed the object that refers to
// it; otherwise it may have processed another one.
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
		n.Message = "Its sidecar has run, but its Lease has no holder: the sidecar runs with --leader-elect=false, or was removed."
	case h.State != Good:
		n.Message = fmt.Sprintf("Lease %q: %s", b.System+"/"+cosiapi.LeaseNameFor(name), h.Message)
		n.Do = "An administrator must install the driver, check why its Pods do not run, or correct the driverName of the class."
	}
	return n
}

// A Hold is the state of a Lease, which a component holds while it is active.
type Hold struct {
	State   State
	Status  reasons.Word
	Message string
	// By is the holder, Owner the deployment that the holder belongs to.
	By, Owner string
	// Renewed is when the Lease was last renewed; zero if never.
	Renewed time.Time
	// Never means that the Lease was never held or does not exist.
	Never bool
}

// slack is the tolerated clock difference before a Lease counts as expired.
const slack = 30 * time.Second

// Holder evaluates a Lease; nil means that there is no Lease. It allows for clock skew, because a single read
// cannot distinguish clock skew from an expired Lease.
func Holder(lease *coordinationv1.Lease, now time.Time) Hold {
	if lease == nil {
		return Hold{State: Failed, Status: reasons.NotInstalled, Never: true, Message: "The Lease does not exist, so no process has ever held it."}
	}
	h := Hold{By: ptr.Deref(lease.Spec.HolderIdentity, ""), Owner: lease.Annotations[cosiapi.LeaseOwnerAnnotation]}
	if lease.Spec.RenewTime == nil {
		h.State, h.Status, h.Never, h.Message = Failed, reasons.NotRunning, true, "It has never had a holder."
		return h
	}
	h.Renewed = lease.Spec.RenewTime.Time
	lasts := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	switch age := now.Sub(h.Renewed); {
	case h.By == "":
		h.State, h.Status = Failed, reasons.NotRunning
		h.Message = fmt.Sprintf("It has had no holder since %s.", h.Renewed.UTC().Format(time.RFC3339))
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
