// SPDX-License-Identifier: Apache-2.0

package tree_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/internal/tree"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

const (
	yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown

	provisioned, validated   = cosiapi.ConditionProvisioned, cosiapi.ConditionResourcesValidated
	provisionFailed, goesNot = cosiapi.ConditionProvisionFailed, cosiapi.ConditionDeprovisionFailed
)

func condition(kind string, status metav1.ConditionStatus, reason conditions.Reason) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: string(reason), Message: "Message of " + string(reason) + "."}
}

// TestStateOfAnObject determines the state of a claim from its conditions only.
func TestStateOfAnObject(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		conditions []metav1.Condition
		deleting   bool
		finalizers []string
		want       tree.State
		reason     conditions.Reason
	}{
		"no component has processed it": {nil, false, nil, tree.Waiting, conditions.Initial},
		"it is provisioned": {
			[]metav1.Condition{condition(provisioned, yes, conditions.Provisioned), condition(validated, yes, conditions.ControllerValidated)}, false, nil, tree.Good, conditions.Provisioned,
		},
		"it is provisioned, and its claim was lost": {
			[]metav1.Condition{condition(provisioned, yes, conditions.Provisioned), condition(cosiapi.ConditionReleaseHeld, yes, conditions.BucketClaimMissing)}, false, nil, tree.Failed, conditions.BucketClaimMissing,
		},
		"it is provisioned, and degraded since": {
			[]metav1.Condition{condition(provisioned, yes, conditions.Provisioned), condition(validated, no, conditions.BucketMissing)}, false, nil, tree.Failed, conditions.BucketMissing,
		},
		"it waits": {[]metav1.Condition{condition(provisioned, unknown, conditions.WaitingForClass)}, false, nil, tree.Waiting, conditions.WaitingForClass},
		"it waits, since a call failed that is repeated": {
			[]metav1.Condition{condition(provisioned, unknown, conditions.WaitingForBucket), condition(provisionFailed, yes, conditions.Retrying)}, false, nil, tree.Waiting, conditions.Retrying,
		},
		"the driver refused": {
			[]metav1.Condition{condition(provisioned, no, conditions.Terminal), condition(provisionFailed, yes, conditions.Terminal)}, false, nil, tree.Failed, conditions.Terminal,
		},
		"another object is in the way": {
			[]metav1.Condition{condition(provisioned, unknown, conditions.SecretTaken), condition(validated, no, conditions.SecretTaken)}, false, nil, tree.Failed, conditions.SecretTaken,
		},
		"it is terminating": {[]metav1.Condition{condition(provisioned, yes, conditions.Provisioned)}, true, nil, tree.Waiting, ""},
		"it is terminating and waits": {
			[]metav1.Condition{condition(provisioned, yes, conditions.Provisioned), condition(goesNot, unknown, conditions.WaitingForBucketAccess)}, true, nil, tree.Waiting, conditions.WaitingForBucketAccess,
		},
		"it does not go": {
			[]metav1.Condition{condition(goesNot, yes, conditions.Retrying)}, true, nil, tree.Failed, conditions.Retrying,
		},
		"others hold it": {
			[]metav1.Condition{condition(goesNot, no, conditions.RPCSucceeded)}, true, []string{"example.com/backup"}, tree.Waiting, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claim := &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", Finalizers: tc.finalizers}}
			claim.Status.Conditions = tc.conditions
			if tc.deleting {
				claim.DeletionTimestamp = ptr.To(metav1.Now())
			}
			key := client.ObjectKeyFromObject(claim)
			nodes := tree.Build(&tree.Objects{Claims: map[client.ObjectKey]*cosiapi.BucketClaim{key: claim}})
			got := nodes[0]
			if got.State != tc.want || got.Reason != string(tc.reason) || tree.Worst(nodes) != tc.want {
				t.Errorf("want %s %s, got %+v", tc.want, tc.reason, got)
			}
			if wrong := got.State != tree.Good && tc.reason != ""; wrong && (got.Do == "" || got.Message == "") {
				t.Errorf("it does not say what to do: %+v", got)
			}
			if len(tc.finalizers) > 0 && got.Message == "" {
				t.Error("it does not name the finalizer")
			}
		})
	}
}

