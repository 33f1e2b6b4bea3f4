// SPDX-License-Identifier: Apache-2.0

package conditions_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

const kind = "ResourcesValidated"

func change(status metav1.ConditionStatus, reason conditions.Reason) conditions.Change {
	return conditions.Change{Type: kind, Status: status, Reason: reason, Message: string(reason), Generation: 7}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	for name, tc := range map[string]struct {
		before conditions.Change
		change conditions.Change
		want   conditions.Reason
	}{
		"the initial condition has no owner":                    {change(unknown, conditions.Initial), change(yes, conditions.SidecarValidated), conditions.SidecarValidated},
		"a component takes back its own False":                  {change(no, conditions.SecretTaken), change(yes, conditions.SidecarValidated), conditions.SidecarValidated},
		"a component keeps the other's False when it is fine":   {change(no, conditions.SecretTaken), change(yes, conditions.ControllerValidated), conditions.SecretTaken},
		"a component keeps the other's False when it waits":     {change(no, conditions.SecretTaken), change(unknown, conditions.WaitingForClass), conditions.SecretTaken},
		"the first of two False stands":                         {change(no, conditions.SecretTaken), change(no, conditions.BindingInvalid), conditions.SecretTaken},
		"False replaces the other's Unknown":                    {change(unknown, conditions.WaitingForClass), change(no, conditions.SecretTaken), conditions.SecretTaken},
		"True does not replace the other's Unknown":             {change(unknown, conditions.WaitingForClass), change(yes, conditions.SidecarValidated), conditions.WaitingForClass},
		"False replaces the other's True":                       {change(yes, conditions.SidecarValidated), change(no, conditions.BindingInvalid), conditions.BindingInvalid},
		"Unknown replaces the other's True":                     {change(yes, conditions.SidecarValidated), change(unknown, conditions.WaitingForBucketClaim), conditions.WaitingForBucketClaim},
		"True stays as the first component said it":             {change(yes, conditions.SidecarValidated), change(yes, conditions.ControllerValidated), conditions.SidecarValidated},
		"the first of two True stands":                          {change(yes, conditions.ControllerValidated), change(yes, conditions.SidecarValidated), conditions.ControllerValidated},
		"an unknown reason may be replaced by any component":    {change(no, "SomethingOld"), change(yes, conditions.ControllerValidated), conditions.ControllerValidated},
		"the Controller takes back its own wait when all is in": {change(unknown, conditions.WaitingForClass), change(yes, conditions.ControllerValidated), conditions.ControllerValidated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var conds []metav1.Condition
			conditions.Set(&conds, tc.before)
			changed := conditions.Merge(&conds, tc.change)
			if got := conditions.Reason(conds[0].Reason); got != tc.want {
				t.Errorf("reason: want %s, got %s", tc.want, got)
			}
			if want := tc.before.Reason != tc.want; changed != want {
				t.Errorf("changed: want %v, got %v", want, changed)
			}
		})
	}
}

func TestMergeShowsACauseUntilBothAreCleared(t *testing.T) {
	t.Parallel()
	bad := []conditions.Change{change(metav1.ConditionFalse, conditions.SecretTaken), change(metav1.ConditionFalse, conditions.BindingInvalid)}
	good := []conditions.Change{change(metav1.ConditionTrue, conditions.SidecarValidated), change(metav1.ConditionTrue, conditions.ControllerValidated)}
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		first, second := order[0], order[1]
		var conds []metav1.Condition
		conditions.Merge(&conds, bad[0])
		conditions.Merge(&conds, bad[1])
		conditions.Merge(&conds, good[first])
		conditions.Merge(&conds, bad[second]) // the other component evaluates the object again after the change
		if !conditions.Is(conds, kind, metav1.ConditionFalse) {
			t.Fatalf("order %v: one cause is left and the condition is not False: %+v", order, conds)
		}
		conditions.Merge(&conds, good[second])
		conditions.Merge(&conds, good[first])
		if !conditions.Is(conds, kind, metav1.ConditionTrue) {
			t.Fatalf("order %v: no cause is left and the condition is not True: %+v", order, conds)
		}
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	var conds []metav1.Condition
	if !conditions.Set(&conds, change(metav1.ConditionTrue, conditions.Provisioned)) {
		t.Error("a new condition is not reported as a change")
	}
	if conditions.Set(&conds, change(metav1.ConditionTrue, conditions.Provisioned)) {
		t.Error("the same condition again is reported as a change")
	}
	if got := conds[0].ObservedGeneration; got != 7 {
		t.Errorf("observedGeneration: want 7, got %d", got)
	}
	long := change(metav1.ConditionFalse, conditions.Terminal)
	long.Message = strings.Repeat("ä", 40000)
	conditions.Set(&conds, long)
	if got := conds[0].Message; len(got) > 32768 || !utf8.ValidString(got) {
		t.Errorf("message of %d bytes, valid UTF-8: %v", len(got), utf8.ValidString(got))
	}
}

