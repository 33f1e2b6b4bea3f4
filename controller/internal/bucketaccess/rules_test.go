// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

// newFacts returns an access to the claims photos and films, with a class that allows it and provisioned Buckets.
func newFacts() (*cosiapi.BucketAccess, facts) {
	access := &cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app"}}
	access.Spec = cosiapi.BucketAccessSpec{BucketAccessClassName: "keys", Protocol: cosiapi.ProtocolS3}
	f := facts{
		class: &cosiapi.BucketAccessClass{
			ObjectMeta: metav1.ObjectMeta{Name: "keys"},
			Spec:       cosiapi.BucketAccessClassSpec{DriverName: "s3", MultiBucketAccess: cosiapi.MultiBucketAccessMultipleBuckets},
		},
		claims: map[string]*cosiapi.BucketClaim{}, buckets: map[string]*cosiapi.Bucket{},
	}
	for _, name := range []string{"photos", "films"} {
		access.Spec.BucketClaims = append(access.Spec.BucketClaims, cosiapi.BucketClaimAccess{
			BucketClaimName: name, AccessSecretName: name + "-key", AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadOnly},
		})
		claim := &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
		claim.UID = "u"
		claim.Status.BoundBucketName = "bucket-of-" + name
		claim.Status.Protocols = []cosiapi.Protocol{cosiapi.ProtocolS3}
		conditions.Set(&claim.Status.Conditions, conditions.Change{Type: cosiapi.ConditionProvisioned, Status: metav1.ConditionTrue, Reason: conditions.Provisioned})
		bucket := &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: claim.Status.BoundBucketName}}
		bucket.Spec.DriverName = "s3"
		bucket.Spec.BucketClaimRef = cosiapi.BucketClaimReference{Namespace: "team", Name: name, UID: claim.UID}
		bucket.Status.BucketID = "id-of-" + name
		f.claims[name], f.buckets[name] = claim, bucket
	}
	return access, f
}

func TestLacksLimits(t *testing.T) {
	t.Parallel()
	some := cosiapi.DisallowedBucketAccessModes{ObjectData: []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeWriteOnly}}
	for name, tc := range map[string]struct {
		status cosiapi.BucketAccessStatus
		want   bool
	}{
		"handed over by an earlier version":           {cosiapi.BucketAccessStatus{Cleanup: cosiapi.CleanupPending}, true},
		"handed off with the disallowed modes":        {cosiapi.BucketAccessStatus{Cleanup: cosiapi.CleanupPending, DisallowedBucketAccessModes: some}, false},
		"served by a sidecar that may drop the field": {cosiapi.BucketAccessStatus{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := lacksLimits(&cosiapi.BucketAccess{Status: tc.status}); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}

func TestHandedOffFrom(t *testing.T) {
	t.Parallel()
	made := time.Unix(100, 0)
	for name, tc := range map[string]struct {
		class time.Time
		want  bool
	}{
		"a class that is older than the access":  {made.Add(-time.Second), true},
		"a class that was made with the access":  {made, true},
		"a class that may have replaced another": {made.Add(time.Second), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			access, class := &cosiapi.BucketAccess{}, &cosiapi.BucketAccessClass{}
			access.CreationTimestamp, class.CreationTimestamp = metav1.NewTime(made), metav1.NewTime(tc.class)
			if got := handedOffFrom(access, class); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}

// A ruleCase changes the result of newFacts and has the expected problem.
type ruleCase struct {
	alter func(*cosiapi.BucketAccess, *facts)
	want  conditions.Reason // empty: no problem
	wait  bool
	says  string // substring of the message
}

func (tc ruleCase) check(t *testing.T, check rule) {
	t.Helper()
	access, f := newFacts()
	tc.alter(access, &f)
	got := check(access, f)
	if got == nil {
		got = &conditions.Problem{}
	}
	if got.Reason != tc.want || tc.wait != (got.Policy == conditions.Waits) || !strings.Contains(got.Message, tc.says) {
		t.Errorf("want reason %q, wait %v, %q; got %+v", tc.want, tc.wait, tc.says, got)
	}
}

func TestCheckClass(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]ruleCase{
		"the class allows it":   {alter: func(*cosiapi.BucketAccess, *facts) {}},
		"there is no class yet": {func(_ *cosiapi.BucketAccess, f *facts) { f.class = nil }, conditions.WaitingForClass, true, `"keys"`},
		"several claims, but the class does not set multiBucketAccess": {
			func(_ *cosiapi.BucketAccess, f *facts) { f.class.Spec.MultiBucketAccess = "" },
			conditions.MultiBucketDisallowed, false, "multiBucketAccess: MultipleBuckets",
		},
		"several claims, and the class allows one": {
			func(_ *cosiapi.BucketAccess, f *facts) {
				f.class.Spec.MultiBucketAccess = cosiapi.MultiBucketAccessSingleBucket
			},
			conditions.MultiBucketDisallowed, false, "multiBucketAccess: MultipleBuckets",
		},
		"one claim, and the class does not set multiBucketAccess": {
			alter: func(a *cosiapi.BucketAccess, f *facts) {
				a.Spec.BucketClaims, f.class.Spec.MultiBucketAccess = a.Spec.BucketClaims[:1], ""
			},
		},
		"a ServiceAccount is needed": {
			func(_ *cosiapi.BucketAccess, f *facts) {
				f.class.Spec.AuthenticationType = cosiapi.AuthenticationTypeServiceAccount
			},
			conditions.ServiceAccountRequired, false, "spec.serviceAccountName",
		},
		"a ServiceAccount is needed and there": {
			alter: func(a *cosiapi.BucketAccess, f *facts) {
				a.Spec.ServiceAccountName, f.class.Spec.AuthenticationType = "app", cosiapi.AuthenticationTypeServiceAccount
			},
		},
		"one Secret for two claims": {
			func(a *cosiapi.BucketAccess, _ *facts) { a.Spec.BucketClaims[1].AccessSecretName = "photos-key" },
			conditions.SpecInvalid, false, `"photos-key"`,
		},
		"no mode, as under CRDs of others": {
			func(a *cosiapi.BucketAccess, _ *facts) {
				a.Spec.BucketClaims[1].AccessModes = cosiapi.BucketAccessModes{}
			},
			conditions.SpecInvalid, false, `"films"`,
		},
		"a mode that the class disallows": {
			func(_ *cosiapi.BucketAccess, f *facts) {
				f.class.Spec.DisallowedBucketAccessModes.ObjectData = []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeReadOnly}
			},
			conditions.AccessModeDisallowed, false, "objectData: ReadOnly",
		},
		"disallowing read-write does not disallow read-only": {
			alter: func(_ *cosiapi.BucketAccess, f *facts) {
				f.class.Spec.DisallowedBucketAccessModes.ObjectData = []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeReadWrite}
			},
		},
		"a category that is not asked for is not refused": {
			alter: func(_ *cosiapi.BucketAccess, f *facts) {
				all := []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeReadOnly, cosiapi.BucketAccessModeReadWrite, cosiapi.BucketAccessModeWriteOnly}
				f.class.Spec.DisallowedBucketAccessModes = cosiapi.DisallowedBucketAccessModes{ObjectMetadata: all, BucketMetadata: all}
			},
		},
		"object metadata has its own list": {
			func(a *cosiapi.BucketAccess, f *facts) {
				a.Spec.BucketClaims[1].AccessModes.ObjectMetadata = cosiapi.BucketAccessModeWriteOnly
				f.class.Spec.DisallowedBucketAccessModes.ObjectMetadata = []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeWriteOnly}
			},
			conditions.AccessModeDisallowed, false, `BucketClaim "films"`,
		},
		"bucket metadata has its own list": {
			func(a *cosiapi.BucketAccess, f *facts) {
				a.Spec.BucketClaims[0].AccessModes.BucketMetadata = cosiapi.BucketAccessModeReadWrite
				f.class.Spec.DisallowedBucketAccessModes.BucketMetadata = []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeReadWrite}
			},
			conditions.AccessModeDisallowed, false, "bucketMetadata: ReadWrite",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.check(t, classProblem)
		})
	}
}

