// SPDX-License-Identifier: Apache-2.0

// Package kit is what every reconciler of the Controller works with. It must
// not know what they do with it.
package kit

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/controller/internal/sidecars"
	"github.com/cooper-cosi/cooper/internal/events"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/runner"
	"github.com/cooper-cosi/cooper/internal/scope"
)

// A Kit is for the reconciler of one kind; all fields are required.
type Kit struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server, before anything that cannot be undone.
	Live client.Reader
	// Scope limits the objects.
	Scope scope.Scope
	// Events reports to users.
	Events events.Recorder
	// Metrics gets the operations on the objects.
	Metrics *metrics.Controller
	// Runner runs the steps.
	Runner *runner.Runner
	// Patience is how long an object may wait for others before its conditions
	// say so.
	Patience time.Duration
	// Sidecars tell whether the sidecar of a driver is at work.
	Sidecars sidecars.Leases
}
