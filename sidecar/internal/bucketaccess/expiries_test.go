// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cooper-cosi/cooper/internal/secretkeys"
)

// TestExpiries notes, minute by minute, what the Secret of an access says of when its credential is to be renewed.
func TestExpiries(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct{ says, want []int }{
		"the time comes, and nobody renews it":                       {[]int{2, 2, 2, 2, 2}, []int{2, 2, 2, 2, 2}},
		"it is overdue when the sidecar starts":                      {[]int{-60, -60}, []int{-60, -60}},
		"its owner writes that it is long overdue":                   {[]int{90, -60, -60, -600}, []int{90, 1, 1, 1}},
		"its owner writes that again when it has been renewed":       {[]int{90, -60, 90, -60, -60}, []int{90, 1, 90, 3, 3}},
		"its owner writes that it was due when it would have been":   {[]int{2, 2, 2, 2, -60}, []int{2, 2, 2, 2, 2}},
		"it is renewed for less time than before":                    {[]int{90, 5, 5}, []int{90, 5, 5}},
		"its owner writes that it is overdue by a little, then less": {[]int{90, 0, 1}, []int{90, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := func(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }
			var e Expiries
			for now, minute := range tc.says {
				e.note(reconcile.Request{}, []*corev1.Secret{{
					ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{renewAnnotation: at(minute).Format(time.RFC3339)}},
					Data:       map[string][]byte{secretkeys.AzureExpiry: []byte(at(100).Format(time.RFC3339))},
				}}, at(now))
				if got, _ := e.First(); !got.Equal(at(tc.want[now])) {
					t.Errorf("minute %d: want it due at minute %d, got %v", now, tc.want[now], got.Sub(start))
				}
			}
		})
	}
}
