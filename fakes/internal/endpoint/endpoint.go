// SPDX-License-Identifier: Apache-2.0

// Package endpoint is the listener of a fake that is used in process: it starts it, knows its URL and stops it.
package endpoint

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// Endpoint serves one handler on one port. The zero value is ready for Start.
type Endpoint struct {
	mu   sync.Mutex
	http *http.Server
	url  string
	done chan struct{}
}

// Options are what is served, and where.
type Options struct {
	// Name is the fake's, for errors.
	Name string
	// Address is host:port; port 0 takes a free one.
	Address string
	Handler http.Handler
	// TLS serves HTTPS; nil serves HTTP.
	TLS *tls.Config
	// Malformed is the body of the response to a request that net/http cannot parse, in XML; nil leaves its own. It is not
	// sent over TLS.
	Malformed []byte
	// Patience is how long a client may hold up a request; a minute by default.
	Patience time.Duration
}

// NewServer returns a server of the handler, with TLS if it is configured, that ends clients who hold up a request for longer
// than patience; 0 is a minute.
func NewServer(handler http.Handler, config *tls.Config, patience time.Duration) *http.Server {
	patience = cmp.Or(patience, time.Minute)
	return &http.Server{Handler: impatient(handler, patience), TLSConfig: config, ReadHeaderTimeout: patience}
}

// Start listens and serves until Close. Errors say what to do about a port that cannot be had.
func (e *Endpoint) Start(o Options) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.http != nil {
		return errors.New(o.Name + " is already started")
	}
	l, err := Listen(context.Background(), o.Address)
	if err != nil {
		return err
	}
	srv := NewServer(o.Handler, o.TLS, o.Patience)
	if o.Malformed != nil && o.TLS == nil {
		l = refusing{l, o.Malformed}
	}
	done := make(chan struct{})
	e.url, e.http, e.done = Scheme(o.TLS)+"://"+l.Addr().String(), srv, done
	go func() {
		defer close(done)
		_ = Serve(srv, l) // always ErrServerClosed, after Close
	}()
	return nil
}

// refusing has the connections of a listener refuse malformed requests in the way of the service.
type refusing struct {
	net.Listener
	body []byte
}

// Accept implements net.Listener.
func (l refusing) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		return refusingConn{tcp, l.body}, nil
	}
	return conn, err
}

type refusingConn struct {
	*net.TCPConn
	body []byte
}

// refusalOfHTTP is what net/http writes by itself, at once, when it cannot parse a request.
const refusalOfHTTP = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"

// Write implements net.Conn.
func (c refusingConn) Write(p []byte) (int, error) {
	if len(p) != len(refusalOfHTTP) || string(p) != refusalOfHTTP {
		return c.TCPConn.Write(p)
	}
	_, err := fmt.Fprintf(c.TCPConn, "HTTP/1.1 400 Bad Request\r\nContent-Type: application/xml\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(c.body), c.body)
	return len(p), err
}

// URL is scheme://host:port, "" before Start.
func (e *Endpoint) URL() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.url
}

// Close stops serving and ends open connections. It does nothing before Start.
func (e *Endpoint) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.http == nil {
		return nil
	}
	err := e.http.Close()
	<-e.done
	e.http = nil
	return err
}

// Scheme is the scheme of the URLs of a server with this configuration, nil for none.
func Scheme(config *tls.Config) string {
	if config == nil {
		return "http"
	}
	return "https"
}

// Serve serves l, with TLS if srv is configured for it, until srv is closed; it then returns http.ErrServerClosed.
func Serve(srv *http.Server, l net.Listener) error {
	if srv.TLSConfig != nil {
		return srv.ServeTLS(l, "", "")
	}
	return srv.Serve(l)
}

// Listen opens a TCP listener, with an error that says what to do when the port cannot be had.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen on %s: the port is in use by another process; stop it, or choose another port (port 0 takes a free one): %w", address, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("listen on %s: this user may not open the port; choose one above 1023: %w", address, err)
	}
	return nil, fmt.Errorf("listen on %s: %w", address, err)
}
