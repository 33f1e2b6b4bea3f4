// SPDX-License-Identifier: Apache-2.0

// Package bucket creates, describes and deletes the buckets of one project.
//
// A bucket belongs to the driver if it is in the driver's project and its labels contain the driver's mark. The
// driver writes the mark in the call that creates the bucket. It never adopts, changes or deletes a bucket without
// the mark. Store.Unmarked makes an exception for services that do not keep labels.
package bucket

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"time"

	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/call"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/params"
)

// Names of the labels that mark a bucket as the driver's.
const (
	labelDriver  = params.LabelPrefix + "driver"
	labelCluster = params.LabelPrefix + "cluster"
	labelParams  = params.LabelPrefix + "params"
)

// Store is one project. All fields except Cluster are required.
type Store struct {
	// API is the client, with the driver's own credentials.
	API *storage.Service
	// Project is the ID of the project in which buckets are created.
	Project string
	// Location of buckets whose class sets none.
	Location string
	// Driver and Cluster are written to the marks of every bucket.
	Driver, Cluster string
	// Unmarked treats buckets without any label as the driver's, for a service that does not keep labels.
	Unmarked bool
	// ReadLag is how long reads may be stale after a write.
	ReadLag time.Duration
}

// Ensure ensures that the bucket exists as requested. It can be repeated after a failure at any point. It creates the
// bucket in one call with all requested settings. It does not change an existing bucket, which preserves later
// changes by an administrator.
func (s *Store) Ensure(ctx context.Context, name string, want params.Bucket) error {
	found, err := s.get(ctx, name)
	if apierror.IsMissing(err) {
		err = s.insert(ctx, name, want)
		if err == nil {
			return nil
		}
		if !apierror.Is(err, http.StatusConflict) {
			return err
		}
		// The name was taken in the meantime, possibly by an earlier call of this driver whose response was lost.
		found, err = s.find(ctx, name)
		if apierror.IsMissing(err) {
			return driverkit.Aborted("bucket %s was deleted during its creation; the driver tries again", name).WithDetail(err)
		}
	}
	if apierror.Is(err, http.StatusForbidden) {
		return s.explainDenial(ctx, name, err)
	}
	if err != nil {
		return err
	}
	return s.check(ctx, name, found, want)
}

// Get returns an existing bucket of the project, or NotFound.
func (s *Store) Get(ctx context.Context, name string) (*storage.Bucket, error) {
	found, err := s.find(ctx, name)
	if err == nil {
		err = s.checkProject(ctx, name, driverkit.AlreadyExists)
	}
	if apierror.IsMissing(err) {
		return nil, driverkit.NotFound("bucket %s does not exist", name).WithDetail(err)
	}
	return found, err
}

// checkProject returns an error for a bucket of another project. Bucket names are global, so a deleted bucket's name
// may now belong to someone else, who would receive the data written to it.
func (s *Store) checkProject(ctx context.Context, name string, refuse func(string, ...any) *driverkit.Error) error {
	ours, err := s.inProject(ctx, name)
	if err != nil || ours {
		return err
	}
	// A recently deleted bucket may have been visible before and not be visible now.
	if _, err = s.get(ctx, name); err == nil {
		return refuse("bucket %s does not belong to project %s, so the driver does not change it; to use it, configure a backend for its project", name, s.Project)
	}
	return err
}

// find is get with repeated reads while the bucket is missing.
func (s *Store) find(ctx context.Context, name string) (*storage.Bucket, error) {
	return driverkit.Reread(ctx, s.ReadLag, apierror.IsMissing, func(ctx context.Context) (*storage.Bucket, error) { return s.get(ctx, name) })
}

// get returns a bucket, or the API's own error if it is missing.
func (s *Store) get(ctx context.Context, name string) (*storage.Bucket, error) {
	return call.Do(ctx, call.Storage, "buckets.get", func(ctx context.Context) (*storage.Bucket, error) {
		return s.API.Buckets.Get(name).Context(ctx).Do()
	})
}

func (s *Store) insert(ctx context.Context, name string, want params.Bucket) error {
	_, err := call.Do(ctx, call.Storage, "buckets.insert", func(ctx context.Context) (*storage.Bucket, error) {
		return s.API.Buckets.Insert(s.Project, s.wanted(name, want)).Context(ctx).Do()
	})
	return err
}

