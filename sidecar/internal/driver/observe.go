// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"path"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/cooper-cosi/cooper/internal/metrics"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Measure returns an interceptor that reports every RPC to m under the name that driverName returns. While driverName
// returns an empty string, the interceptor reports DriverGetInfo under the name in its response. It does not use later
// names, or codes that gRPC does not define, as labels, because a driver could create an unlimited number of series.
func Measure(m *metrics.Sidecar, driverName func() string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
		invoke grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		start := time.Now()
		err := invoke(ctx, method, request, reply, conn, options...)
		m.Called(nameIn(request, reply, err, driverName), path.Base(method), known(status.Code(err)).String(), time.Since(start))
		return err
	}
}

// known returns a code that gRPC defines, and Unknown otherwise.
func known(code codes.Code) codes.Code {
	if code > codes.Unauthenticated {
		return codes.Unknown
	}
	return code
}

// nameIn returns the driver's name, or the one in its first response to DriverGetInfo.
func nameIn(request, reply any, err error, driverName func() string) string {
	if name := driverName(); name != "" {
		return name
	}
	asked, ok := request.(*cosi.DriverGetInfoRequest)
	response, isInfo := reply.(*cosi.DriverGetInfoResponse)
	if err != nil || !ok || !isInfo || cosi.ValidateResponse(asked, response) != nil {
		return ""
	}
	return response.GetName()
}

// Trace returns a handler that creates a span for every RPC except the periodic calls of DriverGetInfo. The span is a
// child of the step that makes the call, and its trace ID is passed to the driver. A nil provider means OpenTelemetry's
// global provider.
func Trace(provider trace.TracerProvider) stats.Handler {
	options := []otelgrpc.Option{
		otelgrpc.WithPropagators(propagation.TraceContext{}),
		otelgrpc.WithFilter(func(about *stats.RPCTagInfo) bool {
			return path.Base(about.FullMethodName) != path.Base(cosi.Identity_DriverGetInfo_FullMethodName)
		}),
	}
	if provider != nil {
		options = append(options, otelgrpc.WithTracerProvider(provider))
	}
	return otelgrpc.NewClientHandler(options...)
}

// logged logs every RPC without its secrets: failures always, successes at verbosity 1. A response that breaks the
// contract is not printed, since any of its fields may contain a credential.
func (d *Driver) logged(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	return cosi.UnaryClientLogging(func(ctx context.Context, r cosi.CallRecord) {
		log := d.options.Logger
		if r.Status.Code() == codes.OK && !log.V(1).Enabled() {
			return // printing the messages takes longer than many calls
		}
		without := func(text string) string { return d.secrets.redactText(accountIn(ctx), text) }
		fields := []any{"method", path.Base(r.Method), "request", without(r.Request.String()), "took", r.Duration.String(), "code", r.Status.Code().String()}
		if r.Status.Code() != codes.OK {
			log.Info("RPC failed", append(fields, "message", printable(r.Status.Message()))...)
			return
		}
		response := r.Response.String()
		if err := invalid(request, reply); err != nil {
			response = "[invalid: " + err.Error() + "]"
		}
		log.V(1).Info("RPC", append(fields, "response", without(response))...)
	})(ctx, method, request, reply, conn, invoke, options...)
}

// invalid returns how a response breaks the contract.
func invalid(request, reply any) error {
	asked, ok := request.(proto.Message)
	response, isMessage := reply.(proto.Message)
	if !ok || !isMessage {
		return nil // which is not printed either
	}
	return cosi.ValidateResponse(asked, response)
}
