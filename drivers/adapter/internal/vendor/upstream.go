// SPDX-License-Identifier: Apache-2.0

package vendor

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/upstream"
)

// nameUpstream is the name of the generation in refusals.
const nameUpstream = "the upstream project's v1alpha2"

// upstreamModes maps the modes to upstream's.
var upstreamModes = map[cosi.AccessMode_Mode]upstream.AccessMode_Mode{
	cosi.AccessMode_READ_WRITE: upstream.AccessMode_READ_WRITE,
	cosi.AccessMode_READ_ONLY:  upstream.AccessMode_READ_ONLY,
	cosi.AccessMode_WRITE_ONLY: upstream.AccessMode_WRITE_ONLY,
}

// upstreamDriver implements Driver and Limits for the upstream project's v1alpha2, which has the same service path as
// our contract but different messages.
type upstreamDriver struct {
	identity cosi.IdentityClient
	client   upstream.ProvisionerClient
	ours     cosi.ProvisionerClient
}

func newUpstream(conn grpc.ClientConnInterface) upstreamDriver {
	return upstreamDriver{cosi.NewIdentityClient(conn), upstream.NewClient(conn), cosi.NewProvisionerClient(conn)}
}

// Info also checks that the driver does not implement phase 1: all drivers of our contract do, and none of upstream's
// does. The request is empty, and phase 1 creates nothing anyway.
func (d upstreamDriver) Info(ctx context.Context) (*cosi.DriverGetInfoResponse, error) {
	info, err := d.identity.DriverGetInfo(ctx, &cosi.DriverGetInfoRequest{})
	if err != nil {
		return nil, err
	}
	_, err = d.ours.DriverGenerateBucketId(ctx, &cosi.DriverGenerateBucketIdRequest{})
	switch code := status.Code(err); code {
	case codes.Unimplemented:
		return &cosi.DriverGetInfoResponse{Name: info.GetName(), SupportedProtocols: info.GetSupportedProtocols()}, nil
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return nil, err
	default:
		return nil, status.Errorf(codes.FailedPrecondition, "DriverGenerateBucketId returned %s instead of Unimplemented, so the driver does not use %s; "+
			"if it implements KEP-1979, connect the sidecar to it without an adapter", code, nameUpstream)
	}
}

// CheckBucket implements Limits: upstream can express every request.
func (d upstreamDriver) CheckBucket(*cosi.DriverCreateBucketRequest) error { return nil }

// Create implements Driver.
func (d upstreamDriver) Create(
	ctx context.Context, name string, asked *cosi.DriverCreateBucketRequest,
) (string, *cosi.ObjectProtocolAndBucketInfo, error) {
	created, err := d.client.DriverCreateBucket(ctx, &upstream.DriverCreateBucketRequest{
		Name: name, Protocols: asked.GetProtocols(), Parameters: asked.GetParameters(),
	})
	return created.GetBucketId(), created.GetProtocols(), err
}

// Get implements Driver.
func (d upstreamDriver) Get(ctx context.Context, id string, asked *cosi.DriverGetBucketRequest) (*cosi.ObjectProtocolAndBucketInfo, error) {
	found, err := d.client.DriverGetExistingBucket(ctx, &upstream.DriverGetExistingBucketRequest{
		ExistingBucketId: id, Protocols: asked.GetProtocols(), Parameters: asked.GetParameters(),
	})
	if err != nil {
		return nil, err
	}
	if other := found.GetBucketId(); other != id {
		return nil, status.Errorf(codes.InvalidArgument, "the driver returned another bucket ID, %q; import the bucket with that ID", other)
	}
	return found.GetProtocols(), nil
}

// Delete implements Driver.
func (d upstreamDriver) Delete(ctx context.Context, id string, parameters map[string]string) error {
	_, err := d.client.DriverDeleteBucket(ctx, &cosi.DriverDeleteBucketRequest{BucketId: id, Parameters: parameters})
	return err
}

// CheckGrant refuses access requests that upstream cannot express.
func (d upstreamDriver) CheckGrant(asked *cosi.DriverGrantBucketAccessRequest) error {
	if err := checkPlain(asked, nameUpstream); err != nil {
		return err
	}
	for _, bucket := range asked.GetBuckets() {
		if _, err := wholeMode(bucket, asked.GetDisallowedAccessModes()); err != nil {
			return err
		}
	}
	return nil
}

// Grant implements Driver.
func (d upstreamDriver) Grant(ctx context.Context, grant Grant) (string, *cosi.DriverGrantBucketAccessResponse, error) {
	request := &upstream.DriverGrantBucketAccessRequest{
		AccountName: grant.Name, Protocol: grant.Request.GetProtocol(), AuthenticationType: grant.Request.GetAuthenticationType(),
		Parameters: grant.Request.GetParameters(),
	}
	asked := map[string]string{} // the IDs of the request, by those of the driver
	for i, bucket := range grant.Request.GetBuckets() {
		mode, err := wholeMode(bucket, nil)
		if err != nil {
			return "", nil, err
		}
		request.Buckets = append(request.Buckets, &upstream.DriverGrantBucketAccessRequest_AccessedBucket{
			BucketId: grant.Buckets[i].ID, AccessMode: &upstream.AccessMode{Mode: upstreamModes[mode]},
		})
		asked[grant.Buckets[i].ID] = bucket.GetBucketId()
	}
	granted, err := d.client.DriverGrantBucketAccess(ctx, request)
	if err != nil {
		return "", nil, err
	}
	for _, bucket := range granted.GetBuckets() {
		bucket.BucketId = asked[bucket.GetBucketId()]
	}
	return granted.GetAccountId(), &cosi.DriverGrantBucketAccessResponse{Buckets: granted.GetBuckets(), Credentials: granted.GetCredentials()}, nil
}

// Revoke implements Driver.
func (d upstreamDriver) Revoke(ctx context.Context, id string, buckets []string, asked *cosi.DriverRevokeBucketAccessRequest) error {
	request := &cosi.DriverRevokeBucketAccessRequest{
		AccountId: id, Protocol: asked.GetProtocol(), AuthenticationType: asked.GetAuthenticationType(), Parameters: asked.GetParameters(),
	}
	for _, bucket := range buckets {
		request.Buckets = append(request.Buckets, &cosi.DriverRevokeBucketAccessRequest_AccessedBucket{BucketId: bucket})
	}
	_, err := d.client.DriverRevokeBucketAccess(ctx, request)
	return err
}
