// SPDX-License-Identifier: Apache-2.0

package driverfake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Options configures a Driver. The zero value is a driver for S3.
type Options struct {
	// Name is the driver's name. Default "fake.cooper.dev".
	Name string
	// Revision is what DriverGetInfo returns as such. Default empty.
	Revision string
	// Protocols that the driver supports. Default S3.
	Protocols []cosi.ObjectProtocol_Type
	// SingleBucket makes the driver refuse access to several buckets, with OUT_OF_RANGE, for every protocol. Azure keys
	// do so anyway.
	SingleBucket bool
	// Parameters lists the known parameters with their allowed values; no values allow all. A key
	// that is not here is INVALID_ARGUMENT. Nil allows every parameter.
	Parameters map[string][]string
	// StateFile keeps the backend in a file, so that another Driver continues with it, as after a
	// restart. Default memory only.
	StateFile string
	// Endpoint is the S3 endpoint in responses. Default "https://s3.fake.example".
	Endpoint string
	// Speaks is the generation of the contract that the driver speaks. Default ours.
	Speaks Generation
	// ServerOptions are given to every gRPC server of the driver, its interceptors outside of the
	// driver's own, so that a test can watch the calls. Default none.
	ServerOptions []grpc.ServerOption
}

// Driver is a fake driver. All methods may be called concurrently, while it serves or not.
type Driver struct {
	cosi.UnimplementedIdentityServer
	cosi.UnimplementedProvisionerServer

	options Options
	record  recorder
	script  script
	hooks   hooks

	mu      sync.Mutex
	info    *cosi.DriverGetInfoResponse
	backend backend
}

// New returns a driver, with the backend of StateFile if that exists.
func New(options Options) (*Driver, error) {
	if options.Name == "" {
		options.Name = "fake.cooper.dev"
	}
	if len(options.Protocols) == 0 {
		options.Protocols = []cosi.ObjectProtocol_Type{cosi.ObjectProtocol_S3}
	}
	if options.Endpoint == "" {
		options.Endpoint = "https://s3.fake.example"
	}
	backend, err := loadBackend(options.StateFile)
	if err != nil {
		return nil, fmt.Errorf("loading the fake driver's state: %w", err)
	}
	driver := &Driver{options: options, backend: backend}
	driver.info = &cosi.DriverGetInfoResponse{Name: options.Name, Revision: options.Revision, KeepsDisallowedAccessModes: true}
	for _, protocol := range options.Protocols {
		driver.info.SupportedProtocols = append(driver.info.SupportedProtocols, &cosi.ObjectProtocol{Type: protocol})
	}
	return driver, nil
}

// SetInfo changes what DriverGetInfo returns from now on, as a driver with another configuration
// after a restart. The supported protocols count for all other calls, too.
func (d *Driver) SetInfo(change func(*cosi.DriverGetInfoResponse)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d.info)
}

// Name returns the name that DriverGetInfo returns now.
func (d *Driver) Name() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.info.GetName()
}

// supported returns the protocols of DriverGetInfo. The caller holds mu.
func (d *Driver) supported() []cosi.ObjectProtocol_Type {
	var out []cosi.ObjectProtocol_Type
	for _, protocol := range d.info.GetSupportedProtocols() {
		out = append(out, protocol.GetType())
	}
	return out
}

// change runs edit on the backend and saves it if edit succeeds; otherwise the backend stays as it
// was.
func (d *Driver) change(edit func(*backend) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	edited := d.backend.clone()
	if err := edit(&edited); err != nil {
		return err
	}
	if err := edited.save(d.options.StateFile); err != nil {
		return status.Error(codes.Internal, "saving the fake driver's state failed")
	}
	d.backend = edited
	return nil
}

// DriverGetInfo implements cosi.IdentityServer.
func (d *Driver) DriverGetInfo(context.Context, *cosi.DriverGetInfoRequest) (*cosi.DriverGetInfoResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return proto.CloneOf(d.info), nil
}

// DriverGenerateBucketId implements cosi.ProvisionerServer. The ID is the name.
func (d *Driver) DriverGenerateBucketId(
	_ context.Context, request *cosi.DriverGenerateBucketIdRequest,
) (*cosi.DriverGenerateBucketIdResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.checkBucket(request.GetProtocols(), request.GetParameters()); err != nil {
		return nil, err
	}
	if err := cosi.ValidateBucketID(request.GetName()); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "name %q cannot be a bucket ID: %v", request.GetName(), err)
	}
	wanted := d.bucketOf(request.GetProtocols(), request.GetParameters())
	if err := d.backend.conflict(request.GetName(), wanted); err != nil {
		return nil, err
	}
	return &cosi.DriverGenerateBucketIdResponse{BucketId: request.GetName()}, nil
}