// wanted returns the bucket to create. Access control lists are disabled on every bucket, because the driver grants
// access only by IAM.
func (s *Store) wanted(name string, want params.Bucket) *storage.Bucket {
	made := &storage.Bucket{
		Name:         name,
		Location:     s.Location,
		StorageClass: want.StorageClass,
		Lifecycle:    want.Lifecycle,
		Cors:         want.CORS,
		Labels:       s.labels(want),
		IamConfiguration: &storage.BucketIamConfiguration{
			PublicAccessPrevention:   want.PublicAccessPrevention,
			UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true},
		},
	}
	if want.Location != "" {
		made.Location = want.Location
	}
	if want.Versioning {
		made.Versioning = &storage.BucketVersioning{Enabled: true}
	}
	if want.SoftDeleteSeconds != nil {
		made.SoftDeletePolicy = &storage.BucketSoftDeletePolicy{
			RetentionDurationSeconds: *want.SoftDeleteSeconds, ForceSendFields: []string{"RetentionDurationSeconds"},
		}
	}
	if want.RetentionSeconds > 0 {
		made.RetentionPolicy = &storage.BucketRetentionPolicy{RetentionPeriod: want.RetentionSeconds}
	}
	if want.KMSKey != "" {
		made.Encryption = &storage.BucketEncryption{DefaultKmsKeyName: want.KMSKey}
	}
	return made
}

func (s *Store) labels(want params.Bucket) map[string]string {
	labels := map[string]string{labelDriver: labelValue(s.Driver), labelParams: want.Hash}
	if s.Cluster != "" {
		labels[labelCluster] = s.Cluster
	}
	maps.Copy(labels, want.Labels)
	return labels
}

// labelValue converts a driver name to a label value. Dots are the only characters of a driver name that a label
// cannot contain, and driver names contain no '_'.
func labelValue(driver string) string { return strings.ReplaceAll(driver, ".", "_") }

// owned reports whether a bucket carries the driver's mark.
func (s *Store) owned(found *storage.Bucket) bool {
	return s.unmarked(found) || found.Labels[labelDriver] == labelValue(s.Driver) && found.Labels[labelCluster] == s.Cluster
}

func (s *Store) unmarked(found *storage.Bucket) bool { return s.Unmarked && len(found.Labels) == 0 }

// check compares an existing bucket with the requested one. The mark alone is not sufficient: anyone who learns a
// bucket's name before it is created could create it with the mark in another project.
func (s *Store) check(ctx context.Context, name string, found *storage.Bucket, want params.Bucket) error {
	if !s.owned(found) {
		return foreign(name)
	}
	ours, err := s.inProject(ctx, name)
	switch {
	case err != nil:
		return err
	case !ours:
		return foreign(name)
	case found.Labels[labelParams] != want.Hash && !s.unmarked(found):
		return driverkit.AlreadyExists("bucket %s already exists with other parameters", name)
	}
	return nil
}

// inProject reports whether the bucket is in the driver's project.
func (s *Store) inProject(ctx context.Context, name string) (bool, error) {
	_, ours, err := driverkit.Find(ctx, s.ReadLag, func(ctx context.Context) (*storage.Buckets, bool, error) {
		page, err := call.Do(ctx, call.Storage, "buckets.list", func(ctx context.Context) (*storage.Buckets, error) {
			// Names are sorted, so a name equal to the prefix is the first.
			return s.API.Buckets.List(s.Project).Prefix(name).MaxResults(1).Context(ctx).Do()
		})
		return page, err == nil && len(page.Items) > 0 && page.Items[0].Name == name, err
	})
	return ours, err
}

// explainDenial distinguishes a bucket with another owner, which is terminal, from one of the driver's that the
// driver may not read.
func (s *Store) explainDenial(ctx context.Context, name string, denial error) error {
	if ours, err := s.inProject(ctx, name); err != nil || ours {
		return denial
	}
	return foreign(name).WithDetail(denial)
}

func foreign(name string) *driverkit.Error {
	return driverkit.AlreadyExists("bucket %s already exists and was not created by this driver; the driver does not change it", name)
}
