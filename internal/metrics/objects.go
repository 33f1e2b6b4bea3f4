// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// States of an object. Each object has exactly one.
const (
	// StateDeleting is the state of an object that is being deleted and still has COSI's finalizer.
	StateDeleting = "Deleting"
	// StateFailing is the state of an object after a failed driver call, even if it is provisioned.
	StateFailing = "Failing"
	// StateReady is the state of a provisioned object.
	StateReady = "Ready"
	// StatePending is the state of all other objects.
	StatePending = "Pending"
)

// maxNamespaces is the maximum number of namespaces with their own series. Without a limit, users who can create
// namespaces could create any number of series.
const maxNamespaces = 100

// An Object describes one object for the metrics.
type Object struct {
	// Driver is the driver name; empty is reported as DriverUnknown.
	Driver string
	// Kind is one of the Kind constants.
	Kind string
	// Namespace is the namespace of the object, or for a Bucket that of its claim.
	Namespace string
	// State is one of the State constants.
	State string
	// Since is the time at which the object entered its state. It is set only if the object should leave that state.
	Since time.Time
}

// Inventory is a snapshot of a Controller and its objects.
type Inventory struct {
	// Active reports that the Controller is the leader.
	Active bool
	// Objects iterates over all objects.
	Objects iter.Seq[Object]
}

// Objects is a collector of a Controller's object metrics. It reads the objects at each scrape.
type Objects struct {
	mu     sync.Mutex
	look   func() Inventory
	active *prometheus.GaugeVec
	count  *prometheus.GaugeVec
	since  *prometheus.GaugeVec
	in     *prometheus.GaugeVec
}

// NewObjects registers the object metrics of a Controller. look returns the Controller's state. If the metrics are
// already registered, for example by a Controller that has stopped, they use the new look from now on.
func NewObjects(r prometheus.Registerer, look func() Inventory) error {
	o, err := register(r, &Objects{
		look: look, // set here too, for a scrape right after the registration
		active: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cosi_controller_active",
			Help: "1 while this controller is the elected leader.",
		}, nil),
		count: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cosi_objects",
			Help: "Number of objects by state: Pending, Failing (the last call to the driver failed), Ready or Deleting.",
		}, []string{"driver_name", "resource_kind", "state"}),
		since: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cosi_oldest_object_timestamp_seconds",
			Help: "Unix time at which the oldest object in the state (Pending, Failing or Deleting) entered it. Absent if no object is in the state.",
		}, []string{"driver_name", "resource_kind", "state"}),
		in: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cosi_namespace_objects",
			Help: "Number of objects by namespace and state for the 100 largest namespaces. All others have an empty namespace. A Bucket counts in the namespace of its claim.",
		}, []string{"namespace", "resource_kind", "state"}),
	})
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.look = look
	return nil
}

// Describe implements prometheus.Collector.
func (o *Objects) Describe(to chan<- *prometheus.Desc) {
	for _, vec := range o.vecs() {
		vec.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (o *Objects) Collect(to chan<- prometheus.Metric) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, vec := range o.vecs() {
		vec.Reset()
	}
	o.seen(DriverUnknown) // create series even if there are no objects
	namespaces, oldest := map[string]map[[2]string]int{}, map[[3]string]time.Time{}
	drivers := map[string]bool{}
	now := o.look()
	o.active.WithLabelValues().Set(flag(now.Active))
	for object := range now.Objects {
		name := driver(object.Driver)
		if !drivers[name] {
			drivers[name] = true
			o.seen(name)
		}
		o.count.WithLabelValues(name, object.Kind, object.State).Inc()
		of := [3]string{name, object.Kind, object.State}
		if at, ok := oldest[of]; object.State != StateReady && (!ok || object.Since.Before(at)) {
			oldest[of] = object.Since
		}
		if namespaces[object.Namespace] == nil {
			namespaces[object.Namespace] = map[[2]string]int{}
		}
		namespaces[object.Namespace][[2]string{object.Kind, object.State}]++
	}
	for of, at := range oldest {
		o.since.WithLabelValues(of[:]...).Set(float64(at.Unix()))
	}
	o.byNamespace(namespaces)
	for _, vec := range o.vecs() {
		vec.Collect(to)
	}
}

func (o *Objects) vecs() []*prometheus.GaugeVec {
	return []*prometheus.GaugeVec{o.active, o.count, o.since, o.in}
}

// seen creates all series of a driver, including those with the value 0.
func (o *Objects) seen(name string) {
	for _, kind := range []string{KindBucket, KindBucketClaim, KindBucketAccess} {
		for _, state := range []string{StateDeleting, StateFailing, StateReady, StatePending} {
			o.count.WithLabelValues(name, kind, state)
		}
	}
}

// byNamespace reports the namespaces with the most objects, and the sum of the others.
func (o *Objects) byNamespace(namespaces map[string]map[[2]string]int) {
	total := map[string]int{}
	for namespace, counts := range namespaces {
		for _, n := range counts {
			total[namespace] += n
		}
	}
	most := slices.SortedFunc(maps.Keys(namespaces), func(a, b string) int {
		return cmp.Or(cmp.Compare(total[b], total[a]), cmp.Compare(a, b))
	})
	for i, namespace := range most {
		shown := namespace
		if i >= maxNamespaces {
			shown = ""
		}
		for of, n := range namespaces[namespace] {
			o.in.WithLabelValues(shown, of[0], of[1]).Add(float64(n))
		}
	}
}
