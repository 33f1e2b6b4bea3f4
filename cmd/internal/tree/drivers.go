// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"slices"
)

// A Driver is a driver that classes or objects name.
type Driver struct {
	// Node shows whether its sidecar runs, Hold the state of its Lease.
	Node *Node
	Hold Hold
	// Classes are the classes that name the driver, sorted, as Kind/name.
	Classes []string
}

// Drivers returns all drivers, sorted by name.
func Drivers(o *Objects) []Driver {
	b := builder{Objects: o}
	var all []Driver
	for _, name := range o.Drivers() {
		d := Driver{Node: b.driver(name, o.sidecarSeen(name)), Hold: Holder(o.Leases[name], o.Now)}
		for _, class := range o.BucketClasses {
			if class.Spec.DriverName == name {
				d.Classes = append(d.Classes, "BucketClass/"+class.Name)
			}
		}
		for _, class := range o.AccessClasses {
			if class.Spec.DriverName == name {
				d.Classes = append(d.Classes, "BucketAccessClass/"+class.Name)
			}
		}
		slices.Sort(d.Classes)
		all = append(all, d)
	}
	return all
}

// sidecarSeen reports whether the sidecar of a driver has set a condition on any object.
func (o *Objects) sidecarSeen(driver string) bool {
	for _, bucket := range o.Buckets {
		if bucket.Spec.DriverName == driver && sidecarHasSeen(bucket.Status.Conditions) {
			return true
		}
	}
	for _, access := range o.Accesses {
		if access.Status.DriverName == driver && sidecarHasSeen(access.Status.Conditions) {
			return true
		}
	}
	return false
}
