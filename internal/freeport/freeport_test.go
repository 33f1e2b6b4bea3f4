// SPDX-License-Identifier: Apache-2.0

package freeport_test

import (
	"net"
	"testing"

	"github.com/cooper-cosi/cooper/internal/freeport"
)

// With this many random choices from 12,000 ports, several would be equal without the reservation.
func TestNoTwoReserveOnePort(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 600 {
		port := freeport.ForTest(t)
		if seen[port.Number] {
			t.Fatalf("port %d is reserved twice", port.Number)
		}
		seen[port.Number] = true
	}
}

func TestAReservedPortIsForAListener(t *testing.T) {
	t.Parallel()
	port, err := freeport.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", port.Address())
	if err != nil {
		t.Errorf("a reserved port cannot be listened at: %v", err)
	} else if err := listener.Close(); err != nil {
		t.Error(err)
	}
	if err := port.Release(); err != nil {
		t.Fatal(err)
	}
	if err := port.Release(); err == nil {
		t.Error("a port is released twice without an error")
	}
}
