// SPDX-License-Identifier: Apache-2.0

package grpcapi

import (
	"context"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/storagepb"
)

// object performs a call that returns an object.
func (s *service) object(ctx context.Context, c call) (*storagepb.Object, error) {
	return receive(ctx, s, c, &storagepb.Object{}, objectEdits, "")
}

// GetObject implements storagepb.StorageServer.
func (s *service) GetObject(ctx context.Context, r *storagepb.GetObjectRequest) (*storagepb.Object, error) {
	out, err := s.object(ctx, call{
		method: http.MethodGet, path: objectPath(r.GetBucket(), r.GetObject()),
		query: masked(query(r, "bucket", "object"), r.GetReadMask()), header: ownKey(r.GetCommonObjectRequestParams()),
	})
	prune(out, r.GetReadMask())
	return out, err
}

// ListObjects implements storagepb.StorageServer.
func (s *service) ListObjects(ctx context.Context, r *storagepb.ListObjectsRequest) (*storagepb.ListObjectsResponse, error) {
	c := call{method: http.MethodGet, path: bucketPath(r.GetParent(), "o"), query: masked(query(r, "parent"), r.GetReadMask())}
	out, err := receive(ctx, s, c, &storagepb.ListObjectsResponse{}, objectEdits, "items")
	for _, o := range out.GetObjects() {
		prune(o, r.GetReadMask())
	}
	return out, err
}

// UpdateObject implements storagepb.StorageServer.
func (s *service) UpdateObject(ctx context.Context, r *storagepb.UpdateObjectRequest) (*storagepb.Object, error) {
	body, err := patch(r.GetObject(), objectEdits, r.GetUpdateMask())
	if err != nil {
		return nil, err
	}
	if r.GetPredefinedAcl() != "" { // it takes the place of the list, which the mask also contains
		delete(body, "acl")
	}
	q := full(query(r))
	if g := r.GetObject().GetGeneration(); g != 0 {
		q.Set("generation", strconv.FormatInt(g, 10))
	}
	return s.object(ctx, call{
		method: http.MethodPatch, path: objectPath(r.GetObject().GetBucket(), r.GetObject().GetName()),
		query: q, header: ownKey(r.GetCommonObjectRequestParams()), body: body,
	})
}

// DeleteObject implements storagepb.StorageServer.
func (s *service) DeleteObject(ctx context.Context, r *storagepb.DeleteObjectRequest) (*emptypb.Empty, error) {
	_, err := s.do(ctx, call{method: http.MethodDelete, path: objectPath(r.GetBucket(), r.GetObject()), query: query(r, "bucket", "object")})
	return &emptypb.Empty{}, err
}

// ComposeObject implements storagepb.StorageServer.
func (s *service) ComposeObject(ctx context.Context, r *storagepb.ComposeObjectRequest) (*storagepb.Object, error) {
	body, err := encode(r, nil)
	if err != nil {
		return nil, err
	}
	change(body["destination"], "bucket", removed)
	change(body["destination"], "", sendSums)
	return s.object(ctx, call{
		method: http.MethodPost, path: objectPath(r.GetDestination().GetBucket(), r.GetDestination().GetName(), "compose"),
		query: query(r, "delete_source_objects"), header: ownKey(r.GetCommonObjectRequestParams()),
		body: document{"destination": body["destination"], "sourceObjects": body["sourceObjects"], "deleteSourceObjects": r.GetDeleteSourceObjects()},
	})
}

// RewriteObject implements storagepb.StorageServer.
func (s *service) RewriteObject(ctx context.Context, r *storagepb.RewriteObjectRequest) (*storagepb.RewriteResponse, error) {
	to := bucketPath(r.GetDestinationBucket(), "o", r.GetDestinationName())
	if to.err != nil {
		return nil, to.err
	}
	from := objectPath(r.GetSourceBucket(), r.GetSourceObject())
	from.text += "/rewriteTo" + strings.TrimPrefix(to.text, "/storage/v1")
	header := ownKey(r.GetCommonObjectRequestParams())
	maps.Copy(header, keyHeader(source, r.GetCopySourceEncryptionAlgorithm(), r.GetCopySourceEncryptionKeyBytes(), r.GetCopySourceEncryptionKeySha256Bytes()))
	c := call{
		method: http.MethodPost, path: from, header: header,
		query: full(query(r, "source_bucket", "source_object", "destination_bucket", "destination_name", "copy_source_encryption_algorithm")),
	}
	if r.GetDestination() != nil {
		body, err := encode(r.GetDestination(), objectEdits)
		if err != nil {
			return nil, err
		}
		delete(body, "name")
		delete(body, "kmsKeyName") // destination_kms_key names it
		c.body = body
	}
	return receive(ctx, s, c, &storagepb.RewriteResponse{}, objectEdits, "resource")
}

// RestoreObject implements storagepb.StorageServer.
func (s *service) RestoreObject(ctx context.Context, r *storagepb.RestoreObjectRequest) (*storagepb.Object, error) {
	return s.object(ctx, call{
		method: http.MethodPost, path: objectPath(r.GetBucket(), r.GetObject(), "restore"),
		query: full(query(r, "bucket", "object")), header: ownKey(r.GetCommonObjectRequestParams()),
	})
}

// MoveObject implements storagepb.StorageServer.
func (s *service) MoveObject(ctx context.Context, r *storagepb.MoveObjectRequest) (*storagepb.Object, error) {
	if r.GetDestinationObject() == "" {
		return nil, status.Error(codes.InvalidArgument, "The request has no destination_object.")
	}
	return s.object(ctx, call{
		method: http.MethodPost, path: objectPath(r.GetBucket(), r.GetSourceObject(), "moveTo", "o", r.GetDestinationObject()),
		query: full(query(r, "bucket", "source_object", "destination_object")),
	})
}
