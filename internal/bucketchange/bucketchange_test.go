// SPDX-License-Identifier: Apache-2.0

package bucketchange_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/bucketchange"
)

func bucket(request string) *cosiapi.Bucket {
	b := &cosiapi.Bucket{}
	cosiapi.SetAnnotation(b, cosiapi.ParameterChangesAnnotation, request)
	return b
}

func TestOf(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		request string
		want    map[string]string
		keys    []string
		fails   bool
	}{
		"no changes":                 {"", map[string]string{"quota": "1Mi", "lifecycle": "{}"}, nil, false},
		"a value":                    {`{"quota":"4Mi"}`, map[string]string{"quota": "4Mi", "lifecycle": "{}"}, []string{"quota"}, false},
		"a parameter to remove":      {`{"lifecycle":null}`, map[string]string{"quota": "1Mi"}, []string{"lifecycle"}, false},
		"a new parameter":            {`{"cors":"{}"}`, map[string]string{"quota": "1Mi", "lifecycle": "{}", "cors": "{}"}, []string{"cors"}, false},
		"a number":                   {request: `{"quota":4}`, fails: true},
		"text after the object":      {request: `{"quota":"4Mi"}{}`, fails: true},
		"text that is not an object": {request: `4Mi`, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes, err := bucketchange.Of(bucket(tc.request))
			if (err != nil) != tc.fails {
				t.Fatal(err)
			}
			if tc.fails {
				return
			}
			got, keys := changes.Apply(map[string]string{"quota": "1Mi", "lifecycle": "{}"})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.keys, keys); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPending(t *testing.T) {
	t.Parallel()
	const request = `{"quota":"4Mi"}`
	digest := bucketchange.Digest(bucket(request))
	for name, tc := range map[string]struct {
		request, result string
		want            bool
	}{
		"no request":                     {"", "", false},
		"a request without a result":     {request, "", true},
		"an applied request":             {request, bucketchange.Result{Request: digest}.Text(), false},
		"a result of another request":    {`{"quota":"5Mi"}`, bucketchange.Result{Request: digest}.Text(), true},
		"a refused request":              {request, bucketchange.Result{Request: digest, Problem: "No."}.Text(), true},
		"a request that was unsupported": {request, bucketchange.Result{Request: digest, Unsupported: []string{"tier", "quota"}}.Text(), true},
		"an unsupported request":         {request, bucketchange.Result{Request: digest, Unsupported: []string{"tier"}}.Text(), false},
		"a result that is not JSON":      {request, "yes", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bucket(tc.request)
			cosiapi.SetAnnotation(b, cosiapi.ParameterChangesResultAnnotation, tc.result)
			if got := bucketchange.Pending(b, []string{"quota"}); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// FuzzOf checks that the changes that Of accepts are equal after they are written and read again.
func FuzzOf(f *testing.F) {
	for _, seed := range []string{`{"quota":"4Mi","lifecycle":null}`, `{}`, `null`, `{"a":1}`, `[]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, request string) {
		changes, err := bucketchange.Of(bucket(request))
		if err != nil || changes == nil {
			return
		}
		again, err := bucketchange.Of(bucket(changes.Text()))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(changes, again); diff != "" {
			t.Error(diff)
		}
	})
}
