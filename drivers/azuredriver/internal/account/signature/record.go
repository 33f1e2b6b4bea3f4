// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"context"
	"net/http"
	"path"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Azure has no accounts, only policies of single containers. One account ID could therefore have policies in several
// containers, and revoking it in one would leave the others. To prevent this, each account has a record: an empty
// blob whose metadata contains the name of the container. It is created before the first policy and deleted after the
// last one.

// recordBucket is the record's metadata key for the container. Azure ignores the case of keys.
const recordBucket = "cosi_bucket"

// recordPermission is the record's metadata key for the account's permissions.
const recordPermission = "cosi_permission"

func (m *Manager) record(account string) *blockblob.Client {
	return m.container(m.Records).NewBlockBlobClient(path.Join(m.Driver, m.Cluster, account))
}

// keepRecord creates the record of the account, or compares the existing one.
func (m *Manager) keepRecord(ctx context.Context, account, bucket, permission string) error {
	err := m.writeRecord(ctx, account, bucket, permission)
	if apierror.Is(err, "ContainerNotFound") {
		if _, err = m.container(m.Records).Create(ctx, nil); err == nil || apierror.Is(err, "ContainerAlreadyExists") {
			err = m.writeRecord(ctx, account, bucket, permission)
		}
	}
	if !apierror.Is(err, "BlobAlreadyExists") && apierror.Status(err) != http.StatusPreconditionFailed {
		return err
	}
	found, err := m.record(account).GetProperties(ctx, nil)
	if err != nil {
		return err
	}
	switch {
	case metadata(found.Metadata, recordBucket) != bucket:
		return driverkit.AlreadyExists("account %s already exists with another bucket", account)
	case metadata(found.Metadata, recordPermission) != permission:
		return driverkit.AlreadyExists("account %s already exists with other access modes", account)
	}
	return nil
}

// checkRecord returns an error for an account that has policies but no record of this driver. This detects the
// accounts of a clone of the cluster, whose objects have the same UIDs and therefore the same names.
func (m *Manager) checkRecord(ctx context.Context, account string, foreign func(string, ...any) *driverkit.Error) error {
	_, err := m.record(account).GetProperties(ctx, nil)
	if apierror.Is(err, "BlobNotFound") || apierror.Gone(err) {
		return foreign("account %s has stored access policies of another cluster or driver, which this driver does not change; remove them manually if they are unused", account)
	}
	return err
}

func (m *Manager) writeRecord(ctx context.Context, account, bucket, permission string) error {
	_, err := m.record(account).Upload(ctx, streaming.NopCloser(strings.NewReader("")), &blockblob.UploadOptions{
		Metadata:         map[string]*string{recordBucket: to.Ptr(bucket), recordPermission: to.Ptr(permission)},
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}},
	})
	return err
}

// dropRecord deletes the record of the account. A missing record is not an error.
func (m *Manager) dropRecord(ctx context.Context, account string) error {
	_, err := m.record(account).Delete(ctx, &blob.DeleteOptions{DeleteSnapshots: to.Ptr(blob.DeleteSnapshotsOptionTypeInclude)})
	if apierror.Is(err, "BlobNotFound") || apierror.Gone(err) {
		return nil
	}
	return err
}

// metadata returns the value of a key, ignoring its case, which HTTP changes.
func metadata(found map[string]*string, key string) string {
	for name, text := range found {
		if strings.EqualFold(name, key) {
			return value(text)
		}
	}
	return ""
}
