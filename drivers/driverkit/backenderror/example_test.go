// SPDX-License-Identifier: Apache-2.0

package backenderror_test

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit/backenderror"
)

// sdkError is how an SDK reports that the backend refused a call.
type sdkError struct{ code string }

func (e sdkError) Error() string { return "request 42 failed: " + e.code }

func Example() {
	table := backenderror.Table{
		Backend: "the tape library",
		Read: func(err error) backenderror.Failure {
			if refused, ok := errors.AsType[sdkError](err); ok {
				return backenderror.Failure{Called: true, Codes: []string{refused.code}}
			}
			return backenderror.Failure{}
		},
		Codes: map[string]backenderror.Meaning{
			"E_ROLE":  backenderror.Denied,
			"E_TAPES": backenderror.Quota,
		},
	}
	err := table.Translate("bucket b", sdkError{"E_TAPES"})
	shown := status.Convert(err)
	fmt.Println(shown.Code())
	fmt.Println(shown.Message())
	// Output:
	// ResourceExhausted
	// bucket b: a quota of the tape library is exhausted; an administrator has to raise it or delete unused objects (E_TAPES)
}
