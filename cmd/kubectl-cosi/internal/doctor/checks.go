// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/internal/tree"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

const (
	// skewLook is a clock difference that network latency does not explain, skewFail one at which stores
	// reject signatures.
	skewLook, skewFail = 10 * time.Second, 5 * time.Minute
	// patience is how long a deletion may take before it is reported.
	patience = time.Minute
)

// clocks compares the API server's clock with that of this machine and those of the components' nodes.
func (e *examination) clocks(context.Context) []finding {
	skew := e.there.Sub(e.here).Abs().Round(time.Second)
	f := good("Clocks: this machine and the API server agree.")
	if skew > skewLook {
		f = finding{
			state: tree.Waiting, what: fmt.Sprintf("Clocks: this machine and the API server differ by %s.", skew),
			do: "Correct the wrong clock, preferably with NTP. Stores reject requests if the clocks differ by minutes.",
		}
	}
	if skew > skewFail {
		f.state = tree.Failed
	}
	return []finding{f}
}

// held returns the state of a Lease in the system namespace, or nil and the finding that explains why it is
// unknown.
func (e *examination) held(ctx context.Context, name string) (*tree.Hold, *finding) {
	lease := &coordinationv1.Lease{}
	err := e.client.Get(ctx, client.ObjectKey{Namespace: e.system, Name: name}, lease)
	switch {
	case apierrors.IsForbidden(err):
		return nil, &finding{state: tree.Unknown, what: fmt.Sprintf("Lease %q: you are not allowed to read it.", e.system+"/"+name)}
	case apierrors.IsNotFound(err):
		lease = nil
	case err != nil:
		return nil, &finding{state: tree.Failed, what: fmt.Sprintf("Lease %q: %v.", e.system+"/"+name, err)}
	}
	h := tree.Holder(lease, e.there)
	return &h, nil
}

func (e *examination) controller(ctx context.Context) []finding {
	h, unknown := e.held(ctx, cosiapi.ControllerLeaseName)
	switch {
	case unknown != nil:
		unknown.what = "Controller: " + unknown.what
		return []finding{*unknown}
	case h.State == tree.Good:
		return append([]finding{good("Controller: %q holds its Lease.", h.By)}, e.ahead("the controller", h)...)
	case h.Never && e.controllerHasSeen():
		return []finding{{state: tree.Waiting, what: "Controller: it has run, but its Lease has no holder: it runs with --leader-elect=false, which is for development, or was removed."}}
	default:
		return []finding{{
			state: tree.Failed, what: fmt.Sprintf("Controller: Lease %q: %s", e.system+"/"+cosiapi.ControllerLeaseName, h.Message),
			do: "An administrator must install the controller, or check why its Pods do not run.",
		}}
	}
}

// ahead reports a component whose clock is ahead of the API server's.
func (e *examination) ahead(who string, h *tree.Hold) []finding {
	if ahead := h.Renewed.Sub(e.there); ahead > skewLook {
		return []finding{{
			state: tree.Waiting, what: fmt.Sprintf("Clocks: the node of %s is %s ahead of the API server.", who, ahead.Round(time.Second)),
			do: "An administrator must set the clock of that node.",
		}}
	}
	return nil
}

// controllerHasSeen reports whether the controller has set a condition on any object.
func (e *examination) controllerHasSeen() bool {
	if e.objects == nil {
		return false
	}
	said := func(list []metav1.Condition) bool {
		return slices.ContainsFunc(list, func(c metav1.Condition) bool { return conditions.Reason(c.Reason).Owner() == conditions.Controller })
	}
	for _, claim := range e.objects.Claims {
		if said(claim.Status.Conditions) {
			return true
		}
	}
	for _, access := range e.objects.Accesses {
		if said(access.Status.Conditions) {
			return true
		}
	}
	return false
}

// drivers checks each driver that a class or an object names.
func (e *examination) drivers(context.Context) []finding {
	if e.objects == nil {
		return nil
	}
	if e.objects.Unread["BucketClass"] != "" {
		return []finding{{state: tree.Unknown, what: "Drivers: you are not allowed to read classes, which name the drivers."}}
	}
	var found []finding
	for _, d := range tree.Drivers(e.objects) {
		name := fmt.Sprintf("Driver %q", d.Node.Name)
		if len(d.Classes) > 0 {
			name += " of " + strings.Join(d.Classes, ", ")
		}
		f := finding{state: d.Node.State, what: name + ": " + d.Node.Message, do: d.Node.Do}
		if d.Node.State == tree.Good {
			f = good("%s: its sidecar runs.", name)
		}
		if d.Node.State == tree.Unknown && d.Hold.Never {
			f.state = tree.Waiting
		}
		found = append(found, f)
		found = append(found, e.ahead("the sidecar of "+name, &d.Hold)...)
	}
	if len(found) == 0 {
		found = append(found, finding{
			state: tree.Waiting, what: "Drivers: no class names a driver.",
			do: "An administrator must install a driver, and create a BucketClass and a BucketAccessClass that name it.",
		})
	}
	return found
}

