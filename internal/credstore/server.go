// SPDX-License-Identifier: Apache-2.0

package credstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/internal/unixsocket"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// socketMode gives access to owner and group. Driver and sidecar share a group in a Pod.
const socketMode fs.FileMode = 0o660

// A Server serves Blobs to a driver. It does not interpret entries. Until Open is called, it rejects every call with
// Unavailable.
type Server struct {
	cosi.UnimplementedCredentialStoreServer

	server *grpc.Server
	served chan error
	blobs  atomic.Pointer[Blobs]
}

// Serve creates the socket and serves it until Stop. It logs calls without their secrets.
func Serve(ctx context.Context, endpoint string, log *slog.Logger) (*Server, error) {
	listener, err := unixsocket.Listen(ctx, endpoint, socketMode)
	if err != nil {
		return nil, err
	}
	s := &Server{served: make(chan error, 1)}
	s.server = grpc.NewServer(grpc.UnaryInterceptor(cosi.UnaryServerLogging(func(ctx context.Context, r cosi.CallRecord) {
		level := slog.LevelDebug
		switch r.Status.Code() {
		case codes.OK, codes.NotFound, codes.Aborted:
		default:
			level = slog.LevelInfo
		}
		log.Log(ctx, level, "Credential store", "method", path.Base(r.Method), "request", r.Request.String(), "code", r.Status.Code().String(), "message", r.Status.Message())
	})))
	cosi.RegisterCredentialStoreServer(s.server, s)
	go func() { s.served <- s.server.Serve(listener) }()
	return s, nil
}

// Open starts to accept calls and serves blobs.
func (s *Server) Open(blobs Blobs) { s.blobs.Store(&blobs) }

// Stop stops the server and removes the socket. A driver needs the store until its last RPC has ended.
func (s *Server) Stop() error {
	s.server.Stop()
	if err := <-s.served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve the credential store: %w", err)
	}
	return nil
}

// GetStoreId implements cosi.CredentialStoreServer.
func (s *Server) GetStoreId(ctx context.Context, _ *cosi.GetStoreIdRequest) (*cosi.GetStoreIdResponse, error) {
	return handle(s, nil, func(blobs Blobs) (*cosi.GetStoreIdResponse, error) {
		id, err := blobs.ID(ctx)
		return &cosi.GetStoreIdResponse{Id: id}, err
	})
}

// GetEntry implements cosi.CredentialStoreServer.
func (s *Server) GetEntry(ctx context.Context, r *cosi.GetEntryRequest) (*cosi.GetEntryResponse, error) {
	return handle(s, cosi.ValidateEntryName(r.GetName()), func(blobs Blobs) (*cosi.GetEntryResponse, error) {
		blob, err := blobs.Get(ctx, r.GetName())
		return &cosi.GetEntryResponse{Data: []byte(blob.Data.Reveal()), Version: blob.Version, Place: blob.Place}, err
	})
}

// PutEntry implements cosi.CredentialStoreServer.
func (s *Server) PutEntry(ctx context.Context, r *cosi.PutEntryRequest) (*cosi.PutEntryResponse, error) {
	invalid := errors.Join(cosi.ValidateEntryName(r.GetName()), cosi.ValidateEntryData(r.GetData()))
	return handle(s, invalid, func(blobs Blobs) (*cosi.PutEntryResponse, error) {
		version, err := blobs.Put(ctx, r.GetName(), cosi.NewSecret(string(r.GetData())), r.GetVersion())
		return &cosi.PutEntryResponse{Version: version}, err
	})
}

// DeleteEntry implements cosi.CredentialStoreServer.
func (s *Server) DeleteEntry(ctx context.Context, r *cosi.DeleteEntryRequest) (*cosi.DeleteEntryResponse, error) {
	return handle(s, cosi.ValidateEntryName(r.GetName()), func(blobs Blobs) (*cosi.DeleteEntryResponse, error) {
		return &cosi.DeleteEntryResponse{}, blobs.Delete(ctx, r.GetName())
	})
}

// handle performs a call on the store unless the request is invalid, and converts an error to a status of the
// contract.
func handle[Response any](s *Server, invalid error, do func(Blobs) (*Response, error)) (*Response, error) {
	if invalid != nil {
		return nil, status.Error(codes.InvalidArgument, invalid.Error())
	}
	blobs := s.blobs.Load()
	if blobs == nil {
		return nil, status.Error(codes.Unavailable, "the credential store is not available yet: the sidecar is waiting for its driver or its Lease; retry later")
	}
	response, err := do(*blobs)
	if err == nil {
		return response, nil
	}
	for code, sentinel := range statusCodes {
		if errors.Is(err, sentinel) {
			return nil, status.Error(code, err.Error())
		}
	}
	return nil, status.Error(codes.Unavailable, err.Error())
}
