// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"context"
	"crypto/rand"
	"maps"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// DriverName is the name of Driver.
const DriverName = "strict.cooper.dev"

const endpoint = "http://strict.invalid"

// Driver is a small S3 driver without a store: it remembers what it was asked for, in memory, and
// responds as the contract demands. Credentials it returns open nothing.
type Driver struct {
	cosi.UnimplementedIdentityServer
	cosi.UnimplementedProvisionerServer

	mu       sync.Mutex
	buckets  map[string]map[string]string
	accounts map[string]*cosi.S3CredentialInfo
	rotation map[string]string
}

// NewDriver returns a Driver without buckets.
func NewDriver() *Driver {
	return &Driver{buckets: map[string]map[string]string{}, accounts: map[string]*cosi.S3CredentialInfo{}, rotation: map[string]string{}}
}

// NewServer returns a gRPC server with the driver behind the checker.
func NewServer(checker *Checker, driver *Driver) *grpc.Server {
	server := grpc.NewServer(checker.ServerOptions()...)
	cosi.RegisterIdentityServer(server, driver)
	cosi.RegisterProvisionerServer(server, driver)
	return server
}

// DriverGetInfo implements cosi.IdentityServer.
func (d *Driver) DriverGetInfo(context.Context, *cosi.DriverGetInfoRequest) (*cosi.DriverGetInfoResponse, error) {
	return &cosi.DriverGetInfoResponse{Name: DriverName, SupportedProtocols: []*cosi.ObjectProtocol{{Type: cosi.ObjectProtocol_S3}}}, nil
}

// DriverGenerateBucketId implements cosi.ProvisionerServer: the ID is the name.
func (d *Driver) DriverGenerateBucketId(
	_ context.Context, request *cosi.DriverGenerateBucketIdRequest,
) (*cosi.DriverGenerateBucketIdResponse, error) {
	if err := refuse(cosi.ValidateRequest(request)); err != nil {
		return nil, err
	}
	if err := refuse(cosi.ValidateBucketID(request.GetName())); err != nil {
		return nil, err
	}
	if err := onlyS3(request.GetProtocols()); err != nil {
		return nil, err
	}
	return &cosi.DriverGenerateBucketIdResponse{BucketId: request.GetName()}, nil
}

