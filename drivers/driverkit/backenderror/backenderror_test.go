// SPDX-License-Identifier: Apache-2.0

package backenderror_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/backenderror"
)

// shelfError is an error of the SDK of an imaginary backend.
type shelfError struct{ failure backenderror.Failure }

func (e *shelfError) Error() string { return "text of the shelf" }

func table() backenderror.Table {
	return backenderror.Table{
		Backend: "the shelf",
		Read: func(err error) backenderror.Failure {
			if known, ok := errors.AsType[*shelfError](err); ok {
				return known.failure
			}
			return backenderror.Failure{Called: strings.HasPrefix(err.Error(), "dial")}
		},
		Codes:      map[string]backenderror.Meaning{"Locked": backenderror.Denied, "Gone": backenderror.Missing},
		Operations: map[string]backenderror.Meaning{"Clear/Locked": backenderror.Protected},
		Statuses:   map[int]backenderror.Meaning{http.StatusNotFound: backenderror.Settling},
	}
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	type failure = backenderror.Failure
	answered := func(f failure) error { return fmt.Errorf("wrapped: %w", &shelfError{f}) }
	own := backenderror.Meaning{Kind: driverkit.OutOfRange, Text: "as {backend} is"}
	tests := map[string]struct {
		err  error
		code codes.Code
		text string
	}{
		"a code of the table":                          {answered(failure{Codes: []string{"Locked"}}), codes.PermissionDenied, "bucket b: the shelf denies the driver this action; an administrator has to grant the permission to the driver's own account (Locked)"},
		"a code that means something else in the call": {answered(failure{Operation: "Clear", Codes: []string{"Gone", "Locked"}}), codes.FailedPrecondition, "bucket b: the shelf prevents this change (Locked)"},
		"the first of several codes counts":            {answered(failure{Codes: []string{"Gone", "Locked"}}), codes.NotFound, "bucket b: it does not exist at the shelf (Gone)"},
		"an unknown code shows itself":                 {answered(failure{Codes: []string{"Odd"}, Status: 418}), codes.Internal, "bucket b: the shelf returned an unexpected response; see the driver's log for details (Odd)"},
		"a status that means something else here":      {answered(failure{Status: 404}), codes.Unavailable, "(HTTP status 404)"},
		"a meaning of the driver's own":                {answered(failure{Codes: []string{"Locked"}, Meaning: own, Label: "no token"}), codes.OutOfRange, "bucket b: as the shelf is (no token)"},
		"an error of the driver itself":                {errors.New("defect"), codes.Internal, "bucket b: the driver failed; see its log for details"},
		"a backend that cannot be reached":             {errors.New("dial tcp"), codes.Unavailable, "bucket b: the shelf cannot be reached; the driver tries again; if this persists, check its endpoint and the network"},
		"a certificate that is not trusted":            {errors.New("dial tcp: x509: unknown authority"), codes.Unavailable, "caFile"},
		"an error that is for the user already":        {fmt.Errorf("wrapped: %w", driverkit.AlreadyExists("as it is")), codes.AlreadyExists, "as it is"},
		"the status 401 is about the login":            {answered(failure{Status: 401}), codes.Unauthenticated, ""},
		"the status 403 is about rights":               {answered(failure{Status: 403}), codes.PermissionDenied, ""},
		"the status 410 means a missing object":        {answered(failure{Status: 410}), codes.NotFound, ""},
		"the status 409 is about another change":       {answered(failure{Status: 409}), codes.Aborted, ""},
		"the status 412 is about another change":       {answered(failure{Status: 412}), codes.Aborted, ""},
		"the status 429 asks for fewer requests":       {answered(failure{Status: 429}), codes.ResourceExhausted, ""},
		"the status 408 is a problem of the backend":   {answered(failure{Status: 408}), codes.Unavailable, ""},
		"the status 502 is a problem of the backend":   {answered(failure{Status: 502}), codes.Unavailable, ""},
		"any other status is unexpected":               {answered(failure{Status: 418}), codes.Internal, ""},
		"a code without a status is not out of reach":  {answered(failure{Codes: []string{"Odd"}}), codes.Internal, "(Odd)"},
		"a status without a code is shown in the text": {answered(failure{Status: 403}), codes.PermissionDenied, "(HTTP status 403)"},
		"a code of no table leaves it to the status":   {answered(failure{Codes: []string{"Odd"}, Status: 503}), codes.Unavailable, "(Odd)"},
		"a call that the table does not single out":    {answered(failure{Operation: "Fill", Codes: []string{"Locked"}}), codes.PermissionDenied, "(Locked)"},
		"a driver's error keeps the code when wrapped": {fmt.Errorf("x: %w", driverkit.NotFound("gone")), codes.NotFound, "gone"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := table().Translate("bucket b", test.err)
			known, ok := errors.AsType[*driverkit.Error](err)
			if !ok {
				t.Fatalf("%v is no error for users", err)
			}
			shown := status.Convert(known).Message()
			if known.Code() != test.code || !strings.Contains(shown, test.text) {
				t.Errorf("got %v %q, want %v with %q", known.Code(), shown, test.code, test.text)
			}
			if strings.Contains(shown, "text of the shelf") {
				t.Errorf("the user reads the backend's own text: %q", shown)
			}
		})
	}
}

func TestTranslateLeavesTheEndOfTheCallAlone(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, context.Canceled, context.DeadlineExceeded} {
		if got := table().Translate("bucket b", err); !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
	}
}

func TestDetailIsForTheLog(t *testing.T) {
	t.Parallel()
	cause := &shelfError{backenderror.Failure{Operation: "Clear", Codes: []string{"Odd"}, Status: 403, RequestID: "request-1"}}
	got := table().Translate("bucket b", cause)
	for _, want := range []string{`operation "Clear"`, `codes ["Odd"]`, "status 403", `request ID "request-1"`, "text of the shelf"} {
		if !strings.Contains(got.Error(), want) {
			t.Errorf("the detail %q does not say %s", got, want)
		}
	}
}
