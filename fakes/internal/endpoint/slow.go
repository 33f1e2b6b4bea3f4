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

// impatient ends the connection of a client that does not send the next step of a body, or take that of a response, before
// patience is over: it would hold a connection, and what the request has open, for ever.
func impatient(handler http.Handler, patience time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connection := http.NewResponseController(w)
		_ = connection.SetWriteDeadline(time.Time{}) // that of the last request; who has no deadlines is not ended
		if r.ContentLength != 0 {
			body := &patientBody{ReadCloser: r.Body, pace: pace{patience: patience, set: connection.SetReadDeadline}}
			r.Body = body
			// What the handler leaves of the body is read after it.
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

// before sets the time by which the next bytes must have gone.
func (p *pace) before() {
	if p.since.IsZero() || p.bytes >= step {
		p.since, p.bytes = time.Now(), 0
	}
	_ = p.set(p.since.Add(p.patience)) // who has no deadlines is not ended
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
		_ = b.set(time.Time{}) // the server reads on, to notice that the client goes
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

// WriteHeader implements http.ResponseWriter. What a client has sent in a URL or a document comes back in headers: as net/http
// does with line ends, the other control characters, with which no client could read the response, become spaces.
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
	const piece = 32 << 10 // with one deadline for all of a long document, who takes it slowly would be ended
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
