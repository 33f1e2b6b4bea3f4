// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Spans keeps the latest spans of a system in memory, for the timeline. It is a
// sdktrace.SpanProcessor.
type Spans struct {
	mu sync.Mutex
	// traces are the kept traces; order lists them by their first completed span.
	order  []trace.TraceID
	traces map[trace.TraceID][]sdktrace.ReadOnlySpan
	kept   int
}

// keptSpans limits the memory of spans to about 10 MiB.
const keptSpans = 10_000

// OnStart implements sdktrace.SpanProcessor.
func (s *Spans) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// Shutdown implements sdktrace.SpanProcessor.
func (s *Spans) Shutdown(context.Context) error { return nil }

// ForceFlush implements sdktrace.SpanProcessor.
func (s *Spans) ForceFlush(context.Context) error { return nil }

// OnEnd implements sdktrace.SpanProcessor. It drops the oldest traces above the limit.
func (s *Spans) OnEnd(span sdktrace.ReadOnlySpan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.traces == nil {
		s.traces = map[trace.TraceID][]sdktrace.ReadOnlySpan{}
	}
	id := span.SpanContext().TraceID()
	if s.traces[id] == nil {
		s.order = append(s.order, id)
	}
	s.traces[id] = append(s.traces[id], span)
	for s.kept++; s.kept > keptSpans; s.order = s.order[1:] {
		s.kept -= len(s.traces[s.order[0]])
		delete(s.traces, s.order[0])
	}
}

// reconcile is the span of one reconcile with its child spans.
type reconcile struct {
	root   sdktrace.ReadOnlySpan
	within []sdktrace.ReadOnlySpan
}

// reconciles returns the reconciles of the objects.
func (s *Spans) reconciles(of map[Selection]bool) []reconcile {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []reconcile
	for _, id := range s.order {
		spans := s.traces[id]
		for _, span := range spans {
			if !span.Parent().IsValid() && of[objectOf(span)] {
				found = append(found, reconcile{root: span, within: spans})
			}
		}
	}
	return found
}

// objectOf returns the object of a reconcile from the attributes that package reconciler sets.
func objectOf(span sdktrace.ReadOnlySpan) Selection {
	s := Selection{}
	for _, a := range span.Attributes() {
		switch a.Key {
		case "k8s.namespace.name":
			s.Namespace = a.Value.AsString()
		case "cosi.object.name":
			s.Name = a.Value.AsString()
		}
	}
	const before = "reconcile "
	if len(span.Name()) > len(before) && span.Name()[:len(before)] == before {
		s.Kind = span.Name()[len(before):]
	}
	return s
}
