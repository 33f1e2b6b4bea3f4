// SPDX-License-Identifier: Apache-2.0

package drivercmd

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/cooper-cosi/cooper/cmd/internal/serve"
)

const (
	// tracesPath is where a collector takes traces by OTLP over HTTP.
	tracesPath = "/v1/traces"
	// flushTimeout bounds the wait for the last traces at the end.
	flushTimeout = 5 * time.Second
)

// newTraces sends traces of a program to the collector at the URL. Nothing is
// sent before the first span; a collector that is away does not hold the
// program up. The caller calls flush at the end.
func newTraces(ctx context.Context, program, endpoint string) (provider *sdktrace.TracerProvider, flush func(), err error) {
	to, err := url.Parse(endpoint)
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		return nil, nil, serve.Usagef("--traces-endpoint %q is not a URL such as http://collector:4318", endpoint)
	}
	if to.Path == "" || to.Path == "/" {
		to.Path = tracesPath
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(to.String()))
	if err != nil {
		return nil, nil, fmt.Errorf("--traces-endpoint: %w", err)
	}
	about := resource.NewSchemaless(attribute.String("service.name", program), attribute.String("service.version", serve.Version()))
	provider = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return provider, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		_ = provider.Shutdown(ctx) // traces that nobody takes are lost, as they are while it runs
	}, nil
}
