// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Endpoints and other data with which workloads reach the buckets.
const (
	Endpoint       = "https://s3.memory.example"
	Region         = "memory-1"
	StorageAccount = "memory"
	Project        = "memory-project"
)

// DriverGenerateBucketId implements cosi.ProvisionerServer.
func (d *Driver) DriverGenerateBucketId(
	_ context.Context, request *cosi.DriverGenerateBucketIdRequest,
) (*cosi.DriverGenerateBucketIdResponse, error) {
	if err := d.check(request); err != nil {
		return nil, err
	}
	if len(request.GetProtocols()) == 0 && d.has(EmptyProtocolsIsInternal) {
		return nil, status.Error(codes.Internal, "protocols is empty")
	}
	if d.has(AcceptsAnyProtocol) {
		request.Protocols = nil
	}
	if d.has(NeedsProtocols) && len(request.GetProtocols()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "")
	}
	if err := d.checkProtocols(request.GetProtocols()); err != nil {
		return nil, err
	}
	if err := d.checkBucketParameters(request.GetParameters()); err != nil {
		return nil, err
	}
	id := d.idOf(request.GetName())
	if d.has(RestartChangesIDs) {
		id = d.remembered("bucket ID of "+request.GetName(), id+"-"+randomText(6))
	}
	if d.has(NoBucketID) {
		id = ""
	}
	d.remember("generated "+id, "yes")
	if d.has(CreatesInPhaseOne) {
		err := d.store.driver(func(s *state) error {
			if s.Buckets[id] == nil {
				s.Buckets[id] = d.newBucket(request.GetProtocols(), request.GetParameters())
				s.Buckets[id].Ready = true
			}
			return nil
		})
		if err != nil {
			return nil, d.fromStore(err)
		}
	}
	return &cosi.DriverGenerateBucketIdResponse{BucketId: id}, nil
}

// remembered returns the value stored under a key, or stores value if there is none.
func (d *Driver) remembered(key, value string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if old, found := d.memory[key]; found {
		return old
	}
	d.memory[key] = value
	return value
}

