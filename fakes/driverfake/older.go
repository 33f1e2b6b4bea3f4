// SPDX-License-Identifier: Apache-2.0

package driverfake

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/upstream"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

// A Generation is one of the generations of the contract before ours.
type Generation string

// The generations that a driver may speak in place of ours.
const (
	// V1alpha1 is the specification v1alpha1.
	V1alpha1 Generation = "v1alpha1"
	// Upstream is v1alpha2 as the upstream project meant it in March 2026.
	Upstream Generation = "upstream"
)

// Prefixes of the IDs that such a driver makes of names. The one of accounts has a character
// that IDs of our contract lack.
const (
	OldBucketPrefix  = "old-"
	OldAccountPrefix = "acct:"
)

// register registers the services of the driver's generation.
func (d *Driver) register(server *grpc.Server) {
	switch d.options.Speaks {
	case V1alpha1:
		v1alpha1.RegisterIdentityServer(server, v1alpha1Identity{driver: d})
		v1alpha1.RegisterProvisionerServer(server, v1alpha1Provisioner{driver: d})
	case Upstream:
		cosi.RegisterIdentityServer(server, d)
		upstream.Register(server, upstreamProvisioner{driver: d})
	default:
		cosi.RegisterIdentityServer(server, d)
		cosi.RegisterProvisionerServer(server, d)
	}
}

// ours reports whether a message is one of our contract, whose rules it must keep.
func ours(message proto.Message) bool {
	return message.ProtoReflect().Descriptor().ParentFile().Package() == cosi.File_proto_cosi_proto.Package()
}

type v1alpha1Identity struct {
	v1alpha1.UnimplementedIdentityServer

	driver *Driver
}

// DriverGetInfo implements v1alpha1.IdentityServer.
func (i v1alpha1Identity) DriverGetInfo(context.Context, *v1alpha1.DriverGetInfoRequest) (*v1alpha1.DriverGetInfoResponse, error) {
	return &v1alpha1.DriverGetInfoResponse{Name: i.driver.Name()}, nil
}

type v1alpha1Provisioner struct {
	v1alpha1.UnimplementedProvisionerServer

	driver *Driver
}

// DriverCreateBucket implements v1alpha1.ProvisionerServer.
func (p v1alpha1Provisioner) DriverCreateBucket(
	ctx context.Context, request *v1alpha1.DriverCreateBucketRequest,
) (*v1alpha1.DriverCreateBucketResponse, error) {
	id := OldBucketPrefix + request.GetName()
	created, err := p.driver.DriverCreateBucket(ctx, &cosi.DriverCreateBucketRequest{BucketId: id, Parameters: request.GetParameters()})
	if err != nil {
		return nil, err
	}
	return &v1alpha1.DriverCreateBucketResponse{BucketId: id, BucketInfo: &v1alpha1.Protocol{Type: &v1alpha1.Protocol_S3{
		S3: &v1alpha1.S3{Region: created.GetProtocols().GetS3().GetRegion(), SignatureVersion: v1alpha1.S3SignatureVersion_S3V4},
	}}}, nil
}

// DriverDeleteBucket implements v1alpha1.ProvisionerServer.
func (p v1alpha1Provisioner) DriverDeleteBucket(
	ctx context.Context, request *v1alpha1.DriverDeleteBucketRequest,
) (*v1alpha1.DriverDeleteBucketResponse, error) {
	_, err := p.driver.DriverDeleteBucket(ctx, &cosi.DriverDeleteBucketRequest{BucketId: request.GetBucketId(), Parameters: request.GetDeleteContext()})
	return &v1alpha1.DriverDeleteBucketResponse{}, err
}

// DriverGrantBucketAccess implements v1alpha1.ProvisionerServer.
func (p v1alpha1Provisioner) DriverGrantBucketAccess(
	ctx context.Context, request *v1alpha1.DriverGrantBucketAccessRequest,
) (*v1alpha1.DriverGrantBucketAccessResponse, error) {
	if request.GetAuthenticationType() != v1alpha1.AuthenticationType_Key {
		return nil, status.Error(codes.InvalidArgument, "only keys are supported")
	}
	id := OldAccountPrefix + request.GetName()
	granted, err := p.driver.DriverGrantBucketAccess(ctx, &cosi.DriverGrantBucketAccessRequest{
		AccountId: id, Protocol: &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_S3},
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY}, Parameters: request.GetParameters(),
		Buckets: []*cosi.AccessedBucket{{BucketId: request.GetBucketId(), ObjectDataAccessMode: &cosi.AccessMode{Mode: cosi.AccessMode_READ_WRITE}}},
	})
	if err != nil {
		return nil, err
	}
	info, key := granted.GetBuckets()[0].GetBucketInfo().GetS3(), granted.GetCredentials().GetS3()
	return &v1alpha1.DriverGrantBucketAccessResponse{AccountId: id, Credentials: map[string]*v1alpha1.CredentialDetails{
		v1alpha1.ProtocolS3: {Secrets: map[string]string{
			v1alpha1.KeyAccessKeyID: key.GetAccessKeyId(), v1alpha1.KeyAccessSecretKey: key.GetAccessSecretKey(),
			v1alpha1.KeyEndpoint: info.GetEndpoint(),
		}},
	}}, nil
}

