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

// Azure knows no accounts, only policies of single containers: it would let one account ID have
// policies in several of them, and a revocation that names one leave the others. So there is a record
// of each account, an empty blob with the name of its container in the metadata. It is made before the
// first policy and removed after the last one.

// recordBucket is the metadata of a record that names the container. Azure does not tell cases apart.
const recordBucket = "cosi_bucket"

// recordPermission is the metadata with what the account may do.
const recordPermission = "cosi_permission"

func (m *Manager) record(account string) *blockblob.Client {
	return m.container(m.Records).NewBlockBlobClient(path.Join(m.Driver, m.Cluster, account))
}

// keepRecord makes the record of the account, or compares the one that exists.
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
		return driverkit.AlreadyExists("account %s exists for another bucket", account)
	case metadata(found.Metadata, recordPermission) != permission:
		return driverkit.AlreadyExists("account %s exists with other access modes than these", account)
	}
	return nil
}

// checkRecord refuses an account that has policies and no record of ours: those of a clone of the cluster, in which all
// objects have the same UIDs, have the same names.
func (m *Manager) checkRecord(ctx context.Context, account string, foreign func(string, ...any) *driverkit.Error) error {
	_, err := m.record(account).GetProperties(ctx, nil)
	if apierror.Is(err, "BlobNotFound") || apierror.Gone(err) {
		return foreign("account %s has stored access policies that another cluster or driver made, and that are left alone; remove them by hand if nobody uses them", account)
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

// dropRecord removes the record of the account; none is fine.
func (m *Manager) dropRecord(ctx context.Context, account string) error {
	_, err := m.record(account).Delete(ctx, &blob.DeleteOptions{DeleteSnapshots: to.Ptr(blob.DeleteSnapshotsOptionTypeInclude)})
	if apierror.Is(err, "BlobNotFound") || apierror.Gone(err) {
		return nil
	}
	return err
}

// metadata returns the value of a key, whose case HTTP changes.
func metadata(found map[string]*string, key string) string {
	for name, text := range found {
		if strings.EqualFold(name, key) {
			return value(text)
		}
	}
	return ""
}
