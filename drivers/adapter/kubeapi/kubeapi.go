// SPDX-License-Identifier: Apache-2.0

// Package kubeapi serves a read-only Kubernetes API on the loopback interface, for drivers of COSI v1alpha1 that read
// their Bucket objects and Secrets with client-go's in-cluster configuration. Such a driver needs no permissions in
// the cluster. The API serves Buckets of objectstorage.k8s.io/v1alpha1 and Secrets, each only by name. Every other
// request gets a Status that states the reason. The package is independent of the Kubernetes libraries.
package kubeapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const readTimeout = 30 * time.Second

// Bucket describes a bucket. The server converts it to a v1alpha1 object.
type Bucket struct {
	// Name is the name of the Bucket object. Empty: the requested name.
	Name string
	// Parameters are the parameters with which the bucket was created.
	Parameters map[string]string
	// ID is the driver's ID of the bucket, or empty until the driver has returned it. Driver is the driver's name.
	ID, Driver string
	// Protocols are values of spec.protocols in v1alpha1: S3, Azure or GCP.
	Protocols []string
}

// Options configure a server. Dir, Address and Buckets are required.
type Options struct {
	// Dir receives ca.crt, token and namespace, the files of a service account mount. It also stores the server's private
	// key, so that a server that is restarted with the same directory has the same CA and token.
	Dir string
	// Address is a loopback IP address with a port, such as 127.0.0.1:6443.
	Address string
	// Namespace is the content of the file namespace. Empty: default.
	Namespace string
	// SecretsDir is a directory with the values of Secrets, as files NAMESPACE/NAME/KEY. They are read at each request.
	// Empty: there are no Secrets.
	SecretsDir string
	// Buckets returns the bucket with a name or ID, and whether there is one. It may be called concurrently.
	Buckets func(ctx context.Context, name string) (Bucket, bool, error)
	// Logger logs failed requests. Nil: slog.Default().
	Logger *slog.Logger
}

// Server serves the API.
type Server struct {
	options  Options
	ip       net.IP
	listener net.Listener
	http     *http.Server
}

// New returns a server that does not listen yet. It returns an error if Address is not a loopback address.
func New(o Options) (*Server, error) {
	host, _, err := net.SplitHostPort(o.Address)
	ip := net.ParseIP(host)
	if err != nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("address %q for the Kubernetes API is not a loopback IP address with a port, such as 127.0.0.1:6443", o.Address)
	}
	if o.Namespace == "" {
		o.Namespace = "default"
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Server{options: o, ip: ip}, nil
}

// Listen listens on the address and then writes the files. Call Serve afterwards.
func (s *Server) Listen(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", s.options.Address)
	if err != nil {
		return fmt.Errorf("serve the Kubernetes API: %w", err)
	}
	certificate, token, err := s.writeFiles()
	if err != nil {
		return errors.Join(fmt.Errorf("write the credentials of the Kubernetes API: %w", err), listener.Close())
	}
	s.listener = listener
	s.http = &http.Server{
		Handler: s.handler(token), TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: readTimeout, ErrorLog: slog.NewLogLogger(s.options.Logger.Handler(), slog.LevelWarn),
	}
	return nil
}

// Addr returns the address with the actual port. It is empty before Listen.
func (s *Server) Addr() string {
	if s.listener == nil {
		return ""
	}
	return s.listener.Addr().String()
}

// Serve serves until ctx ends, and then aborts running requests. It first calls Listen, unless the caller has done so.
func (s *Server) Serve(ctx context.Context) error {
	if s.listener == nil {
		if err := s.Listen(ctx); err != nil {
			return err
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- s.http.ServeTLS(s.listener, "", "") }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve the Kubernetes API: %w", err)
	case <-ctx.Done():
	}
	err := s.http.Close()
	<-ended //nolint:errcheck // http.ErrServerClosed: the listener is closed
	if err != nil {
		return fmt.Errorf("stop the Kubernetes API: %w", err)
	}
	return nil
}
