// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
)

func named(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: name}}
}

func TestOrphans(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	finished := func(a *cosiapi.BucketAccess) {
		a.DeletionTimestamp = &now
		cosiapi.SetAnnotation(a, cosiapi.SidecarCleanupFinishedAnnotation, "")
	}
	for name, tc := range map[string]struct {
		granting bool
		// last changes the access to its last state.
		last    func(*cosiapi.BucketAccess)
		account string
		orphan  bool
	}{
		"an access with finished cleanup leaves nothing": {last: finished},
		"one that another process cleaned up during a grant leaves its account": {
			granting: true, last: finished, account: "account", orphan: true,
		},
		"an access whose account ID is not in the cache leaves its account": {
			granting: true, last: func(a *cosiapi.BucketAccess) { a.Status.AccountID, a.Status.Cleanup = "", "" }, account: "account", orphan: true,
		},
		"one that was deleted without cleanup leaves its account": {
			last: func(a *cosiapi.BucketAccess) { a.DeletionTimestamp = &now }, account: "account", orphan: true,
		},
		"an access with a forged annotation leaves its account": {
			last: func(a *cosiapi.BucketAccess) {
				finished(a)
				a.Status.Cleanup = cosiapi.CleanupPending
			},
			account: "account", orphan: true,
		},
		"an access with a forged annotation and no account may leave Secrets": {
			last: func(a *cosiapi.BucketAccess) {
				finished(a)
				a.Status.AccountID = ""
			},
			orphan: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, a := NewMemory(0, 1), granted()
			a.Namespace, a.Name, a.UID, a.Status.AccountID, a.Status.DriverName = "team", "app", "uid", "account", "driver"
			if tc.granting {
				m.setGranting(a, "account")
			}
			tc.last(a)
			if got := m.Deleted(a); got != tc.orphan {
				t.Fatalf("something is left: want %v, got %v", tc.orphan, got)
			}
			m.Deleted(a) // a repeated event adds nothing
			m.Forget(requestFor(a))
			var accounts []string
			for _, orphan := range m.orphans(requestFor(a)) {
				accounts = append(accounts, orphan.Status.AccountID)
				m.forgetOrphan(orphan)
			}
			want := []string{tc.account}
			if !tc.orphan {
				want = nil
			}
			if diff := cmp.Diff(want, accounts); diff != "" {
				t.Errorf("accounts of orphans (-want, +got):\n%s", diff)
			}
			m.Forget(requestFor(a))
			if len(m.accesses) != 0 {
				t.Errorf("remembered after the cleanup: %v", m.accesses)
			}
		})
	}
}

func TestAccessThatDisappearsDuringItsGrantIsAnOrphan(t *testing.T) {
	t.Parallel()
	m, a := NewMemory(0, 1), granted()
	if m.Forget(requestFor(a)) || len(m.accesses) != 0 {
		t.Error("an access without a grant is an orphan")
	}
	m.setGranting(a, "account")
	m.setGranted(requestFor(a))
	if m.Forget(requestFor(a)) {
		t.Error("an access whose grant the cache shows is an orphan although no event reported its deletion")
	}
	m.setGranting(a, "account")
	if !m.Forget(requestFor(a)) || len(m.orphans(requestFor(a))) != 1 {
		t.Error("the account is lost")
	}
	a.Status.Cleanup, a.DeletionTimestamp = cosiapi.CleanupFinished, new(metav1.Now())
	cosiapi.SetAnnotation(a, cosiapi.SidecarCleanupFinishedAnnotation, "")
	other := NewMemory(0, 1)
	if other.Deleted(a) || len(other.accesses) != 0 {
		t.Error("an access with finished cleanup is still in memory")
	}
}

func TestUnwatchedSecretsAreReadRarely(t *testing.T) {
	t.Parallel()
	m := NewMemory(0, 1)
	for i := range 10_000 {
		m.setCurrent(named(fmt.Sprint(i)), checked{access: fmt.Sprint(i)})
	}
	if last, valid := m.lastChecked(named("7")); last == nil || last.access != "7" || valid < 30*time.Minute {
		t.Errorf("10,000 accesses are read again within %v; found %v", valid, last)
	}
	for i := range 9_990 {
		m.Forget(named(fmt.Sprint(i)))
	}
	if last, valid := m.lastChecked(named("9995")); last == nil || valid > 2*time.Second {
		t.Errorf("ten accesses are read again after %v; found %v", valid, last)
	}
}

