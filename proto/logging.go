// SPDX-License-Identifier: Apache-2.0

package cosi

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// CallRecord is one finished RPC as it may be logged.
type CallRecord struct {
	// Method is the full method name.
	Method string
	// Request and Response print without secrets. Response prints "null" when the call failed.
	Request, Response Redacted
	// Duration is how long the call took.
	Duration time.Duration
	// Status is the outcome as the peer sees it; its Code is codes.OK for success.
	Status *status.Status
	// Err is the error that a server's handler returned, or that a client got. A server's may hold
	// more than the status says.
	Err error
}

// LogFunc receives every finished RPC. It may be called concurrently.
type LogFunc func(ctx context.Context, record CallRecord)

// UnaryClientLogging returns an interceptor that reports each call to log. It is the only place
// where a client should log messages of the contract, since it redacts them.
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
	// What is not a message of a contract is not printed at all.
	if message, ok := request.(proto.Message); ok {
		made.Request = NewRedacted(message)
	}
	if message, ok := reply.(proto.Message); ok && err == nil {
		made.Response = NewRedacted(message)
	}
	return made
}
