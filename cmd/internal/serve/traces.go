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
	// tracesPath is where a collector takes traces by OTLP over HTTP.
	tracesPath = "/v1/traces"
	// flushTimeout bounds the wait for the last traces at the end.
	flushTimeout = 5 * time.Second
)

// A TraceCollector is what the flag of a command came to.
type TraceCollector struct{ endpoint string }

// Flags defines --traces-endpoint.
func (c *TraceCollector) Flags(f *pflag.FlagSet) {
	f.StringVar(&c.endpoint, "traces-endpoint", "", "URL of an OpenTelemetry collector that takes traces by OTLP over HTTP, such as http://collector:4318; empty sends none")
}

// Provider makes the spans of a program and sends them to the collector, or
// drops them if there is none. Nothing is sent before the first span; a
// collector that is away does not hold the program up. The caller calls flush
// at the end.
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
		_ = made.Shutdown(ctx) // traces that nobody takes are lost, as they are while it runs
	}, nil
}