func TestTransitionTime(t *testing.T) {
	t.Parallel()
	epoch, earlier := metav1.Unix(0, 0), metav1.Unix(1_700_000_000, 0)
	for name, tc := range map[string]struct {
		before metav1.Condition
		change conditions.Change
		kept   bool
	}{
		"the first change of a condition that the CRD made sets it": {
			metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: string(conditions.Initial), LastTransitionTime: epoch},
			change(metav1.ConditionUnknown, conditions.WaitingForClass), false,
		},
		"the first change sets it, if the status differs too": {
			metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: string(conditions.Initial), LastTransitionTime: epoch},
			change(metav1.ConditionTrue, conditions.ControllerValidated), false,
		},
		"another reason for the same status keeps it": {
			metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: string(conditions.WaitingForClass), LastTransitionTime: earlier},
			change(metav1.ConditionUnknown, conditions.WaitingForBucket), true,
		},
		"another status moves it": {
			metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: string(conditions.WaitingForClass), LastTransitionTime: earlier},
			change(metav1.ConditionTrue, conditions.ControllerValidated), false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := metav1.Now()
			conds := []metav1.Condition{tc.before}
			if !conditions.Set(&conds, tc.change) {
				t.Fatal("nothing changed")
			}
			got := conds[0].LastTransitionTime
			if tc.kept && !got.Equal(&tc.before.LastTransitionTime) {
				t.Errorf("lastTransitionTime: want %s, got %s", tc.before.LastTransitionTime, got)
			}
			if !tc.kept && got.Before(&began) {
				t.Errorf("lastTransitionTime: want the time of the change, got %s", got)
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kind  string
		names []string
		want  string
	}{
		"one object":                     {"BucketAccess", []string{"a"}, `BucketAccess "a"`},
		"several objects of one kind":    {"BucketClaim", []string{"a", "b"}, `BucketClaims "a", "b"`},
		"the plural of an s":             {"BucketAccess", []string{"a", "b"}, `BucketAccesses "a", "b"`},
		"at most five names are listed":  {"Bucket", []string{"a", "b", "c", "d", "e", "f", "g"}, `Buckets "a", "b", "c", "d", "e" and 2 more`},
		"an object of another namespace": {"Bucket", []string{"other/a"}, `Bucket "other/a"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := conditions.Names(tc.kind, tc.names...); got != tc.want {
				t.Errorf("want %s, got %s", tc.want, got)
			}
		})
	}
}

func TestMissingConditionIsUnknown(t *testing.T) {
	t.Parallel()
	if !conditions.Is(nil, kind, metav1.ConditionUnknown) || conditions.Is(nil, kind, metav1.ConditionTrue) {
		t.Error("a condition that is not there must be Unknown")
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	bucket := &cosiapi.Bucket{}
	bucket.Spec.BucketClaimRef = cosiapi.BucketClaimReference{Namespace: "ns", Name: "b"}
	reserved := conditions.ClaimOf(bucket)
	bucket.Spec.BucketClaimRef.UID = "u"
	has := []cosiapi.Protocol{cosiapi.ProtocolS3}
	for name, tc := range map[string]struct{ got, want string }{
		"a Bucket of another claim": {
			conditions.Belongs(`Bucket "a"`, conditions.ClaimOf(bucket), "this BucketClaim"),
			`Bucket "a" belongs to BucketClaim "ns/b" with UID "u", not to this BucketClaim.`,
		},
		"a claim that has not bound": {reserved, `BucketClaim "ns/b"`},
		"a protocol is missing": {
			conditions.Lacks(`Bucket "a"`, has, []cosiapi.Protocol{cosiapi.ProtocolGCS, cosiapi.ProtocolS3}, "this BucketClaim"),
			`Bucket "a" supports S3, but not GCS, which this BucketClaim requests.`,
		},
		"no protocol is missing": {conditions.Lacks(`Bucket "a"`, has, has, "this BucketClaim"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.got != tc.want {
				t.Errorf("want %s, got %s", tc.want, tc.got)
			}
		})
	}
}
