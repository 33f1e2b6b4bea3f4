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
		// do gets a function that takes a share of a class, one that takes one for
		// another try, and one that leaves; the class has one share.
		do   func(take, again func(req, class string) bool, leave func(string))
		want []string // who is woken
	}{
		"who leaves without a share wakes nobody": {func(take, _ func(string, string) bool, leave func(string)) {
			take("a", "x")
			take("b", "x")
			take("c", "x")
			leave("b")
			leave("nobody")
		}, nil},
		"the first comes first": {func(take, _ func(string, string) bool, leave func(string)) {
			take("a", "x")
			take("b", "x")
			take("c", "x")
			leave("a")
		}, []string{"b"}},
		"first tries and others take turns": {func(take, again func(string, string) bool, leave func(string)) {
			take("a", "x")
			again("b", "x")
			again("c", "x")
			take("d", "x")
			take("e", "x")
			for _, name := range []string{"a", "d", "b", "e"} {
				leave(name)
			}
		}, []string{"d", "b", "e", "c"}},
		"who does not try again any more gets in the other line": {func(take, again func(string, string) bool, leave func(string)) {
			take("a", "x")
			again("b", "x")
			again("c", "x")
			take("c", "x")
			leave("a")
		}, []string{"c"}},
		"who was woken and needs none passes it on": {func(take, _ func(string, string) bool, leave func(string)) {
			take("a", "x")
			take("b", "x")
			take("c", "x")
			leave("a")
			leave("b")
		}, []string{"b", "c"}},
		"who does not wait any more is not woken": {func(take, _ func(string, string) bool, leave func(string)) {
			take("a", "x")
			take("b", "x")
			take("c", "x")
			leave("b")
			leave("a")
		}, []string{"c"}},
		"who was woken has the share": {func(take, _ func(string, string) bool, leave func(string)) {
			take("a", "x")
			take("b", "x")
			leave("a")
			if take("c", "x") || !take("b", "x") {
				t.Error("somebody else took it")
			}
		}, []string{"b"}},
		"another class has its own": {func(take, _ func(string, string) bool, _ func(string)) {
			if !take("a", "x") || !take("b", "y") || take("c", "x") {
				t.Error("classes hinder each other")
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var woken []string
			shares := &inflight.Shares{PerClass: 1}
			claim := func(again bool) func(req, class string) bool {
				return func(req, class string) bool {
					return shares.Take(request(req), class, again, func() { woken = append(woken, req) })
				}
			}
			tc.do(claim(false), claim(true), func(req string) { shares.Leave(request(req)) })
			if !slices.Equal(woken, tc.want) {
				t.Errorf("woken: want %v, got %v", tc.want, woken)
			}
			for _, req := range []string{"a", "b", "c", "d", "e"} {
				shares.Leave(request(req))
			}
			if take := claim(false); !take("d", "x") || !take("e", "y") {
				t.Error("objects that left have shares")
			}
		})
	}
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}