// clashes reports sidecars that are passive because their driver's name is in use.
func (e *examination) clashes(ctx context.Context) []finding {
	list := &corev1.EventList{}
	err := e.client.List(ctx, list, client.InNamespace(e.system), client.MatchingFields{"reason": string(reconciler.DriverNameTaken)})
	switch {
	case apierrors.IsForbidden(err):
		return []finding{{state: tree.Unknown, what: fmt.Sprintf("Driver names: Events report conflicts, but you are not allowed to read Events in namespace %q.", e.system)}}
	case err != nil:
		return []finding{{state: tree.Failed, what: fmt.Sprintf("Driver names: %v.", err)}}
	case len(list.Items) == 0:
		return []finding{good("Driver names: no conflict was reported within the last hour.")}
	}
	var found []finding
	for i := range list.Items {
		found = append(found, finding{state: tree.Failed, what: fmt.Sprintf("Lease %q: %s", e.system+"/"+list.Items[i].InvolvedObject.Name, list.Items[i].Message)})
	}
	return found
}

// deletions reports objects that are stuck in deletion, and what blocks them.
func (e *examination) deletions(ctx context.Context) []finding {
	if e.objects == nil {
		return nil
	}
	var found []finding
	goes := e.namespacesThatGo(ctx)
	for _, n := range e.nodes() {
		if n.Deleted == nil || e.there.Sub(n.Deleted.Time) < patience {
			continue
		}
		f := finding{
			state: tree.Failed, what: fmt.Sprintf("%s: it has been terminating since %s. %s", title(n), n.Deleted.UTC().Format(time.RFC3339), n.Message),
			do: n.Do,
		}
		switch {
		case n.Message == "" && goes(n.Namespace):
			f.state = tree.Waiting // normal while other content of the namespace is deleted
			f.what += "Its namespace is being deleted with all its objects, which takes longer if there are many."
			f.do = "Wait and run this again. If no further objects of the namespace were deleted, an administrator must check whether the controller and the sidecars run."
		case n.Message == "":
			f.what += "No component has reported a reason: the controller or the sidecar of its driver is not processing it."
			f.do = "An administrator must check why they do not run; see the findings above."
		}
		found = append(found, f)
	}
	if len(found) == 0 {
		return []finding{good("Deletions %s: none is stuck.", e.where())}
	}
	return found
}

// namespacesThatGo returns a function that reports whether a namespace is terminating. It reads each
// namespace once. A namespace that cannot be read counts as not terminating.
func (e *examination) namespacesThatGo(ctx context.Context) func(name string) bool {
	known := map[string]bool{"": false}
	return func(name string) bool {
		if _, ok := known[name]; !ok {
			namespace := &corev1.Namespace{}
			known[name] = e.client.Get(ctx, client.ObjectKey{Name: name}, namespace) == nil && namespace.DeletionTimestamp != nil
		}
		return known[name]
	}
}

// nodes returns all objects of COSI that can be read.
func (e *examination) nodes() []*tree.Node {
	roots := []tree.Root{}
	for name := range e.objects.Buckets {
		roots = append(roots, tree.Root{Kind: tree.KindBucket, Name: name})
	}
	slices.SortFunc(roots, func(a, b tree.Root) int { return cmp.Compare(a.Name, b.Name) })
	trees := tree.Build(e.objects)
	if len(roots) > 0 { // including those without a claim
		trees = append(trees, tree.Build(e.objects, roots...)...)
	}
	var nodes []*tree.Node
	seen := map[string]bool{}
	tree.Walk(trees, func(n *tree.Node) {
		if n.Kind != tree.KindDriver && n.Kind != tree.KindSecret && !seen[title(n)] {
			seen[title(n)] = true
			nodes = append(nodes, n)
		}
	})
	return nodes
}

// states counts the objects that are not ready. Details are left to the subcommand status.
func (e *examination) states(context.Context) []finding {
	if e.objects == nil {
		return nil
	}
	all, failed := 0, []string{}
	for _, n := range e.nodes() {
		if n.State != tree.Unknown {
			all++
		}
		if n.State == tree.Failed && n.Deleted == nil {
			failed = append(failed, title(n))
		}
	}
	if len(failed) > 0 {
		return []finding{{
			state: tree.Waiting, what: fmt.Sprintf("Objects %s: %d of %d failed, such as %s.", e.where(), len(failed), all, failed[0]),
			do: "Run kubectl cosi status for the causes and next steps.",
		}}
	}
	return []finding{good("Objects %s: none of %d failed.", e.where(), all)}
}

// where describes which claims and accesses are examined.
func (e *examination) where() string {
	if e.namespace == metav1.NamespaceAll {
		return "in all namespaces"
	}
	return fmt.Sprintf("in namespace %q", e.namespace)
}

// title names an object in the same form as conditions do.
func title(n *tree.Node) string {
	name := n.Name
	if n.Namespace != "" {
		name = n.Namespace + "/" + name
	}
	return conditions.Names(n.Kind, name)
}
