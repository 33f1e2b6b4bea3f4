// SPDX-License-Identifier: Apache-2.0

package inflight_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cooper-cosi/cooper/sidecar/internal/inflight"
)

func TestShares(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		// do gets a function that takes a share of a pool, one that takes one for a retry, and one that leaves. Each
		// pool has one share.
		do   func(take, again func(req, pool string) bool, leave func(string))
		want []string // the objects that get a callback
	}{
		"an object that leaves without a share wakes none": {func(take, _ func(string, string) bool, leave func(string)) {
			take("a", "x")
			take("b", "x")
			take("c", "x")
			leave("b")
			leave("unknown")
		}, nil},
		"the first to wait is served first": {func(take, _ func(string, string) bool, leave func(string)) {
			take("a", "x")
			take("b", "x")
			take("c", "x")
			leave("a")
		}, []string{"b"}},
		"first tries and retries are served in turn": {func(take, again func(string, string) bool, leave func(string)) {
			take("a", "x")
			again("b", "x")
			again("c", "x")
			take("d", "x")
			take("e", "x")
			for _, name := range []string{"a", "d", "b", "e"} {
				leave(name)
			}
		}, []string{"d", "b", "e", "c"}},
		"a retry that becomes a first try changes the queue": {func(take, again func(string, string) bool, leave func(string)) {
			take("a", "x")
			again("b", "x")
			again("c", "x")
			take("c", "x")
			leave("a")
		}, []string{"c"}},
		"an object that was woken and needs no share passes it on": {func(take, _ func(string, string) bool, leave func(string)) {
			take("a", "x")
			take("b", "x")
			take("c", "x")
			leave("a")
			leave("b")
		}, []string{"b", "c"}},
		"an object that stopped waiting is not woken": {func(take, _ func(string, string) bool, leave func(string)) {
			take("a", "x")
			take("b", "x")
			take("c", "x")
			leave("b")
			leave("a")
		}, []string{"c"}},
		"an object that was woken has the share": {func(take, _ func(string, string) bool, leave func(string)) {
			take("a", "x")
			take("b", "x")
			leave("a")
			if take("c", "x") || !take("b", "x") {
				t.Error("another object took it")
			}
		}, []string{"b"}},
		"another pool has its own shares": {func(take, _ func(string, string) bool, _ func(string)) {
			if !take("a", "x") || !take("b", "y") || take("c", "x") {
				t.Error("pools affect each other")
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var woken []string
			shares := &inflight.Shares{PerPool: 1}
			take := func(retry bool) func(req, pool string) bool {
				return func(req, pool string) bool {
					return shares.Take(request(req), pool, retry, func() { woken = append(woken, req) })
				}
			}
			tc.do(take(false), take(true), func(req string) { shares.Leave(request(req)) })
			if !slices.Equal(woken, tc.want) {
				t.Errorf("woken: want %v, got %v", tc.want, woken)
			}
			for _, req := range []string{"a", "b", "c", "d", "e"} {
				shares.Leave(request(req))
			}
			if first := take(false); !first("d", "x") || !first("e", "y") {
				t.Error("objects that left have shares")
			}
		})
	}
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}
