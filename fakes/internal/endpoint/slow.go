// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// step is how many bytes must go before patience is over, again and again.
const step = 1 << 10

// impatient closes the connection of a client that does not send the next part of a body, or read that of a response,
// within patience. Otherwise it would hold the connection and the request's resources forever. If grpc is set, a gRPC
// stream may be idle for any time. It ends when the connection does not answer a ping, and keeps its buffers until then.
func impatient(handler http.Handler, patience time.Duration, grpc bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if grpc && r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") { // a deadline would reset the stream, even while the server does not wait for the client
			handler.ServeHTTP(w, r)
			return
		}
		connection := http.NewResponseController(w)
		_ = connection.SetWriteDeadline(time.Time{}) // the deadline of the last request; connections without deadlines are not closed
		if r.ContentLength != 0 {
			body := &patientBody{ReadCloser: r.Body, pace: pace{patience: patience, set: connection.SetReadDeadline}}
			r.Body = body
			// The rest of the body is read after the handler returns.
			defer body.leave()
		}
		handler.ServeHTTP(&patientWriter{ResponseWriter: w, pace: pace{patience: patience, set: connection.SetWriteDeadline}}, r)
	})
}

// pace is how fast bytes go: so many of a step that has begun then.
type pace struct {
	patience time.Duration
	set      func(time.Time) error
	since    time.Time
	bytes    int
}

// before sets the deadline for the next bytes.
func (p *pace) before() {
	if p.since.IsZero() || p.bytes >= step {
		p.since, p.bytes = time.Now(), 0
	}
	_ = p.set(p.since.Add(p.patience)) // connections without deadlines are not closed
}

// patientBody is a body that must keep its pace.
type patientBody struct {
	io.ReadCloser
	pace

	over bool
}

// Read implements io.Reader.
func (b *patientBody) Read(p []byte) (int, error) {
	b.before()
	n, err := b.ReadCloser.Read(p)
	b.bytes += n
	if errors.Is(err, io.EOF) {
		b.over = true
		_ = b.set(time.Time{}) // the server continues reading, to notice when the client disconnects
	}
	return n, err
}

// leave lets the rest of the body arrive in time.
func (b *patientBody) leave() {
	if !b.over {
		_ = b.set(time.Now().Add(b.patience))
	}
}

// patientWriter is a response that must be taken at its pace.
type patientWriter struct {
	http.ResponseWriter
	pace

	begun bool
}

// WriteHeader implements http.ResponseWriter. Headers may contain text that a client sent in a URL or document.
// WriteHeader replaces control characters in headers by spaces, because no client could parse the response otherwise.
// net/http does the same for line ends.
func (w *patientWriter) WriteHeader(status int) {
	w.begun = true
	control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	for _, values := range w.Header() {
		for i, value := range values {
			if strings.ContainsFunc(value, control) {
				values[i] = strings.Join(strings.FieldsFunc(value, control), " ")
			}
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *patientWriter) Write(p []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	const piece = 32 << 10 // a single deadline for a long document would disconnect slow readers
	for done := 0; ; {
		w.before()
		n, err := w.ResponseWriter.Write(p[done:min(len(p), done+piece)])
		w.bytes += n
		if done += n; err != nil || done >= len(p) {
			return done, err
		}
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
