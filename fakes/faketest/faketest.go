// SPDX-License-Identifier: Apache-2.0

// Package faketest starts the store fakes for tests: any Server of s3fake, gcsfake or azurefake, which it does not
// import.
package faketest

import (
	"testing"
)

// Server is a store fake.
type Server interface {
	// Start listens and serves.
	Start() error
	// Close stops the server.
	Close() error
}

// Start creates a fake that listens, and closes it when the test ends: Start(t, s3fake.New, s3fake.Options{}).
func Start[S Server, O any](t testing.TB, newServer func(O) (S, error), options O) S {
	t.Helper()
	server := Open(t, newServer, options)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	return server
}

// Open creates a fake that is only an http.Handler, and closes it when the test ends.
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
