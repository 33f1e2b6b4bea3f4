// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Adapter is the program that serves the contract in front of a driver of another generation.
const Adapter = "cosi-driver-adapter"

// maxDetail limits the driver's message in a Failure, in bytes.
const maxDetail = 1024

// A Failure is a failed call to the driver: the driver returned a code other than OK, could not be reached, or
// returned OK with a response that breaks the contract. It never contains a credential.
type Failure struct {
	// Method is the bare name of the RPC, such as DriverCreateBucket.
	Method string
	// Outcome is the row of the contract's table for method and code. If the response breaks the contract, the code is
	// OK and the Disposition is Terminal.
	Outcome cosi.Outcome
	// Detail is the driver's message, or the rule that its response breaks.
	Detail string
}

// Terminal reports whether a repeated call cannot succeed before the object or the driver changes.
func (f *Failure) Terminal() bool { return f.Outcome.Disposition == cosi.Terminal }

// UntilReconnect reports whether the call may be repeated only after a reconnect, not even at a resync.
func (f *Failure) UntilReconnect() bool { return f.Outcome.UntilReconnect }

// InvalidResponse reports whether the driver returned OK with a response that breaks the contract.
func (f *Failure) InvalidResponse() bool { return f.Outcome.Code == codes.OK }

// Message returns the failure in full sentences, for the end user.
func (f *Failure) Message() string {
	text := f.Error()
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// Error implements error.
func (f *Failure) Error() string {
	switch {
	case f.InvalidResponse():
		return fmt.Sprintf("the driver's response to %s breaks the COSI contract: %s", f.Method, f.Detail)
	case f.Outcome.Code == codes.Unimplemented:
		return fmt.Sprintf("the driver does not implement %s of COSI v1alpha2. Install a compatible version of the driver. "+
			"For a driver of COSI v1alpha1 or of the upstream project's v1alpha2, run %s between the sidecar and the driver. "+
			"COSI retries when the driver reconnects. The driver's message: %s", f.Method, Adapter, f.Detail)
	case f.Detail == "":
		return fmt.Sprintf("%s failed with %s: %s", f.Method, f.Outcome.Code, f.Outcome.Reason)
	default:
		return fmt.Sprintf("%s failed with %s (%s): %s", f.Method, f.Outcome.Code, f.Outcome.Reason, f.Detail)
	}
}

// AsFailure returns the Failure in err.
func AsFailure(err error) (*Failure, bool) {
	var failure *Failure
	ok := errors.As(err, &failure)
	return failure, ok
}

// failed returns the Failure for a gRPC error.
func failed(method string, err error) error {
	response := status.Convert(err)
	return &Failure{
		Method:  path.Base(method),
		Outcome: cosi.OutcomeOf(method, response.Code()),
		Detail:  printable(response.Message()),
	}
}

// Broken returns the Failure for an OK response that breaks the contract.
func Broken(method string, problem error) error {
	return &Failure{
		Method:  path.Base(method),
		Outcome: cosi.Outcome{Method: method, Code: codes.OK, Disposition: cosi.Terminal},
		Detail:  printable(problem.Error()),
	}
}

// Unsendable returns the Failure for a request that breaks the contract and is not sent. The message names the field.
func Unsendable(method string, problem error) error {
	return &Failure{
		Method:  path.Base(method),
		Outcome: cosi.OutcomeOf(method, codes.InvalidArgument),
		Detail:  "not sent to the driver: " + printable(problem.Error()),
	}
}

// printable returns a driver's text as one line of limited length.
func printable(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if len(text) > maxDetail {
		text = strings.ToValidUTF8(text[:maxDetail], "") + "..."
	}
	return text
}
