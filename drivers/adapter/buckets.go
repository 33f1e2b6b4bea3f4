// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// DriverGenerateBucketId implements cosi.ProvisionerServer.
func (a *Adapter) DriverGenerateBucketId(
	ctx context.Context, request *cosi.DriverGenerateBucketIdRequest,
) (*cosi.DriverGenerateBucketIdResponse, error) {
	err := a.driver.conn.CheckBucket(&cosi.DriverCreateBucketRequest{Protocols: request.GetProtocols(), Parameters: request.GetParameters()})
	if err != nil {
		return nil, failure(err)
	}
	id, err := a.newID(ctx, request.GetName(), cosi.ValidateBucketID)
	if err != nil {
		return nil, err
	}
	return &cosi.DriverGenerateBucketIdResponse{BucketId: id}, nil
}

// DriverCreateBucket implements cosi.ProvisionerServer. A bucket whose ID an older sidecar stored exists, so it is
// only described.
func (a *Adapter) DriverCreateBucket(
	ctx context.Context, request *cosi.DriverCreateBucketRequest,
) (*cosi.DriverCreateBucketResponse, error) {
	name, ours := nameOf(request.GetBucketId())
	if !ours {
		info, err := a.describe(ctx, request)
		return &cosi.DriverCreateBucketResponse{Protocols: info}, err
	}
	if err := a.driver.conn.CheckBucket(request); err != nil {
		return nil, failure(err)
	}
	e, err := a.bucketWithID(ctx, request.GetBucketId())
	if err != nil {
		return nil, err
	}
	isNew := e == nil
	if isNew {
		e = &bucketEntry{key: bucketKind.named(name), name: name, request: proto.CloneOf(request)}
		if err := writeEntry(ctx, a.store, e); err != nil {
			return nil, err
		}
	}
	if !proto.Equal(e.request, request) {
		return nil, driverkit.AlreadyExists("bucket %s was requested with other protocols or parameters before", request.GetBucketId())
	}
	err = a.obtainBucket(ctx, e)
	if isNew {
		return e.response, a.dropRefused(ctx, e.key, err)
	}
	return e.response, err
}

// obtainBucket ensures that the bucket of an entry exists and that the entry has the driver's ID and response. The ID
// may be known even if there is an error.
func (a *Adapter) obtainBucket(ctx context.Context, e *bucketEntry) error {
	if e.response != nil {
		return nil
	}
	id, info, err := a.driver.conn.Create(ctx, e.name, e.request)
	if err != nil {
		return failure(err)
	}
	if err := a.adopt(ctx, bucketKind, e.name, &e.id, id); err != nil {
		return err
	}
	response := &cosi.DriverCreateBucketResponse{Protocols: info}
	invalid := cosi.ValidateResponse(e.request, response)
	if invalid == nil {
		e.response = response
	}
	if err := writeEntry(ctx, a.store, e); err != nil {
		return err
	}
	if invalid != nil {
		return broken("DriverCreateBucket", invalid)
	}
	return nil
}

// adopt records that the driver's ID belongs to the name, and then sets the ID of the entry.
func (a *Adapter) adopt(ctx context.Context, k kind, name string, known *string, id string) error {
	switch {
	case id == "" || len(id) > maxDriverID:
		return broken("the request for "+k.named(name), fmt.Errorf("its ID has %d bytes instead of 1 to %d", len(id), maxDriverID))
	case *known != "" && *known != id:
		return broken("the request for "+k.named(name), fmt.Errorf("its ID is %q, but an earlier response had %q", id, *known))
	}
	if err := a.claim(ctx, k, id, name); err != nil {
		return err
	}
	*known = id
	return nil
}