// TestABucketThatIsAwaited covers a Bucket that an administrator has not imported yet, and one that was lost.
func TestABucketThatIsAwaited(t *testing.T) {
	t.Parallel()
	for reason, want := range map[conditions.Reason]tree.State{conditions.WaitingForBucket: tree.Waiting, conditions.BucketMissing: tree.Failed} {
		status := unknown
		if want == tree.Failed {
			status = no
		}
		claim := &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}, Spec: cosiapi.BucketClaimSpec{ExistingBucketName: "photos"}}
		claim.Status.Conditions = []metav1.Condition{condition(provisioned, status, reason)}
		nodes := tree.Build(&tree.Objects{Claims: map[client.ObjectKey]*cosiapi.BucketClaim{client.ObjectKeyFromObject(claim): claim}})
		if bucket := nodes[0].Children[0]; bucket.State != want || bucket.Status != "NotFound" {
			t.Errorf("%s: want a Bucket that is %s and NotFound, got %+v", reason, want, bucket)
		}
	}
}

// TestAClaimThatIsAwaited covers a claim that an access names and that does not exist yet.
func TestAClaimThatIsAwaited(t *testing.T) {
	t.Parallel()
	for reason, want := range map[conditions.Reason]tree.State{conditions.WaitingForBucketClaim: tree.Waiting, conditions.Terminal: tree.Failed} {
		status := unknown
		if want == tree.Failed {
			status = no
		}
		access := &cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}
		access.Spec.BucketClaims = []cosiapi.BucketClaimAccess{{BucketClaimName: "photos"}}
		access.Status.Conditions = []metav1.Condition{condition(provisioned, status, reason)}
		nodes := tree.Build(&tree.Objects{Accesses: map[client.ObjectKey]*cosiapi.BucketAccess{client.ObjectKeyFromObject(access): access}})
		if claim := nodes[0].Children[0]; claim.State != want || claim.Status != "NotFound" || tree.Worst(nodes) != want {
			t.Errorf("%s: want a claim that is %s and NotFound, got %+v", reason, want, claim)
		}
	}
}

// TestWhatIsLeftOfAClaim covers Buckets without a claim that need attention.
func TestWhatIsLeftOfAClaim(t *testing.T) {
	t.Parallel()
	buckets := map[string]*cosiapi.Bucket{}
	for name, list := range map[string][]metav1.Condition{
		"stuck": {condition(goesNot, yes, conditions.Retrying)},
		"held":  {condition(cosiapi.ConditionReleaseHeld, yes, conditions.BucketClaimMissing)},
		"kept":  {condition(provisioned, yes, conditions.Provisioned)},
		"new":   {condition(goesNot, yes, conditions.Retrying)},
	} {
		buckets[name] = &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: name}}
		buckets[name].Spec.BucketClaimRef = cosiapi.BucketClaimReference{Namespace: "ns", Name: "a", UID: "gone"}
		buckets[name].Status.Conditions = list
	}
	buckets["stuck"].DeletionTimestamp = ptr.To(metav1.Now())
	buckets["new"].Spec.BucketClaimRef.UID = "" // no claim has bound to it
	nodes := tree.Build(&tree.Objects{Buckets: buckets})
	names := []string{}
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	if diff := cmp.Diff([]string{"held", "stuck"}, names); diff != "" {
		t.Fatalf("Buckets (-want +got):\n%s", diff)
	}
	if claim := nodes[1].Children[0]; claim.State != tree.Good || claim.Do != "" {
		t.Errorf("the claim of a terminating Bucket must not be created again: %+v", claim)
	}
	if claim := nodes[0].Children[0]; claim.State != tree.Failed {
		t.Errorf("the claim of a Bucket that is held is missing: %+v", claim)
	}
}

