// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestInOrder(t *testing.T) {
	t.Parallel()
	o := &InOrder{}
	request := func(i int) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: fmt.Sprint(i)}}
	}
	for i := range 10_000 {
		o.note(request(i), finding{access: fmt.Sprint(i)})
	}
	if f, ok, believed := o.of(request(7)); !ok || f.access != "7" || believed < 30*time.Minute {
		t.Errorf("10,000 accesses would be read in %v; found %v %v", believed, f, ok)
	}
	for i := range 9_990 {
		o.Forget(request(i))
	}
	if _, ok, believed := o.of(request(7)); ok || believed > 2*time.Second {
		t.Errorf("ten accesses would be read in %v only; found %v", believed, ok)
	}
}
