// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// wire is what the generations before this contract have in common: one call makes a bucket or an
// account and returns its ID. Each of their calls becomes the calls of the contract that say the same,
// and these pass the guard as if a sidecar had made them.
type wire struct {
	rpcs   *rpcs
	around *guard
}

// pass makes one call of the contract.
func pass[Q, A proto.Message](ctx context.Context, w wire, rpc func(context.Context, Q) (A, error), request Q) (A, error) {
	var answer A
	_, err := w.around.call(ctx, request, func(ctx context.Context, _ any) (any, error) {
		var err error
		answer, err = rpc(ctx, request)
		return answer, err
	})
	return answer, err
}

// create makes both phases of a bucket. Between them fits, if set, can refuse the ID.
func (w wire) create(
	ctx context.Context, asked *cosi.DriverGenerateBucketIdRequest, fits func(id string) error,
) (string, *cosi.ObjectProtocolAndBucketInfo, error) {
	generated, err := pass(ctx, w, w.rpcs.DriverGenerateBucketId, asked)
	if err != nil {
		return "", nil, err
	}
	id := generated.GetBucketId()
	if fits != nil {
		if err := fits(id); err != nil {
			return "", nil, err
		}
	}
	created, err := pass(ctx, w, w.rpcs.DriverCreateBucket, &cosi.DriverCreateBucketRequest{
		BucketId: id, Protocols: asked.GetProtocols(), Parameters: asked.GetParameters(),
	})
	if err != nil {
		return "", nil, err
	}
	return id, created.GetProtocols(), nil
}

// grant makes both phases of an access.
func (w wire) grant(
	ctx context.Context, asked *cosi.DriverGenerateBucketAccessIdRequest,
) (string, *cosi.DriverGrantBucketAccessResponse, error) {
	generated, err := pass(ctx, w, w.rpcs.DriverGenerateBucketAccessId, asked)
	if err != nil {
		return "", nil, err
	}
	granted, err := pass(ctx, w, w.rpcs.DriverGrantBucketAccess, &cosi.DriverGrantBucketAccessRequest{
		AccountId: generated.GetAccountId(), Protocol: asked.GetProtocol(), AuthenticationType: asked.GetAuthenticationType(),
		ServiceAccountName: asked.GetServiceAccountName(), Parameters: asked.GetParameters(), Buckets: asked.GetBuckets(),
	})
	if err != nil {
		return "", nil, err
	}
	return generated.GetAccountId(), granted, nil
}

// usual is the access to the contents of objects that a driver grants where nobody can ask for one.
func (i Info) usual() *cosi.AccessMode {
	if slices.Contains(i.Modes.ObjectData, ReadWrite) {
		return &cosi.AccessMode{Mode: cosi.AccessMode_READ_WRITE}
	}
	return &cosi.AccessMode{Mode: cosi.AccessMode_ANY}
}
