// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/cooper-cosi/cooper/internal/metrics"
)

// inventory registers the metrics of an active Controller with these objects.
func inventory(t *testing.T, registry prometheus.Registerer, objects iter.Seq[metrics.Object]) {
	t.Helper()
	look := func() metrics.Inventory { return metrics.Inventory{Active: true, Objects: objects} }
	if err := metrics.NewObjects(registry, look); err != nil {
		t.Fatal(err)
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	inventory(t, registry, slices.Values([]metrics.Object{{Kind: metrics.KindBucket, State: metrics.StateReady}}))
	access := metrics.Object{Driver: "s3", Kind: metrics.KindBucketAccess, Namespace: "shop"}
	in := func(state string, since int64) metrics.Object {
		o := access
		o.State, o.Since = state, time.Unix(since, 0)
		return o
	}
	inventory(t, registry, slices.Values([]metrics.Object{ // for a Controller that was restarted
		in(metrics.StateFailing, 200), in(metrics.StateFailing, 100), in(metrics.StateReady, 1), in(metrics.StateDeleting, 300),
	}))
	want := `
# HELP cosi_controller_active 1 while this controller is the elected leader.
# TYPE cosi_controller_active gauge
cosi_controller_active 1
# HELP cosi_namespace_objects Number of objects by namespace and state for the 100 largest namespaces. All others have an empty namespace. A Bucket counts in the namespace of its claim.
# TYPE cosi_namespace_objects gauge
cosi_namespace_objects{namespace="shop",resource_kind="BucketAccess",state="Deleting"} 1
cosi_namespace_objects{namespace="shop",resource_kind="BucketAccess",state="Failing"} 2
cosi_namespace_objects{namespace="shop",resource_kind="BucketAccess",state="Ready"} 1
# HELP cosi_oldest_object_timestamp_seconds Unix time at which the oldest object in the state (Pending, Failing or Deleting) entered it. Absent if no object is in the state.
# TYPE cosi_oldest_object_timestamp_seconds gauge
cosi_oldest_object_timestamp_seconds{driver_name="s3",resource_kind="BucketAccess",state="Deleting"} 300
cosi_oldest_object_timestamp_seconds{driver_name="s3",resource_kind="BucketAccess",state="Failing"} 100
`
	names := []string{"cosi_controller_active", "cosi_namespace_objects", "cosi_oldest_object_timestamp_seconds"}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	// Series for the driver and for no driver, for each of three kinds and four states.
	if n := testutil.CollectAndCount(registry, "cosi_objects"); n != 2*3*4 {
		t.Errorf("cosi_objects: want 24 series, got %d", n)
	}
}

// TestNamespacesWithoutEnd has a user who creates one namespace after the other.
func TestNamespacesWithoutEnd(t *testing.T) {
	t.Parallel()
	const large, small = 99, 9901
	registry := prometheus.NewPedanticRegistry()
	inventory(t, registry, func(yield func(metrics.Object) bool) {
		for i := range small {
			yield(metrics.Object{Kind: metrics.KindBucketClaim, Namespace: fmt.Sprintf("a-%05d", i), State: metrics.StatePending})
		}
		for i := range large {
			for range 2 {
				yield(metrics.Object{Kind: metrics.KindBucketClaim, Namespace: fmt.Sprintf("team-%d", i), State: metrics.StateReady})
			}
		}
	})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		if family.GetName() == "cosi_namespace_objects" {
			for _, m := range family.GetMetric() {
				values[m.GetLabel()[0].GetValue()] += m.GetGauge().GetValue()
			}
		}
	}
	if len(values) != 101 {
		t.Errorf("want 100 namespaces and the rest, got %d", len(values))
	}
	if values[""] != small-1 || values["a-00000"] != 1 || values["team-7"] != 2 {
		t.Errorf("want the rest %d, the first small one 1 and a large one 2, got %v, %v and %v", small-1, values[""], values["a-00000"], values["team-7"])
	}
}

func TestSidecars(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	state := metrics.SidecarState{}
	look := func() metrics.SidecarState { return state }
	if _, err := metrics.NewSidecars(registry, "azure", func() metrics.SidecarState { panic("one that has ended is asked") }); err != nil {
		t.Fatal(err)
	}
	s, err := metrics.NewSidecars(registry, "azure", look)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := metrics.NewSidecars(registry, "s3", func() metrics.SidecarState { return metrics.SidecarState{} }); err != nil {
		t.Fatalf("a second driver in one registry: %v", err)
	}
	s.Regranted("azure", metrics.RegrantExpiry)
	state = metrics.SidecarState{Active: true, Renewal: time.Unix(100, 0), Expiry: time.Unix(200, 0)}
	want := `
# HELP cosi_sidecar_active 1 while this sidecar is the elected leader and its driver responds.
# TYPE cosi_sidecar_active gauge
cosi_sidecar_active{driver_name="azure"} 1
cosi_sidecar_active{driver_name="s3"} 0
# HELP cosi_sidecar_credential_expiry_timestamp_seconds Unix time at which the first credential expires if it is not renewed. Absent if no credential expires.
# TYPE cosi_sidecar_credential_expiry_timestamp_seconds gauge
cosi_sidecar_credential_expiry_timestamp_seconds{driver_name="azure"} 200
# HELP cosi_sidecar_credential_renewal_timestamp_seconds Unix time of the earliest due credential renewal. In the past while renewals fail; absent if no credential expires.
# TYPE cosi_sidecar_credential_renewal_timestamp_seconds gauge
cosi_sidecar_credential_renewal_timestamp_seconds{driver_name="azure"} 100
# HELP cosi_sidecar_regrants_total Number of repeated grants, by reason: Interval, Expiry, Driver, Rotation or Repair.
# TYPE cosi_sidecar_regrants_total counter
`
	for _, driver := range []string{"azure", "s3"} {
		for _, reason := range []string{metrics.RegrantDriver, metrics.RegrantExpiry, metrics.RegrantInterval, metrics.RegrantRepair, metrics.RegrantRotation} {
			n := 0
			if driver == "azure" && reason == metrics.RegrantExpiry {
				n = 1
			}
			want += fmt.Sprintf("cosi_sidecar_regrants_total{driver_name=%q,reason=%q} %d\n", driver, reason, n)
		}
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