// TestNextExpiry stores, minute by minute, the renewal times in the Secret of an access.
func TestNextExpiry(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct{ says, want []int }{
		"the time passes without a renewal":                          {[]int{2, 2, 2, 2, 2}, []int{2, 2, 2, 2, 2}},
		"it is overdue when the sidecar starts":                      {[]int{-60, -60}, []int{-60, -60}},
		"its owner writes that it is long overdue":                   {[]int{90, -60, -60, -600}, []int{90, 1, 1, 1}},
		"its owner writes that again after a renewal":                {[]int{90, -60, 90, -60, -60}, []int{90, 1, 90, 3, 3}},
		"its owner writes that it was due at the time it was due":    {[]int{2, 2, 2, 2, -60}, []int{2, 2, 2, 2, 2}},
		"it is renewed for less time than before":                    {[]int{90, 5, 5}, []int{90, 5, 5}},
		"its owner writes that it is overdue by a little, then less": {[]int{90, 0, 1}, []int{90, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := func(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }
			m := NewMemory(0, 1)
			for now, minute := range tc.says {
				m.setExpiry(named("app"), []*corev1.Secret{{
					ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{renewAnnotation: at(minute).Format(time.RFC3339)}},
					Data:       map[string][]byte{secretkeys.AzureExpiry: []byte(at(100).Format(time.RFC3339))},
				}}, at(now))
				if got, _ := m.NextExpiry(); !got.Equal(at(tc.want[now])) {
					t.Errorf("minute %d: want it due at minute %d, got %v", now, tc.want[now], got.Sub(start))
				}
			}
		})
	}
}

func TestGrantsThatUsersCauseAreLimited(t *testing.T) {
	t.Parallel()
	now, req, other := time.Now(), named("app"), named("other")
	m := NewMemory(0, 1)
	count := 0
	for second := range 3600 {
		if at := now.Add(time.Duration(second) * time.Second); m.awaitBudget(req, 1, at) == 0 {
			m.spendBudget(req, at)
			count++
		}
	}
	if most := grantBurst + 60; count < most-2 || count > most {
		t.Errorf("an hour of a rotation each second: want %d grants, got %d", most, count)
	}
	if wait := m.awaitBudget(other, 1, now); wait != 0 {
		t.Errorf("another access waits: %v", wait)
	}
	if late := now.Add(time.Hour - time.Second); m.awaitBudget(req, 1, late) == 0 || m.awaitBudget(req, 2, late) != 0 {
		t.Error("only a new epoch of the driver ends the wait")
	}
	m.Forget(req)
	if m.awaitBudget(req, 1, now) != 0 {
		t.Error("a deleted access is remembered")
	}
}

func TestBackgroundGrantsAreSpread(t *testing.T) {
	t.Parallel()
	m, now := NewMemory(0, 5), time.Now()
	for i, want := range []time.Duration{0, 200 * time.Millisecond, 400 * time.Millisecond} {
		for range 2 { // an access keeps its slot
			if got := m.awaitBackground(named(fmt.Sprint(i)), now); got.Round(time.Millisecond) != want {
				t.Errorf("access %d: want %v, got %v", i, want, got)
			}
		}
	}
	m.setCurrent(named("0"), checked{})
	if got := m.awaitBackground(named("0"), now); got.Round(time.Millisecond) != 600*time.Millisecond {
		t.Errorf("an access that was current has its old place: %v", got)
	}
}

func TestPeriodicGrants(t *testing.T) {
	t.Parallel()
	now, req := time.Now(), named("app")
	if !NewMemory(0, 1).periodic(req, now).IsZero() {
		t.Error("no interval must mean never")
	}
	daily := NewMemory(24*time.Hour, 1)
	first := daily.periodic(req, now)
	if wait := first.Sub(now); wait < 12*time.Hour || wait > 24*time.Hour {
		t.Errorf("after a start: want between half and the whole interval, got %v", wait)
	}
	if again := daily.periodic(req, now.Add(time.Hour)); !again.Equal(first) {
		t.Errorf("the time moves: %v and %v", first, again)
	}
	daily.granted(req, now)
	if wait := daily.periodic(req, now).Sub(now); wait < 24*time.Hour || wait > 29*time.Hour {
		t.Errorf("after a grant: want the interval and at most a fifth more, got %v", wait)
	}
}
