// SPDX-License-Identifier: Apache-2.0

package grpcapi

import (
	"context"
	"net/http"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestPanics panics in calls. Each ends with an error instead of ending the process.
func TestPanics(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		value any
		want  codes.Code
	}{
		"a bug":                  {"out of range", codes.Unknown},
		"a dropped connection":   {http.ErrAbortHandler, codes.Unavailable},
		"no panic, but an error": {nil, codes.NotFound},
	} {
		call := func() error {
			if tc.value != nil {
				panic(tc.value)
			}
			return status.Error(codes.NotFound, "There is no such bucket.")
		}
		_, err := checkUnary(t.Context(), nil, nil, func(context.Context, any) (any, error) { return nil, call() })
		if got := status.Code(err); got != tc.want {
			t.Errorf("%s in a unary call: %v", name, err)
		}
		err = checkStream(nil, nil, nil, func(any, grpc.ServerStream) error { return call() })
		if got := status.Code(err); got != tc.want {
			t.Errorf("%s in a stream: %v", name, err)
		}
	}
}
