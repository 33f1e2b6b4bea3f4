// SPDX-License-Identifier: Apache-2.0

// Package overdue says when a deletion that waits for somebody else has waited
// for so long that its object must say so. Until then the wait is a part of
// every deletion, and not worth a write. It must not read or write objects.
package overdue

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// In returns how long the deletion of the object may still wait in silence;
// zero means that it is overdue. The clocks of API server and controller may
// differ, but In is never longer than patience.
func In(obj client.Object, patience time.Duration, now time.Time) time.Duration {
	deleted := obj.GetDeletionTimestamp()
	if deleted == nil {
		return patience
	}
	return min(max(0, deleted.Add(patience).Sub(now)), patience)
}
