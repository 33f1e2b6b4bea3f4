// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"net/http"

	"golang.org/x/sync/errgroup"
	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/call"
)

// deletions is the number of objects that are deleted concurrently. Each needs a separate call.
const deletions = 16

// nothing is the result of calls without one.
type nothing struct{}

// Delete ensures that the bucket does not exist. A non-empty bucket is an error unless nonEmpty is true; Delete then
// deletes its contents, including old versions. It never bypasses retention and holds. If Delete fails, the objects
// that it has deleted remain deleted, so repeated calls eventually succeed.
func (s *Store) Delete(ctx context.Context, name string, nonEmpty bool) error {
	found, err := s.find(ctx, name)
	if err != nil {
		return unlessMissing(err)
	}
	if !s.owned(found) {
		return driverkit.FailedPrecondition("bucket %s does not have this driver's ownership mark, so the driver does not delete it; delete it manually if it is unused", name)
	}
	if err := s.checkProject(ctx, name, driverkit.FailedPrecondition); err != nil {
		return unlessMissing(err)
	}
	err = s.remove(ctx, name)
	if !apierror.Is(err, http.StatusConflict) {
		return unlessMissing(err)
	}
	if !nonEmpty {
		return driverkit.FailedPrecondition("bucket %s is not empty; delete its objects, or set deletionPolicy Retain on its Bucket to keep the bucket (new buckets are emptied if their class sets deleteNonEmpty)", name).WithDetail(err)
	}
	if err := s.empty(ctx, name); err != nil {
		return unlessMissing(err)
	}
	return unlessMissing(s.remove(ctx, name))
}

func (s *Store) remove(ctx context.Context, name string) error {
	_, err := call.Do(ctx, call.Storage, "buckets.delete", func(ctx context.Context) (nothing, error) {
		return nothing{}, s.API.Buckets.Delete(name).Context(ctx).Do()
	})
	return err
}

// empty deletes every version of every object. It reads the first page repeatedly, because the objects on it have
// been deleted.
func (s *Store) empty(ctx context.Context, name string) error {
	for {
		page, err := call.Do(ctx, call.Storage, "objects.list", func(ctx context.Context) (*storage.Objects, error) {
			return s.API.Objects.List(name).Versions(true).Fields("items(name,generation)", "nextPageToken").Context(ctx).Do()
		})
		if err != nil {
			return err
		}
		if err := s.deleteObjects(ctx, name, page.Items); err != nil {
			return err
		}
		if page.NextPageToken == "" {
			return nil
		}
	}
}

func (s *Store) deleteObjects(ctx context.Context, name string, objects []*storage.Object) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(deletions)
	for _, object := range objects {
		group.Go(func() error {
			_, err := call.Do(ctx, call.Storage, "objects.delete", func(ctx context.Context) (nothing, error) {
				return nothing{}, s.API.Objects.Delete(name, object.Name).Generation(object.Generation).Context(ctx).Do()
			})
			if protected(err) {
				return driverkit.FailedPrecondition("bucket %s contains protected objects (for example under retention or a hold); the driver deletes the bucket when they can be deleted", name).WithDetail(err)
			}
			return unlessMissing(err)
		})
	}
	return group.Wait() //nolint:wrapcheck // an error of one of the calls above
}

// protected reports whether an object must not be deleted yet.
func protected(err error) bool {
	for _, code := range apierror.Codes(err) {
		if code == "retentionPolicyNotMet" || code == "objectUnderActiveHold" {
			return true
		}
	}
	return false
}

func unlessMissing(err error) error {
	if apierror.IsMissing(err) {
		return nil
	}
	return err
}