// DriverGetBucket implements cosi.ProvisionerServer.
func (a *Adapter) DriverGetBucket(ctx context.Context, request *cosi.DriverGetBucketRequest) (*cosi.DriverGetBucketResponse, error) {
	asked := &cosi.DriverCreateBucketRequest{BucketId: request.GetBucketId(), Protocols: request.GetProtocols(), Parameters: request.GetParameters()}
	if _, ours := nameOf(request.GetBucketId()); !ours {
		info, err := a.describe(ctx, asked)
		return &cosi.DriverGetBucketResponse{Protocols: info}, err
	}
	e, err := a.bucketWithID(ctx, request.GetBucketId())
	switch {
	case err != nil:
		return nil, err
	case e == nil || e.response == nil:
		return nil, driverkit.NotFound("bucket %s does not exist", request.GetBucketId())
	}
	if err := cosi.ValidateResponse(asked, e.response); err != nil {
		return nil, driverkit.InvalidArgument("bucket %s does not match the request: %v", request.GetBucketId(), err)
	}
	return &cosi.DriverGetBucketResponse{Protocols: e.response.GetProtocols()}, nil
}

// describe describes a bucket that the adapter did not create, and records the import, so no name can get
// it. It refuses a bucket that the adapter created: with two IDs, deleting one would delete the data of both.
func (a *Adapter) describe(ctx context.Context, request *cosi.DriverCreateBucketRequest) (*cosi.ObjectProtocolAndBucketInfo, error) {
	id, err := driverID(request.GetBucketId())
	if err != nil {
		return nil, err
	}
	e, err := a.bucket(ctx, bucketKind.owned(id))
	switch {
	case err != nil:
		return nil, err
	case e != nil && e.name != "":
		prefix, err := a.prefix(ctx)
		if err != nil {
			return nil, err
		}
		return nil, driverkit.InvalidArgument("COSI created bucket %q; to import it, set existingBucketID: %s%s", id, prefix, e.name)
	}
	info, err := a.driver.conn.Get(ctx, id, &cosi.DriverGetBucketRequest{Protocols: request.GetProtocols(), Parameters: request.GetParameters()})
	if err != nil {
		return nil, failure(err)
	}
	response := &cosi.DriverCreateBucketResponse{Protocols: info}
	if e == nil {
		e = &bucketEntry{key: bucketKind.owned(id), id: id}
	} else if proto.Equal(e.request, request) && proto.Equal(e.response, response) {
		return info, nil
	}
	e.request, e.response = proto.CloneOf(request), response
	return info, writeEntry(ctx, a.store, e)
}

// DriverDeleteBucket implements cosi.ProvisionerServer. It deletes the entry last. If the ID of the entry has no
// owner, an interrupted call has deleted the bucket.
func (a *Adapter) DriverDeleteBucket(
	ctx context.Context, request *cosi.DriverDeleteBucketRequest,
) (*cosi.DriverDeleteBucketResponse, error) {
	name, ours := nameOf(request.GetBucketId())
	if !ours {
		return &cosi.DriverDeleteBucketResponse{}, a.deleteImported(ctx, request)
	}
	e, err := a.bucketWithID(ctx, request.GetBucketId())
	if err != nil || e == nil {
		return &cosi.DriverDeleteBucketResponse{}, err
	}
	if e.id == "" {
		if err := a.obtainBucket(ctx, e); err != nil && !nothing(err) && e.id == "" {
			return nil, err
		}
	}
	if e.id != "" {
		owns, err := a.owns(ctx, bucketKind, e.id, name)
		if err == nil && owns {
			err = a.deleteBucket(ctx, e.id, request)
		}
		if err != nil {
			return nil, err
		}
	}
	return &cosi.DriverDeleteBucketResponse{}, a.drop(ctx, e.key)
}

// deleteImported deletes a bucket by the driver's own ID.
func (a *Adapter) deleteImported(ctx context.Context, request *cosi.DriverDeleteBucketRequest) error {
	id, err := driverID(request.GetBucketId())
	if err == nil {
		err = a.checkNotOwned(ctx, bucketKind, id)
	}
	if err != nil {
		return err
	}
	return a.deleteBucket(ctx, id, request)
}

// deleteBucket deletes a bucket at the backend, and then the entry of the driver's ID.
func (a *Adapter) deleteBucket(ctx context.Context, id string, request *cosi.DriverDeleteBucketRequest) error {
	defer a.running.begin([]string{id}, request.GetParameters())()
	if err := a.driver.conn.Delete(ctx, id, request.GetParameters()); err != nil {
		return failure(err)
	}
	return a.drop(ctx, bucketKind.owned(id))
}
