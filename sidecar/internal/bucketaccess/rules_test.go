// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/metrics"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sidecar/internal/driver"
)

// granted returns a valid access to two claims.
func granted() *cosiapi.BucketAccess {
	a := &cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "uid"}}
	a.Spec.Protocol = cosiapi.ProtocolS3
	a.Spec.BucketClaims = []cosiapi.BucketClaimAccess{
		{BucketClaimName: "one", AccessSecretName: "s1", AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadOnly}},
		{BucketClaimName: "two", AccessSecretName: "s2", AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite}},
	}
	a.Status.AuthenticationType, a.Status.AccountID = cosiapi.AuthenticationTypeKey, "acc"
	a.Status.AccessedBuckets = []cosiapi.AccessedBucket{
		{BucketClaimName: "two", BucketName: "b2", BucketID: "id2"}, {BucketClaimName: "one", BucketName: "b1", BucketID: "id1"},
	}
	for kind, status := range map[string]metav1.ConditionStatus{
		cosiapi.ConditionProvisioned: metav1.ConditionTrue, cosiapi.ConditionProvisionFailed: metav1.ConditionFalse,
	} {
		conditions.Set(&a.Status.Conditions, conditions.Change{Type: kind, Status: status, Reason: conditions.Provisioned})
	}
	return a
}

func TestInconsistency(t *testing.T) {
	t.Parallel()
	info := driver.Info{Name: "d", Protocols: []cosi.ObjectProtocol_Type{cosi.ObjectProtocol_S3}}
	for name, tc := range map[string]struct {
		change func(*cosiapi.BucketAccess)
		reason conditions.Reason
		part   string
	}{
		"an access in order": {func(*cosiapi.BucketAccess) {}, "", ""},
		"a claim without a Bucket": {
			func(a *cosiapi.BucketAccess) { a.Status.AccessedBuckets = a.Status.AccessedBuckets[:1] }, conditions.StatusDegraded, `"one"`,
		},
		"a Bucket without a claim": {
			func(a *cosiapi.BucketAccess) { a.Spec.BucketClaims = a.Spec.BucketClaims[:1] }, conditions.StatusDegraded, `"two"`,
		},
		"one Secret for two claims": {
			func(a *cosiapi.BucketAccess) { a.Spec.BucketClaims[1].AccessSecretName = "s1" }, conditions.StatusDegraded, `"s1"`,
		},
		"no mode, as under CRDs of others": {
			func(a *cosiapi.BucketAccess) { a.Spec.BucketClaims[1].AccessModes = cosiapi.BucketAccessModes{} }, conditions.StatusDegraded, `"two"`,
		},
		"one that was cleaned up once, as from a backup": {
			func(a *cosiapi.BucketAccess) { a.Status.Cleanup = cosiapi.CleanupFinished }, conditions.StatusDegraded, "status.cleanup",
		},
		"no service account": {
			func(a *cosiapi.BucketAccess) { a.Status.AuthenticationType = cosiapi.AuthenticationTypeServiceAccount },
			conditions.StatusDegraded, "serviceAccountName",
		},
		"a protocol that the driver lacks": {
			func(a *cosiapi.BucketAccess) { a.Spec.Protocol = cosiapi.ProtocolGCS }, conditions.DriverLacksProtocol, "GCS",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := granted()
			tc.change(a)
			got := inconsistency(a, info)
			if got == nil {
				got = &conditions.Problem{}
			}
			if got.Reason != tc.reason || !strings.Contains(got.Message, tc.part) {
				t.Errorf("want %q naming %s, got %q: %s", tc.reason, tc.part, got.Reason, got.Message)
			}
		})
	}
}

