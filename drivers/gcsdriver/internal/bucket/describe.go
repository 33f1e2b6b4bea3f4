// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"fmt"
	"strings"

	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/params"
)

// Describe checks that a bucket that COSI did not create exists and matches the requested parameters. It changes
// nothing.
func (s *Store) Describe(ctx context.Context, name string, want params.Bucket) error {
	found, err := s.Get(ctx, name)
	if err != nil {
		return err
	}
	if differences := compare(found, want); len(differences) > 0 {
		return driverkit.AlreadyExists("bucket %s does not match the parameters: %s", name, strings.Join(differences, "; "))
	}
	return nil
}

// compare returns how an existing bucket differs from the requested parameters. It compares only requested settings.
func compare(found *storage.Bucket, want params.Bucket) []string {
	var differences []string
	differ := func(asked bool, format string, value any) {
		if asked {
			differences = append(differences, fmt.Sprintf(format, value))
		}
	}
	differ(want.Location != "" && !strings.EqualFold(want.Location, found.Location), "its location is %s", found.Location)
	differ(want.StorageClass != "" && want.StorageClass != found.StorageClass, "its storage class is %s", found.StorageClass)
	differ(want.Versioning && (found.Versioning == nil || !found.Versioning.Enabled), "its versioning is not enabled%s", "")
	retention := int64(0)
	if found.RetentionPolicy != nil {
		retention = found.RetentionPolicy.RetentionPeriod
	}
	differ(want.RetentionSeconds > retention, "its retention is %d seconds", retention)
	softDelete := int64(0)
	if found.SoftDeletePolicy != nil {
		softDelete = found.SoftDeletePolicy.RetentionDurationSeconds
	}
	differ(want.SoftDeleteSeconds != nil && *want.SoftDeleteSeconds != softDelete, "its soft delete retention is %d seconds", softDelete)
	key := ""
	if found.Encryption != nil {
		key = found.Encryption.DefaultKmsKeyName
	}
	differ(want.KMSKey != "" && want.KMSKey != key, "its key is %q", key)
	for label, value := range want.Labels {
		differ(found.Labels[label] != value, "its label "+label+" is %q", found.Labels[label])
	}
	return differences
}
