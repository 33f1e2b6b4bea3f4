// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/upstream"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

// guard wraps every call of the contract and the calls into which a wire dialect is translated. Calls of other
// services, such as health checks, bypass it.
type guard struct {
	// timeout limits calls of clients that set no deadline.
	timeout time.Duration
	busy    locks
}

// intercept applies the guard to the calls of the contract.
func (g *guard) intercept(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (any, error) {
	message, ok := request.(proto.Message)
	if !ok || !of(info.FullMethod, contract) {
		return handle(ctx, request)
	}
	return g.call(ctx, message, handle)
}

// call validates the request, serializes calls for one ID, sets a deadline, recovers from panics and validates the
// response. A non-nil error is always an *Error.
func (g *guard) call(ctx context.Context, message proto.Message, handle grpc.UnaryHandler) (any, error) {
	if err := cosi.ValidateRequest(message); err != nil {
		return nil, InvalidArgument("%v", err)
	}
	if key := lockKey(message); key != "" {
		if !g.busy.tryLock(key) {
			return nil, Aborted("another call for %s is still running", key)
		}
		defer g.busy.unlock(key)
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.timeout)
		defer cancel()
	}
	if ctx.Err() != nil {
		return nil, classify(ctx, ctx.Err())
	}
	reply, err := recovered(ctx, message, handle)
	if err != nil {
		return nil, classify(ctx, err)
	}
	if answer, ok := reply.(proto.Message); ok {
		if err := cosi.ValidateResponse(message, answer); err != nil {
			return nil, Internal("the driver returned a response that violates the COSI contract; see its log for details").
				WithDetail(fmt.Errorf("%s: %w", answer.ProtoReflect().Descriptor().Name(), err))
		}
	}
	return reply, nil
}

var (
	// contract lists the services of the contract.
	contract = []string{cosi.Identity_ServiceDesc.ServiceName, cosi.Provisioner_ServiceDesc.ServiceName}
	// wires lists the services that are translated to the contract.
	wires = []string{
		v1alpha1.Identity_ServiceDesc.ServiceName, v1alpha1.Provisioner_ServiceDesc.ServiceName, upstream.Provisioner_ServiceDesc.ServiceName,
	}
)

// ours reports whether a method belongs to the contract or to a wire dialect.
func ours(method string) bool { return of(method, contract) || of(method, wires) }

// of reports whether a method belongs to one of the services.
func of(method string, services []string) bool {
	return slices.ContainsFunc(services, func(service string) bool { return strings.HasPrefix(method, "/"+service+"/") })
}

// lockKey returns the bucket or account that a call is about, as a phrase for users. Phase 1 changes nothing, so it
// needs no lock.
func lockKey(message proto.Message) string {
	switch request := message.(type) {
	case interface{ GetBucketId() string }:
		return "bucket " + request.GetBucketId()
	case interface{ GetAccountId() string }:
		return "account " + request.GetAccountId()
	default:
		return ""
	}
}

func recovered(ctx context.Context, request any, handle grpc.UnaryHandler) (reply any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			reply, err = nil, Internal("the driver crashed in this call; see its log for details").
				WithDetail(fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
		}
	}()
	return handle(ctx, request)
}

// locks is a set of held keys. Its zero value is ready for use.
type locks struct {
	mu   sync.Mutex
	held map[string]bool
}

func (l *locks) tryLock(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[key] {
		return false
	}
	if l.held == nil {
		l.held = map[string]bool{}
	}
	l.held[key] = true
	return true
}

func (l *locks) unlock(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, key)
}

// logCall logs one line for each call of the contract: successes at debug level, because sidecars repeat calls often,
// and failures at a level that depends on their meaning.
func logCall(logger *slog.Logger) cosi.LogFunc {
	return func(ctx context.Context, record cosi.CallRecord) {
		if !ours(record.Method) {
			return
		}
		attributes := []slog.Attr{
			slog.String("method", record.Method), slog.Any("request", record.Request),
			slog.Duration("duration", record.Duration), slog.String("code", record.Status.Code().String()),
		}
		if record.Err == nil {
			attributes = append(attributes, slog.Any("response", record.Response))
			logger.LogAttrs(ctx, slog.LevelDebug, "call done", attributes...)
			return
		}
		attributes = append(attributes, slog.String("error", record.Err.Error()))
		logger.LogAttrs(ctx, slog.LevelWarn, "call failed", attributes...)
	}
}
