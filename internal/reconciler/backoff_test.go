// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cooper-cosi/cooper/internal/reconciler"
)

func TestLimiter(t *testing.T) {
	t.Parallel()
	limiter := reconciler.NewLimiter(reconciler.BackoffOptions{Base: time.Second, Max: 8 * time.Second})
	item := reconcile.Request{NamespacedName: types.NamespacedName{Name: "a"}}
	for failure, seconds := range []int{1, 2, 4, 8, 8, 8} {
		want := time.Duration(seconds) * time.Second
		if got := limiter.When(item); got < want || got > want+want/5 {
			t.Errorf("wait after failure %d: want %v and at most a fifth more, got %v", failure+1, want, got)
		}
	}
	limiter.Forget(item)
	if got := limiter.When(item); got > 2*time.Second {
		t.Errorf("wait after a success: want the first one again, got %v", got)
	}
}

func TestJitterOfZero(t *testing.T) {
	t.Parallel()
	if got := reconciler.Jitter(0); got != 0 {
		t.Errorf("got %v", got)
	}
}
