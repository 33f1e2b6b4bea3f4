// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

// Old offers S3 with keys by the contract v1alpha1, and nothing by a later one.
func Old() Profile {
	return Profile{
		Name:           "old.memory.example.com",
		Protocols:      []cosi.ObjectProtocol_Type{cosi.ObjectProtocol_S3},
		Authentication: []cosi.AuthenticationType_Type{cosi.AuthenticationType_KEY},
		V1Alpha1:       true,
	}
}

// oldWire serves the contract v1alpha1 by the driver's own calls.
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
	name := request.GetName()
	if w.has(RenamesOldBuckets) && name != "" {
		name += "-data"
	}
	named, err := w.Driver.DriverGenerateBucketId(ctx, &cosi.DriverGenerateBucketIdRequest{Name: name, Parameters: request.GetParameters()})
	if err != nil {
		return nil, err
	}
	id := named.GetBucketId()
	if _, err := w.Driver.DriverCreateBucket(ctx, &cosi.DriverCreateBucketRequest{BucketId: id, Parameters: request.GetParameters()}); err != nil {
		return nil, err
	}
	if w.has(ForgetsOldBucketID) {
		id = ""
	}
	return &v1alpha1.DriverCreateBucketResponse{BucketId: id, BucketInfo: &v1alpha1.Protocol{Type: &v1alpha1.Protocol_S3{S3: &v1alpha1.S3{}}}}, nil
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
	granted, err := w.Driver.DriverGrantBucketAccess(ctx, &cosi.DriverGrantBucketAccessRequest{
		AccountId: named.GetAccountId(), Protocol: asked.GetProtocol(), AuthenticationType: asked.GetAuthenticationType(),
		Parameters: asked.GetParameters(), Buckets: asked.GetBuckets(),
	})
	if err != nil {
		return nil, err
	}
	response := &v1alpha1.DriverGrantBucketAccessResponse{AccountId: named.GetAccountId(), Credentials: w.oldCredentials(granted)}
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
