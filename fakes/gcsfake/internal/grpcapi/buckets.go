// SPDX-License-Identifier: Apache-2.0

package grpcapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/storagepb"
)

const bucketsPath = "/storage/v1/b"

// bucket performs a call that returns a bucket.
func (s *service) bucket(ctx context.Context, c call) (*storagepb.Bucket, error) {
	return receive(ctx, s, c, &storagepb.Bucket{}, bucketEdits, "")
}

// CreateBucket implements storagepb.StorageServer.
func (s *service) CreateBucket(ctx context.Context, r *storagepb.CreateBucketRequest) (*storagepb.Bucket, error) {
	body, err := encode(r.GetBucket(), bucketEdits)
	if err != nil {
		return nil, err
	}
	for name, value := range body { // empty messages configure nothing
		if fields, ok := value.(document); ok && len(fields) == 0 {
			delete(body, name)
		}
	}
	body["name"] = r.GetBucketId()
	delete(body, "bucketId")
	q := full(query(r, "parent", "bucket_id"))
	q.Set("project", strings.TrimPrefix(r.GetBucket().GetProject(), "projects/"))
	return s.bucket(ctx, call{method: http.MethodPost, path: path{text: bucketsPath}, query: q, body: body, conflict: codes.AlreadyExists})
}

// GetBucket implements storagepb.StorageServer.
func (s *service) GetBucket(ctx context.Context, r *storagepb.GetBucketRequest) (*storagepb.Bucket, error) {
	out, err := s.bucket(ctx, call{method: http.MethodGet, path: bucketPath(r.GetName()), query: masked(query(r, "name"), r.GetReadMask())})
	prune(out, r.GetReadMask())
	return out, err
}

// ListBuckets implements storagepb.StorageServer.
func (s *service) ListBuckets(ctx context.Context, r *storagepb.ListBucketsRequest) (*storagepb.ListBucketsResponse, error) {
	q := masked(query(r, "parent"), r.GetReadMask())
	q.Set("project", strings.TrimPrefix(r.GetParent(), "projects/"))
	c := call{method: http.MethodGet, path: path{text: bucketsPath}, query: q}
	out, err := receive(ctx, s, c, &storagepb.ListBucketsResponse{}, bucketEdits, "items")
	for _, b := range out.GetBuckets() {
		prune(b, r.GetReadMask())
	}
	return out, err
}

// UpdateBucket implements storagepb.StorageServer.
func (s *service) UpdateBucket(ctx context.Context, r *storagepb.UpdateBucketRequest) (*storagepb.Bucket, error) {
	body, err := patch(r.GetBucket(), bucketEdits, r.GetUpdateMask())
	if err != nil {
		return nil, err
	}
	if r.GetPredefinedAcl() != "" { // it takes the place of the list, which the mask also contains
		delete(body, "acl")
	}
	if r.GetPredefinedDefaultObjectAcl() != "" {
		delete(body, "defaultObjectAcl")
	}
	return s.bucket(ctx, call{method: http.MethodPatch, path: bucketPath(r.GetBucket().GetName()), query: full(query(r)), body: body})
}

// DeleteBucket implements storagepb.StorageServer.
func (s *service) DeleteBucket(ctx context.Context, r *storagepb.DeleteBucketRequest) (*emptypb.Empty, error) {
	_, err := s.do(ctx, call{method: http.MethodDelete, path: bucketPath(r.GetName()), query: query(r, "name"), conflict: codes.FailedPrecondition})
	return &emptypb.Empty{}, err
}

// LockBucketRetentionPolicy implements storagepb.StorageServer.
func (s *service) LockBucketRetentionPolicy(ctx context.Context, r *storagepb.LockBucketRetentionPolicyRequest) (*storagepb.Bucket, error) {
	return s.bucket(ctx, call{method: http.MethodPost, path: bucketPath(r.GetBucket(), "lockRetentionPolicy"), query: query(r, "bucket")})
}

// GetIamPolicy implements storagepb.StorageServer.
func (s *service) GetIamPolicy(ctx context.Context, r *storagepb.GetIamPolicyRequest) (*storagepb.Policy, error) {
	c := call{method: http.MethodGet, path: bucketPath(r.GetResource(), "iam"), query: query(r.GetOptions())}
	return receive(ctx, s, c, &storagepb.Policy{}, nil, "")
}

// SetIamPolicy implements storagepb.StorageServer.
func (s *service) SetIamPolicy(ctx context.Context, r *storagepb.SetIamPolicyRequest) (*storagepb.Policy, error) {
	body, err := encode(r.GetPolicy(), nil)
	if err != nil {
		return nil, err
	}
	c := call{method: http.MethodPut, path: bucketPath(r.GetResource(), "iam"), body: body}
	return receive(ctx, s, c, &storagepb.Policy{}, nil, "")
}

// TestIamPermissions implements storagepb.StorageServer.
func (s *service) TestIamPermissions(ctx context.Context, r *storagepb.TestIamPermissionsRequest) (*storagepb.TestIamPermissionsResponse, error) {
	c := call{method: http.MethodGet, path: bucketPath(r.GetResource(), "iam", "testPermissions"), query: url.Values{"permissions": r.GetPermissions()}}
	return receive(ctx, s, c, &storagepb.TestIamPermissionsResponse{}, nil, "")
}
