// SPDX-License-Identifier: Apache-2.0

// Package lease names the Leases by which the parts of COSI know of each other.
// It must not read or write them.
package lease

// OfDriver is the Lease that the sidecar of a driver holds while it works.
func OfDriver(driverName string) string { return "cosi-driver-" + driverName }
