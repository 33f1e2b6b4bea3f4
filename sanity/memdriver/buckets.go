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
				s.Buckets[id] = newBucket(ownerDriver, request.GetParameters())
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

// remembered returns what was remembered under a key, and remembers the value if nothing was.
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
	met, unlock, err := d.lock("bucket " + request.GetBucketId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	again := false
	err = d.store.driver(func(s *state) error {
		again = s.Buckets[request.GetBucketId()] != nil
		return d.begin(s, request)
	})
	if err != nil {
		return nil, d.fromStore(err)
	}
	switch {
	case d.has(HalfCreated):
		pause(ctx, halfway)
	case d.has(BusyIsInternal) && !again:
		// A second call is to meet the first, on a busy machine as well; a call with little time left is quick.
		if deadline, has := ctx.Deadline(); !has || time.Until(deadline) > time.Second {
			select {
			case <-met:
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
	return &cosi.DriverCreateBucketResponse{Protocols: d.created(request, again)}, nil
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

// begin is the first step of a creation: the bucket exists as the driver's own, or does not fit.
func (d *Driver) begin(s *state, request *cosi.DriverCreateBucketRequest) error {
	id := request.GetBucketId()
	bucket := s.Buckets[id]
	switch {
	case bucket == nil:
		s.Buckets[id] = newBucket(ownerDriver, request.GetParameters())
		if d.has(PublicBuckets) {
			s.Buckets[id].Public = true
		}
		return nil
	case bucket.Owner != ownerDriver && !d.has(AdoptsForeign):
		return status.Errorf(codes.AlreadyExists, "bucket %s exists and belongs to somebody else", id)
	case !bucket.Ready && d.has(HalfCreated), bucket.Ready && d.has(SecondCreateFails):
		return status.Errorf(codes.AlreadyExists, "bucket %s exists", id)
	case bucket.Ready && d.has(SecondBucketOnRepeat):
		s.Buckets[id+"-"+randomText(8)] = newBucket(ownerDriver, request.GetParameters())
	}
	if d.has(ChangesBeforeComparing) {
		defer func(parameters map[string]string) { bucket.Parameters = parameters }(maps.Clone(request.GetParameters()))
	}
	if !d.has(NeverComparesParameters) && !maps.Equal(bucket.Parameters, request.GetParameters()) {
		return status.Errorf(codes.AlreadyExists, "bucket %s exists with other parameters", id)
	}
	return nil
}

// created is the response to a creation; again says that the bucket existed.
func (d *Driver) created(request *cosi.DriverCreateBucketRequest, again bool) *cosi.ObjectProtocolAndBucketInfo {
	info := d.describe(request.GetBucketId(), request.GetProtocols())
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

// describe says how a bucket is reached: by the protocols asked for, or by all.
func (d *Driver) describe(id string, asked []*cosi.ObjectProtocol) *cosi.ObjectProtocolAndBucketInfo {
	info := &cosi.ObjectProtocolAndBucketInfo{}
	for _, protocol := range d.profile.Protocols {
		wanted := len(asked) == 0 || slices.ContainsFunc(asked, func(p *cosi.ObjectProtocol) bool { return p.GetType() == protocol })
		if !wanted || d.has(OnlyFirstProtocol) && protocol != d.profile.Protocols[0] {
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
			BucketId: id, Endpoint: "http://memory.example.com", Region: "memory-1",
			AddressingStyle: &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_PATH},
		}
		if d.has(OversizedResponse) {
			info.S3.Endpoint += "/" + strings.Repeat("x", 3000)
		}
	case cosi.ObjectProtocol_AZURE:
		info.Azure = &cosi.AzureBucketInfo{StorageAccount: "memory"}
	case cosi.ObjectProtocol_GCS:
		info.Gcs = &cosi.GcsBucketInfo{ProjectId: "memory", BucketName: id}
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
	err := d.store.driver(func(s *state) error { return d.look(s, request) })
	if status.Code(err) == codes.NotFound {
		d.remember("missing "+id, "yes")
		if d.has(MissingIsInternal) {
			return nil, status.Errorf(codes.Internal, "bucket %s does not exist", id)
		}
	}
	if err != nil {
		return nil, d.fromStore(err)
	}
	info := d.describe(id, request.GetProtocols())
	switch {
	case d.has(GetWithoutInfo):
		info = &cosi.ObjectProtocolAndBucketInfo{}
	case d.has(GetDescribesOtherwise):
		d.fill(info, id+"/", d.profile.Protocols[0])
	}
	return &cosi.DriverGetBucketResponse{Protocols: info}, nil
}

func (d *Driver) look(s *state, request *cosi.DriverGetBucketRequest) error {
	id := request.GetBucketId()
	bucket := s.Buckets[id]
	switch {
	case bucket == nil && d.has(FindsDeletedBuckets):
		if deleted := d.recall("deleted " + id); deleted {
			return nil
		}
		fallthrough
	case bucket == nil, bucket.Owner == ownerAdmin && d.has(FindsOnlyItsOwn):
		return status.Errorf(codes.NotFound, "bucket %s does not exist", id)
	}
	if d.has(GetAdopts) {
		s.Buckets[id+".seen"] = newBucket(ownerDriver, nil)
	}
	if len(request.GetParameters()) > 0 && !d.has(GetIgnoresParameters) && !maps.Equal(bucket.Parameters, request.GetParameters()) {
		return status.Errorf(codes.AlreadyExists, "bucket %s does not fit the parameters", id)
	}
	return nil
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
	_, unlock, err := d.lock("bucket " + id)
	if err != nil {
		return nil, err
	}
	defer unlock()
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
		return status.Errorf(codes.FailedPrecondition, "bucket %s is somebody else's; it is left alone", id)
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
	for name := range s.Buckets {
		if d.has(DeletesByPrefix) && strings.HasPrefix(name, id) {
			delete(s.Buckets, name)
		}
	}
	return nil
}

// halfway is how long a call stands between its two halves. Callers that are cut short at some points of it are to meet one,
// also on a busy machine.
const halfway = 100 * time.Millisecond

// pause waits, or until the call is cancelled.
func pause(ctx context.Context, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
