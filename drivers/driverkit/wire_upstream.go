// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/upstream"
)

// upstreamWire serves the upstream project's dialect of v1alpha2.
type upstreamWire struct {
	upstream.UnimplementedProvisionerServer
	wire
}

// DriverCreateBucket implements upstream.ProvisionerServer.
func (w *upstreamWire) DriverCreateBucket(
	ctx context.Context, request *upstream.DriverCreateBucketRequest,
) (*upstream.DriverCreateBucketResponse, error) {
	id, info, err := w.create(ctx, &cosi.DriverGenerateBucketIdRequest{
		Name: request.GetName(), Protocols: request.GetProtocols(), Parameters: request.GetParameters(),
	}, nil)
	if err != nil {
		return nil, err
	}
	return &upstream.DriverCreateBucketResponse{BucketId: id, Protocols: info}, nil
}

// DriverGetExistingBucket implements upstream.ProvisionerServer.
func (w *upstreamWire) DriverGetExistingBucket(
	ctx context.Context, request *upstream.DriverGetExistingBucketRequest,
) (*upstream.DriverGetExistingBucketResponse, error) {
	id := request.GetExistingBucketId()
	found, err := pass(ctx, w.wire, w.rpcs.DriverGetBucket, &cosi.DriverGetBucketRequest{
		BucketId: id, Protocols: request.GetProtocols(), Parameters: request.GetParameters(),
	})
	if err != nil {
		return nil, err
	}
	return &upstream.DriverGetExistingBucketResponse{BucketId: id, Protocols: found.GetProtocols()}, nil
}

// DriverDeleteBucket implements upstream.ProvisionerServer.
func (w *upstreamWire) DriverDeleteBucket(ctx context.Context, request *cosi.DriverDeleteBucketRequest) (*cosi.DriverDeleteBucketResponse, error) {
	return pass(ctx, w.wire, w.rpcs.DriverDeleteBucket, request)
}

// DriverGrantBucketAccess implements upstream.ProvisionerServer.
func (w *upstreamWire) DriverGrantBucketAccess(
	ctx context.Context, request *upstream.DriverGrantBucketAccessRequest,
) (*upstream.DriverGrantBucketAccessResponse, error) {
	asked := &cosi.DriverGenerateBucketAccessIdRequest{
		AccountName: request.GetAccountName(), Protocol: request.GetProtocol(), AuthenticationType: request.GetAuthenticationType(),
		ServiceAccountName: request.GetServiceAccountName(), Parameters: request.GetParameters(),
	}
	for i, bucket := range request.GetBuckets() {
		mode := modeFromUpstream(bucket.GetAccessMode().GetMode())
		if mode == cosi.AccessMode_UNKNOWN {
			return nil, InvalidArgument("buckets[%d].access_mode is required: READ_WRITE, READ_ONLY or WRITE_ONLY", i)
		}
		asked.Buckets = append(asked.Buckets, &cosi.AccessedBucket{
			BucketId: bucket.GetBucketId(), ObjectDataAccessMode: &cosi.AccessMode{Mode: mode},
		})
	}
	id, granted, err := w.grant(ctx, asked)
	if err != nil {
		return nil, err
	}
	return &upstream.DriverGrantBucketAccessResponse{
		AccountId: id, Buckets: granted.GetBuckets(), Credentials: present(asked.GetProtocol(), granted.GetCredentials()),
	}, nil
}

// modeFromUpstream is about the contents of objects; the categories of metadata are left open.
func modeFromUpstream(mode upstream.AccessMode_Mode) cosi.AccessMode_Mode {
	return map[upstream.AccessMode_Mode]cosi.AccessMode_Mode{
		upstream.AccessMode_READ_WRITE: cosi.AccessMode_READ_WRITE,
		upstream.AccessMode_READ_ONLY:  cosi.AccessMode_READ_ONLY,
		upstream.AccessMode_WRITE_ONLY: cosi.AccessMode_WRITE_ONLY,
	}[mode]
}

// present returns the credentials with the message of the protocol set. The upstream sidecar requires that message even
// for an access without credentials; without it, the sidecar loses the account.
func present(protocol *cosi.ObjectProtocol, credentials *cosi.CredentialInfo) *cosi.CredentialInfo {
	if credentials == nil {
		credentials = &cosi.CredentialInfo{}
	}
	switch protocolFrom(protocol) {
	case S3:
		if credentials.GetS3() == nil {
			credentials.S3 = &cosi.S3CredentialInfo{}
		}
	case Azure:
		if credentials.GetAzure() == nil {
			credentials.Azure = &cosi.AzureCredentialInfo{}
		}
	case GCS:
		if credentials.GetGcs() == nil {
			credentials.Gcs = &cosi.GcsCredentialInfo{}
		}
	}
	return credentials
}

// DriverRevokeBucketAccess implements upstream.ProvisionerServer.
func (w *upstreamWire) DriverRevokeBucketAccess(
	ctx context.Context, request *cosi.DriverRevokeBucketAccessRequest,
) (*cosi.DriverRevokeBucketAccessResponse, error) {
	return pass(ctx, w.wire, w.rpcs.DriverRevokeBucketAccess, request)
}
