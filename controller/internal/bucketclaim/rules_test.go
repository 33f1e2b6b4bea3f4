// SPDX-License-Identifier: Apache-2.0

package bucketclaim

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

// newPair returns a claim with UID u1 and a Bucket that is bound to it.
func newPair(imported bool) (*cosiapi.BucketClaim, *cosiapi.Bucket) {
	claim := &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "photos", UID: "u1", Generation: 3}}
	bucket := &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: "bc-u1"}}
	bucket.Spec.BucketClaimRef = cosiapi.BucketClaimReference{Namespace: "team", Name: "photos", UID: "u1"}
	claim.Spec.BucketClassName = "fast"
	if imported {
		bucket.Name = "archive"
		claim.Spec.BucketClassName, claim.Spec.ExistingBucketName = "", "archive"
	}
	return claim, bucket
}

func TestBindingProblem(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	for name, tc := range map[string]struct {
		imported bool
		alter    func(*cosiapi.BucketClaim, *cosiapi.Bucket)
		want     conditions.Reason // empty: may bind
		wait     bool
		says     string // substring of the message
	}{
		"a Bucket made for this claim": {alter: func(*cosiapi.BucketClaim, *cosiapi.Bucket) {}},
		"a Bucket of the right name for another claim": {
			alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) { b.Spec.BucketClaimRef.Name = "films" },
			want:  conditions.BindingInvalid, says: "An administrator must delete that Bucket object.",
		},
		"the Bucket of a claim that was restored with its status": {
			alter: func(c *cosiapi.BucketClaim, b *cosiapi.Bucket) {
				c.Status.BoundBucketName, b.Spec.BucketClaimRef.UID = b.Name, "u0"
			},
			want: conditions.BindingInvalid, says: "import its backend bucket",
		},
		"a Bucket of the right name for no claim yet, which only an imported one may be": {
			alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) { b.Spec.BucketClaimRef.UID = "" },
			want:  conditions.BindingInvalid,
		},
		"an imported Bucket bound to this claim": {imported: true, alter: func(*cosiapi.BucketClaim, *cosiapi.Bucket) {}},
		"an imported Bucket bound to this claim that is being deleted": {
			imported: true, alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) { b.DeletionTimestamp = &now },
		},
		"an imported Bucket that waits for this claim": {
			imported: true, alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) { b.Spec.BucketClaimRef.UID = "" },
		},
		"an imported Bucket for another name": {
			imported: true, alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) {
				b.Spec.BucketClaimRef.Name, b.Spec.BucketClaimRef.UID = "films", ""
			},
			want: conditions.BindingInvalid,
		},
		"an imported Bucket for another namespace": {
			imported: true, alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) {
				b.Spec.BucketClaimRef.Namespace, b.Spec.BucketClaimRef.UID = "rivals", ""
			},
			want: conditions.BindingInvalid,
		},
		"an imported Bucket bound to an earlier claim of this name": {
			imported: true, alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) { b.Spec.BucketClaimRef.UID = "u0" },
			want: conditions.BindingInvalid,
		},
		"an imported Bucket put in the place of the one this claim was bound to": {
			imported: true, alter: func(c *cosiapi.BucketClaim, b *cosiapi.Bucket) {
				c.Status.BoundBucketName, b.Spec.BucketClaimRef.UID = "archive", ""
			},
			want: conditions.BindingInvalid,
		},
		"an imported Bucket that is deleted before it was bound": {
			imported: true, alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) {
				b.Spec.BucketClaimRef.UID, b.DeletionTimestamp = "", &now
			},
			want: conditions.WaitingForBucket, wait: true,
		},
		"an imported Bucket that was left behind": {
			imported: true, alter: func(_ *cosiapi.BucketClaim, b *cosiapi.Bucket) {
				b.Spec.BucketClaimRef.UID = ""
				b.Annotations = map[string]string{"objectstorage.k8.io/bucketclaim-being-deleted": ""}
			},
			want: conditions.BindingInvalid,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claim, bucket := newPair(tc.imported)
			tc.alter(claim, bucket)
			got := bindingProblem(claim, bucket)
			if got == nil {
				got = &conditions.Problem{}
			}
			if got.Reason != tc.want || tc.wait != (got.Policy == conditions.Waits) || !strings.Contains(got.Message, tc.says) {
				t.Errorf("want reason %q, wait %v, %q; got %+v", tc.want, tc.wait, tc.says, got)
			}
		})
	}
}

