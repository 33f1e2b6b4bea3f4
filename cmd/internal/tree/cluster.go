// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

const (
	// interval is the minimum time between two reads of the cluster.
	interval = time.Second
	// leisure is the ratio of the pause to the duration of the read before it. It limits requests to a tenth
	// of the time, even for a namespace with thousands of claims.
	leisure = 9
)

// A state is the result of reading the cluster.
type state struct {
	objects *Objects
	events  []Event
	// err is the error of the read. The other fields are then empty.
	err error
}

// An Event is a Kubernetes Event about an object.
type Event struct {
	Of           Selection
	Time         time.Time
	Warning      bool
	Reason, Note string
	Times        int32
}

// A cluster caches reads for all viewers of the page. Only one read runs at a time.
type cluster struct {
	options PageOptions

	mu   sync.Mutex
	last state
	next time.Time // the earliest time of the next read
}

// read returns the latest state, after reading it again if it is old enough.
func (c *cluster) read(ctx context.Context) state {
	c.mu.Lock()
	defer c.mu.Unlock()
	began := time.Now()
	if began.Before(c.next) {
		return c.last
	}
	found := c.options.read(ctx)
	if ctx.Err() != nil { // the client has disconnected
		return c.last
	}
	c.last = found
	c.next = time.Now().Add(max(interval, leisure*time.Since(began)))
	return c.last
}

func (o PageOptions) read(ctx context.Context) state {
	objects, err := Read(ctx, o.Client, Query{Namespaces: []string{o.Namespace}, System: o.System, Now: o.Now(ctx)})
	if err != nil {
		return state{err: err}
	}
	events, err := o.readEvents(ctx)
	return state{objects: objects, events: events, err: err}
}

// readEvents returns the Events about objects of COSI, newest first, or none if the user may not read them.
func (o PageOptions) readEvents(ctx context.Context) ([]Event, error) {
	list := &eventsv1.EventList{}
	err := o.Client.List(ctx, list, client.InNamespace(o.Namespace))
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Events: %w", err)
	}
	var found []Event
	for i := range list.Items {
		e := &list.Items[i]
		if e.Regarding.GroupVersionKind().Group != cosiapi.GroupName {
			continue
		}
		found = append(found, eventOf(e))
	}
	slices.SortStableFunc(found, func(x, y Event) int { return y.Time.Compare(x.Time) })
	return found, nil
}

func eventOf(e *eventsv1.Event) Event {
	shown := Event{
		Of:   Selection{Kind: e.Regarding.Kind, Namespace: e.Regarding.Namespace, Name: e.Regarding.Name},
		Time: e.EventTime.Time, Warning: e.Type == corev1.EventTypeWarning, Reason: e.Reason, Note: e.Note, Times: 1,
	}
	if e.Series != nil {
		shown.Time, shown.Times = e.Series.LastObservedTime.Time, e.Series.Count
	}
	if shown.Time.IsZero() { // an Event of the older kind
		shown.Time, shown.Times = e.DeprecatedLastTimestamp.Time, max(1, e.DeprecatedCount)
	}
	// The creation timestamp of the API server, which has whole seconds, limits the time, because the clock
	// of the Event's author may be ahead and the Event would always be first.
	written := e.CreationTimestamp.Time
	for _, field := range e.ManagedFields {
		if field.Time != nil && field.Time.After(written) {
			written = field.Time.Time
		}
	}
	if shown.Time.After(written.Add(time.Second)) {
		shown.Time = written
	}
	return shown
}