func TestDue(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	later := now.Add(time.Hour)
	for name, tc := range map[string]struct {
		change   func(*cosiapi.BucketAccess, *corev1.Secret)
		periodic time.Time
		why      string
		reason   string
		next     time.Time
	}{
		"everything is in order": {},
		"the time of the interval is known": {
			periodic: later, next: later,
		},
		"the interval has passed": {periodic: now, why: "interval", reason: metrics.RegrantInterval, next: now},
		"not provisioned": {
			change: func(a *cosiapi.BucketAccess, _ *corev1.Secret) { a.Status.Conditions = nil }, why: "not provisioned",
		},
		"the account ID is lost": {
			change: func(a *cosiapi.BucketAccess, _ *corev1.Secret) { a.Status.AccountID = "" }, why: "not provisioned", reason: metrics.RegrantRepair,
		},
		"the last grant failed": {
			change: func(a *cosiapi.BucketAccess, _ *corev1.Secret) {
				conditions.Set(&a.Status.Conditions, conditions.Change{
					Type: cosiapi.ConditionProvisionFailed, Status: metav1.ConditionTrue, Reason: conditions.Retrying,
				})
			},
			why: "failed", reason: metrics.RegrantRepair,
		},
		"a value was changed": {
			change: func(_ *cosiapi.BucketAccess, s *corev1.Secret) { s.Data["AWS_ACCESS_KEY_ID"] = []byte("other") }, why: `data of Secret "s1"`, reason: metrics.RegrantRepair,
		},
		"a key was added": {
			change: func(_ *cosiapi.BucketAccess, s *corev1.Secret) { s.Data["MORE"] = nil }, why: `data of Secret "s1"`, reason: metrics.RegrantRepair,
		},
		"the Secret is new": {
			change: func(_ *cosiapi.BucketAccess, s *corev1.Secret) { s.Data, s.Annotations = nil, nil }, why: `data of Secret "s1"`, reason: metrics.RegrantRepair,
		},
		"another request": {
			change: func(_ *cosiapi.BucketAccess, s *corev1.Secret) { s.Annotations[grantAnnotation] = "old" }, why: "different grant request", reason: metrics.RegrantDriver,
		},
		"another rotation": {
			change: func(_ *cosiapi.BucketAccess, s *corev1.Secret) {
				s.Annotations[grantAnnotation], s.Annotations[cosiapi.DeliveredRotationAnnotation] = "old", "once"
			},
			why: "different rotation request", reason: metrics.RegrantRotation,
		},
		"the credential is renewed later": {
			change: func(_ *cosiapi.BucketAccess, s *corev1.Secret) {
				s.Annotations[renewAnnotation] = later.Format(time.RFC3339)
			},
			next: later,
		},
		"the credential expires soon": {
			change: func(_ *cosiapi.BucketAccess, s *corev1.Secret) {
				s.Annotations[renewAnnotation] = now.Format(time.RFC3339)
			},
			why: "expires soon", reason: metrics.RegrantExpiry, next: now,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, data := granted(), map[string][]byte{"AWS_ACCESS_KEY_ID": []byte("AK")}
			secret := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: "s1", Annotations: deliveryAnnotations(order{digest: "digest"}, data, now)}, Data: data,
			}
			if tc.change != nil {
				tc.change(a, secret)
			}
			found, next := due(a, []*corev1.Secret{secret}, order{digest: "digest"}, tc.periodic, now)
			if found == nil {
				found = &dueGrant{}
			}
			if (found.why == "") != (tc.why == "") || !strings.Contains(found.why, tc.why) || found.reason != tc.reason {
				t.Errorf("want %q (%s), got %+v", tc.why, tc.reason, *found)
			}
			if !next.Equal(tc.next) {
				t.Errorf("next: want %v, got %v", tc.next, next)
			}
		})
	}
}

