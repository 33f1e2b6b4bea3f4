// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/upstream"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

// Generation is a generation of the contract before KEP-1979.
type Generation string

// The older generations.
const (
	// V1alpha1 is the specification v1alpha1.
	V1alpha1 Generation = "v1alpha1"
	// Upstream is the v1alpha2 of the upstream project of March 2026.
	Upstream Generation = "upstream"
)

// Prefixes with which a driver of an older generation turns names into IDs. The prefix for accounts contains a
// character that is invalid in KEP-1979 IDs.
const (
	OldBucketPrefix  = "old-"
	OldAccountPrefix = "acct:"
)

// register registers the services of the driver's generation.
func (d *Driver) register(server *grpc.Server) {
	provisioner := !d.has(NoProvisioner)
	switch d.options.Speaks {
	case V1alpha1:
		v1alpha1.RegisterIdentityServer(server, oldWire{Driver: d})
		if provisioner {
			v1alpha1.RegisterProvisionerServer(server, oldWire{Driver: d})
		}
	case Upstream:
		cosi.RegisterIdentityServer(server, d)
		upstream.Register(server, upstreamProvisioner{driver: d})
	default:
		cosi.RegisterIdentityServer(server, d)
		if provisioner {
			cosi.RegisterProvisionerServer(server, d)
		}
	}
}

// olderID returns the ID with which a driver of an older generation replaces a name.
func (d *Driver) olderID(prefix, name string) string {
	if d.options.NamesAsIDs || name == "" {
		return name
	}
	return prefix + name
}

// oldWire implements the v1alpha1 contract with the driver's own calls.
type oldWire struct {
	v1alpha1.UnimplementedIdentityServer
	v1alpha1.UnimplementedProvisionerServer
	*Driver
}

// DriverGetInfo implements v1alpha1.IdentityServer.
func (w oldWire) DriverGetInfo(ctx context.Context, _ *v1alpha1.DriverGetInfoRequest) (*v1alpha1.DriverGetInfoResponse, error) {
	info, err := w.Driver.DriverGetInfo(ctx, &cosi.DriverGetInfoRequest{})
	return &v1alpha1.DriverGetInfoResponse{Name: info.GetName()}, err
}

// DriverCreateBucket implements v1alpha1.ProvisionerServer.
func (w oldWire) DriverCreateBucket(
	ctx context.Context, request *v1alpha1.DriverCreateBucketRequest,
) (*v1alpha1.DriverCreateBucketResponse, error) {
	name := w.olderID(OldBucketPrefix, request.GetName())
	if w.has(RenamesOldBuckets) && name != "" {
		name += "-data"
	}
	named, err := w.Driver.DriverGenerateBucketId(ctx, &cosi.DriverGenerateBucketIdRequest{Name: name, Parameters: request.GetParameters()})
	if err != nil {
		return nil, err
	}
	id := named.GetBucketId()
	created, err := w.Driver.DriverCreateBucket(ctx, &cosi.DriverCreateBucketRequest{BucketId: id, Parameters: request.GetParameters()})
	if err != nil {
		return nil, err
	}
	if w.has(ForgetsOldBucketID) {
		id = ""
	}
	return &v1alpha1.DriverCreateBucketResponse{BucketId: id, BucketInfo: &v1alpha1.Protocol{Type: &v1alpha1.Protocol_S3{
		S3: &v1alpha1.S3{Region: created.GetProtocols().GetS3().GetRegion(), SignatureVersion: v1alpha1.S3SignatureVersion_S3V4},
	}}}, nil
}

// DriverDeleteBucket implements v1alpha1.ProvisionerServer.
func (w oldWire) DriverDeleteBucket(
	ctx context.Context, request *v1alpha1.DriverDeleteBucketRequest,
) (*v1alpha1.DriverDeleteBucketResponse, error) {
	_, err := w.Driver.DriverDeleteBucket(ctx, &cosi.DriverDeleteBucketRequest{
		BucketId: request.GetBucketId(), Parameters: request.GetDeleteContext(),
	})
	return &v1alpha1.DriverDeleteBucketResponse{}, err
}

