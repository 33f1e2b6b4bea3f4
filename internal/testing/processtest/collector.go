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

// A Collector replaces an OpenTelemetry collector in tests. It receives traces by OTLP over HTTP and keeps them
// unparsed.
type Collector struct {
	// URL is the address of the collector.
	URL string

	mu       sync.Mutex
	received strings.Builder
}

// NewCollector starts a collector that stops at the end of the test.
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

// Received returns the bytes of all traces so far. They contain names of spans and values of attributes verbatim.
func (c *Collector) Received() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.received.String()
}
