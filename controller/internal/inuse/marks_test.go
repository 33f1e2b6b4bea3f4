// SPDX-License-Identifier: Apache-2.0

package inuse_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/inuse"
)

func TestMarksKeepTheLast(t *testing.T) {
	t.Parallel()
	marks := &inuse.Marks{}
	add := func(name, version string) {
		marks.Add(&cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, ResourceVersion: version}})
	}
	get := func(namespace string) string {
		if claim := marks.Get(client.ObjectKey{Namespace: namespace, Name: "photos"}); claim != nil {
			return claim.ResourceVersion
		}
		return "none"
	}
	want := func(when, want, namespace string) {
		t.Helper()
		if got := get(namespace); got != want {
			t.Errorf("%s: want %s, got %s", when, want, got)
		}
	}
	want("before any", "none", "team")
	add("photos", "1")
	add("photos", "2")
	want("of two", "2", "team")
	want("in another namespace", "none", "other")
	for i := range 31 {
		add(fmt.Sprint("other-", i), "3")
	}
	want("after 31 others", "2", "team")
	add("one more", "3")
	want("after 32 others", "none", "team")
}
