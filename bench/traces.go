// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// traced measures while the programs send their traces to a collector that drops them.
func (o *settings) traced(ctx context.Context) ([]table, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the collector of traces: %w", err)
	}
	var received atomic.Int64
	collector := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body) // a truncated request counts partially
		received.Add(n)
	})}
	go func() { _ = collector.Serve(listener) }() // returns when the listener is closed
	defer collector.Close()
	if err := os.Setenv("COOPER_TRACES_ENDPOINT", "http://"+listener.Addr().String()); err != nil {
		return nil, fmt.Errorf("start the collector of traces: %w", err)
	}
	tables, err := o.tables(ctx)
	if err == nil && received.Load() == 0 {
		err = errors.New("no program sent a trace, so the result does not include the cost of traces")
	}
	return tables, err
}
