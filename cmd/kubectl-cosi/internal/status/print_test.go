// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/internal/tree"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/plugin"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/testing/docstest"
)

var now = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// cluster returns a claim and an access that are ready, a claim that a driver rejects with a malicious
// message, an access whose Secret name is in use, and a claim that is stuck in deletion.
func cluster() *tree.Objects {
	o := &tree.Objects{
		Claims: map[client.ObjectKey]*cosiapi.BucketClaim{}, Accesses: map[client.ObjectKey]*cosiapi.BucketAccess{},
		Buckets: map[string]*cosiapi.Bucket{}, Secrets: map[client.ObjectKey]*tree.Secret{}, Leases: map[string]*coordinationv1.Lease{},
		System: "cosi-system", Now: now,
	}
	of := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "team-a", Name: name, CreationTimestamp: metav1.NewTime(now.Add(-90 * time.Second))}
	}
	fine := []metav1.Condition{{Type: cosiapi.ConditionProvisioned, Status: metav1.ConditionTrue, Reason: string(conditions.Provisioned), Message: "The bucket is provisioned."}}
	is := func(kind string, status metav1.ConditionStatus, reason conditions.Reason, message string) []metav1.Condition {
		return []metav1.Condition{{Type: kind, Status: status, Reason: string(reason), Message: message}}
	}
	claim := func(name, bucket, driver string, list, ofBucket []metav1.Condition) *cosiapi.BucketClaim {
		c := &cosiapi.BucketClaim{ObjectMeta: of(name), Spec: cosiapi.BucketClaimSpec{BucketClassName: "fast"}}
		c.Status = cosiapi.BucketClaimStatus{Conditions: list, BoundBucketName: bucket}
		o.Claims[client.ObjectKeyFromObject(c)] = c
		b := &cosiapi.Bucket{ObjectMeta: of(bucket), Spec: cosiapi.BucketSpec{DriverName: driver, DeletionPolicy: cosiapi.DeletionPolicyDelete}}
		b.Namespace = ""
		b.Status.Conditions = ofBucket
		o.Buckets[bucket] = b
		return c
	}
	access := func(name, claim string, list []metav1.Condition) {
		a := &cosiapi.BucketAccess{ObjectMeta: of(name), Spec: cosiapi.BucketAccessSpec{
			BucketAccessClassName: "keys", Protocol: cosiapi.ProtocolS3,
			BucketClaims: []cosiapi.BucketClaimAccess{{BucketClaimName: claim, AccessSecretName: name + "-secret"}},
		}}
		a.UID = "uid-of-photos"
		a.Status.Conditions = list
		o.Accesses[client.ObjectKeyFromObject(a)] = a
	}
	secret := func(name string, s *tree.Secret) {
		s.Created = metav1.NewTime(now.Add(-time.Hour))
		o.Secrets[client.ObjectKey{Namespace: "team-a", Name: name}] = s
	}
	claim("photos", "bc-photos", "s3.example.com", fine, fine)
	access("photos", "photos", fine)
	secret("photos-secret", &tree.Secret{Keys: []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}, Owner: "uid-of-photos"})
	evil := "DriverCreateBucket failed with InvalidArgument (wrong): \x1b]0;owned\a\x1b[2J\u009b2J\u202eno such \"region\"\\ " + strings.Repeat("x", 100) + "."
	claim("videos", "bc-videos", "nobody.example.com", is(cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.Terminal, evil), is(cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.Terminal, evil))
	access("reader", "photos", is(cosiapi.ConditionResourcesValidated, metav1.ConditionFalse, conditions.SecretTaken, `Secret "reader-secret" has another owner.`))
	secret("reader-secret", &tree.Secret{Keys: []string{"password"}})
	gone := claim("old", "bc-old", "s3.example.com", is(cosiapi.ConditionDeprovisionFailed, metav1.ConditionUnknown, conditions.WaitingForBucketAccess, `Waiting for the deletion of BucketAccess "backup".`), fine)
	gone.DeletionTimestamp = ptr.To(metav1.NewTime(now.Add(-time.Minute)))
	o.Leases["s3.example.com"] = &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("cosi-driver-s3-0_6f"), LeaseDurationSeconds: ptr.To[int32](15), RenewTime: ptr.To(metav1.NewMicroTime(now.Add(-3 * time.Second))),
	}}
	return o
}

// TestOutput compares each format with a file in testdata.
func TestOutput(t *testing.T) {
	t.Parallel()
	tenant := cluster()
	tenant.Buckets, tenant.Leases = nil, nil
	tenant.Unread = map[string]string{tree.KindBucket: "You are not allowed to read Buckets.", "Lease": "You are not allowed to read its Lease."}
	for name, tc := range map[string]struct {
		objects  *tree.Objects
		format   string
		terminal plugin.Terminal
		roots    []tree.Root
	}{
		"table":  {objects: cluster()},
		"narrow": {objects: cluster(), terminal: plugin.Terminal{Width: 60, Colour: true}},
		"wide":   {objects: cluster(), format: "wide", terminal: plugin.Terminal{Width: 100}},
		"json":   {objects: cluster(), format: "json"},
		"dot":    {objects: cluster(), format: "dot"},
		"tenant": {objects: tenant, roots: []tree.Root{
			{Kind: tree.KindAccess, Namespace: "team-a", Name: "photos"}, {Kind: tree.KindClaim, Namespace: "team-a", Name: "absent"}, {Kind: tree.KindBucket, Name: "bc-photos"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			show, err := printerFor(tc.format)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := show(&out, view{Terminal: tc.terminal, now: now}, tree.Build(tc.objects, tc.roots...)); err != nil {
				t.Fatal(err)
			}
			docstest.CurrentPage(t, "cmd/kubectl-cosi/internal/status/testdata/"+name+".txt", func(string) []byte { return out.Bytes() })
			harmless(t, out.String(), tc.terminal)
		})
	}
}

// harmless checks that only the intended colour codes reach the terminal, and that no line is too wide.
func harmless(t *testing.T, text string, terminal plugin.Terminal) {
	t.Helper()
	for _, colour := range []string{"32", "33", "31", "2", "0"} {
		text = strings.ReplaceAll(text, "\x1b["+colour+"m", "")
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("a line has characters that do not print: %q", line)
		}
		if n := utf8.RuneCountInString(line); terminal.Width > 0 && n > terminal.Width {
			t.Errorf("a line of %d characters on a terminal of %d: %q", n, terminal.Width, line)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		arg  string
		want tree.Root
	}{
		"a claim":                          {"claim/a", tree.Root{Kind: tree.KindClaim, Namespace: "ns", Name: "a"}},
		"as kubectl has it":                {"bucketclaim.objectstorage.k8s.io/a", tree.Root{Kind: tree.KindClaim, Namespace: "ns", Name: "a"}},
		"an access, by its short name":     {"ba/a", tree.Root{Kind: tree.KindAccess, Namespace: "ns", Name: "a"}},
		"a Bucket, which has no namespace": {"buckets/a", tree.Root{Kind: tree.KindBucket, Name: "a"}},
		"a name alone":                     {"a", tree.Root{}},
		"a kind alone":                     {"claim/", tree.Root{}},
		"another kind":                     {"pod/a", tree.Root{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			roots, err := parse([]string{tc.arg}, "ns")
			if (err != nil) != (tc.want == tree.Root{}) {
				t.Fatalf("error: %v", err)
			}
			if err == nil && roots[0] != tc.want {
				t.Errorf("want %+v, got %+v", tc.want, roots[0])
			}
		})
	}
}
