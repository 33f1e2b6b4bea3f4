// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/inuse"
)

// latest reads what a hand-off depends on: from the API server, unless another copy is as good.
//
// That is so of a claim that was not being deleted in a version younger than one of the access in which that counts as
// its user: the claim's deletion then begins later and finds the access (bucketclaim/unused.go). A mark that was written
// counts for the very claim that the cache has, and as long as that does not go by the cache, too.
type latest struct {
	client.Reader

	cache client.Reader
	marks *inuse.Marks
	// since is a resourceVersion of the access in which it counts as a user of its claims.
	since string
	// class was read from the API server already, unless it is nil.
	class *cosiapi.BucketAccessClass
}

// Get implements client.Reader.
func (l latest) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	switch obj := obj.(type) {
	case *cosiapi.BucketAccessClass:
		if l.class != nil {
			l.class.DeepCopyInto(obj)
			return nil
		}
	case *cosiapi.BucketClaim:
		claim, err := l.claim(ctx, key)
		if err != nil {
			return err
		}
		if claim != nil {
			claim.DeepCopyInto(obj)
			return nil
		}
	}
	return l.Reader.Get(ctx, key, obj, options...) //nolint:wrapcheck // get wraps it
}

// claim returns a copy that is as good as that of the API server, or nil.
func (l latest) claim(ctx context.Context, key client.ObjectKey) (*cosiapi.BucketClaim, error) {
	cached := &cosiapi.BucketClaim{}
	if found, err := get(ctx, l.cache, key, cached); err != nil || !found {
		return nil, err
	}
	if younger(cached, l.since) {
		return cached, nil
	}
	marked := l.marks.Get(key)
	if marked != nil && marked.UID == cached.UID && cached.DeletionTimestamp.IsZero() && younger(marked, l.since) {
		return marked, nil
	}
	return nil, nil //nolint:nilnil // no such copy and no failure
}

func younger(obj client.Object, than string) bool {
	order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), than)
	return err == nil && order > 0
}
