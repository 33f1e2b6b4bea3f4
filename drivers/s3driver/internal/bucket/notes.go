// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"errors"
	"maps"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
)

// Notes stores the marks of buckets at stores that have no tags or that do not accept tags in the call that creates
// the bucket. If a note shows that the driver was about to create a bucket, the bucket belongs to the driver even
// without tags.
type Notes struct {
	// Store stores the notes together with the credentials.
	Store credentials.Store
	// Backend separates the notes of several stores.
	Backend string
}

const (
	noteDriver  = "driver"
	noteCluster = "cluster"
	noteState   = "state"
	noteParams  = "params"
)

// name returns the entry name of a bucket's note. It contains '/', which the driver's account IDs do not.
func (n Notes) name(bucket string) string { return "bucket/" + n.Backend + "/" + bucket }

// keep writes a note of the mark unless there already is one.
func (n Notes) keep(ctx context.Context, bucket string, marked mark) error {
	entry, err := n.Store.Get(ctx, n.name(bucket))
	if err != nil && !errors.Is(err, credentials.ErrNotFound) {
		return unusable(err)
	}
	notes := map[string]string{noteDriver: marked.driver, noteCluster: marked.cluster, noteState: marked.state, noteParams: marked.params}
	if maps.Equal(entry.Notes, notes) {
		return nil
	}
	entry.Account, entry.Notes = n.name(bucket), notes
	_, err = n.Store.Put(ctx, entry)
	return unusable(err)
}

// read returns the mark and reports whether there is a note. A note of an older version has no driver and no cluster.
func (n Notes) read(ctx context.Context, bucket string) (mark, bool, error) {
	entry, err := n.Store.Get(ctx, n.name(bucket))
	if errors.Is(err, credentials.ErrNotFound) {
		return mark{}, false, nil
	}
	noted := entry.Notes
	return mark{
		driver: noted[noteDriver], cluster: noted[noteCluster], state: noted[noteState], params: noted[noteParams], noted: true,
	}, err == nil, unusable(err)
}

// forget deletes the note once the bucket has its mark or has been deleted.
func (n Notes) forget(ctx context.Context, bucket string) error {
	return unusable(n.Store.Delete(ctx, n.name(bucket)))
}

func unusable(err error) error {
	if err == nil {
		return nil
	}
	return driverkit.Unavailable("the driver cannot use its credential store; see the driver's log for the reason").WithDetail(err)
}
