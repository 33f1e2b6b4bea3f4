// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Why an access that was granted before is granted again.
const (
	// RegrantInterval: a while has passed, and nothing else.
	RegrantInterval = "Interval"
	// RegrantExpiry: the credential is about to expire.
	RegrantExpiry = "Expiry"
	// RegrantDriver: the driver has another configuration, or the sidecar asks it for something else.
	RegrantDriver = "Driver"
	// RegrantRotation: the user asked for a new credential.
	RegrantRotation = "Rotation"
	// RegrantRepair: data of the Secret was lost, or the last call failed.
	RegrantRepair = "Repair"
)

// A SidecarState is what a sidecar is at a moment.
type SidecarState struct {
	// Active says that it works: it is elected, and its driver responds.
	Active bool
	// Renewal is when the first credential is to be renewed, and Expiry when the first one ends; zero if none does.
	Renewal, Expiry time.Time
}

// Sidecars are the metrics of what sidecars are, which is looked at when they are scraped.
type Sidecars struct {
	mu       sync.Mutex
	looks    map[string]func() SidecarState // by driver
	regrants *prometheus.CounterVec
	active   *prometheus.GaugeVec
	renewal  *prometheus.GaugeVec
	expiry   *prometheus.GaugeVec
}

// NewSidecars registers the metrics of a sidecar that is what look returns. A later one of that driver
// takes its place.
func NewSidecars(r prometheus.Registerer, driverName string, look func() SidecarState) (*Sidecars, error) {
	regrants, err := register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cosi_sidecar_regrants_total",
		Help: "Number of grants of accesses that had been granted before, by why: Interval, Expiry, Driver, Rotation or Repair.",
	}, []string{"driver_name", "reason"}))
	if err != nil {
		return nil, err
	}
	s, err := register(r, &Sidecars{
		looks: map[string]func() SidecarState{}, regrants: regrants,
		active: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cosi_sidecar_active",
			Help: "1 while this sidecar works: it is elected, and its driver responds.",
		}, []string{"driver_name"}),
		renewal: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cosi_sidecar_credential_renewal_timestamp_seconds",
			Help: "Unix time at which the first credential that expires is to be renewed; in the past while that fails, and none if no credential expires.",
		}, []string{"driver_name"}),
		expiry: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cosi_sidecar_credential_expiry_timestamp_seconds",
			Help: "Unix time at which the first credential expires unless it is renewed; none if no credential expires.",
		}, []string{"driver_name"}),
	})
	if err != nil {
		return nil, err
	}
	for _, reason := range []string{RegrantInterval, RegrantExpiry, RegrantDriver, RegrantRotation, RegrantRepair} {
		regrants.WithLabelValues(driver(driverName), reason) // from 0 on, so that the first ones are an increase
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks[driver(driverName)] = look
	return s, nil
}

// Regranted counts a grant with one of the Regrant constants.
func (s *Sidecars) Regranted(driverName, reason string) {
	s.regrants.WithLabelValues(driver(driverName), reason).Inc()
}

// Describe implements prometheus.Collector.
func (s *Sidecars) Describe(to chan<- *prometheus.Desc) {
	for _, vec := range s.vecs() {
		vec.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (s *Sidecars) Collect(to chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, vec := range s.vecs() {
		vec.Reset()
	}
	for name, look := range s.looks {
		now := look()
		s.active.WithLabelValues(name).Set(flag(now.Active))
		for vec, at := range map[*prometheus.GaugeVec]time.Time{s.renewal: now.Renewal, s.expiry: now.Expiry} {
			if !at.IsZero() {
				vec.WithLabelValues(name).Set(float64(at.Unix()))
			}
		}
	}
	for _, vec := range s.vecs() {
		vec.Collect(to)
	}
}

func (s *Sidecars) vecs() []*prometheus.GaugeVec {
	return []*prometheus.GaugeVec{s.active, s.renewal, s.expiry}
}
