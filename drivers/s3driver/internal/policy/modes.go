// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"errors"
	"slices"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Direction states whether a category is read, written, both or neither.
type Direction uint8

// The directions of access. ReadWrite is their union.
const (
	Read Direction = 1 << iota
	Write
)

// DirectionOf returns the direction that a mode requests. A category that the user left unset requests nothing.
func DirectionOf(mode driverkit.Mode) Direction {
	switch mode {
	case driverkit.ReadWrite:
		return Read | Write
	case driverkit.ReadOnly:
		return Read
	case driverkit.WriteOnly:
		return Write
	default:
		return 0
	}
}

// Access is the direction of access in each category.
type Access struct {
	ObjectData     Direction
	ObjectMetadata Direction
	BucketMetadata Direction
	// NoDelete excludes the deletion of objects from writing.
	NoDelete bool
}

// Modes returns the access modes that the policies of Build can express.
func Modes() driverkit.Modes {
	all := []driverkit.Mode{driverkit.ReadWrite, driverkit.ReadOnly, driverkit.WriteOnly}
	return driverkit.Modes{
		ObjectData:     all,
		ObjectMetadata: all,
		BucketMetadata: []driverkit.Mode{driverkit.ReadOnly},
	}
}

// Check returns an error if S3 cannot grant this combination. S3 authorizes user-defined metadata together with the
// object: HeadObject needs s3:GetObject, and s3:PutObject writes the metadata.
func (a Access) Check() error {
	switch {
	case a.BucketMetadata&Write != 0:
		return errors.New("bucket metadata cannot be written: S3 replaces the complete tag set of a bucket, which contains the ownership mark; request ReadOnly")
	case a.ObjectMetadata&Read != 0 && a.ObjectData&Read == 0:
		return errors.New("object metadata cannot be read without object data: in S3, s3:GetObject allows both; also request object data ReadOnly or ReadWrite")
	case a.ObjectMetadata&Write != 0 && a.ObjectData&Write == 0:
		return errors.New("object metadata cannot be written without object data: in S3, s3:PutObject allows both; also request object data WriteOnly or ReadWrite")
	case a.ObjectData|a.ObjectMetadata|a.BucketMetadata == 0:
		return errors.New("no access mode is requested; request at least one")
	}
	return nil
}

// Effective returns the effective access of an account that requested these modes. Access to object data includes
// object metadata. The location of the bucket does not count as metadata, because the Secret contains it anyway.
func Effective(asked driverkit.BucketAccess) driverkit.BucketAccess {
	asked.ObjectMetadata = asked.ObjectMetadata.With(asked.ObjectData)
	return asked
}

const deleteObject = "s3:DeleteObject"

// objectActions returns the actions on objects that the access needs.
func (a Access) objectActions() []string {
	var actions []string
	if a.ObjectData&Read != 0 {
		actions = append(actions, "s3:GetObject", "s3:GetObjectVersion")
	}
	if a.ObjectData&Write != 0 {
		actions = append(actions, "s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts")
		if !a.NoDelete {
			actions = append(actions, deleteObject)
		}
	}
	if a.ObjectMetadata&Read != 0 {
		actions = append(actions, "s3:GetObjectTagging", "s3:GetObjectVersionTagging", "s3:GetObjectAttributes",
			"s3:GetObjectRetention", "s3:GetObjectLegalHold")
	}
	if a.ObjectMetadata&Write != 0 {
		actions = append(actions, "s3:PutObjectTagging", "s3:PutObjectVersionTagging", "s3:DeleteObjectTagging",
			"s3:DeleteObjectVersionTagging")
	}
	slices.Sort(actions)
	return actions
}

// bucketActions returns the actions on the bucket itself that the access needs. Reading objects includes listing
// them: without it, S3 denies requests for missing objects instead of reporting them as missing. The location is the
// first request of many clients.
func (a Access) bucketActions() []string {
	var actions []string
	if a.ObjectData&Read != 0 {
		actions = append(actions, "s3:GetBucketLocation", "s3:ListBucket", "s3:ListBucketVersions")
	}
	if a.ObjectData&Write != 0 {
		actions = append(actions, "s3:GetBucketLocation", "s3:ListBucketMultipartUploads")
	}
	if a.BucketMetadata&Read != 0 {
		actions = append(actions, "s3:GetBucketLocation", "s3:GetBucketTagging", "s3:GetBucketVersioning",
			"s3:GetEncryptionConfiguration", "s3:GetLifecycleConfiguration", "s3:GetBucketCORS",
			"s3:GetBucketObjectLockConfiguration", "s3:GetBucketOwnershipControls", "s3:GetBucketPublicAccessBlock")
	}
	slices.Sort(actions)
	return slices.Compact(actions)
}

// keyActions returns the KMS actions that the credential needs to use an encrypted bucket. Writing also needs
// decryption, because S3 reads back each part of a multipart upload with the key.
func (a Access) keyActions() []string {
	switch {
	case a.ObjectData&Write != 0:
		return []string{"kms:Decrypt", "kms:GenerateDataKey"}
	case a.ObjectData&Read != 0:
		return []string{"kms:Decrypt"}
	default:
		return nil
	}
}

func compareAccess(a, b Access) int {
	return cmp.Or(
		cmp.Compare(a.ObjectData, b.ObjectData),
		cmp.Compare(a.ObjectMetadata, b.ObjectMetadata),
		cmp.Compare(a.BucketMetadata, b.BucketMetadata),
		compareBool(a.NoDelete, b.NoDelete),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}
