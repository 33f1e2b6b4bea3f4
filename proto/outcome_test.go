// SPDX-License-Identifier: Apache-2.0

package cosi_test

import (
	"slices"
	"testing"

	"google.golang.org/grpc/codes"

	cosi "github.com/cooper-cosi/cooper/proto"
)

func TestOutcomesHoldEveryRPCWithEveryCode(t *testing.T) {
	t.Parallel()
	type key struct {
		method string
		code   codes.Code
	}
	seen := map[key]bool{}
	for _, outcome := range cosi.Outcomes() {
		seen[key{outcome.Method, outcome.Code}] = true
		if (outcome.Code == codes.OK) != (outcome.Reason == "") {
			t.Errorf("%s %s: reason %q; every failure has a reason and success has none", outcome.Method, outcome.Code, outcome.Reason)
		}
	}
	services := slices.Concat(cosi.Identity_ServiceDesc.Methods, cosi.Provisioner_ServiceDesc.Methods)
	if got, want := len(cosi.Methods()), len(services); got != want {
		t.Fatalf("Methods has %d entries, the services have %d", got, want)
	}
	for _, method := range cosi.Methods() {
		for code := codes.OK; code <= codes.Unauthenticated; code++ {
			if !seen[key{method, code}] {
				t.Errorf("the table lacks %s with %s", method, code)
			}
		}
	}
	if got, want := len(seen), 8*17; got != want {
		t.Errorf("the table has %d rows, want %d", got, want)
	}
}

func TestDispositionOf(t *testing.T) {
	t.Parallel()
	terminal := map[codes.Code]bool{
		codes.InvalidArgument: true, codes.AlreadyExists: true, codes.OutOfRange: true, codes.Unimplemented: true,
	}
	for _, method := range append(cosi.Methods(), "/other.Service/Call") {
		for code := codes.OK; code <= codes.Unauthenticated; code++ {
			want := cosi.Retryable
			switch {
			case code == codes.OK:
				want = cosi.OK
			case terminal[code]:
				want = cosi.Terminal
			}
			if got := cosi.DispositionOf(method, code); got != want {
				t.Errorf("DispositionOf(%s, %s) = %s, want %s", method, code, got, want)
			}
		}
	}
}

func TestOutcomeOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		method string
		code   codes.Code
		want   cosi.Outcome
	}{
		"a bucket that does not exist yet may appear": {
			cosi.Provisioner_DriverGetBucket_FullMethodName, codes.NotFound,
			cosi.Outcome{Disposition: cosi.Retryable, Reason: "the backend has no bucket with this ID yet"},
		},
		"access to several buckets that one credential cannot serve": {
			cosi.Provisioner_DriverGrantBucketAccess_FullMethodName, codes.OutOfRange,
			cosi.Outcome{
				Disposition: cosi.Terminal,
				Reason:      "the driver cannot create one credential for several buckets; use one access for each bucket",
			},
		},
		"a driver without the call will not have it until it is replaced": {
			cosi.Provisioner_DriverCreateBucket_FullMethodName, codes.Unimplemented,
			cosi.Outcome{
				Disposition: cosi.Terminal, UntilReconnect: true,
				Reason: "the driver does not implement this call; check that it is a two-phase driver of COSI v1alpha2",
			},
		},
		"a code that gRPC does not define counts as unknown": {
			cosi.Provisioner_DriverCreateBucket_FullMethodName, codes.Code(99),
			cosi.Outcome{Code: codes.Unknown, Disposition: cosi.Retryable, Reason: "the driver failed with an unspecified error"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := test.want
			want.Method = test.method
			if want.Code == codes.OK {
				want.Code = test.code
			}
			if got := cosi.OutcomeOf(test.method, test.code); got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}
