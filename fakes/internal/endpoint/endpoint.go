// SPDX-License-Identifier: Apache-2.0

// Package endpoint implements the HTTP listener of an in-process fake. It starts and stops the listener, and returns
// its URL.
package endpoint

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Endpoint serves one handler on one port. The zero value is ready to use.
type Endpoint struct {
	mu   sync.Mutex
	http *http.Server
	url  string
	done chan struct{}
}

// Options configure an Endpoint: the handler and its address.
type Options struct {
	// Name is the name of the fake, for errors.
	Name string
	// Address is host:port; port 0 selects a free port.
	Address string
	Handler http.Handler
	// TLS serves HTTPS; nil serves HTTP.
	TLS *tls.Config
	// Malformed is the XML body of the response to a request that net/http cannot parse; nil means the body of
	// net/http. If it is set, TLS connections do not support HTTP/2.
	Malformed []byte
	// Patience is the time for which a client may delay a request. Default: one minute.
	Patience time.Duration
	// GRPC disables Patience for gRPC streams, which may be idle.
	GRPC bool
}

// NewServer returns a server for Serve. The server disconnects clients that delay a request for longer than
// Options.Patience.
func NewServer(o Options) *http.Server {
	patience := cmp.Or(o.Patience, time.Minute)
	srv := &http.Server{Handler: impatient(o.Handler, patience, o.GRPC), TLSConfig: o.TLS, ReadHeaderTimeout: patience}
	// Streams of gRPC have no deadlines.
	srv.HTTP2 = &http.HTTP2Config{SendPingTimeout: patience, PingTimeout: patience, WriteByteTimeout: patience}
	// Clients of gRPC use HTTP/2 without TLS.
	if o.TLS == nil {
		srv.Protocols = new(http.Protocols)
		srv.Protocols.SetHTTP1(true)
		srv.Protocols.SetUnencryptedHTTP2(true)
	}
	if o.Malformed != nil && o.TLS != nil {
		srv.Handler, srv.ConnContext = overTLS(srv.Handler), withConn
	}
	return srv
}

// Start listens and serves until Close. If the port is not available, the error says how to fix the problem.
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
	srv := NewServer(o)
	done := make(chan struct{})
	e.url, e.http, e.done = URL(o.TLS, l.Addr()), srv, done
	go func() {
		defer close(done)
		_ = Serve(srv, l, o.Malformed) // always ErrServerClosed, after Close
	}()
	return nil
}

// URL returns scheme://host:port, or "" before Start.
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

// Scheme returns the URL scheme of a server with this TLS configuration: http if it is nil, otherwise https.
func Scheme(config *tls.Config) string {
	if config == nil {
		return "http"
	}
	return "https"
}

// URL returns the URL of a server with this TLS configuration. If it listens on all addresses, the URL has the
// loopback address, because clients cannot connect to the unspecified address on all systems.
func URL(config *tls.Config, listens net.Addr) string {
	address := listens.String()
	if tcp, ok := listens.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		address = net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return Scheme(config) + "://" + address
}

// Serve serves l until srv is closed, and then returns http.ErrServerClosed. It uses TLS if srv is configured for it.
// malformed is Options.Malformed.
func Serve(srv *http.Server, l net.Listener, malformed []byte) error {
	switch {
	case malformed != nil && srv.TLSConfig != nil:
		return srv.Serve(refusing{tls.NewListener(l, srv.TLSConfig), malformed})
	case malformed != nil:
		return srv.Serve(refusing{l, malformed})
	case srv.TLSConfig != nil:
		return srv.ServeTLS(l, "", "")
	}
	return srv.Serve(l)
}

// Listen opens a TCP listener. If the port is not available, the error says how to fix the problem.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen on %s: the port is in use by another process; stop it, or choose another port (port 0 selects a free one): %w", address, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("listen on %s: this user is not permitted to open the port; choose a port above 1023: %w", address, err)
	}
	return nil, fmt.Errorf("listen on %s: %w", address, err)
}
