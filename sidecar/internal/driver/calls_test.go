// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Users read the reason of a failed call, but not the path of the socket.
func TestUserError(t *testing.T) {
	t.Parallel()
	d := &Driver{socket: "/pod/driver.sock", options: Options{Address: "unix:///pod/driver.sock"}}
	d.secrets.addReturned("account", []string{"secret-of-another"})
	for said, want := range map[string]string{
		"connect to the driver at /pod/driver.sock: dial unix /pod/driver.sock: no such file": "connect to the driver: dial unix: no such file",
		"the driver at unix:///pod/driver.sock says that it is another":                       "the driver says that it is another",
		"read unix @->/pod/driver.sock: reset":                                                "read unix @->: reset",
		"name \"secret-of-another\" is none":                                                  "name \"[redacted]\" is none",
	} {
		got := status.Convert(d.userError(t.Context(), status.Error(codes.Unavailable, said)))
		if got.Message() != want || got.Code() != codes.Unavailable {
			t.Errorf("want %s, got %v", want, got)
		}
	}
	if err := d.userError(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
