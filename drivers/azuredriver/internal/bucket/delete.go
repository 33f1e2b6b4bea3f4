// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Delete ensures that the container does not exist. Azure would delete a container together with its blobs, so Delete
// returns an error if it contains blobs, versions, snapshots or uncommitted blobs, unless nonEmpty is true.
func (s *Store) Delete(ctx context.Context, name string, nonEmpty bool) error {
	err := s.delete(ctx, name, nonEmpty)
	if apierror.Gone(err) {
		return nil
	}
	return err
}

func (s *Store) delete(ctx context.Context, name string, nonEmpty bool) error {
	found, err := s.properties(ctx, name)
	if err != nil {
		return err
	}
	if !s.ours(found) {
		return driverkit.FailedPrecondition("container %s does not have this driver's ownership mark, so the driver does not delete it; delete it manually if it is unused", name)
	}
	if !nonEmpty {
		holds, err := s.holdsData(ctx, name)
		if err != nil {
			return err
		}
		if holds {
			return driverkit.FailedPrecondition("container %s is not empty (including versions, snapshots and uncommitted blobs); delete its blobs, or set deletionPolicy Retain on its Bucket to keep the container "+
				"(new buckets are deleted with their blobs if their class sets deleteNonEmpty)", name)
		}
	}
	_, err = s.container(name).Delete(ctx, nil)
	return err
}

// holdsData reports whether the container contains anything that a deletion would destroy. A page of the listing may
// be empty without being the last one.
func (s *Store) holdsData(ctx context.Context, name string) (bool, error) {
	pages := s.container(name).NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
		MaxResults: to.Ptr(int32(1)),
		Include:    container.ListBlobsInclude{Versions: true, Snapshots: true, UncommittedBlobs: true},
	})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return false, err
		}
		if page.Segment != nil && len(page.Segment.BlobItems) > 0 {
			return true, nil
		}
	}
	return false, nil
}