// DriverCreateBucket implements cosi.ProvisionerServer.
func (d *Driver) DriverCreateBucket(_ context.Context, request *cosi.DriverCreateBucketRequest) (*cosi.DriverCreateBucketResponse, error) {
	if err := refuse(cosi.ValidateRequest(request)); err != nil {
		return nil, err
	}
	if err := onlyS3(request.GetProtocols()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	id := request.GetBucketId()
	if parameters, exists := d.buckets[id]; exists && !maps.Equal(parameters, request.GetParameters()) {
		return nil, status.Errorf(codes.AlreadyExists, "bucket %s exists with other parameters", id)
	}
	d.buckets[id] = request.GetParameters()
	return &cosi.DriverCreateBucketResponse{Protocols: describe(id)}, nil
}

// DriverGetBucket implements cosi.ProvisionerServer. A bucket whose ID begins with "static-" exists
// without having been created.
func (d *Driver) DriverGetBucket(_ context.Context, request *cosi.DriverGetBucketRequest) (*cosi.DriverGetBucketResponse, error) {
	if err := refuse(cosi.ValidateRequest(request)); err != nil {
		return nil, err
	}
	if err := onlyS3(request.GetProtocols()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	id := request.GetBucketId()
	if _, exists := d.buckets[id]; !exists && !isStatic(id) {
		return nil, status.Errorf(codes.NotFound, "bucket %s does not exist", id)
	}
	return &cosi.DriverGetBucketResponse{Protocols: describe(id)}, nil
}

// DriverDeleteBucket implements cosi.ProvisionerServer.
func (d *Driver) DriverDeleteBucket(_ context.Context, request *cosi.DriverDeleteBucketRequest) (*cosi.DriverDeleteBucketResponse, error) {
	if err := refuse(cosi.ValidateRequest(request)); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.buckets, request.GetBucketId())
	return &cosi.DriverDeleteBucketResponse{}, nil
}

// DriverGenerateBucketAccessId implements cosi.ProvisionerServer: the ID is the name.
func (d *Driver) DriverGenerateBucketAccessId(
	_ context.Context, request *cosi.DriverGenerateBucketAccessIdRequest,
) (*cosi.DriverGenerateBucketAccessIdResponse, error) {
	if err := refuse(cosi.ValidateRequest(request)); err != nil {
		return nil, err
	}
	if err := refuse(cosi.ValidateAccountID(request.GetAccountName())); err != nil {
		return nil, err
	}
	return &cosi.DriverGenerateBucketAccessIdResponse{AccountId: request.GetAccountName()}, nil
}

// DriverGrantBucketAccess implements cosi.ProvisionerServer. A repeated grant returns the same
// credential until rotation changes.
func (d *Driver) DriverGrantBucketAccess(
	_ context.Context, request *cosi.DriverGrantBucketAccessRequest,
) (*cosi.DriverGrantBucketAccessResponse, error) {
	if err := refuse(cosi.ValidateRequest(request)); err != nil {
		return nil, err
	}
	if err := onlyS3([]*cosi.ObjectProtocol{request.GetProtocol()}); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	response := &cosi.DriverGrantBucketAccessResponse{}
	for _, bucket := range request.GetBuckets() {
		if _, exists := d.buckets[bucket.GetBucketId()]; !exists && !isStatic(bucket.GetBucketId()) {
			return nil, status.Errorf(codes.NotFound, "bucket %s does not exist", bucket.GetBucketId())
		}
		response.Buckets = append(response.Buckets, &cosi.DriverGrantBucketAccessResponse_BucketInfo{
			BucketId: bucket.GetBucketId(), BucketInfo: describe(bucket.GetBucketId()),
		})
	}
	if request.GetAuthenticationType().GetType() == cosi.AuthenticationType_KEY {
		response.Credentials = &cosi.CredentialInfo{S3: d.credential(request)}
	}
	return response, nil
}

func (d *Driver) credential(request *cosi.DriverGrantBucketAccessRequest) *cosi.S3CredentialInfo {
	id := request.GetAccountId()
	if d.accounts[id] == nil || d.rotation[id] != request.GetRotation() {
		d.accounts[id] = &cosi.S3CredentialInfo{AccessKeyId: rand.Text()[:20], AccessSecretKey: rand.Text()}
		d.rotation[id] = request.GetRotation()
	}
	return d.accounts[id]
}

// DriverRevokeBucketAccess implements cosi.ProvisionerServer.
func (d *Driver) DriverRevokeBucketAccess(
	_ context.Context, request *cosi.DriverRevokeBucketAccessRequest,
) (*cosi.DriverRevokeBucketAccessResponse, error) {
	if err := refuse(cosi.ValidateRequest(request)); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.accounts, request.GetAccountId())
	return &cosi.DriverRevokeBucketAccessResponse{}, nil
}

func describe(id string) *cosi.ObjectProtocolAndBucketInfo {
	return &cosi.ObjectProtocolAndBucketInfo{S3: &cosi.S3BucketInfo{
		BucketId: id, Endpoint: endpoint, Region: "strict",
		AddressingStyle: &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_PATH},
	}}
}

func isStatic(id string) bool {
	return len(id) > len(staticPrefix) && id[:len(staticPrefix)] == staticPrefix
}

const staticPrefix = "static-"

func onlyS3(protocols []*cosi.ObjectProtocol) error {
	for _, protocol := range protocols {
		if protocol.GetType() != cosi.ObjectProtocol_S3 {
			return status.Errorf(codes.InvalidArgument, "protocol %s is not supported; supported is S3", protocol.GetType())
		}
	}
	return nil
}

func refuse(err error) error {
	if err == nil {
		return nil
	}
	return status.Error(codes.InvalidArgument, err.Error())
}