// DriverGrantBucketAccess implements v1alpha1.ProvisionerServer.
func (w oldWire) DriverGrantBucketAccess(
	ctx context.Context, request *v1alpha1.DriverGrantBucketAccessRequest,
) (*v1alpha1.DriverGrantBucketAccessResponse, error) {
	switch by := request.GetAuthenticationType(); {
	case by == v1alpha1.AuthenticationType_Key:
	case by == v1alpha1.AuthenticationType_IAM && w.has(TakesIAMForKey):
	case by == v1alpha1.AuthenticationType_UnknownAuthenticationType && w.has(TakesNoTypeForKey):
	default:
		return nil, status.Errorf(codes.InvalidArgument, "authentication_type %s is not supported; use Key", by)
	}
	asked := &cosi.DriverGenerateBucketAccessIdRequest{
		AccountName: request.GetName(), Protocol: &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_S3},
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY}, Parameters: request.GetParameters(),
		Buckets: []*cosi.AccessedBucket{{
			BucketId: request.GetBucketId(), ObjectDataAccessMode: &cosi.AccessMode{Mode: cosi.AccessMode_READ_WRITE},
		}},
	}
	named, err := w.Driver.DriverGenerateBucketAccessId(ctx, asked)
	if err != nil {
		return nil, err
	}
	id := named.GetAccountId()
	if id != "" && !w.options.NamesAsIDs {
		id = OldAccountPrefix + id
	}
	granted, err := w.Driver.DriverGrantBucketAccess(ctx, &cosi.DriverGrantBucketAccessRequest{
		AccountId: id, Protocol: asked.GetProtocol(), AuthenticationType: asked.GetAuthenticationType(),
		Parameters: asked.GetParameters(), Buckets: asked.GetBuckets(),
	})
	if err != nil {
		return nil, err
	}
	response := &v1alpha1.DriverGrantBucketAccessResponse{AccountId: id, Credentials: w.oldCredentials(granted)}
	if w.has(ForgetsOldAccountID) {
		response.AccountId = ""
	}
	return response, nil
}

func (w oldWire) oldCredentials(granted *cosi.DriverGrantBucketAccessResponse) map[string]*v1alpha1.CredentialDetails {
	info, pair := granted.GetBuckets()[0].GetBucketInfo().GetS3(), granted.GetCredentials().GetS3()
	secrets := map[string]string{
		v1alpha1.KeyAccessKeyID: pair.GetAccessKeyId(), v1alpha1.KeyAccessSecretKey: pair.GetAccessSecretKey(),
		v1alpha1.KeyEndpoint: info.GetEndpoint(), v1alpha1.KeyRegion: info.GetRegion(),
	}
	credentials := map[string]*v1alpha1.CredentialDetails{v1alpha1.ProtocolS3: {Secrets: secrets}}
	switch {
	case w.has(OddOldKeys):
		secrets["access key"] = pair.GetAccessKeyId()
	case w.has(TwoOldCredentials):
		credentials["memory"] = &v1alpha1.CredentialDetails{Secrets: secrets}
	}
	return credentials
}

// DriverRevokeBucketAccess implements v1alpha1.ProvisionerServer.
func (w oldWire) DriverRevokeBucketAccess(
	ctx context.Context, request *v1alpha1.DriverRevokeBucketAccessRequest,
) (*v1alpha1.DriverRevokeBucketAccessResponse, error) {
	if len(request.GetRevokeAccessContext()) == 0 && request.GetAccountId() != "" && w.has(NeedsRevokeContext) {
		return nil, status.Error(codes.InvalidArgument, "revoke_access_context is required")
	}
	_, err := w.Driver.DriverRevokeBucketAccess(ctx, &cosi.DriverRevokeBucketAccessRequest{
		AccountId: request.GetAccountId(), Protocol: &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_S3},
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY},
		Buckets:            []*cosi.DriverRevokeBucketAccessRequest_AccessedBucket{{BucketId: request.GetBucketId()}},
	})
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
	id := p.driver.olderID(OldBucketPrefix, request.GetName())
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
	id := p.driver.olderID(OldBucketPrefix, request.GetAccountName())
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
