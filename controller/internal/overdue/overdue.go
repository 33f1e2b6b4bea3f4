// SPDX-License-Identifier: Apache-2.0

// Package overdue says when an object that waits for somebody else has waited
// for so long that it must say so. Until then the wait is a part of every
// creation and deletion, and not worth a write. It must not read or write
// objects.
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
	return since(deleted.Time, patience, now)
}

// Made returns how long the provisioning of the object may still wait in
// silence, as In does for its deletion.
func Made(obj client.Object, patience time.Duration, now time.Time) time.Duration {
	return since(obj.GetCreationTimestamp().Time, patience, now)
}

func since(began time.Time, patience time.Duration, now time.Time) time.Duration {
	return min(max(0, began.Add(patience).Sub(now)), patience)
}
