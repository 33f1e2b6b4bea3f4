// SPDX-License-Identifier: Apache-2.0

// Package credentialstore serves the credential store of a driver. It does not interpret entries and has access only
// to the entries of that driver.
package credentialstore

import (
	"context"
	"errors"
	"path"
	"sync"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// A Server is the gRPC service. It refuses calls until OpenBy.
type Server struct {
	cosi.UnimplementedCredentialStoreServer

	mu    sync.Mutex
	open  func(context.Context) (credstore.Blobs, error)
	blobs credstore.Blobs
}

// Register returns a gRPC server with the service. It logs calls without their secrets.
func Register(log logr.Logger) (*grpc.Server, *Server) {
	server := grpc.NewServer(grpc.UnaryInterceptor(cosi.UnaryServerLogging(func(_ context.Context, r cosi.CallRecord) {
		switch r.Status.Code() {
		case codes.OK, codes.NotFound, codes.Aborted:
			log.V(1).Info("Credential store", "method", path.Base(r.Method), "request", r.Request.String(), "code", r.Status.Code().String())
		default:
			log.Info("Credential store", "method", path.Base(r.Method), "request", r.Request.String(), "code", r.Status.Code().String(), "message", r.Status.Message())
		}
	})))
	s := &Server{}
	cosi.RegisterCredentialStoreServer(server, s)
	return server, s
}

// OpenBy starts to accept calls. The store is opened by the first call. If that fails, the next call tries again.
func (s *Server) OpenBy(open func(context.Context) (credstore.Blobs, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = open
}

// use returns the opened store.
func (s *Server) use(ctx context.Context) (credstore.Blobs, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blobs != nil {
		return s.blobs, nil
	}
	if s.open == nil {
		return nil, status.Error(codes.Unavailable, "the credential store is not available yet: the sidecar is waiting for its driver or its Lease; retry later")
	}
	blobs, err := s.open(ctx)
	if err != nil {
		return nil, translated(err)
	}
	s.blobs = blobs
	return blobs, nil
}

// GetStoreId implements cosi.CredentialStoreServer.
func (s *Server) GetStoreId(ctx context.Context, _ *cosi.GetStoreIdRequest) (*cosi.GetStoreIdResponse, error) {
	blobs, err := s.use(ctx)
	if err != nil {
		return nil, err
	}
	id, err := blobs.ID(ctx)
	if err != nil {
		return nil, translated(err)
	}
	return &cosi.GetStoreIdResponse{Id: id}, nil
}

// GetEntry implements cosi.CredentialStoreServer.
func (s *Server) GetEntry(ctx context.Context, request *cosi.GetEntryRequest) (*cosi.GetEntryResponse, error) {
	blobs, err := s.forEntry(ctx, cosi.ValidateEntryName(request.GetName()))
	if err != nil {
		return nil, err
	}
	blob, err := blobs.Get(ctx, request.GetName())
	if err != nil {
		return nil, translated(err)
	}
	return &cosi.GetEntryResponse{Data: []byte(blob.Data.Reveal()), Version: blob.Version, Place: blob.Place}, nil
}

// PutEntry implements cosi.CredentialStoreServer.
func (s *Server) PutEntry(ctx context.Context, request *cosi.PutEntryRequest) (*cosi.PutEntryResponse, error) {
	blobs, err := s.forEntry(ctx, errors.Join(cosi.ValidateEntryName(request.GetName()), cosi.ValidateEntryData(request.GetData())))
	if err != nil {
		return nil, err
	}
	version, err := blobs.Put(ctx, request.GetName(), cosi.NewSecret(string(request.GetData())), request.GetVersion())
	if err != nil {
		return nil, translated(err)
	}
	return &cosi.PutEntryResponse{Version: version}, nil
}

// DeleteEntry implements cosi.CredentialStoreServer.
func (s *Server) DeleteEntry(ctx context.Context, request *cosi.DeleteEntryRequest) (*cosi.DeleteEntryResponse, error) {
	blobs, err := s.forEntry(ctx, cosi.ValidateEntryName(request.GetName()))
	if err != nil {
		return nil, err
	}
	if err := blobs.Delete(ctx, request.GetName()); err != nil {
		return nil, translated(err)
	}
	return &cosi.DeleteEntryResponse{}, nil
}

// forEntry returns the store for a valid request.
func (s *Server) forEntry(ctx context.Context, invalid error) (credstore.Blobs, error) {
	if invalid != nil {
		return nil, status.Error(codes.InvalidArgument, invalid.Error())
	}
	return s.use(ctx)
}

// translated converts an error to a gRPC status of the contract.
func translated(err error) error {
	code := codes.Unavailable
	switch {
	case errors.Is(err, credstore.ErrNotFound):
		code = codes.NotFound
	case errors.Is(err, credstore.ErrConflict):
		code = codes.Aborted
	case errors.Is(err, credstore.ErrStoreID):
		code = codes.FailedPrecondition
	case errors.Is(err, credstore.ErrCorrupt):
		code = codes.DataLoss
	}
	return status.Error(code, err.Error())
}