// TestADriverThatHasWorked covers a sidecar that has processed another object than the one that refers to it.
func TestADriverThatHasWorked(t *testing.T) {
	t.Parallel()
	access := &cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}, Status: cosiapi.BucketAccessStatus{DriverName: "d"}}
	other := access.DeepCopy()
	other.Name = "b"
	o := &tree.Objects{Accesses: map[client.ObjectKey]*cosiapi.BucketAccess{client.ObjectKeyFromObject(access): access, client.ObjectKeyFromObject(other): other}}
	for _, want := range []string{"NotInstalled", "NoLease"} {
		driver := tree.Build(o, tree.Root{Kind: tree.KindAccess, Namespace: "ns", Name: "a"})[0].Children[0]
		if driver.Kind != tree.KindDriver || driver.Status != want {
			t.Errorf("want a driver that is %s, got %+v", want, driver)
		}
		other.Status.Conditions = []metav1.Condition{condition(provisionFailed, no, conditions.RPCSucceeded)}
	}
}

func TestHolder(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	lease := func(holder *string, age time.Duration) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: holder, LeaseDurationSeconds: ptr.To[int32](15), RenewTime: ptr.To(metav1.NewMicroTime(now.Add(-age))),
		}}
	}
	for name, tc := range map[string]struct {
		lease *coordinationv1.Lease
		want  string
		never bool
	}{
		"there is none":                            {nil, "NotInstalled", true},
		"it never had a holder":                    {&coordinationv1.Lease{}, "NotRunning", true},
		"it was given up":                          {lease(ptr.To(""), time.Second), "NotRunning", false},
		"it is held":                               {lease(ptr.To("a"), time.Second), "Running", false},
		"it is held, by a clock that is ahead":     {lease(ptr.To("a"), -time.Minute), "Running", false},
		"it is held, by a clock that is behind":    {lease(ptr.To("a"), 40*time.Second), "Running", false},
		"its holder has not renewed it for a long": {lease(ptr.To("a"), 5*time.Minute), "NotRunning", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tree.Holder(tc.lease, now); got.Status != tc.want || got.Never != tc.never || (got.State == tree.Good) != (tc.want == "Running") {
				t.Errorf("want %s, got %+v", tc.want, got)
			}
		})
	}
}

// TestWorst also verifies that a driver's state does not make its buckets failed.
func TestWorst(t *testing.T) {
	t.Parallel()
	of := func(state tree.State, children ...*tree.Node) *tree.Node {
		return &tree.Node{Kind: tree.KindClaim, State: state, Children: children}
	}
	driver := &tree.Node{Kind: tree.KindDriver, State: tree.Failed}
	for name, tc := range map[string]struct {
		nodes []*tree.Node
		want  tree.State
	}{
		"nothing":                               {nil, tree.Good},
		"all is well":                           {[]*tree.Node{of(tree.Good), of(tree.Good)}, tree.Good},
		"a wait below":                          {[]*tree.Node{of(tree.Good, of(tree.Waiting)), of(tree.Good)}, tree.Waiting},
		"a failure and a wait":                  {[]*tree.Node{of(tree.Waiting), of(tree.Failed)}, tree.Failed},
		"an unreadable object is not a problem": {[]*tree.Node{of(tree.Good, of(tree.Unknown))}, tree.Good},
		"a driver without a sidecar is not it":  {[]*tree.Node{of(tree.Good, driver)}, tree.Good},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tree.Worst(tc.nodes); got != tc.want {
				t.Errorf("want %s, got %s", tc.want, got)
			}
		})
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"words of any language":  {"größer, ёжик", "größer, ёжик"},
		"a colour":               {"\x1b[31mred", "�[31mred"},
		"a line, a bell, a CSI":  {"a\nb\ac\u009bd\t", "a b�c�d "},
		"letters that turn back": {"a\u202eb\u200bc", "a�b�c"},
		"bytes that are no text": {"a\xffb", "a�b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tree.Plain(tc.text); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}