// DriverCreateBucket implements cosi.ProvisionerServer.
func (d *Driver) DriverCreateBucket(
	_ context.Context, request *cosi.DriverCreateBucketRequest,
) (*cosi.DriverCreateBucketResponse, error) {
	var created Bucket
	err := d.change(func(b *backend) error {
		if err := d.checkBucket(request.GetProtocols(), request.GetParameters()); err != nil {
			return err
		}
		wanted := d.bucketOf(request.GetProtocols(), request.GetParameters())
		if err := b.conflict(request.GetBucketId(), wanted); err != nil {
			return err
		}
		found, exists := b.Buckets[request.GetBucketId()]
		if !exists {
			found = wanted
			found.ID = request.GetBucketId()
			b.Buckets[found.ID] = found
		}
		created = found
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &cosi.DriverCreateBucketResponse{Protocols: d.bucketInfo(created.ID, created.Protocols)}, nil
}

// DriverGetBucket implements cosi.ProvisionerServer.
func (d *Driver) DriverGetBucket(
	_ context.Context, request *cosi.DriverGetBucketRequest,
) (*cosi.DriverGetBucketResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.checkBucket(request.GetProtocols(), request.GetParameters()); err != nil {
		return nil, err
	}
	found, exists := d.backend.Buckets[request.GetBucketId()]
	if !exists {
		return nil, status.Errorf(codes.NotFound, "bucket %s does not exist", request.GetBucketId())
	}
	for key, value := range request.GetParameters() {
		if has, recorded := found.Parameters[key]; recorded && has != value {
			return nil, status.Errorf(codes.AlreadyExists, "bucket %s has another value for parameter %s", found.ID, key)
		}
	}
	for _, protocol := range request.GetProtocols() {
		if !slices.Contains(found.Protocols, protocol.GetType()) {
			return nil, status.Errorf(codes.InvalidArgument, "bucket %s does not support protocol %s", found.ID, protocol.GetType())
		}
	}
	return &cosi.DriverGetBucketResponse{Protocols: d.bucketInfo(found.ID, found.Protocols)}, nil
}

// DriverDeleteBucket implements cosi.ProvisionerServer.
func (d *Driver) DriverDeleteBucket(
	_ context.Context, request *cosi.DriverDeleteBucketRequest,
) (*cosi.DriverDeleteBucketResponse, error) {
	err := d.change(func(b *backend) error {
		found := b.Buckets[request.GetBucketId()]
		if len(found.Objects) > 0 && request.GetParameters()["deleteNonEmpty"] != "true" {
			return status.Errorf(codes.FailedPrecondition, "bucket %s holds %d objects; empty it, or set the class parameter "+
				`deleteNonEmpty to "true"`, found.ID, len(found.Objects))
		}
		if found.Foreign {
			return status.Errorf(codes.FailedPrecondition, "bucket %s belongs to somebody else; it is left alone", found.ID)
		}
		delete(b.Buckets, request.GetBucketId())
		return nil
	})
	return &cosi.DriverDeleteBucketResponse{}, err
}

// checkBucket refuses what the driver does not support. The caller holds mu.
func (d *Driver) checkBucket(protocols []*cosi.ObjectProtocol, parameters map[string]string) error {
	for _, protocol := range protocols {
		if !slices.Contains(d.supported(), protocol.GetType()) {
			return status.Errorf(codes.InvalidArgument, "protocol %s is not supported; this driver supports %v",
				protocol.GetType(), d.supported())
		}
	}
	return d.checkParameters(parameters)
}

func (d *Driver) checkParameters(parameters map[string]string) error {
	if d.options.Parameters == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(parameters)) {
		allowed, known := d.options.Parameters[key]
		if !known {
			return status.Errorf(codes.InvalidArgument, "parameter %q is unknown to this driver; it knows: %s",
				key, strings.Join(slices.Sorted(maps.Keys(d.options.Parameters)), ", "))
		}
		if len(allowed) > 0 && !slices.Contains(allowed, parameters[key]) {
			return status.Errorf(codes.InvalidArgument, "parameter %s is %q, but must be one of: %s",
				key, parameters[key], strings.Join(allowed, ", "))
		}
	}
	return nil
}

// bucketOf returns the bucket that a request asks for. Without protocols it gets all that the
// driver supports. The caller holds mu.
func (d *Driver) bucketOf(protocols []*cosi.ObjectProtocol, parameters map[string]string) Bucket {
	wanted := Bucket{Parameters: maps.Clone(parameters)}
	for _, protocol := range protocols {
		wanted.Protocols = append(wanted.Protocols, protocol.GetType())
	}
	if len(wanted.Protocols) == 0 {
		wanted.Protocols = d.supported()
	}
	slices.Sort(wanted.Protocols)
	return wanted
}

func (d *Driver) bucketInfo(id string, protocols []cosi.ObjectProtocol_Type) *cosi.ObjectProtocolAndBucketInfo {
	info := &cosi.ObjectProtocolAndBucketInfo{}
	for _, protocol := range protocols {
		switch protocol {
		case cosi.ObjectProtocol_S3:
			info.S3 = &cosi.S3BucketInfo{
				BucketId: id, Endpoint: d.options.Endpoint, Region: "fake-1",
				AddressingStyle: &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_PATH},
			}
		case cosi.ObjectProtocol_AZURE:
			info.Azure = &cosi.AzureBucketInfo{StorageAccount: "fakeaccount"}
		case cosi.ObjectProtocol_GCS:
			info.Gcs = &cosi.GcsBucketInfo{ProjectId: "fake-project", BucketName: id}
		case cosi.ObjectProtocol_UNKNOWN:
		}
	}
	return info
}

// loadBackend reads the state file, or returns an empty backend if there is none.
func loadBackend(path string) (backend, error) {
	empty := backend{Buckets: map[string]Bucket{}, Accounts: map[string]Account{}}
	if path == "" {
		return empty, nil
	}
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return backend{}, err
	}
	return parseBackend(content)
}