func TestCheckClaims(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	for name, tc := range map[string]ruleCase{
		"both are there": {alter: func(*cosiapi.BucketAccess, *facts) {}},
		"one is missing": {func(_ *cosiapi.BucketAccess, f *facts) { delete(f.claims, "films") }, conditions.WaitingForBucketClaim, true, `"films"`},
		"one is deleted": {func(_ *cosiapi.BucketAccess, f *facts) { f.claims["films"].DeletionTimestamp = &now }, conditions.BucketClaimDeleting, false, `"films"`},
		"one is missing and one is deleted": {
			func(_ *cosiapi.BucketAccess, f *facts) {
				delete(f.claims, "photos")
				f.claims["films"].DeletionTimestamp = &now
			}, conditions.BucketClaimDeleting, false, `"films"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.check(t, claimsProblem)
		})
	}
}

func TestCheckBuckets(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	for name, tc := range map[string]ruleCase{
		"all is ready": {alter: func(*cosiapi.BucketAccess, *facts) {}},
		"a claim is not provisioned, though its Bucket has an ID": {
			func(_ *cosiapi.BucketAccess, f *facts) {
				f.claims["films"].Status.Conditions = nil
			}, conditions.WaitingForBucketClaim, true, `"films"`,
		},
		"a claim is not bound": {
			func(_ *cosiapi.BucketAccess, f *facts) { f.claims["films"].Status.BoundBucketName = "" },
			conditions.WaitingForBucketClaim, true, `"films"`,
		},
		"a Bucket is missing": {func(_ *cosiapi.BucketAccess, f *facts) { delete(f.buckets, "films") }, conditions.BucketMissing, false, "bucket-of-films"},
		"a Bucket names another claim": {
			func(_ *cosiapi.BucketAccess, f *facts) { f.buckets["films"].Spec.BucketClaimRef.UID = "other" },
			conditions.BindingInvalid, false, `Bucket "bucket-of-films" belongs to another BucketClaim, not to BucketClaim "films".`,
		},
		"a Bucket is being deleted": {
			func(_ *cosiapi.BucketAccess, f *facts) { f.buckets["films"].DeletionTimestamp = &now },
			conditions.BindingInvalid, false, "being deleted",
		},
		"a Bucket is marked": {
			func(_ *cosiapi.BucketAccess, f *facts) {
				f.buckets["films"].Annotations = map[string]string{cosiapi.BucketClaimBeingDeletedAnnotation: ""}
			}, conditions.BindingInvalid, false, "being deleted",
		},
		"a Bucket has no ID": {func(_ *cosiapi.BucketAccess, f *facts) { f.buckets["films"].Status.BucketID = "" }, conditions.BindingInvalid, false, "bucket ID"},
		"a protocol is not offered": {
			func(_ *cosiapi.BucketAccess, f *facts) {
				f.claims["films"].Status.Protocols = []cosiapi.Protocol{cosiapi.ProtocolGCS}
			}, conditions.ProtocolUnsupported, false, "supports GCS, but not S3",
		},
		"a Bucket of another driver": {
			func(_ *cosiapi.BucketAccess, f *facts) { f.buckets["films"].Spec.DriverName = "gcs" },
			conditions.DriverMismatch, false, `"gcs"`,
		},
		"one bucket for both, whose merged modes are disallowed": {
			func(a *cosiapi.BucketAccess, f *facts) {
				f.buckets["films"].Status.BucketID = f.buckets["photos"].Status.BucketID
				a.Spec.BucketClaims[1].AccessModes.ObjectData = cosiapi.BucketAccessModeWriteOnly
				f.class.Spec.DisallowedBucketAccessModes.ObjectData = []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeReadWrite}
			}, conditions.AccessModeDisallowed, false, `"photos", "films"`,
		},
		"two buckets, whose modes are not merged": {
			alter: func(a *cosiapi.BucketAccess, f *facts) {
				a.Spec.BucketClaims[1].AccessModes.ObjectData = cosiapi.BucketAccessModeWriteOnly
				f.class.Spec.DisallowedBucketAccessModes.ObjectData = []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeReadWrite}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.check(t, bucketsProblem)
		})
	}
}

func TestCheckHandedOff(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	for name, tc := range map[string]ruleCase{
		"nothing changed":             {alter: func(*cosiapi.BucketAccess, *facts) {}},
		"a claim is missing":          {func(_ *cosiapi.BucketAccess, f *facts) { delete(f.claims, "films") }, conditions.BucketClaimMissing, false, `"films"`},
		"a claim is being deleted":    {func(_ *cosiapi.BucketAccess, f *facts) { f.claims["films"].DeletionTimestamp = &now }, conditions.BucketClaimDeleting, false, `"films"`},
		"a claim was created again":   {func(_ *cosiapi.BucketAccess, f *facts) { f.claims["films"].Status.BoundBucketName = "" }, conditions.BindingInvalid, false, "bucket-of-films"},
		"a claim's Bucket is missing": {alter: func(_ *cosiapi.BucketAccess, f *facts) { delete(f.buckets, "films") }},
		"the class changed its mind":  {alter: func(_ *cosiapi.BucketAccess, f *facts) { f.class = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.check(t, func(access *cosiapi.BucketAccess, f facts) *conditions.Problem {
				before, all := newFacts()
				fill(before, all)
				access.Status = before.Status
				return handedOffProblem(access, f)
			})
		})
	}
}

// The message of a wait tells the user whether to create the claim or to check it. Only a missing claim must be
// confirmed with the API server.
func TestWaitForClaims(t *testing.T) {
	t.Parallel()
	missing := func(f facts, name string) { delete(f.claims, name) }
	unready := func(f facts, name string) { f.claims[name].Status.Conditions = nil }
	for name, tc := range map[string]struct {
		alter   func(facts)
		message string
		confirm bool
	}{
		"one is missing": {
			func(f facts) { missing(f, "films") },
			`Waiting for BucketClaim "films" to exist. Create the missing BucketClaims, or delete this BucketAccess.`, true,
		},
		"both are missing": {
			func(f facts) { missing(f, "photos"); missing(f, "films") },
			`Waiting for BucketClaims "photos", "films" to exist. Create the missing BucketClaims, or delete this BucketAccess.`, true,
		},
		"one is not provisioned": {
			func(f facts) { unready(f, "films") },
			`Waiting for BucketClaim "films" to be provisioned. See its conditions for the reason.`, false,
		},
		"one is missing and one not provisioned": {
			func(f facts) { missing(f, "photos"); unready(f, "films") },
			`Waiting for BucketClaim "photos" to exist. Create the missing BucketClaims, or delete this BucketAccess. ` +
				`Waiting for BucketClaim "films" to be provisioned. See its conditions for the reason.`, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			access, f := newFacts()
			tc.alter(f)
			got := waitForClaims(access, f)
			if got == nil || got.Message != tc.message || got.Confirm != tc.confirm || got.Policy != conditions.Waits || got.Reason != conditions.WaitingForBucketClaim {
				t.Errorf("want %q, confirm %v; got %+v", tc.message, tc.confirm, got)
			}
		})
	}
}