func TestOrderOf(t *testing.T) {
	t.Parallel()
	digestOf := func(revision string, change func(*cosiapi.BucketAccess)) string {
		a := granted()
		change(a)
		return orderOf(a, driver.Info{Revision: revision}).digest
	}
	same := digestOf("1", func(*cosiapi.BucketAccess) {})
	for name, tc := range map[string]struct {
		revision string
		change   func(*cosiapi.BucketAccess)
		differs  bool
	}{
		"the order of the Buckets": {"1", func(a *cosiapi.BucketAccess) {
			b := a.Status.AccessedBuckets
			b[0], b[1] = b[1], b[0]
		}, false},
		"the conditions": {"1", func(a *cosiapi.BucketAccess) { a.Status.Conditions = nil }, false},
		"the revision":   {"2", func(*cosiapi.BucketAccess) {}, true},
		"the rotation": {"1", func(a *cosiapi.BucketAccess) {
			a.Annotations = map[string]string{cosiapi.RotateAnnotation: "now"}
		}, true},
		"a mode": {"1", func(a *cosiapi.BucketAccess) {
			a.Spec.BucketClaims[0].AccessModes.ObjectMetadata = cosiapi.BucketAccessModeReadOnly
		}, true},
		"a parameter": {"1", func(a *cosiapi.BucketAccess) { a.Status.Parameters = map[string]string{"k": "v"} }, true},
		// A sidecar version that does not know the field has granted without it.
		"the disallowed modes": {"1", func(a *cosiapi.BucketAccess) {
			a.Status.DisallowedBucketAccessModes.ObjectData = []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeReadWrite}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := digestOf(tc.revision, tc.change) != same; got != tc.differs {
				t.Errorf("differs: want %v, got %v", tc.differs, got)
			}
		})
	}
}

// TestDigestsStay pins the digests that are stored in Secrets of existing clusters. A different digest would repeat
// every grant as soon as the sidecar is upgraded.
func TestDigestsStay(t *testing.T) {
	t.Parallel()
	a := granted()
	a.UID, a.Status.AccountID = "8c5a8a3e-5c6d-4f0e-9f62-0d6d3b0f9f51", "ba-1"
	a.Status.Parameters = map[string]string{"k": "v"}
	const want = "fee18013be80f97c3b70ba11a61ee9c2d2eb243a057b9e829dc3062045cc5b50"
	if got := orderOf(a, driver.Info{Revision: "1"}).digest; got != want {
		t.Errorf("the digest is %s, and was %s", got, want)
	}
}

func TestDisallowedModesAreSentInBothPhases(t *testing.T) {
	t.Parallel()
	all := []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeReadWrite, cosiapi.BucketAccessModeReadOnly, cosiapi.BucketAccessModeWriteOnly}
	for name, tc := range map[string]struct {
		status cosiapi.DisallowedBucketAccessModes
		want   *cosi.DisallowedAccessModes
	}{
		"nothing is disallowed, or the controller does not know the field": {},
		"empty lists": {status: cosiapi.DisallowedBucketAccessModes{ObjectData: []cosiapi.BucketAccessMode{}}},
		"each category separately": {
			status: cosiapi.DisallowedBucketAccessModes{ObjectData: all[1:2], ObjectMetadata: all[:1], BucketMetadata: all},
			want: &cosi.DisallowedAccessModes{
				ObjectData:     []cosi.AccessMode_Mode{cosi.AccessMode_READ_ONLY},
				ObjectMetadata: []cosi.AccessMode_Mode{cosi.AccessMode_READ_WRITE},
				BucketMetadata: []cosi.AccessMode_Mode{cosi.AccessMode_READ_WRITE, cosi.AccessMode_READ_ONLY, cosi.AccessMode_WRITE_ONLY},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := granted()
			a.Status.DisallowedBucketAccessModes = tc.status
			for phase, got := range map[string]*cosi.DisallowedAccessModes{
				"1": idRequest(a).GetDisallowedAccessModes(), "2": orderOf(a, driver.Info{}).request.GetDisallowedAccessModes(),
			} {
				if diff := cmp.Diff(tc.want, got, protocmp.Transform()); diff != "" {
					t.Errorf("phase %s (-want +got):\n%s", phase, diff)
				}
			}
		})
	}
}

func TestRenewal(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct{ life, want time.Duration }{
		"a day before the end of a long life":       {90 * 24 * time.Hour, 89 * 24 * time.Hour},
		"a third before the end of a short one":     {time.Hour, 40 * time.Minute},
		"not more than once a minute":               {30 * time.Second, time.Minute},
		"in a minute if it has expired already":     {-time.Hour, time.Minute},
		"a third before the end also at three days": {72 * time.Hour, 48 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := renewal(now, now.Add(tc.life)).Sub(now); got != tc.want {
				t.Errorf("want %v from now, got %v", tc.want, got)
			}
		})
	}
}

