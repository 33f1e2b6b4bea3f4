// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"path"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/internal/metrics"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Measure returns an interceptor that reports every RPC to m under the name
// that driverName returns at that moment.
func Measure(m *metrics.Sidecar, driverName func() string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
		invoke grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		start := time.Now()
		err := invoke(ctx, method, request, reply, conn, options...)
		m.Called(driverName(), path.Base(method), status.Code(err).String(), time.Since(start))
		return err
	}
}

// Log returns an interceptor that logs every RPC without its secrets: failures
// always, successes at verbosity 1.
func Log(log logr.Logger) grpc.UnaryClientInterceptor {
	return cosi.UnaryClientLogging(func(_ context.Context, r cosi.CallRecord) {
		fields := []any{"method", path.Base(r.Method), "request", r.Request.String(), "took", r.Duration.String(), "code", r.Status.Code().String()}
		if r.Status.Code() == codes.OK {
			log.V(1).Info("RPC", append(fields, "response", r.Response.String())...)
			return
		}
		log.Info("RPC failed", append(fields, "message", printable(r.Status.Message()))...)
	})
}
