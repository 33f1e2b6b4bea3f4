// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

func TestPatch(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		// stored is the object in the API. before has only the fields that the Go type knows.
		stored string
		change func(*cosiapi.BucketAccess)
		want   []string
	}{
		"a change of nothing is no patch": {
			stored: `{"status":{"accountID":"a"}}`,
			change: func(*cosiapi.BucketAccess) {},
		},
		"a field alone": {
			stored: `{"status":{"accountID":"a","future":1}}`,
			change: func(a *cosiapi.BucketAccess) { a.Status.AccountID = "b" },
			want:   []string{`add /status/accountID "b"`},
		},
		"a field that is removed": {
			stored: `{"status":{"accountID":"a","driverName":"d"}}`,
			change: func(a *cosiapi.BucketAccess) { a.Status.AccountID = "" },
			want:   []string{`remove /status/accountID`},
		},
		"a status that seems to be missing is added only where it is": {
			stored: `{}`,
			change: func(a *cosiapi.BucketAccess) { a.Status.AccountID = "b" },
			want:   []string{`test /status null`, `add /status {"accountID":"b"}`},
		},
		"a key of a map with a slash and a tilde": {
			stored: `{"metadata":{"annotations":{"x":"y"}}}`,
			change: func(a *cosiapi.BucketAccess) { a.Annotations["cosi.io/a~b"] = "c" },
			want:   []string{`add /metadata/annotations/cosi.io~1a~0b "c"`},
		},
		"a map that was not there": {
			stored: `{"metadata":{}}`,
			change: func(a *cosiapi.BucketAccess) { a.Annotations = map[string]string{"a": "b"} },
			want:   []string{`test /metadata/annotations null`, `add /metadata/annotations {"a":"b"}`},
		},
		"removing a map keeps the entries of other clients": {
			stored: `{"metadata":{"annotations":{"x":"y"}}}`,
			change: func(a *cosiapi.BucketAccess) { a.Annotations = nil },
			want:   []string{`remove /metadata/annotations/x`},
		},
		"the first item of a list that was not there": {
			stored: `{"metadata":{}}`,
			change: func(a *cosiapi.BucketAccess) { a.Finalizers = []string{"f"} },
			want:   []string{`add /metadata/finalizers ["f"]`},
		},
		"the last item of a list": {
			stored: `{"metadata":{"finalizers":["f"]}}`,
			change: func(a *cosiapi.BucketAccess) { a.Finalizers = nil },
			want:   []string{`remove /metadata/finalizers`},
		},
		"one of several strings": {
			stored: `{"metadata":{"finalizers":["a","b","c"]}}`,
			change: func(a *cosiapi.BucketAccess) { a.Finalizers = []string{"a", "c", "d"} },
			want:   []string{`remove /metadata/finalizers/1`, `add /metadata/finalizers/2 "d"`},
		},
		"the same string twice": {
			stored: `{"metadata":{"finalizers":["a","b","a"]}}`,
			change: func(a *cosiapi.BucketAccess) { a.Finalizers = []string{"a", "b"} },
			want:   []string{`remove /metadata/finalizers/0`, `move /metadata/finalizers/1 /metadata/finalizers/0`},
		},
		"a field of an item, which is the same if its key is": {
			stored: `{"status":{"accessedBuckets":[{"bucketClaimName":"c1","bucketID":"1"},{"bucketClaimName":"c2","bucketID":"2","future":3}]}}`,
			change: func(a *cosiapi.BucketAccess) { a.Status.AccessedBuckets[1].BucketID = "3" },
			want:   []string{`add /status/accessedBuckets/1/bucketID "3"`},
		},
		"another item in the place of the first": {
			stored: `{"status":{"accessedBuckets":[{"bucketClaimName":"c1","bucketID":"1","bucketName":"b1"},{"bucketClaimName":"c2","bucketID":"2"}]}}`,
			change: func(a *cosiapi.BucketAccess) {
				a.Status.AccessedBuckets[0] = cosiapi.AccessedBucket{BucketClaimName: "c3", BucketID: "3", BucketName: "b3"}
			},
			want: []string{
				`remove /status/accessedBuckets/0`,
				`add /status/accessedBuckets/0 {"bucketClaimName":"c3","bucketID":"3","bucketName":"b3"}`,
			},
		},
		"items in another order are moved": {
			stored: `{"status":{"accessedBuckets":[{"bucketClaimName":"c1","bucketID":"1"},{"bucketClaimName":"c2","bucketID":"2"}]}}`,
			change: func(a *cosiapi.BucketAccess) { slices.Reverse(a.Status.AccessedBuckets) },
			want:   []string{`move /status/accessedBuckets/1 /status/accessedBuckets/0`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := parse(t, tc.stored)
			after := before.DeepCopy()
			tc.change(after)
			p, err := newPatch(nil, before, after)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range p.operations {
				got = append(got, strings.Join(slices.DeleteFunc([]string{o.Op, o.From, o.Path, string(o.Value)}, func(s string) bool { return s == "" }), " "))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(after, parse(t, apply(t, p, tc.stored)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the patched object (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPatchOfStoredObject(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ stored, want string }{
		"a status of unknown fields alone keeps them":      {`{"status":{"future":1}}`, `{"status":{"accountID":"b","future":1}}`},
		"a status that is not there is added":              {`{"metadata":{}}`, `{"metadata":{},"status":{"accountID":"b"}}`},
		"an empty status gets the new field":               {`{"status":{}}`, `{"status":{"accountID":"b"}}`},
		"fields that only the Go type has are not written": {`{"spec":{"future":{"a":[1]}}}`, `{"spec":{"future":{"a":[1]}},"status":{"accountID":"b"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := parse(t, tc.stored)
			after := before.DeepCopy()
			after.Status.AccountID = "b"
			stored := &unstructured.Unstructured{}
			if err := json.Unmarshal([]byte(tc.stored), &stored.Object); err != nil {
				t.Fatal(err)
			}
			p, err := newPatch(stored, before, after)
			if err != nil {
				t.Fatal(err)
			}
			if got := apply(t, p, tc.stored); got != tc.want {
				t.Errorf("want %s, got %s", tc.want, got)
			}
		})
	}
}

func TestPatchRefusesItemsWithoutKey(t *testing.T) {
	t.Parallel()
	before := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}}}}
	after := before.DeepCopy()
	after.Spec.Containers[0].Image = "b"
	if _, err := newPatch(nil, before, after); err == nil || !strings.Contains(err.Error(), "/spec/containers have no unique key") {
		t.Errorf("want an error about /spec/containers, got %v", err)
	}
}

// FuzzPatch changes an access at random. The stored object has an unknown field in every possible place. The patch
// must make all changes and must not touch those fields.
func FuzzPatch(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		stored := future(t, someAccess(random))
		before := parse(t, stored)
		after := before.DeepCopy()
		alter(random, after)
		p, err := newPatch(nil, before, after)
		if err != nil {
			t.Fatal(err)
		}
		got := apply(t, p, stored)
		if diff := cmp.Diff(after, parse(t, got), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("the patched object (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(futures(t, future(t, keptOf(before, after))), futures(t, got)); diff != "" {
			t.Errorf("fields that Go does not know (-want +got):\n%s", diff)
		}
	})
}

func someAccess(random *rand.Rand) *cosiapi.BucketAccess {
	a := &cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: cosiapi.BucketAccessStatus{AccountID: "id"}}
	alter(random, a)
	return a
}

// alter adds, removes, changes and moves some of the values that components write.
func alter(random *rand.Rand, a *cosiapi.BucketAccess) {
	word := func() string { return fmt.Sprintf("w%d", random.IntN(4)) }
	a.Status.DriverName = word()
	if random.IntN(2) == 0 {
		a.Annotations = map[string]string{word() + "/~" + word(): word(), word(): word()}
	}
	a.Finalizers = shuffled(random, a.Finalizers, word())
	a.Status.Conditions = shuffled(random, a.Status.Conditions, metav1.Condition{Type: word(), Message: word()})
	seen := map[string]bool{}
	a.Status.Conditions = slices.DeleteFunc(a.Status.Conditions, func(c metav1.Condition) bool { defer func() { seen[c.Type] = true }(); return seen[c.Type] })
	a.Status.AccessedBuckets = shuffled(random, a.Status.AccessedBuckets, cosiapi.AccessedBucket{BucketClaimName: word(), BucketID: word()})
	seen = map[string]bool{}
	a.Status.AccessedBuckets = slices.DeleteFunc(a.Status.AccessedBuckets, func(b cosiapi.AccessedBucket) bool {
		defer func() { seen[b.BucketClaimName] = true }()
		return seen[b.BucketClaimName]
	})
	for i := range a.Status.Conditions {
		a.Status.Conditions[i].Message = word()
	}
}

// shuffled returns a list with one more item, in another order, without some of its items.
func shuffled[T any](random *rand.Rand, list []T, another T) []T {
	list = append(slices.Clone(list), another)
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	if n := random.IntN(len(list) + 1); n > 0 {
		return list[:n]
	}
	return nil
}

// keptOf returns after without the items that before does not have.
func keptOf(before, after *cosiapi.BucketAccess) *cosiapi.BucketAccess {
	kept := after.DeepCopy()
	kept.Status.Conditions = slices.DeleteFunc(kept.Status.Conditions, func(c metav1.Condition) bool {
		return !slices.ContainsFunc(before.Status.Conditions, func(b metav1.Condition) bool { return b.Type == c.Type })
	})
	kept.Status.AccessedBuckets = slices.DeleteFunc(kept.Status.AccessedBuckets, func(b cosiapi.AccessedBucket) bool {
		return !slices.ContainsFunc(before.Status.AccessedBuckets, func(was cosiapi.AccessedBucket) bool { return was.BucketClaimName == b.BucketClaimName })
	})
	return kept
}

// future returns an access in its stored form, with an unknown field in every object that contains its path.
func future(t *testing.T, a *cosiapi.BucketAccess) string {
	t.Helper()
	object, err := convert(a)
	if err != nil {
		t.Fatal(err)
	}
	status, _ := object["status"].(map[string]any)
	mark := func(where any, name string) {
		if members, ok := where.(map[string]any); ok {
			members["future"] = name
		}
	}
	mark(object, "top")
	mark(object["spec"], "spec")
	mark(status, "status")
	for list, key := range map[string]string{"conditions": "type", "accessedBuckets": "bucketClaimName"} {
		items, _ := status[list].([]any)
		for _, item := range items {
			members, _ := item.(map[string]any)
			mark(item, fmt.Sprint(list, " ", members[key]))
		}
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// futures lists the fields that future has set.
func futures(t *testing.T, object string) []string {
	t.Helper()
	var found []string
	for _, part := range strings.Split(object, `"future":"`)[1:] {
		name, _, _ := strings.Cut(part, `"`)
		found = append(found, name)
	}
	slices.Sort(found)
	return found
}

func parse(t *testing.T, object string) *cosiapi.BucketAccess {
	t.Helper()
	a := &cosiapi.BucketAccess{}
	if err := json.Unmarshal([]byte(object), a); err != nil {
		t.Fatal(err)
	}
	return a
}

// apply applies a patch as the API server does, except for the guard.
func apply(t *testing.T, p *patch, object string) string {
	t.Helper()
	text, err := json.Marshal(p.operations)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.operations) == 0 {
		return object
	}
	decoded, err := jsonpatch.DecodePatch(text)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decoded.Apply([]byte(object))
	if err != nil {
		t.Fatalf("apply %s: %v", text, err)
	}
	return string(got)
}
