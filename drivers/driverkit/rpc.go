// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// rpcs implements the contract's services with a Driver. The interceptors in guard.go validate requests and
// responses.
type rpcs struct {
	cosi.UnimplementedIdentityServer
	cosi.UnimplementedProvisionerServer
	driver Driver
	// onlyPairs is the value of AccessSpec.OnlyPairs for all requests.
	onlyPairs bool
}

// DriverGetInfo implements cosi.IdentityServer.
func (r *rpcs) DriverGetInfo(context.Context, *cosi.DriverGetInfoRequest) (*cosi.DriverGetInfoResponse, error) {
	return infoTo(r.driver.Info()), nil
}

// DriverGenerateBucketId implements cosi.ProvisionerServer.
func (r *rpcs) DriverGenerateBucketId(
	ctx context.Context, message *cosi.DriverGenerateBucketIdRequest,
) (*cosi.DriverGenerateBucketIdResponse, error) {
	request := BucketIDRequest{
		Name:       message.GetName(),
		Protocols:  protocolsFrom(message.GetProtocols()),
		Parameters: maps.Clone(message.GetParameters()),
	}
	if err := r.driver.Info().checkBucket(request.Protocols, request.Parameters); err != nil {
		return nil, err
	}
	if generator, ok := r.driver.(IDGenerator); ok {
		id, err := generator.BucketID(ctx, request)
		return &cosi.DriverGenerateBucketIdResponse{BucketId: id}, err
	}
	if err := cosi.ValidateBucketID(request.Name); err != nil {
		return nil, InvalidArgument("name %q cannot be a bucket ID: %v", request.Name, err)
	}
	return &cosi.DriverGenerateBucketIdResponse{BucketId: request.Name}, nil
}

// DriverCreateBucket implements cosi.ProvisionerServer.
func (r *rpcs) DriverCreateBucket(
	ctx context.Context, message *cosi.DriverCreateBucketRequest,
) (*cosi.DriverCreateBucketResponse, error) {
	request := CreateBucketRequest{
		BucketID:   message.GetBucketId(),
		Protocols:  protocolsFrom(message.GetProtocols()),
		Parameters: maps.Clone(message.GetParameters()),
		Update:     updateFrom(message.GetUpdate()),
	}
	info := r.driver.Info()
	check := info.checkBucket(request.Protocols, request.Parameters)
	if request.Update != nil {
		check = cmp.Or(info.checkProtocols(request.Protocols), info.BucketParameters.checkUpdate(request.Update))
	}
	protocols, err := offer(info, check, func() (BucketInfo, error) { return r.driver.CreateBucket(ctx, request) })
	if err != nil {
		return nil, err
	}
	return &cosi.DriverCreateBucketResponse{Protocols: protocols}, nil
}

// DriverGetBucket implements cosi.ProvisionerServer.
func (r *rpcs) DriverGetBucket(
	ctx context.Context, message *cosi.DriverGetBucketRequest,
) (*cosi.DriverGetBucketResponse, error) {
	request := GetBucketRequest{
		BucketID:   message.GetBucketId(),
		Protocols:  protocolsFrom(message.GetProtocols()),
		Parameters: maps.Clone(message.GetParameters()),
	}
	info := r.driver.Info()
	protocols, err := offer(info, info.checkBucket(request.Protocols, request.Parameters), func() (BucketInfo, error) { return r.driver.GetBucket(ctx, request) })
	if err != nil {
		return nil, err
	}
	return &cosi.DriverGetBucketResponse{Protocols: protocols}, nil
}

// offer calls the driver unless the check of the request failed, and checks and translates the bucket's description.
func offer(info Info, check error, call func() (BucketInfo, error)) (*cosi.ObjectProtocolAndBucketInfo, error) {
	if check != nil {
		return nil, check
	}
	bucket, err := call()
	if err != nil {
		return nil, err
	}
	if err := info.checkOffer(bucket); err != nil {
		return nil, err
	}
	return bucketTo(bucket), nil
}

// DriverDeleteBucket implements cosi.ProvisionerServer.
func (r *rpcs) DriverDeleteBucket(
	ctx context.Context, message *cosi.DriverDeleteBucketRequest,
) (*cosi.DriverDeleteBucketResponse, error) {
	err := r.driver.DeleteBucket(ctx, DeleteBucketRequest{
		BucketID: message.GetBucketId(), Parameters: maps.Clone(message.GetParameters()),
	})
	return &cosi.DriverDeleteBucketResponse{}, err
}

// DriverGenerateBucketAccessId implements cosi.ProvisionerServer.
func (r *rpcs) DriverGenerateBucketAccessId(
	ctx context.Context, message *cosi.DriverGenerateBucketAccessIdRequest,
) (*cosi.DriverGenerateBucketAccessIdResponse, error) {
	request := AccountIDRequest{Name: message.GetAccountName(), AccessSpec: r.accessFrom(message)}
	if err := r.driver.Info().checkAccess(request.AccessSpec); err != nil {
		return nil, err
	}
	if generator, ok := r.driver.(IDGenerator); ok {
		id, err := generator.AccountID(ctx, request)
		return &cosi.DriverGenerateBucketAccessIdResponse{AccountId: id}, err
	}
	if err := cosi.ValidateAccountID(request.Name); err != nil {
		return nil, InvalidArgument("account_name %q cannot be an account ID: %v", request.Name, err)
	}
	return &cosi.DriverGenerateBucketAccessIdResponse{AccountId: request.Name}, nil
}

// DriverGrantBucketAccess implements cosi.ProvisionerServer.
func (r *rpcs) DriverGrantBucketAccess(
	ctx context.Context, message *cosi.DriverGrantBucketAccessRequest,
) (*cosi.DriverGrantBucketAccessResponse, error) {
	request := GrantAccessRequest{AccountID: message.GetAccountId(), AccessSpec: r.accessFrom(message)}
	if err := r.driver.Info().checkAccess(request.AccessSpec); err != nil {
		return nil, err
	}
	access, err := r.driver.GrantAccess(ctx, request)
	if err != nil {
		return nil, err
	}
	if request.AuthType == ServiceAccount && access.Credential.secret() {
		return nil, fmt.Errorf("the driver returns a secret for authentication type %s", ServiceAccount)
	}
	return accessTo(request.Protocol, access), nil
}

// secret reports whether the credential contains a secret value.
func (c Credential) secret() bool {
	return c.S3 != nil && !c.S3.SecretKey.IsZero() || c.Azure != nil && !c.Azure.Token.IsZero() ||
		c.GCS != nil && (!c.GCS.AccessSecret.IsZero() || !c.GCS.PrivateKey.IsZero())
}

// DriverRevokeBucketAccess implements cosi.ProvisionerServer.
func (r *rpcs) DriverRevokeBucketAccess(
	ctx context.Context, message *cosi.DriverRevokeBucketAccessRequest,
) (*cosi.DriverRevokeBucketAccessResponse, error) {
	return &cosi.DriverRevokeBucketAccessResponse{}, r.driver.RevokeAccess(ctx, revokeFrom(message))
}
