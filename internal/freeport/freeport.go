// SPDX-License-Identifier: Apache-2.0

// Package freeport reserves TCP ports for programs that need a fixed address to listen on. It does not import testing.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The range is below the ports that systems assign to outgoing connections and to listeners on port 0 (IANA's dynamic
// ports, and Linux's from 32768). Any process could get those.
const (
	first = 20000
	count = 12000
)

const loopback = "127.0.0.1"

// Port is a TCP port of 127.0.0.1 without a listener. Other processes get the port only if they request this number. No
// other Port on this machine has the same number until Release is called or the process ends.
type Port struct {
	Number int
	// held is the UDP port of the same number. Its listener reserves the number for one process without a file that
	// could be left behind.
	held *net.UDPConn
}

// Reserve reserves a free Port.
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

// Address returns 127.0.0.1 and the port number.
func (p Port) Address() string { return net.JoinHostPort(loopback, strconv.Itoa(p.Number)) }

// Release frees the port number.
func (p Port) Release() error {
	if err := p.held.Close(); err != nil {
		return fmt.Errorf("release port %d: %w", p.Number, err)
	}
	return nil
}

// test is the subset of testing.TB that ForTest needs.
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
