// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

func TestDeparted(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	returned := func(a *cosiapi.BucketAccess) {
		a.DeletionTimestamp = &now
		cosiapi.SetAnnotation(a, cosiapi.SidecarCleanupFinishedAnnotation, "")
	}
	for name, tc := range map[string]struct {
		// before happens to the access, whose last state is then as last leaves it.
		before  func(*Departed, *cosiapi.BucketAccess)
		last    func(*cosiapi.BucketAccess)
		account string
		left    bool
	}{
		"an access that we returned leaves nothing": {last: returned},
		"one that we did not return leaves its account": {
			last: func(a *cosiapi.BucketAccess) { a.DeletionTimestamp = &now }, account: "account", left: true,
		},
		"one that a user returned leaves its account": {
			last: func(a *cosiapi.BucketAccess) {
				returned(a)
				a.Status.Cleanup = cosiapi.CleanupPending
			},
			account: "account", left: true,
		},
		"one that a user returned before it had an account may leave Secrets": {
			last: func(a *cosiapi.BucketAccess) {
				returned(a)
				a.Status.AccountID = ""
			},
			left: true,
		},
		"a deletion that the watch missed hides no account that was being granted": {
			before:  func(d *Departed, a *cosiapi.BucketAccess) { d.Granting(a, "later") },
			last:    func(a *cosiapi.BucketAccess) { a.Status.AccountID = "" },
			account: "later", left: true,
		},
		"an account that was not stored is none": {
			before: func(d *Departed, a *cosiapi.BucketAccess) { d.Granting(a, "later"); d.NotGranting(a) },
			last:   func(a *cosiapi.BucketAccess) { a.Status.AccountID = "" }, left: true,
		},
		"the account of another access of that name is not its own": {
			before: func(d *Departed, a *cosiapi.BucketAccess) {
				other := a.DeepCopy()
				other.UID = "other"
				d.Granting(other, "later")
			},
			last: func(a *cosiapi.BucketAccess) { a.Status.AccountID = "" }, left: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, a := &Departed{}, granted()
			a.Namespace, a.Name, a.UID, a.Status.AccountID, a.Status.DriverName = "team", "app", "uid", "account", "driver"
			if tc.before != nil {
				tc.before(d, a)
			}
			tc.last(a)
			if got := d.Gone(a); got != tc.left {
				t.Fatalf("something is left: want %v, got %v", tc.left, got)
			}
			d.Gone(a) // is told once
			for _, one := range d.of(requestFor(a)) {
				if one.access.Status.AccountID != tc.account {
					t.Errorf("account: want %q, got %q", tc.account, one.access.Status.AccountID)
				}
				d.drop(one)
			}
			if len(d.gone)+len(d.granting)+len(d.suspects) > 0 {
				t.Errorf("what is cleaned up is remembered: %+v", d)
			}
		})
	}
}

func TestSuspectsAreForgotten(t *testing.T) {
	t.Parallel()
	d, req := &Departed{}, requestFor(granted())
	secret := types.NamespacedName{Namespace: "team", Name: "key"}
	d.Suspect(req, secret)
	d.Suspect(req, secret)
	if diff := cmp.Diff([]types.NamespacedName{secret}, d.suspected(req)); diff != "" {
		t.Errorf("suspects (-want, +got):\n%s", diff)
	}
	if again := d.suspected(req); len(again)+len(d.suspects) > 0 {
		t.Errorf("they are not forgotten: %v", again)
	}
}

// A record fits into the annotations of a Secret, whatever the class's parameters.
func TestRecordIsBounded(t *testing.T) {
	t.Parallel()
	a := granted()
	a.Status.AccountID, a.Status.Parameters = "account", map[string]string{"small": "kept"}
	if text := recordOf(a); !strings.Contains(text, "kept") || strings.Contains(text, "conditions") {
		t.Errorf("want the parameters and no conditions, got %s", text)
	}
	a.Status.Parameters["large"] = strings.Repeat("x", maxRecord)
	if text := recordOf(a); text == "" || len(text) > maxRecord || strings.Contains(text, "kept") {
		t.Errorf("want a record of at most %d bytes without parameters, got %d bytes", maxRecord, len(text))
	}
	a.Status.AccountID = ""
	if text := recordOf(a); text != "" {
		t.Errorf("without an account: %s", text)
	}
}
