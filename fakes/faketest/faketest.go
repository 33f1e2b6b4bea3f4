// SPDX-License-Identifier: Apache-2.0

// Package faketest creates and starts a fake for a test, and closes it when the test ends. It works with the Server
// of s3fake, gcsfake and azurefake, but does not import these packages.
package faketest

import (
	"testing"
)

// Server is a fake of a storage service.
type Server interface {
	// Start listens and serves.
	Start() error
	// Close stops the server.
	Close() error
}

// Start creates a fake and starts its listener, for example Start(t, s3fake.New, s3fake.Options{}). It closes the
// fake when the test ends.
func Start[S Server, O any](t testing.TB, newServer func(O) (S, error), options O) S {
	t.Helper()
	server := Open(t, newServer, options)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	return server
}

// Open creates a fake without a listener, for use as an http.Handler. It closes the fake when the test ends.
func Open[S Server, O any](t testing.TB, newServer func(O) (S, error), options O) S {
	t.Helper()
	server, err := newServer(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}