// DriverRevokeBucketAccess implements v1alpha1.ProvisionerServer.
func (p v1alpha1Provisioner) DriverRevokeBucketAccess(
	ctx context.Context, request *v1alpha1.DriverRevokeBucketAccessRequest,
) (*v1alpha1.DriverRevokeBucketAccessResponse, error) {
	_, err := p.driver.DriverRevokeBucketAccess(ctx, &cosi.DriverRevokeBucketAccessRequest{AccountId: request.GetAccountId()})
	return &v1alpha1.DriverRevokeBucketAccessResponse{}, err
}

type upstreamProvisioner struct {
	upstream.UnimplementedProvisionerServer

	driver *Driver
}

// DriverCreateBucket implements upstream.ProvisionerServer.
func (p upstreamProvisioner) DriverCreateBucket(
	ctx context.Context, request *upstream.DriverCreateBucketRequest,
) (*upstream.DriverCreateBucketResponse, error) {
	id := OldBucketPrefix + request.GetName()
	created, err := p.driver.DriverCreateBucket(ctx, &cosi.DriverCreateBucketRequest{
		BucketId: id, Protocols: request.GetProtocols(), Parameters: request.GetParameters(),
	})
	return &upstream.DriverCreateBucketResponse{BucketId: id, Protocols: created.GetProtocols()}, err
}

// DriverGetExistingBucket implements upstream.ProvisionerServer.
func (p upstreamProvisioner) DriverGetExistingBucket(
	ctx context.Context, request *upstream.DriverGetExistingBucketRequest,
) (*upstream.DriverGetExistingBucketResponse, error) {
	found, err := p.driver.DriverGetBucket(ctx, &cosi.DriverGetBucketRequest{
		BucketId: request.GetExistingBucketId(), Protocols: request.GetProtocols(), Parameters: request.GetParameters(),
	})
	return &upstream.DriverGetExistingBucketResponse{BucketId: request.GetExistingBucketId(), Protocols: found.GetProtocols()}, err
}

// DriverDeleteBucket implements upstream.ProvisionerServer.
func (p upstreamProvisioner) DriverDeleteBucket(ctx context.Context, request *cosi.DriverDeleteBucketRequest) (*cosi.DriverDeleteBucketResponse, error) {
	return p.driver.DriverDeleteBucket(ctx, request)
}

// DriverGrantBucketAccess implements upstream.ProvisionerServer.
func (p upstreamProvisioner) DriverGrantBucketAccess(
	ctx context.Context, request *upstream.DriverGrantBucketAccessRequest,
) (*upstream.DriverGrantBucketAccessResponse, error) {
	id := OldBucketPrefix + request.GetAccountName()
	asked := &cosi.DriverGrantBucketAccessRequest{
		AccountId: id, Protocol: request.GetProtocol(), AuthenticationType: request.GetAuthenticationType(), Parameters: request.GetParameters(),
	}
	for _, bucket := range request.GetBuckets() {
		mode := map[upstream.AccessMode_Mode]cosi.AccessMode_Mode{
			upstream.AccessMode_READ_WRITE: cosi.AccessMode_READ_WRITE, upstream.AccessMode_READ_ONLY: cosi.AccessMode_READ_ONLY,
			upstream.AccessMode_WRITE_ONLY: cosi.AccessMode_WRITE_ONLY,
		}[bucket.GetAccessMode().GetMode()]
		asked.Buckets = append(asked.Buckets, &cosi.AccessedBucket{BucketId: bucket.GetBucketId(), ObjectDataAccessMode: &cosi.AccessMode{Mode: mode}})
	}
	granted, err := p.driver.DriverGrantBucketAccess(ctx, asked)
	return &upstream.DriverGrantBucketAccessResponse{AccountId: id, Buckets: granted.GetBuckets(), Credentials: granted.GetCredentials()}, err
}

// DriverRevokeBucketAccess implements upstream.ProvisionerServer.
func (p upstreamProvisioner) DriverRevokeBucketAccess(
	ctx context.Context, request *cosi.DriverRevokeBucketAccessRequest,
) (*cosi.DriverRevokeBucketAccessResponse, error) {
	return p.driver.DriverRevokeBucketAccess(ctx, request)
}
