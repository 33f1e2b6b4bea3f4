// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Waiting serves the health endpoints of a program that is alive but not ready: /healthz succeeds, and
// /readyz fails with the reason. end stops the server and frees the address. If the address is empty, Waiting
// serves nothing.
func Waiting(ctx context.Context, address, why string) (end func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve the health endpoints: %w", err)
	}
	pages := http.NewServeMux()
	pages.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	pages.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, why, http.StatusServiceUnavailable) })
	server := &http.Server{Handler: pages, ReadHeaderTimeout: probeTimeout, IdleTimeout: time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // returns when the server is closed
	}()
	return func() { _ = server.Close(); <-served }, nil
}
