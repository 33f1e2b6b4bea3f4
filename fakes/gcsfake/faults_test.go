// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"net/http"
	"testing"

	"cloud.google.com/go/storage"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	const lost = -1
	tests := map[string]struct {
		rule fault.Rule
		// status is the status that the client sees: 0 for success, lost without a response.
		status int
		// happened reports whether the object is there afterwards.
		happened bool
	}{
		"no rule matches":                {fault.Rule{Operation: "storage.objects.get", Code: "backendError"}, 0, true},
		"throttling":                     {fault.Rule{Operation: "storage.objects.insert", Code: "rateLimitExceeded"}, http.StatusTooManyRequests, false},
		"the error of another status":    {fault.Rule{Operation: "storage.objects.insert", Code: "odd", Status: http.StatusTeapot}, http.StatusTeapot, false},
		"another resource":               {fault.Rule{Operation: "storage.objects.insert", Resource: "other*", Code: "backendError"}, 0, true},
		"another caller":                 {fault.Rule{Operation: "storage.objects.insert", Principal: "somebody", Code: "backendError"}, 0, true},
		"this caller":                    {fault.Rule{Operation: "storage.objects.insert", Principal: "cooper-admin@*", Code: "backendError"}, http.StatusServiceUnavailable, false},
		"only the second call":           {fault.Rule{Operation: "storage.objects.insert", Nth: 2, Code: "backendError"}, 0, true},
		"dropped before the effect":      {fault.Rule{Operation: "storage.objects.insert", Effect: fault.Drop}, lost, false},
		"done and the response lost":     {fault.Rule{Operation: "storage.objects.insert", Effect: fault.DropAfter}, lost, true},
		"done and the response an error": {fault.Rule{Operation: "storage.objects.insert", Effect: fault.FailAfter, Code: "internalError"}, http.StatusInternalServerError, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, gcsfake.Options{})
			f.bucket(t, "docs")
			client := f.storage(t, f.adminKey(t))
			client.SetRetry(storage.WithPolicy(storage.RetryNever))
			f.ForgetCalls()
			wantNoError(t, f.Faults.Add(tc.rule))
			err := write(t.Context(), client.Bucket("docs").Object("k"), []byte("x"), 0)
			switch {
			case tc.status == lost && err == nil:
				t.Error("the client got a response")
			case tc.status != lost && status(err) != tc.status:
				t.Errorf("got %v, want %d", err, tc.status)
			}
			if got := f.Inventory().Buckets[0].Live == 1; got != tc.happened {
				t.Errorf("the object is there: %v, want %v", got, tc.happened)
			}
			calls := f.Calls()
			last := calls[len(calls)-1]
			if last.Operation != "storage.objects.insert" || last.Performed != tc.happened || last.Principal != f.AdminEmail("") {
				t.Errorf("recorded %+v", last)
			}
		})
	}
}
