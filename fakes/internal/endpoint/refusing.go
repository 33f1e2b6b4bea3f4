// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// refusing has the connections of a listener refuse malformed requests in the way of the service.
type refusing struct {
	net.Listener
	body []byte
}

// Accept implements net.Listener.
func (l refusing) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return refusingConn{conn, l.body}, nil
}

// refusingConn is a connection that net/http does not know as one of TCP or TLS.
type refusingConn struct {
	net.Conn
	body []byte
}

// refusalOfHTTP is the response that net/http itself writes when it cannot parse a request.
const refusalOfHTTP = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"

// Write implements net.Conn.
func (c refusingConn) Write(p []byte) (int, error) {
	if len(p) != len(refusalOfHTTP) || string(p) != refusalOfHTTP {
		return c.Conn.Write(p)
	}
	_, err := fmt.Fprintf(c.Conn, "HTTP/1.1 400 Bad Request\r\nContent-Type: application/xml\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(c.body), c.body)
	return len(p), err
}

// Read implements net.Conn. If the client does not use TLS, Read sends the response that net/http would.
func (c refusingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if plain, ok := errors.AsType[tls.RecordHeaderError](err); ok && plain.Conn != nil {
		_, _ = io.WriteString(plain.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
		_ = plain.Conn.Close() // the client may have disconnected already
	}
	return n, err
}

// ReadFrom implements io.ReaderFrom, so that the TCP connection copies files without a buffer.
func (c refusingConn) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.Conn, r) }

// CloseWrite lets net/http close a connection so that the client can still read the last response.
func (c refusingConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// overTLS sets r.TLS of a request that came over TLS.
func overTLS(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refusing, ok := r.Context().Value(connKey{}).(refusingConn); ok {
			if conn, ok := refusing.Conn.(*tls.Conn); ok {
				state := conn.ConnectionState()
				r.TLS = &state
			}
		}
		handler.ServeHTTP(w, r)
	})
}
