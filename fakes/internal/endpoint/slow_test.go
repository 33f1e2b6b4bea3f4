// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// deadlines is a connection that counts the deadlines of its writes.
type deadlines struct {
	*httptest.ResponseRecorder

	set     int
	longest int
}

func (d *deadlines) SetWriteDeadline(time.Time) error { d.set++; return nil }

func (d *deadlines) Write(p []byte) (int, error) {
	d.longest = max(d.longest, len(p))
	return d.ResponseRecorder.Write(p)
}

// TestLongDocuments writes a document in one call, which is sent in pieces with separate deadlines. A single deadline
// would disconnect a client that reads slowly but steadily.
func TestLongDocuments(t *testing.T) {
	t.Parallel()
	document := bytes.Repeat([]byte("x"), 1<<20)
	d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	impatient(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(document) }), time.Minute, false).
		ServeHTTP(d, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
	if !bytes.Equal(d.Body.Bytes(), document) {
		t.Errorf("%d bytes came, want %d", d.Body.Len(), len(document))
	}
	if d.longest > 32<<10 || d.set < 32 {
		t.Errorf("pieces of up to %d bytes with %d deadlines, want one for each 32 KiB", d.longest, d.set)
	}
}

// TestStreamsOfGRPC serves a call of gRPC, whose stream may last longer than the patience. A deadline of HTTP/2 would
// reset it, even while nothing waits for the client. Without gRPC, clients cannot avoid the deadlines with a Content-Type.
func TestStreamsOfGRPC(t *testing.T) {
	t.Parallel()
	for _, grpc := range []bool{true, false} {
		d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		r.ProtoMajor = 2
		r.Header.Set("Content-Type", "application/grpc+proto")
		impatient(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) }), time.Minute, grpc).ServeHTTP(d, r)
		if patient := d.set == 0; patient != grpc || d.Body.String() != "x" {
			t.Errorf("gRPC %t: %d deadlines, %q", grpc, d.set, d.Body)
		}
	}
}