// DriverCreateBucket implements cosi.ProvisionerServer.
func (d *Driver) DriverCreateBucket(
	ctx context.Context, request *cosi.DriverCreateBucketRequest,
) (*cosi.DriverCreateBucketResponse, error) {
	if err := d.checkCreate(request); err != nil {
		return nil, err
	}
	if d.has(DeleteCache) {
		pause(ctx, 5*time.Millisecond)
	}
	again := false
	var protocols []cosi.ObjectProtocol_Type
	err := d.store.driver(func(s *state) error {
		again = s.Buckets[request.GetBucketId()] != nil
		if err := d.begin(s, request); err != nil {
			return err
		}
		protocols = s.Buckets[request.GetBucketId()].Protocols
		return nil
	})
	if err != nil {
		return nil, d.fromStore(err)
	}
	switch {
	case d.has(HalfCreated):
		pause(ctx, halfway)
	case d.has(BusyIsInternal) && !again:
		// A second call should overlap with the first, even on a busy machine; a call with little time left is fast.
		if deadline, has := ctx.Deadline(); !has || time.Until(deadline) > time.Second {
			select {
			case <-second(ctx):
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, d.fromStore(err)
	}
	err = d.store.driver(func(s *state) error {
		if bucket := s.Buckets[request.GetBucketId()]; bucket != nil {
			bucket.Ready = true
		}
		return nil
	})
	if err != nil {
		return nil, d.fromStore(err)
	}
	return &cosi.DriverCreateBucketResponse{Protocols: d.created(request, protocols, again)}, nil
}

func (d *Driver) checkCreate(request *cosi.DriverCreateBucketRequest) error {
	if err := d.check(request); err != nil {
		return err
	}
	if d.has(CreatesBeforeChecking) {
		if err := d.store.driver(func(s *state) error { return d.begin(s, request) }); err != nil {
			return d.fromStore(err)
		}
	}
	if !d.has(AcceptsAnyProtocol) && !d.has(CreateAcceptsAnyProtocol) {
		if err := d.checkProtocols(request.GetProtocols()); err != nil {
			return err
		}
	}
	if err := d.checkBucketParameters(request.GetParameters()); err != nil {
		return err
	}
	if generated := d.recall("generated " + request.GetBucketId()); !generated && d.has(NeedsGeneratedInMemory) {
		return status.Errorf(codes.FailedPrecondition, "bucket ID %s was not generated here", request.GetBucketId())
	}
	return nil
}

// begin is the first step of a creation: it ensures that the bucket exists and belongs to the driver, or returns an
// error if it does not match.
func (d *Driver) begin(s *state, request *cosi.DriverCreateBucketRequest) error {
	id := request.GetBucketId()
	bucket := s.Buckets[id]
	switch {
	case bucket == nil:
		s.Buckets[id] = d.newBucket(request.GetProtocols(), request.GetParameters())
		if d.has(PublicBuckets) {
			s.Buckets[id].Public = true
		}
		return nil
	case bucket.Owner != ownerDriver && !d.has(AdoptsForeign):
		return status.Errorf(codes.AlreadyExists, "bucket %s exists and has another owner", id)
	case !bucket.Ready && d.has(HalfCreated), bucket.Ready && d.has(SecondCreateFails):
		return status.Errorf(codes.AlreadyExists, "bucket %s exists", id)
	case bucket.Ready && d.has(SecondBucketOnRepeat):
		s.Buckets[id+"-"+randomText(8)] = d.newBucket(request.GetProtocols(), request.GetParameters())
	}
	if d.has(ChangesBeforeComparing) {
		defer func(parameters map[string]string) { bucket.Parameters = parameters }(maps.Clone(request.GetParameters()))
	}
	if !d.has(NeverComparesParameters) && !maps.Equal(bucket.Parameters, request.GetParameters()) {
		return status.Errorf(codes.AlreadyExists, "bucket %s exists with other parameters", id)
	}
	for _, protocol := range request.GetProtocols() {
		if !slices.Contains(bucket.Protocols, protocol.GetType()) && !d.has(NeverComparesParameters) {
			return status.Errorf(codes.AlreadyExists, "bucket %s exists for other protocols", id)
		}
	}
	return nil
}

// newBucket returns a bucket of the driver. Without protocols it supports all of the driver's.
func (d *Driver) newBucket(protocols []*cosi.ObjectProtocol, parameters map[string]string) *bucketState {
	if len(protocols) == 0 {
		return newBucket(ownerDriver, d.supported(), parameters)
	}
	return newBucket(ownerDriver, types(protocols), parameters)
}

// created returns the response to a creation; again reports whether the bucket already existed.
func (d *Driver) created(
	request *cosi.DriverCreateBucketRequest, protocols []cosi.ObjectProtocol_Type, again bool,
) *cosi.ObjectProtocolAndBucketInfo {
	info := d.describe(request.GetBucketId(), protocols)
	switch {
	case d.has(NoBucketInfo):
		return &cosi.ObjectProtocolAndBucketInfo{}
	case d.has(MovingEndpoint) && again:
		info.S3 = &cosi.S3BucketInfo{BucketId: request.GetBucketId(), Endpoint: "http://other.memory.example.com", Region: "memory-2"}
	case d.has(CredentialInInfo) && info.GetS3() != nil:
		info.S3.Endpoint = "http://root:opensesame@memory.example.com"
	case d.has(ForgetsStyleAndScheme) && info.GetS3() != nil:
		info.S3.Endpoint, info.S3.AddressingStyle = "memory.example.com", &cosi.S3AddressingStyle{}
	}
	return info
}

// describe returns the bucket information for each protocol.
func (d *Driver) describe(id string, protocols []cosi.ObjectProtocol_Type) *cosi.ObjectProtocolAndBucketInfo {
	info := &cosi.ObjectProtocolAndBucketInfo{}
	supported := d.supported()
	for _, protocol := range supported {
		if !slices.Contains(protocols, protocol) || d.has(OnlyFirstProtocol) && protocol != supported[0] {
			continue
		}
		d.fill(info, id, protocol)
	}
	if d.has(OffersMoreThanItSays) {
		info.Gcs = &cosi.GcsBucketInfo{ProjectId: "memory", BucketName: id}
	}
	return info
}

func (d *Driver) fill(info *cosi.ObjectProtocolAndBucketInfo, id string, protocol cosi.ObjectProtocol_Type) {
	switch protocol {
	case cosi.ObjectProtocol_S3:
		info.S3 = &cosi.S3BucketInfo{
			BucketId: id, Endpoint: Endpoint, Region: Region,
			AddressingStyle: &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_PATH},
		}
		if d.has(OversizedResponse) {
			info.S3.Endpoint += "/" + strings.Repeat("x", 3000)
		}
	case cosi.ObjectProtocol_AZURE:
		info.Azure = &cosi.AzureBucketInfo{StorageAccount: StorageAccount}
	case cosi.ObjectProtocol_GCS:
		info.Gcs = &cosi.GcsBucketInfo{ProjectId: Project, BucketName: id}
	case cosi.ObjectProtocol_UNKNOWN:
	}
}

// DriverGetBucket implements cosi.ProvisionerServer.
func (d *Driver) DriverGetBucket(_ context.Context, request *cosi.DriverGetBucketRequest) (*cosi.DriverGetBucketResponse, error) {
	if err := d.check(request); err != nil {
		return nil, err
	}
	if !d.has(GetAcceptsAnyProtocol) {
		if err := d.checkProtocols(request.GetProtocols()); err != nil {
			return nil, err
		}
	}
	id := request.GetBucketId()
	if missing := d.recall("missing " + id); missing && d.has(NegativeCache) {
		return nil, status.Errorf(codes.NotFound, "bucket %s does not exist", id)
	}
	var protocols []cosi.ObjectProtocol_Type
	err := d.store.driver(func(s *state) error {
		protocols = d.supported()
		if bucket := s.Buckets[id]; bucket != nil {
			protocols = bucket.Protocols
		}
		return d.look(s, request)
	})
	if status.Code(err) == codes.NotFound {
		d.remember("missing "+id, "yes")
		if d.has(MissingIsInternal) {
			return nil, status.Errorf(codes.Internal, "bucket %s does not exist", id)
		}
	}
	if err != nil {
		return nil, d.fromStore(err)
	}
	info := d.describe(id, protocols)
	switch {
	case d.has(GetWithoutInfo):
		info = &cosi.ObjectProtocolAndBucketInfo{}
	case d.has(GetDescribesOtherwise):
		d.fill(info, id+"/", d.supported()[0])
	}
	return &cosi.DriverGetBucketResponse{Protocols: info}, nil
}

func (d *Driver) look(s *state, request *cosi.DriverGetBucketRequest) error {
	id := request.GetBucketId()
	bucket := s.Buckets[id]
	switch {
	case bucket == nil && d.static(id):
		return nil
	case bucket == nil && d.has(FindsDeletedBuckets):
		if deleted := d.recall("deleted " + id); deleted {
			return nil
		}
		fallthrough
	case bucket == nil, bucket.Owner == ownerAdmin && d.has(FindsOnlyItsOwn):
		return status.Errorf(codes.NotFound, "bucket %s does not exist", id)
	}
	if d.has(GetAdopts) {
		s.Buckets[id+".seen"] = d.newBucket(nil, nil)
	}
	for key, value := range request.GetParameters() {
		if recorded, found := bucket.Parameters[key]; found && recorded != value && !d.has(GetIgnoresParameters) {
			return status.Errorf(codes.AlreadyExists, "bucket %s has another value for parameter %s", id, key)
		}
	}
	for _, protocol := range request.GetProtocols() {
		if !slices.Contains(bucket.Protocols, protocol.GetType()) && !d.has(GetAcceptsAnyProtocol) && !d.has(AcceptsUnknownEnums) {
			return status.Errorf(codes.InvalidArgument, "bucket %s does not support protocol %s", id, protocol.GetType())
		}
	}
	return nil
}

// static reports whether a bucket exists without having been created by the driver.
func (d *Driver) static(id string) bool {
	return d.options.StaticPrefix != "" && strings.HasPrefix(id, d.options.StaticPrefix)
}

// DriverDeleteBucket implements cosi.ProvisionerServer.
func (d *Driver) DriverDeleteBucket(_ context.Context, request *cosi.DriverDeleteBucketRequest) (*cosi.DriverDeleteBucketResponse, error) {
	if err := d.check(request); err != nil {
		return nil, err
	}
	id := request.GetBucketId()
	switch known := d.recall("generated " + id); {
	case d.has(DeleteDoesNothing):
		return &cosi.DriverDeleteBucketResponse{}, nil
	case d.has(ForgetsOnRestart) && !known:
		return &cosi.DriverDeleteBucketResponse{}, nil
	case d.has(ParsesIDs) && strings.ContainsAny(id, "_/"):
		return nil, status.Errorf(codes.InvalidArgument, "bucket ID %s cannot be parsed", id)
	}
	if d.has(DeleteIsStrict) {
		if err := d.checkBucketParameters(request.GetParameters()); err != nil {
			return nil, err
		}
	}
	if deleted := d.recall("deleted " + id); deleted && d.has(DeleteCache) {
		return &cosi.DriverDeleteBucketResponse{}, nil
	}
	d.remember("deleted "+id, "yes")
	if err := d.store.driver(func(s *state) error { return d.remove(s, request) }); err != nil {
		return nil, d.fromStore(err)
	}
	return &cosi.DriverDeleteBucketResponse{}, nil
}

func (d *Driver) remove(s *state, request *cosi.DriverDeleteBucketRequest) error {
	id := request.GetBucketId()
	bucket := s.Buckets[id]
	switch {
	case bucket == nil && d.has(MissingDeleteFails):
		return status.Errorf(codes.Internal, "bucket %s does not exist", id)
	case bucket == nil && d.has(SecondDeleteFails):
		if twice := d.recall("removed " + id); twice {
			return status.Errorf(codes.NotFound, "bucket %s does not exist", id)
		}
		return nil
	case bucket == nil:
		return nil
	case bucket.Owner != ownerDriver && !d.has(DeletesForeign):
		return status.Errorf(codes.FailedPrecondition, "bucket %s has another owner; it was not deleted", id)
	case len(bucket.Policy) > 0 && d.has(LiveAccessIsInternal):
		return status.Errorf(codes.Internal, "bucket %s is in use", id)
	case len(bucket.Objects) > 0 && request.GetParameters()[parameterForce] != "true":
		if d.has(EmptiesByHalf) {
			clear(bucket.Objects)
		}
		return status.Errorf(codes.FailedPrecondition, "bucket %s holds %d objects; empty it, or set %s", id, len(bucket.Objects), parameterForce)
	}
	d.remember("removed "+id, "yes")
	delete(s.Buckets, id)
	if d.has(DeletesByPrefix) {
		maps.DeleteFunc(s.Buckets, func(name string, _ *bucketState) bool { return strings.HasPrefix(name, id) })
	}
	return nil
}

// halfway is how long a call pauses between its two halves, so that calls that are interrupted at various points hit
// the pause, even on a busy machine.
const halfway = 100 * time.Millisecond

// pause waits, or returns early if the call is canceled.
func pause(ctx context.Context, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