// TestRestoredFor compares the time with the creation of the claim, not with the clock: a claim that waited binds.
func TestRestoredFor(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		until string
		alter func(*cosiapi.Bucket)
		want  bool
	}{
		"the claim was created before the time": {until: "2026-11-30T12:00:01Z", want: true},
		"the claim was created at the time":     {until: "2026-11-30T12:00:00Z"},
		"the time is malformed":                 {until: "2026-11-30 13:00", want: true},
		"the time is empty":                     {want: true},
		"there is no time":                      {alter: func(b *cosiapi.Bucket) { b.Annotations = nil }},
		"the Bucket is bound":                   {until: "2030-01-01T00:00:00Z", alter: func(b *cosiapi.Bucket) { b.Spec.BucketClaimRef.UID = "u0" }},
		"the Bucket is for another name":        {until: "2030-01-01T00:00:00Z", alter: func(b *cosiapi.Bucket) { b.Spec.BucketClaimRef.Name = "films" }},
		"the Bucket was released": {until: "2030-01-01T00:00:00Z", alter: func(b *cosiapi.Bucket) {
			cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, "")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claim, bucket := newPair(false)
			claim.CreationTimestamp, bucket.Spec.BucketClaimRef.UID = metav1.NewTime(created), ""
			cosiapi.SetAnnotation(bucket, cosiapi.BindUntilAnnotation, tc.until)
			if tc.alter != nil {
				tc.alter(bucket)
			}
			if got := restoredFor(claim, bucket); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestHeldMessage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ imported, says string }{
		"a bucket that COSI made":    {"", "to delete the Bucket with its data, or set deletionPolicy: Retain"},
		"a bucket that was imported": {"photos", "to delete the Bucket object; the imported backend bucket is kept"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket := &cosiapi.Bucket{}
			bucket.UID, bucket.Spec.ExistingBucketID = "b1", tc.imported
			if got := heldMessage(bucket); !strings.Contains(got, tc.says) || !strings.Contains(got, `cooper.dev/confirm-release to "b1"`) {
				t.Errorf("want %q, got %q", tc.says, got)
			}
		})
	}
}

// state is a condition without the irrelevant fields.
type state struct {
	status metav1.ConditionStatus
	reason conditions.Reason
}

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown
)

