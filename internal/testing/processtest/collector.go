// SPDX-License-Identifier: Apache-2.0

package processtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A Collector stands for an OpenTelemetry collector: it takes traces by OTLP
// over HTTP and keeps them as they came.
type Collector struct {
	// URL is where it listens.
	URL string

	mu       sync.Mutex
	received strings.Builder
}

// NewCollector starts a collector that ends with the test.
func NewCollector(tb testing.TB) *Collector {
	tb.Helper()
	c := &Collector{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" {
			http.Error(w, "not traces", http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.received.Write(body)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	tb.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// Received are the bytes of all traces so far. Names of spans and values of
// attributes stand in them as they are.
func (c *Collector) Received() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.received.String()
}
