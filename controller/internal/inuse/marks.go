// SPDX-License-Identifier: Apache-2.0

package inuse

import (
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// marksKept is how many claims Marks keep. An access looks for its claim as soon as that is marked.
const marksKept = 32

// Marks are the claims that were marked as in use last, as the API server returned them. The cache has them a moment
// later, and an access that waits for nothing else need neither wait for that nor read them. Nothing depends on it that a
// claim is kept. The zero value is ready to use, by several goroutines.
type Marks struct {
	mu   sync.Mutex
	last []*cosiapi.BucketClaim
}

// Add keeps a claim that was just marked, which nobody may alter any more.
func (m *Marks) Add(claim *cosiapi.BucketClaim) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = append(m.last[max(0, len(m.last)-marksKept+1):], claim)
}

// Get returns the claim with this name that was marked last, or nil.
func (m *Marks) Get(key client.ObjectKey) *cosiapi.BucketClaim {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, claim := range slices.Backward(m.last) {
		if client.ObjectKeyFromObject(claim) == key {
			return claim
		}
	}
	return nil
}
