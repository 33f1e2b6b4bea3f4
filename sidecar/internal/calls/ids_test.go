// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestAnIDIsGivenToOneObject(t *testing.T) {
	t.Parallel()
	first := reconcile.Request{NamespacedName: types.NamespacedName{Name: "first"}}
	second := reconcile.Request{NamespacedName: types.NamespacedName{Name: "second"}}
	for name, tc := range map[string]struct {
		before func(*IDs)
		want   bool
	}{
		"nobody has it":                         {func(*IDs) {}, true},
		"another object has it":                 {func(i *IDs) { i.Give(first, "x") }, false},
		"the object has it already":             {func(i *IDs) { i.Give(second, "x") }, true},
		"the object that had it is gone":        {func(i *IDs) { i.Give(first, "x"); i.Forget(first) }, true},
		"the object that had it has another":    {func(i *IDs) { i.Give(first, "x"); i.Give(first, "y") }, true},
		"an object that was given none is gone": {func(i *IDs) { i.Give(first, "x"); i.Forget(second) }, false},
		"it was refused before":                 {func(i *IDs) { i.Give(first, "x"); i.Give(second, "x") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ids := &IDs{}
			tc.before(ids)
			if got := ids.Give(second, "x"); got != tc.want {
				t.Errorf("want %v, got %v", tc.want, got)
			}
			ids.Forget(first)
			ids.Forget(second)
			if len(ids.owner)+len(ids.of) != 0 {
				t.Errorf("what is left of objects that are gone: %v, %v", ids.owner, ids.of)
			}
		})
	}
}