// Messages for the users of an access must not contain names of other users' objects.
func TestBucketProblemNamesNothingForeign(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]func(*cosiapi.Bucket){
		"a Bucket of another claim": func(b *cosiapi.Bucket) {
			b.Spec.BucketClaimRef.Namespace, b.Spec.BucketClaimRef.Name = "rivals", "films"
		},
		"a Bucket with another ID":       func(b *cosiapi.Bucket) { b.Status.BucketID = "bucket-of-rivals" },
		"a Bucket whose claim is bound":  func(b *cosiapi.Bucket) { b.Spec.BucketClaimRef.Namespace, b.Spec.BucketClaimRef.UID = "rivals", "u" },
		"one that is being deleted, too": func(b *cosiapi.Bucket) { b.DeletionTimestamp, b.Status.BucketID = &metav1.Time{}, "bucket-of-rivals" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := granted(), &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: "b1"}}
			b.Spec.BucketClaimRef = cosiapi.BucketClaimReference{Namespace: "ns", Name: "one", UID: "u1"}
			b.Status.BucketID, b.Status.Protocols = "id1", []cosiapi.Protocol{cosiapi.ProtocolS3}
			conditions.Set(&b.Status.Conditions, conditions.Change{Type: cosiapi.ConditionProvisioned, Status: metav1.ConditionTrue, Reason: conditions.Provisioned})
			if p := bucketProblem(a, a.Status.AccessedBuckets[1], b); p != nil {
				t.Fatalf("a Bucket in order has a problem: %+v", p)
			}
			alter(b)
			p := bucketProblem(a, a.Status.AccessedBuckets[1], b)
			if p == nil {
				t.Fatal("there is no problem")
			}
			for _, foreign := range []string{"rivals", "films", "id1"} {
				if strings.Contains(p.Message, foreign) {
					t.Errorf("it names %q: %s", foreign, p.Message)
				}
			}
		})
	}
}

func TestRevokeRequestNamesEachBucketOnce(t *testing.T) {
	t.Parallel()
	a := granted()
	a.Status.AccessedBuckets[0].BucketID = "id1"
	var ids []string
	for _, b := range revokeRequest(a).GetBuckets() {
		ids = append(ids, b.GetBucketId())
	}
	if diff := cmp.Diff([]string{"id1"}, ids); diff != "" {
		t.Errorf("bucket IDs (-want, +got):\n%s", diff)
	}
}

func TestUnknownAccount(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status cosiapi.BucketAccessStatus
		want   bool
	}{
		"no sidecar has requested an account":               {cosiapi.BucketAccessStatus{}, false},
		"the account has an ID":                             {cosiapi.BucketAccessStatus{AccountID: "account", Cleanup: cosiapi.CleanupPending}, false},
		"a sidecar of an earlier version has requested one": {cosiapi.BucketAccessStatus{Cleanup: cosiapi.CleanupPending}, true},
		"an administrator has set the cleanup to Finished":  {cosiapi.BucketAccessStatus{Cleanup: cosiapi.CleanupFinished}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := unknownAccount(&cosiapi.BucketAccess{Status: tc.status}); (got != nil) != tc.want {
				t.Errorf("want %v, got %+v", tc.want, got)
			}
		})
	}
}

func TestNeedsAccount(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		other func(*cosiapi.BucketAccess)
		want  bool
	}{
		"it uses the account":     {func(*cosiapi.BucketAccess) {}, true},
		"it is being deleted":     {func(a *cosiapi.BucketAccess) { a.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, false},
		"it is the same":          {func(a *cosiapi.BucketAccess) { a.UID = "one" }, false},
		"it has another account":  {func(a *cosiapi.BucketAccess) { a.Status.AccountID = "other" }, false},
		"it is of another driver": {func(a *cosiapi.BucketAccess) { a.Status.DriverName = "other" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &cosiapi.BucketAccess{Status: cosiapi.BucketAccessStatus{DriverName: "driver", AccountID: "account"}}
			other := a.DeepCopy()
			a.UID, other.UID = "one", "two"
			tc.other(other)
			if got := needsAccount(other, a); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}
