// SPDX-License-Identifier: Apache-2.0

// Package grpcapi serves Cloud Storage's gRPC API (google.storage.v2.Storage). It translates each call into requests of
// the JSON API, which the fake handles like those of HTTP clients. Authentication, permissions, preconditions, faults
// and the record of calls are therefore the same, and have the names of the JSON API.
package grpcapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/storagepb"
)

// Server is a handler of gRPC calls over HTTP/2.
type Server struct{ grpc *grpc.Server }

// New returns a server that translates calls into requests to json.
func New(json http.Handler) *Server {
	s := grpc.NewServer(grpc.UnknownServiceHandler(refuse), grpc.UnaryInterceptor(checkUnary), grpc.StreamInterceptor(checkStream))
	desc := storagepb.Storage_ServiceDesc
	desc.ServiceName = "google.storage.v2.Storage"
	s.RegisterService(&desc, &service{json: json})
	return &Server{s}
}

// IsCall reports whether a request is a gRPC call.
func IsCall(r *http.Request) bool {
	return r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.grpc.ServeHTTP(flushing{w, http.NewResponseController(w)}, r)
}

// Close ends all calls in progress.
func (s *Server) Close() { s.grpc.Stop() }

// flushing implements http.Flusher, which package grpc requires, for a response writer that only wraps a flusher.
type flushing struct {
	http.ResponseWriter

	control *http.ResponseController
}

// Flush implements http.Flusher.
func (f flushing) Flush() { _ = f.control.Flush() } // fails only if the client has disconnected

// service implements the calls. Those of reads and writes are in read.go and write.go.
type service struct {
	storagepb.UnimplementedStorageServer

	json http.Handler
}

// refuse ends calls that are not served with UNIMPLEMENTED, which clients do not retry.
func refuse(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	return status.Errorf(codes.Unimplemented, "This fake does not serve the gRPC call %s. Use the JSON API: storage.NewClient with STORAGE_EMULATOR_HOST.", strings.TrimPrefix(method, "/"))
}

// checkUnary rejects requests with fields that the fake does not support.
func checkUnary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (_ any, err error) {
	defer recoverCall(&err)
	if err := checkFields(request); err != nil {
		return nil, err
	}
	return next(ctx, request)
}

func checkStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	defer recoverCall(&err)
	return next(srv, checkedStream{stream})
}

// recoverCall returns the panic of a call as its error. A fault rule that drops the connection panics with
// http.ErrAbortHandler. The connection is shared with other calls, so only the call fails, as if a proxy had lost the
// connection.
func recoverCall(err *error) { //nolint:gocritic // a deferred call sets the result of its caller
	switch p := recover(); {
	case p == http.ErrAbortHandler: //nolint:errorlint // the panic has this value itself
		*err = status.Error(codes.Unavailable, "The connection was closed.")
	case p != nil:
		*err = status.Errorf(codes.Unknown, "The fake panicked, which is a bug of the fake; please report it: %v", p) // clients retry INTERNAL
	}
}

type checkedStream struct{ grpc.ServerStream }

// RecvMsg implements grpc.ServerStream.
func (s checkedStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return checkFields(m)
}

func checkFields(request any) error {
	m, ok := request.(proto.Message)
	if !ok {
		return nil
	}
	if where := undeclared(m.ProtoReflect()); where != "" {
		return status.Errorf(codes.Unimplemented, "This fake does not support %s of google.storage.v2 by gRPC.", where)
	}
	return nil
}

// undeclared describes a field that package storagepb does not declare, or returns "".
func undeclared(m protoreflect.Message) (where string) {
	if unknown := m.GetUnknown(); len(unknown) > 0 {
		number, _, _ := protowire.ConsumeTag(unknown)
		return fmt.Sprintf("the field %d of the message %s", number, m.Descriptor().Name())
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap() || f.Message() == nil:
		case f.IsList():
			for i := 0; i < v.List().Len() && where == ""; i++ {
				where = undeclared(v.List().Get(i).Message())
			}
		default:
			where = undeclared(v.Message())
		}
		return where == ""
	})
	return where
}
