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

// States of an object, of which it has one.
const (
	// StateDeleting is of an object that is being deleted and that COSI has not let go.
	StateDeleting = "Deleting"
	// StateFailing is of an object of which the last call to the driver failed, also if it is provisioned.
	StateFailing = "Failing"
	// StateReady is of an object that is provisioned.
	StateReady = "Ready"
	// StatePending is of any other.
	StatePending = "Pending"
)

// maxNamespaces is how many namespaces have series of their own: whoever may make namespaces could
// make series without end.
const maxNamespaces = 100

// An Object is what is counted of one.
type Object struct {
	// Driver is the driver name; empty is reported as DriverUnknown.
	Driver string
	// Kind is one of the Kind constants.
	Kind string
	// Namespace is that of the object, or of the claim that it is for.
	Namespace string
	// State is one of the State constants.
	State string
	// Since is when it came into a state that it should leave.
	Since time.Time
}

// Inventory is what a Controller is and has at a moment.
type Inventory struct {
	// Active says that it works: it is elected.
	Active bool
	// Objects are all objects that there are.
	Objects iter.Seq[Object]
}

// Objects are the metrics of what a Controller has, which is looked at when they are scraped.
type Objects struct {
	mu     sync.Mutex
	look   func() Inventory
	active *prometheus.GaugeVec
	count  *prometheus.GaugeVec
	since  *prometheus.GaugeVec
	in     *prometheus.GaugeVec
}

// NewObjects registers the metrics of the Controller that has what look returns. Where they are there
// already, as of one that has ended, they are from now on those of look.
func NewObjects(r prometheus.Registerer, look func() Inventory) error {
	o, err := register(r, &Objects{
		look: look, // from the first scrape on
		active: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cosi_controller_active",
			Help: "1 while this controller works: it is elected.",
		}, nil),
		count: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cosi_objects",
			Help: "Number of objects by their state: Pending, Failing (the last call to the driver failed), Ready or Deleting.",
		}, []string{"driver_name", "resource_kind", "state"}),
		since: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cosi_oldest_object_timestamp_seconds",
			Help: "Unix time since when the object that has been in a state for longest is Pending, Failing or Deleting; none without an object.",
		}, []string{"driver_name", "resource_kind", "state"}),
		in: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cosi_namespace_objects",
			Help: "Number of objects by namespace and state, a Bucket in that of its claim, for the 100 namespaces that have most; the namespace of the rest is empty.",
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
	o.seen(DriverUnknown) // so that there are series without an object, too
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

// seen makes all series of a driver, so that none of them is missing while it is 0.
func (o *Objects) seen(name string) {
	for _, kind := range []string{KindBucket, KindBucketClaim, KindBucketAccess} {
		for _, state := range []string{StateDeleting, StateFailing, StateReady, StatePending} {
			o.count.WithLabelValues(name, kind, state)
		}
	}
}

// byNamespace reports those that have most objects, and the others together.
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
