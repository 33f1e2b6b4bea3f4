// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rule fault.Rule
		// code is the code that the client sees: the error's code, "" for success, "lost" without a response.
		code string
		// happened reports whether the object is there afterwards.
		happened bool
	}{
		"no rule matches":                {fault.Rule{Operation: "GetObject", Code: "SlowDown"}, "", true},
		"throttling":                     {fault.Rule{Operation: "PutObject", Code: "SlowDown"}, "SlowDown", false},
		"the error of another status":    {fault.Rule{Operation: "PutObject", Code: "Odd", Status: http.StatusTeapot}, "Odd", false},
		"another resource":               {fault.Rule{Operation: "PutObject", Resource: "other/*", Code: "SlowDown"}, "", true},
		"only the second call":           {fault.Rule{Operation: "PutObject", Nth: 2, Code: "SlowDown"}, "", true},
		"dropped before the effect":      {fault.Rule{Operation: "PutObject", Effect: fault.Drop}, "lost", false},
		"done and the response lost":     {fault.Rule{Operation: "PutObject", Effect: fault.DropAfter}, "lost", true},
		"done and the response an error": {fault.Rule{Operation: "PutObject", Effect: fault.FailAfter, Code: "InternalError"}, "InternalError", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, s3fake.Options{})
			f.bucket(t, "docs")
			f.ForgetCalls()
			wantNoError(t, f.Faults.Add(tc.rule))
			_, err := f.s3(f.Root()).PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("docs"), Key: aws.String("k"), Body: bytes.NewReader([]byte("x"))})
			switch {
			case tc.code == "lost" && err == nil:
				t.Error("the client got a response")
			case tc.code != "lost" && code(t, err) != tc.code:
				t.Errorf("got %v, want %q", err, tc.code)
			}
			if got := f.Inventory().Buckets[0].Count == 1; got != tc.happened {
				t.Errorf("the object is there: %v, want %v", got, tc.happened)
			}
			calls := f.Calls()
			if len(calls) != 1 || calls[0].Operation != "PutObject" || calls[0].Resource != "docs/k" || calls[0].Performed != tc.happened {
				t.Errorf("recorded %+v", calls)
			}
		})
	}
}

func TestFaultsReachIAM(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{})
	plan, err := fault.ParsePlan([]byte("rules:\n- {operation: 'iam:Create*', resource: u, code: Throttling, times: 1}\n"))
	wantNoError(t, err)
	wantNoError(t, f.Faults.Set(plan))
	client := f.iam(f.Root())
	_, err = client.CreateUser(t.Context(), &iam.CreateUserInput{UserName: aws.String("u")})
	if got := code(t, err); got != "Throttling" {
		t.Errorf("first call: got %q, want Throttling", got)
	}
	if _, err := client.CreateUser(t.Context(), &iam.CreateUserInput{UserName: aws.String("u")}); err != nil {
		t.Errorf("second call: %v", err)
	}
}
