// SPDX-License-Identifier: Apache-2.0

// Package metrics defines the metrics of the Controller and the Sidecar. Four of them are the metrics of KEP-1979
// ("SLIs"), with exactly the names, labels and bucket boundaries of the KEP. The others describe reconcile steps,
// objects and sidecars. The package registers nothing globally: callers pass a Registerer.
package metrics

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Label values of KEP-1979, and the kind of cosi-obc, which the KEP does not define.
const (
	KindBucket            = "Bucket"
	KindBucketClaim       = "BucketClaim"
	KindBucketAccess      = "BucketAccess"
	KindObjectBucketClaim = "ObjectBucketClaim"

	OperationCreate = "Create"
	OperationDelete = "Delete"

	// StatusUnknown is the status of any failed reconcile, including one with a failed driver call. The outcome of the
	// operation is unknown.
	StatusUnknown = "Unknown"
	// StatusSucceeded is the status of the reconcile that completed the operation.
	StatusSucceeded = "Succeeded"
	// StatusCanceled is the status of a creation that was not completed before the deletion.
	StatusCanceled = "Canceled"

	// DriverUnknown is the label of objects without a known driver, such as a claim of a class that does not exist.
	DriverUnknown = "unknown"
)

// boundaries returns the histogram buckets of KEP-1979, in seconds.
func boundaries() []float64 {
	return []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120, 300, 600}
}

// Controller contains the metrics of the Controller. The Sidecar also uses it for Buckets, because only the Sidecar
// sees when their deletion ends.
type Controller struct {
	total *prometheus.HistogramVec
	count *prometheus.CounterVec
}

// An Operation is one end-to-end operation on one object.
type Operation struct {
	// Driver is the driver name; empty is reported as DriverUnknown.
	Driver string
	// Kind is one of the Kind constants.
	Kind string
	// Name is OperationCreate or OperationDelete.
	Name string
}

// NewController registers the controller's metrics. Metrics that are already registered are reused, so that several
// components can share one registry.
func NewController(r prometheus.Registerer) (*Controller, error) {
	total, err := register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "cosi_operation_total_seconds",
		Help:    "End-to-end duration of a COSI operation, from the creation or deletion timestamp to its end.",
		Buckets: boundaries(),
	}, []string{"driver_name", "resource_kind", "operation"}))
	if err != nil {
		return nil, err
	}
	count, err := register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cosi_operation_count",
		Help: "Number of reconciles that completed an operation (Succeeded, Canceled) or failed (Unknown).",
	}, []string{"driver_name", "resource_kind", "operation", "status"}))
	if err != nil {
		return nil, err
	}
	return &Controller{total: total, count: count}, nil
}

// Finished observes the duration of a completed operation.
func (c *Controller) Finished(o Operation, took time.Duration) {
	c.total.WithLabelValues(driver(o.Driver), o.Kind, o.Name).Observe(took.Seconds())
}

// Reconciled counts one reconcile of an operation with one of the Status constants.
func (c *Controller) Reconciled(o Operation, status string) {
	c.count.WithLabelValues(driver(o.Driver), o.Kind, o.Name, status).Inc()
}

// Sidecar has the metrics of the Sidecar about RPCs to its driver.
type Sidecar struct {
	duration *prometheus.HistogramVec
	errors   *prometheus.CounterVec
	taken    *prometheus.GaugeVec
}

// NewSidecar registers the sidecar's metrics; see NewController about shared registries.
func NewSidecar(r prometheus.Registerer) (*Sidecar, error) {
	duration, err := register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "cosi_sidecar_operation_duration_seconds",
		Help:    "Duration of an RPC to the driver.",
		Buckets: boundaries(),
	}, []string{"driver_name", "method_name", "grpc_status_code"}))
	if err != nil {
		return nil, err
	}
	failures, err := register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cosi_sidecar_operation_errors_total",
		Help: "Number of RPCs to the driver that did not return OK.",
	}, []string{"driver_name", "method_name"}))
	if err != nil {
		return nil, err
	}
	taken, err := register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "cosi_sidecar_driver_name_taken",
		Help: "1 while another deployment owns the driver name and this sidecar is therefore passive.",
	}, []string{"driver_name"}))
	if err != nil {
		return nil, err
	}
	return &Sidecar{duration: duration, errors: failures, taken: taken}, nil
}

// NameTaken records whether another deployment uses the driver name.
func (s *Sidecar) NameTaken(driverName string, taken bool) {
	s.taken.WithLabelValues(driver(driverName)).Set(flag(taken))
}

// flag converts a bool to the value of a gauge.
func flag(so bool) float64 {
	if so {
		return 1
	}
	return 0
}

// Called observes one RPC. method is its bare name, such as DriverCreateBucket. code is the name of the gRPC code,
// such as OK.
func (s *Sidecar) Called(driverName, method, code string, took time.Duration) {
	s.duration.WithLabelValues(driver(driverName), method, code).Observe(took.Seconds())
	if code != "OK" {
		s.errors.WithLabelValues(driver(driverName), method).Inc()
	}
}

// Steps is the duration of reconcile steps, by component, kind and step.
type Steps struct {
	duration *prometheus.HistogramVec
}

// NewSteps registers the step metric; see NewController about shared registries.
func NewSteps(r prometheus.Registerer) (*Steps, error) {
	duration, err := register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "cosi_step_duration_seconds",
		Help:    "Duration of one step of a reconcile, by its verdict: next, done, wait or error.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 4, 9),
	}, []string{"component", "resource_kind", "step", "verdict"}))
	if err != nil {
		return nil, err
	}
	return &Steps{duration: duration}, nil
}

// Ran observes one step.
func (s *Steps) Ran(component, kind, step, verdict string, took time.Duration) {
	s.duration.WithLabelValues(component, kind, step, verdict).Observe(took.Seconds())
}

func driver(name string) string {
	if name == "" {
		return DriverUnknown
	}
	return name
}

// register registers c, or returns the collector that is already registered under its name.
func register[C prometheus.Collector](r prometheus.Registerer, c C) (C, error) {
	err := r.Register(c)
	if there, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		existing, ok := there.ExistingCollector.(C)
		if !ok {
			return c, fmt.Errorf("a metric of this name is registered with another type: %w", err)
		}
		return existing, nil
	}
	if err != nil {
		return c, fmt.Errorf("register a metric: %w", err)
	}
	return c, nil
}
