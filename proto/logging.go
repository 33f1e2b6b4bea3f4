// SPDX-License-Identifier: Apache-2.0

package cosi

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// CallRecord is one finished RPC, in a form that is safe to log.
type CallRecord struct {
	// Method is the full method name.
	Method string
	// Request and Response print without secrets. Response prints "null" when the call failed.
	Request, Response Redacted
	// Duration is the duration of the call.
	Duration time.Duration
	// Status is the outcome that the peer sees; its Code is codes.OK for success.
	Status *status.Status
	// Err is the error that a server's handler returned or that a client received. A server's error may contain more
	// than the status.
	Err error
}

// LogFunc receives every finished RPC. It may be called concurrently.
type LogFunc func(ctx context.Context, record CallRecord)

// UnaryClientLogging returns an interceptor that reports each call to log. Clients should log messages of the
// contract only here, because the interceptor redacts them.
func UnaryClientLogging(log LogFunc) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
		invoke grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		start := time.Now()
		err := invoke(ctx, method, request, reply, conn, options...)
		log(ctx, record(method, request, reply, start, err))
		return err
	}
}

// UnaryServerLogging returns an interceptor that reports each call to log, redacted in the same
// way.
func UnaryServerLogging(log LogFunc) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		start := time.Now()
		reply, err := handle(ctx, request)
		log(ctx, record(info.FullMethod, request, reply, start, err))
		return reply, err
	}
}

func record(method string, request, reply any, start time.Time, err error) CallRecord {
	made := CallRecord{Method: method, Duration: time.Since(start), Status: status.Convert(err), Err: err}
	// Messages that do not belong to a contract are not logged at all.
	if message, ok := request.(proto.Message); ok {
		made.Request = NewRedacted(message)
	}
	if message, ok := reply.(proto.Message); ok && err == nil {
		made.Response = NewRedacted(message)
	}
	return made
}
