// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// GenerateBucketID makes the phase 1 call for a new bucket.
func (d *Driver) GenerateBucketID(ctx context.Context, request *cosi.DriverGenerateBucketIdRequest) (string, error) {
	response, err := provision(ctx, d, cosi.Provisioner_DriverGenerateBucketId_FullMethodName, request,
		cosi.ProvisionerClient.DriverGenerateBucketId)
	return response.GetBucketId(), err
}

// CreateBucket makes the phase 2 call for a new bucket. The response has at least one protocol, all requested
// protocols, and none that the driver does not serve.
func (d *Driver) CreateBucket(ctx context.Context, request *cosi.DriverCreateBucketRequest) (*cosi.ObjectProtocolAndBucketInfo, error) {
	const method = cosi.Provisioner_DriverCreateBucket_FullMethodName
	response, err := provision(ctx, d, method, request, cosi.ProvisionerClient.DriverCreateBucket)
	if err != nil {
		return nil, err
	}
	return response.GetProtocols(), d.checkServed(method, response.GetProtocols())
}

// GetBucket describes an existing bucket. The response is checked like that of CreateBucket.
func (d *Driver) GetBucket(ctx context.Context, request *cosi.DriverGetBucketRequest) (*cosi.ObjectProtocolAndBucketInfo, error) {
	const method = cosi.Provisioner_DriverGetBucket_FullMethodName
	response, err := provision(ctx, d, method, request, cosi.ProvisionerClient.DriverGetBucket)
	if err != nil {
		return nil, err
	}
	return response.GetProtocols(), d.checkServed(method, response.GetProtocols())
}

// DeleteBucket removes a bucket.
func (d *Driver) DeleteBucket(ctx context.Context, request *cosi.DriverDeleteBucketRequest) error {
	_, err := provision(ctx, d, cosi.Provisioner_DriverDeleteBucket_FullMethodName, request,
		cosi.ProvisionerClient.DriverDeleteBucket)
	return err
}

// GenerateAccountID makes the phase 1 call for an access.
func (d *Driver) GenerateAccountID(ctx context.Context, request *cosi.DriverGenerateBucketAccessIdRequest) (string, error) {
	response, err := provision(ctx, d, cosi.Provisioner_DriverGenerateBucketAccessId_FullMethodName, request,
		cosi.ProvisionerClient.DriverGenerateBucketAccessId)
	return response.GetAccountId(), err
}

// GrantRequest returns the phase 2 request for an account that was requested in phase 1.
func GrantRequest(asked *cosi.DriverGenerateBucketAccessIdRequest, accountID string) *cosi.DriverGrantBucketAccessRequest {
	return &cosi.DriverGrantBucketAccessRequest{
		AccountId:               accountID,
		Protocol:                asked.GetProtocol(),
		AuthenticationType:      asked.GetAuthenticationType(),
		ServiceAccountName:      asked.GetServiceAccountName(),
		ServiceAccountNamespace: asked.GetServiceAccountNamespace(),
		Parameters:              asked.GetParameters(),
		Buckets:                 asked.GetBuckets(),
		Rotation:                asked.GetRotation(),
		DisallowedAccessModes:   asked.GetDisallowedAccessModes(),
	}
}

// GrantAccess makes the phase 2 call for an access. The response has exactly the requested buckets and everything that
// a workload needs.
func (d *Driver) GrantAccess(ctx context.Context, request *cosi.DriverGrantBucketAccessRequest) (*cosi.DriverGrantBucketAccessResponse, error) {
	return provision(ctx, d, cosi.Provisioner_DriverGrantBucketAccess_FullMethodName, request,
		cosi.ProvisionerClient.DriverGrantBucketAccess)
}

// RevokeAccess removes an access.
func (d *Driver) RevokeAccess(ctx context.Context, request *cosi.DriverRevokeBucketAccessRequest) error {
	_, err := provision(ctx, d, cosi.Provisioner_DriverRevokeBucketAccess_FullMethodName, request,
		cosi.ProvisionerClient.DriverRevokeBucketAccess)
	if err == nil {
		d.secrets.forget(request.GetAccountId())
	}
	return err
}

// Redact registers the credentials of an account and the values of other keys, which were read from its Secrets. They
// are removed from all messages about that account. Users can write Secrets, so messages about other accounts are not
// changed.
func (d *Driver) Redact(account string, credentials, others []string) {
	d.secrets.addFound(account, credentials, others)
}

// checkServed refuses a bucket with a protocol that DriverGetInfo does not name.
func (d *Driver) checkServed(method string, info *cosi.ObjectProtocolAndBucketInfo) error {
	served := d.Info().Protocols
	for _, protocol := range cosi.ProtocolsOf(info) {
		if !slices.Contains(served, protocol) {
			return Broken(method, fmt.Errorf("protocols contains %s, which is not in supported_protocols of DriverGetInfo", protocol))
		}
	}
	return nil
}

// userError returns the error of a call for users: without secrets and without the path of the socket, which is in the log.
func (d *Driver) userError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	said := status.Convert(err)
	text := strings.NewReplacer(" at "+d.options.Address, "", " at "+d.socket, "", " "+d.socket, "", d.socket, "").Replace(said.Message())
	return d.secrets.redact(ctx, status.Error(said.Code(), text))
}

// provision makes one call of the Provisioner service in the current session.
func provision[Q, A proto.Message](
	ctx context.Context, d *Driver, method string, request Q,
	rpc func(cosi.ProvisionerClient, context.Context, Q, ...grpc.CallOption) (A, error),
) (A, error) {
	var none A
	if err := cosi.ValidateRequest(request); err != nil {
		return none, Unsendable(method, err)
	}
	ctx = withAccount(ctx, request)
	s, problem := d.acquireSession()
	if s == nil {
		return none, failed(method, d.userError(ctx, status.Error(codes.Unavailable, problem.Error())))
	}
	defer s.calls.Done()
	client := cosi.NewProvisionerClient(s.conn)
	return call(ctx, d.options.Deadline, method, request,
		func(ctx context.Context, request Q, _ ...grpc.CallOption) (A, error) {
			response, err := rpc(client, ctx, request)
			return response, d.userError(ctx, err)
		})
}

// call makes one call within the deadline and checks its response.
func call[Q, A proto.Message](
	ctx context.Context, deadline time.Duration, method string, request Q,
	rpc func(context.Context, Q, ...grpc.CallOption) (A, error),
) (A, error) {
	var none A
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	response, err := rpc(ctx, request)
	if err != nil {
		return none, failed(method, err)
	}
	if err := cosi.ValidateResponse(request, response); err != nil {
		return none, Broken(method, err)
	}
	return response, nil
}
