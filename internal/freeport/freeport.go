// SPDX-License-Identifier: Apache-2.0

// Package freeport reserves TCP ports for programs that are told where to listen. It must not import testing.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports below those that systems give to outgoing connections and to listeners that do not ask for one (IANA's dynamic
// ports, and Linux's from 32768), whose next owner may be anybody.
const (
	first = 20000
	count = 12000
)

const loopback = "127.0.0.1"

// Port is one of 127.0.0.1 on which nobody listens, and which nobody gets who does not ask for this very one: no other
// Port of this machine has its number before Release or the end of the process.
type Port struct {
	Number int
	// held is the UDP port of the same number. To listen there is to hold the number, for one process at a time and
	// without a file that could stay.
	held *net.UDPConn
}

// Reserve finds a Port.
func Reserve() (Port, error) {
	var seen error
	for range 100 {
		number := first + rand.IntN(count) //nolint:gosec // a port is no secret
		held, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(loopback), Port: number})
		if err != nil {
			seen = err
			continue
		}
		listener, err := net.Listen("tcp4", net.JoinHostPort(loopback, strconv.Itoa(number)))
		if err == nil {
			err = listener.Close()
		}
		if err == nil {
			return Port{Number: number, held: held}, nil
		}
		seen = errors.Join(err, held.Close())
	}
	return Port{}, fmt.Errorf("no free port from %d to %d: %w", first, first+count-1, seen)
}

// Address is 127.0.0.1 and the number.
func (p Port) Address() string { return net.JoinHostPort(loopback, strconv.Itoa(p.Number)) }

// Release lets others have the number.
func (p Port) Release() error {
	if err := p.held.Close(); err != nil {
		return fmt.Errorf("release port %d: %w", p.Number, err)
	}
	return nil
}

// test is the part of testing.TB that ForTest needs.
type test interface {
	Helper()
	Cleanup(release func())
	Error(arguments ...any)
	Fatal(arguments ...any)
}

// ForTest reserves a Port until the test ends.
func ForTest(t test) Port {
	t.Helper()
	port, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := port.Release(); err != nil {
			t.Error(err)
		}
	})
	return port
}
