// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Reasons to repeat the grant of an access.
const (
	// RegrantInterval: the re-grant interval has passed.
	RegrantInterval = "Interval"
	// RegrantExpiry: the credential is about to expire.
	RegrantExpiry = "Expiry"
	// RegrantDriver: the driver's configuration or the sidecar's request to it has changed.
	RegrantDriver = "Driver"
	// RegrantRotation: the user asked for a new credential.
	RegrantRotation = "Rotation"
	// RegrantRepair: the Secret has lost data, or the last call failed.
	RegrantRepair = "Repair"
)

// A SidecarState is a snapshot of a sidecar.
type SidecarState struct {
	// Active reports that the sidecar is the leader and that its driver responds.
	Active bool
	// Renewal is when the first credential must be renewed, and Expiry when the first one expires. Zero means that no
	// credential expires.
	Renewal, Expiry time.Time
}

// Sidecars is a collector of the state of sidecars. It reads the state at each scrape.
type Sidecars struct {
	mu       sync.Mutex
	looks    map[string]func() SidecarState // by driver
	regrants *prometheus.CounterVec
	active   *prometheus.GaugeVec
	renewal  *prometheus.GaugeVec
	expiry   *prometheus.GaugeVec
}

// NewSidecars registers the metrics of a sidecar. look returns the sidecar's state. A later sidecar of the same driver
// replaces an earlier one.
func NewSidecars(r prometheus.Registerer, driverName string, look func() SidecarState) (*Sidecars, error) {
	regrants, err := register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cosi_sidecar_regrants_total",
		Help: "Number of repeated grants, by reason: Interval, Expiry, Driver, Rotation or Repair.",
	}, []string{"driver_name", "reason"}))
	if err != nil {
		return nil, err
	}
	s, err := register(r, &Sidecars{
		looks: map[string]func() SidecarState{}, regrants: regrants,
		active: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cosi_sidecar_active",
			Help: "1 while this sidecar is the elected leader and its driver responds.",
		}, []string{"driver_name"}),
		renewal: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cosi_sidecar_credential_renewal_timestamp_seconds",
			Help: "Unix time of the earliest due credential renewal. In the past while renewals fail; absent if no credential expires.",
		}, []string{"driver_name"}),
		expiry: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cosi_sidecar_credential_expiry_timestamp_seconds",
			Help: "Unix time at which the first credential expires if it is not renewed. Absent if no credential expires.",
		}, []string{"driver_name"}),
	})
	if err != nil {
		return nil, err
	}
	for _, reason := range []string{RegrantInterval, RegrantExpiry, RegrantDriver, RegrantRotation, RegrantRepair} {
		regrants.WithLabelValues(driver(driverName), reason) // start at 0, so that the first re-grants count as an increase
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks[driver(driverName)] = look
	return s, nil
}

// Regranted counts a re-grant with one of the Regrant constants.
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
