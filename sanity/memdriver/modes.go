// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// right is the permission of an account in one category.
type right struct{ read, write bool }

// rightOf translates a mode. For an unset mode, it returns open.
func rightOf(mode *cosi.AccessMode, open right) right {
	switch mode.GetMode() {
	case cosi.AccessMode_READ_WRITE:
		return right{read: true, write: true}
	case cosi.AccessMode_READ_ONLY:
		return right{read: true}
	case cosi.AccessMode_WRITE_ONLY:
		return right{write: true}
	default:
		return open
	}
}

// within reduces a right to what one allowed mode includes: reading and writing if possible, otherwise reading,
// otherwise writing.
func (r right) within(disallowed []cosi.AccessMode_Mode) right {
	for _, mode := range []cosi.AccessMode_Mode{cosi.AccessMode_READ_WRITE, cosi.AccessMode_READ_ONLY, cosi.AccessMode_WRITE_ONLY} {
		left := rightOf(&cosi.AccessMode{Mode: mode}, right{})
		left = right{read: r.read && left.read, write: r.write && left.write}
		if left != (right{}) && !slices.Contains(disallowed, mode) {
			return left
		}
	}
	return right{}
}

// checkDisallowed returns an error if a mode is requested explicitly although the class disallows it. Unset
// categories are reduced to what the class allows, because this store can separate all permissions.
func (d *Driver) checkDisallowed(request asked) error {
	disallowed := request.GetDisallowedAccessModes()
	if d.has(IgnoresDisallowedModes) || d.has(UnawareOfDisallowedModes) {
		return nil
	}
	for _, bucket := range request.GetBuckets() {
		if slices.Contains(disallowed.GetObjectData(), bucket.GetObjectDataAccessMode().GetMode()) ||
			slices.Contains(disallowed.GetObjectMetadata(), bucket.GetObjectMetadataAccessMode().GetMode()) ||
			slices.Contains(disallowed.GetBucketMetadata(), bucket.GetBucketMetadataAccessMode().GetMode()) {
			return status.Errorf(codes.InvalidArgument, "buckets: the class disallows an access mode that was requested for bucket %s", bucket.GetBucketId())
		}
	}
	return nil
}

// modesOf translates the requested modes. Unset categories follow the access to object data, within what the class
// allows. Writing to the bucket must be requested explicitly.
func (d *Driver) modesOf(bucket *cosi.AccessedBucket, disallowed *cosi.DisallowedAccessModes) modes {
	if d.has(IgnoresDisallowedModes) || d.has(UnawareOfDisallowedModes) {
		disallowed = nil
	}
	mode := bucket.GetObjectDataAccessMode()
	data := rightOf(mode, right{}).within(disallowed.GetObjectData())
	objects := rightOf(bucket.GetObjectMetadataAccessMode(), data).within(disallowed.GetObjectMetadata())
	itself := rightOf(bucket.GetBucketMetadataAccessMode(), right{read: data.read}).within(disallowed.GetBucketMetadata())
	granted := modes{
		Read: data.read, Write: data.write, MetadataRead: objects.read, MetadataWrite: objects.write,
		BucketRead: itself.read, BucketWrite: itself.write,
	}
	switch {
	case d.has(IgnoresReadOnly) && mode.GetMode() == cosi.AccessMode_READ_ONLY:
		granted.Write = true
	case d.has(IgnoresWriteOnly) && mode.GetMode() == cosi.AccessMode_WRITE_ONLY:
		granted.Read = true
	case d.has(IgnoresMetadataModes):
		granted.MetadataWrite = true
	case d.has(GrantsAdministration) && bucket.GetBucketMetadataAccessMode() == nil:
		granted.BucketWrite = true
	case d.has(CannotList):
		granted.Read = false
	}
	return granted
}