// The rows are the states in the KEP's list.
func TestApplyBucket(t *testing.T) {
	t.Parallel()
	type states struct{ provisioned, validated, failed state }
	initial := states{state{unknown, conditions.Initial}, state{unknown, conditions.Initial}, state{unknown, conditions.Initial}}
	for name, tc := range map[string]struct {
		before  states // of the claim
		bucket  states
		offered []cosiapi.Protocol
		want    states
	}{
		"an unprocessed Bucket": {
			initial, initial, nil,
			states{state{unknown, conditions.WaitingForBucket}, state{yes, conditions.ControllerValidated}, state{unknown, conditions.Initial}},
		},
		"a Bucket that is provisioned": {
			initial,
			states{state{yes, conditions.Provisioned}, state{yes, conditions.SidecarValidated}, state{no, conditions.RPCSucceeded}},
			[]cosiapi.Protocol{cosiapi.ProtocolS3, cosiapi.ProtocolGCS},
			states{state{yes, conditions.Provisioned}, state{yes, conditions.ControllerValidated}, state{no, conditions.RPCSucceeded}},
		},
		"a Bucket that the driver refused": {
			initial,
			states{state{no, conditions.Terminal}, state{yes, conditions.SidecarValidated}, state{yes, conditions.Terminal}},
			nil,
			states{state{no, conditions.Terminal}, state{yes, conditions.ControllerValidated}, state{yes, conditions.Terminal}},
		},
		"a Bucket that is tried again": {
			initial,
			states{state{unknown, conditions.Retrying}, state{yes, conditions.SidecarValidated}, state{yes, conditions.Retrying}},
			nil,
			states{state{unknown, conditions.WaitingForBucket}, state{yes, conditions.ControllerValidated}, state{yes, conditions.Retrying}},
		},
		"Unknown is not copied over True": {
			states{state{yes, conditions.Provisioned}, state{yes, conditions.ControllerValidated}, state{no, conditions.RPCSucceeded}},
			states{state{unknown, conditions.Retrying}, state{yes, conditions.SidecarValidated}, state{yes, conditions.Retrying}},
			nil,
			states{state{yes, conditions.Provisioned}, state{yes, conditions.ControllerValidated}, state{yes, conditions.Retrying}},
		},
		"Unknown is not copied over False": {
			states{state{no, conditions.Terminal}, state{yes, conditions.ControllerValidated}, state{yes, conditions.Terminal}},
			states{state{unknown, conditions.Retrying}, state{yes, conditions.SidecarValidated}, state{yes, conditions.Retrying}},
			nil,
			states{state{no, conditions.Terminal}, state{yes, conditions.ControllerValidated}, state{yes, conditions.Retrying}},
		},
		"False of the Controller ends when its cause does": {
			states{state{no, conditions.BindingInvalid}, state{no, conditions.BindingInvalid}, state{unknown, conditions.Initial}},
			initial, nil,
			states{state{unknown, conditions.WaitingForBucket}, state{yes, conditions.ControllerValidated}, state{unknown, conditions.Initial}},
		},
		"True becomes False when the bucket is permanently lost": {
			states{state{yes, conditions.Provisioned}, state{yes, conditions.ControllerValidated}, state{no, conditions.RPCSucceeded}},
			states{state{no, conditions.Terminal}, state{yes, conditions.SidecarValidated}, state{yes, conditions.Terminal}},
			nil,
			states{state{no, conditions.Terminal}, state{yes, conditions.ControllerValidated}, state{yes, conditions.Terminal}},
		},
		"a Bucket that is not valid": {
			initial,
			states{state{unknown, conditions.Initial}, state{no, conditions.DriverLacksProtocol}, state{unknown, conditions.Initial}},
			nil,
			states{state{unknown, conditions.WaitingForBucket}, state{no, conditions.BucketInvalid}, state{unknown, conditions.Initial}},
		},
		"a Bucket without a protocol of the claim": {
			initial,
			states{state{yes, conditions.Provisioned}, state{yes, conditions.SidecarValidated}, state{no, conditions.RPCSucceeded}},
			[]cosiapi.Protocol{cosiapi.ProtocolGCS},
			states{state{no, conditions.ProtocolUnsupported}, state{no, conditions.ProtocolUnsupported}, state{no, conditions.RPCSucceeded}},
		},
		"a Bucket that loses a protocol does not take Provisioned back": {
			states{state{yes, conditions.Provisioned}, state{yes, conditions.ControllerValidated}, state{no, conditions.RPCSucceeded}},
			states{state{yes, conditions.Provisioned}, state{yes, conditions.SidecarValidated}, state{no, conditions.RPCSucceeded}},
			[]cosiapi.Protocol{cosiapi.ProtocolGCS},
			states{state{yes, conditions.Provisioned}, state{no, conditions.ProtocolUnsupported}, state{no, conditions.RPCSucceeded}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claim, bucket := newPair(false)
			claim.Spec.Protocols = []cosiapi.Protocol{cosiapi.ProtocolS3}
			bucket.Status.Protocols = tc.offered
			put := func(conds *[]metav1.Condition, s states) {
				for conditionType, c := range map[string]state{
					cosiapi.ConditionProvisioned: s.provisioned, cosiapi.ConditionResourcesValidated: s.validated, cosiapi.ConditionProvisionFailed: s.failed,
				} {
					conditions.Set(conds, conditions.Change{Type: conditionType, Status: c.status, Reason: c.reason, Message: "m", Generation: 3})
				}
			}
			put(&claim.Status.Conditions, tc.before)
			put(&bucket.Status.Conditions, tc.bucket)
			applyBucket(claim, bucket)
			of := func(conditionType string) state {
				c := conditionOf(claim.Status.Conditions, conditionType)
				if c.ObservedGeneration != 3 {
					t.Errorf("%s: observedGeneration %d", conditionType, c.ObservedGeneration)
				}
				return state{c.Status, conditions.Reason(c.Reason)}
			}
			got := states{of(cosiapi.ConditionProvisioned), of(cosiapi.ConditionResourcesValidated), of(cosiapi.ConditionProvisionFailed)}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(states{}, state{})); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if tc.bucket.provisioned.status == yes {
				if diff := cmp.Diff(tc.offered, claim.Status.Protocols); diff != "" {
					t.Errorf("protocols (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestReleased(t *testing.T) {
	t.Parallel()
	const key = cosiapi.BucketClaimBeingDeletedAnnotation
	now := metav1.Now()
	for name, tc := range map[string]struct {
		annotations map[string]string
		policy      cosiapi.DeletionPolicy
		deleted     *metav1.Time
		want        bool
	}{
		"not marked":                                   {nil, cosiapi.DeletionPolicyDelete, nil, false},
		"not marked, deleted":                          {nil, cosiapi.DeletionPolicyDelete, &now, false},
		"marked and deleted":                           {map[string]string{key: "Delete/b1"}, cosiapi.DeletionPolicyDelete, &now, true},
		"marked to be deleted, cut short":              {map[string]string{key: "Delete/b1"}, cosiapi.DeletionPolicyDelete, nil, false},
		"marked to be deleted, then retained":          {map[string]string{key: "Delete/b1"}, cosiapi.DeletionPolicyRetain, nil, true},
		"marked as retained":                           {map[string]string{key: "Retain/b1"}, cosiapi.DeletionPolicyRetain, nil, true},
		"retained, policy changed afterwards":          {map[string]string{key: "Retain/b1"}, cosiapi.DeletionPolicyDelete, nil, true},
		"marked before it was restored":                {map[string]string{key: "Delete/b0"}, cosiapi.DeletionPolicyDelete, nil, false},
		"marked before it was restored, deleted since": {map[string]string{key: "Delete/b0"}, cosiapi.DeletionPolicyDelete, &now, false},
		"marked by another controller":                 {map[string]string{key: ""}, cosiapi.DeletionPolicyDelete, nil, false},
		"marked by another controller, deleted":        {map[string]string{key: ""}, cosiapi.DeletionPolicyDelete, &now, true},
		"marked by an older version":                   {map[string]string{key: "Delete"}, cosiapi.DeletionPolicyDelete, nil, false},
		"marked by an older version, deleted":          {map[string]string{key: "Delete"}, cosiapi.DeletionPolicyDelete, &now, true},
		"marked in the other spelling":                 {map[string]string{"objectstorage.k8.io/bucketclaim-being-deleted": ""}, cosiapi.DeletionPolicyDelete, nil, false},
		"marked in the other spelling, deleted":        {map[string]string{"objectstorage.k8.io/bucketclaim-being-deleted": ""}, cosiapi.DeletionPolicyDelete, &now, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket := &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{UID: "b1", Annotations: tc.annotations, DeletionTimestamp: tc.deleted}}
			bucket.Spec.DeletionPolicy = tc.policy
			if _, held := tc.annotations["held"]; held {
				bucket.Status.Conditions = []metav1.Condition{{Type: cosiapi.ConditionReleaseHeld, Status: metav1.ConditionTrue}}
			}
			if got := released(bucket); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}

func TestAgreed(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		alter func(*cosiapi.Bucket)
		want  bool
	}{
		"a Bucket with data":               {func(*cosiapi.Bucket) {}, false},
		"a Bucket that is being deleted":   {func(b *cosiapi.Bucket) { b.DeletionTimestamp = &metav1.Time{Time: created} }, false},
		"a Bucket whose policy is Retain":  {func(b *cosiapi.Bucket) { b.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain }, true},
		"confirmed with its UID":           {func(b *cosiapi.Bucket) { b.Annotations[cosiapi.ConfirmReleaseAnnotation] = "b1" }, true},
		"confirmed before it was restored": {func(b *cosiapi.Bucket) { b.Annotations[cosiapi.ConfirmReleaseAnnotation] = "b0" }, false},
		"confirmed with a word":            {func(b *cosiapi.Bucket) { b.Annotations[cosiapi.ConfirmReleaseAnnotation] = "true" }, false},
		"marked, cut short":                {func(b *cosiapi.Bucket) { b.Annotations[cosiapi.BucketClaimBeingDeletedAnnotation] = "Delete/b1" }, true},
		"marked before it was restored":    {func(b *cosiapi.Bucket) { b.Annotations[cosiapi.BucketClaimBeingDeletedAnnotation] = "Delete/b0" }, false},
		"marked as retained":               {func(b *cosiapi.Bucket) { b.Annotations[cosiapi.BucketClaimBeingDeletedAnnotation] = "Retain/b1" }, false},
		"marked by an older version":       {func(b *cosiapi.Bucket) { b.Annotations[cosiapi.BucketClaimBeingDeletedAnnotation] = "Delete" }, false},
		"with an ID alone":                 {func(b *cosiapi.Bucket) { b.Finalizers = nil }, false},
		"never attempted":                  {func(b *cosiapi.Bucket) { b.Status.BucketID = "" }, true},
		"never attempted, and held": {func(b *cosiapi.Bucket) {
			b.Status.BucketID, b.Status.Conditions = "", []metav1.Condition{{Type: cosiapi.ConditionReleaseHeld}, {Reason: string(conditions.Initial)}}
		}, true},
		"attempted by a sidecar, which failed": {func(b *cosiapi.Bucket) {
			b.Status.BucketID, b.Status.Conditions = "", []metav1.Condition{{Type: cosiapi.ConditionProvisionFailed}}
		}, false},
		"never attempted, by slower clocks": {func(b *cosiapi.Bucket) {
			b.Status.BucketID = ""
			b.CreationTimestamp = metav1.NewTime(created.Add(-3 * time.Second))
		}, true},
		"restored without its status": {func(b *cosiapi.Bucket) {
			b.Status.BucketID = ""
			b.CreationTimestamp = metav1.NewTime(created.Add(time.Minute))
		}, false},
		"without its status and annotations": {func(b *cosiapi.Bucket) {
			b.Status.BucketID, b.Annotations = "", nil
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claim, _ := newPair(false)
			class := &cosiapi.BucketClass{Spec: cosiapi.BucketClassSpec{DeletionPolicy: cosiapi.DeletionPolicyDelete}}
			bucket := newBucket(claim, class, created)
			bucket.UID, bucket.CreationTimestamp, bucket.Status.BucketID = "b1", metav1.NewTime(created), "id"
			tc.alter(bucket)
			if got := agreed(bucket); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}

func TestGraceLeft(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ago := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-d)} }
	for name, tc := range map[string]struct {
		created, held *metav1.Time // held is nil for a Bucket that is not held yet
		want          time.Duration
	}{
		"not held yet":                         {ago(5 * time.Hour), nil, time.Hour},
		"held for a while":                     {ago(5 * time.Hour), ago(15 * time.Minute), 45 * time.Minute},
		"held for long":                        {ago(5 * time.Hour), ago(2 * time.Hour), 0},
		"held for long before it was restored": {ago(10 * time.Minute), ago(2 * time.Hour), 50 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket := &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: *tc.created}}
			if tc.held != nil {
				bucket.Status.Conditions = []metav1.Condition{{Type: cosiapi.ConditionReleaseHeld, Status: metav1.ConditionTrue, LastTransitionTime: *tc.held}}
			}
			if got := graceLeft(bucket, time.Hour, now); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}

func TestUntouched(t *testing.T) {
	t.Parallel()
	made := time.Now().Truncate(time.Second)
	for name, tc := range map[string]struct {
		alter func(*cosiapi.Bucket)
		want  bool
	}{
		"a Bucket that no sidecar saw":                       {func(*cosiapi.Bucket) {}, true},
		"one with an ID":                                     {func(b *cosiapi.Bucket) { b.Status.BucketID = "b" }, false},
		"one that a sidecar of an earlier version requested": {func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.AskedForAnnotation, b.Name) }, false},
		"one of which a sidecar said something": {func(b *cosiapi.Bucket) {
			b.Status.Conditions = []metav1.Condition{{Type: cosiapi.ConditionProvisioned, Reason: string(conditions.Retrying)}}
		}, false},
		"one from a backup": {func(b *cosiapi.Bucket) {
			cosiapi.SetAnnotation(b, cosiapi.CreatedAnnotation, made.Add(-time.Hour).Format(time.RFC3339))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, b := newPair(false)
			b.CreationTimestamp = metav1.Time{Time: made}
			cosiapi.SetAnnotation(b, cosiapi.CreatedAnnotation, made.Format(time.RFC3339))
			tc.alter(b)
			if got := untouched(b); got != tc.want {
				t.Errorf("untouched: %v, want %v", got, tc.want)
			}
		})
	}
}

// A class may name a driver that is not installed, so the claim names the driver that it waits for. When a sidecar
// adds its finalizer and the ID, the claim is not written.
func TestApplyBucketBeforeTheSidecarReports(t *testing.T) {
	t.Parallel()
	bucket := &cosiapi.Bucket{}
	bucket.Name, bucket.Spec.DriverName = "bc-1", "nobody.example.com"
	claim := &cosiapi.BucketClaim{}
	applyBucket(claim, bucket)
	message := conditionOf(claim.Status.Conditions, cosiapi.ConditionProvisioned).Message
	if !strings.Contains(message, `driver "nobody.example.com"`) || !strings.Contains(message, "installed") {
		t.Errorf("the claim does not say whom it waits for: %s", message)
	}
	before := claim.Status.DeepCopy()
	cosiapi.AddProtection(bucket)
	bucket.Status.BucketID = "bc-1"
	applyBucket(claim, bucket)
	if diff := cmp.Diff(*before, claim.Status); diff != "" {
		t.Errorf("status of the claim (-before +after):\n%s", diff)
	}
}
