// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

const (
	// tracesPath is the path of a collector for OTLP over HTTP.
	tracesPath = "/v1/traces"
	// flushTimeout limits the export of the last traces at exit.
	flushTimeout = 5 * time.Second
)

// A TraceCollector is the value of the flag.
type TraceCollector struct{ endpoint string }

// Flags defines --traces-endpoint.
func (c *TraceCollector) Flags(f *pflag.FlagSet) {
	f.StringVar(&c.endpoint, "traces-endpoint", "", "URL of an OpenTelemetry collector for traces by OTLP over HTTP, such as http://collector:4318; empty disables traces")
}

// Provider returns a tracer provider that exports the program's spans to the collector. Without a collector,
// it drops the spans. It sends nothing before the first span, and an unavailable collector does not block the
// program. The caller must call flush at exit.
func (c *TraceCollector) Provider(ctx context.Context, program string) (provider trace.TracerProvider, flush func(), err error) {
	if c.endpoint == "" {
		return noop.NewTracerProvider(), func() {}, nil
	}
	to, err := url.Parse(c.endpoint)
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		return nil, nil, Usagef("--traces-endpoint %q is not a URL such as http://collector:4318", c.endpoint)
	}
	if to.Path == "" || to.Path == "/" {
		to.Path = tracesPath
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(to.String()))
	if err != nil {
		return nil, nil, fmt.Errorf("--traces-endpoint: %w", err)
	}
	about := resource.NewSchemaless(attribute.String("service.name", program), attribute.String("service.version", Version()))
	made := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return made, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		_ = made.Shutdown(ctx) // export is best effort
	}, nil
}
