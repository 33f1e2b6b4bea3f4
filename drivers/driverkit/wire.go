// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// wire implements the common part of the earlier generations of the contract: one call creates a bucket or account and
// returns its ID. Each call is translated to the equivalent calls of this contract, which pass the guard as if a
// sidecar had made them.
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

// create runs both phases of creating a bucket. Between the phases, the function fits, if set, can reject the ID.
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

// grant runs both phases of an access.
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

// usual returns the access mode for object data that a driver grants when the caller cannot request one.
func (i Info) usual() *cosi.AccessMode {
	if slices.Contains(i.Modes.ObjectData, ReadWrite) {
		return &cosi.AccessMode{Mode: cosi.AccessMode_READ_WRITE}
	}
	return &cosi.AccessMode{Mode: cosi.AccessMode_ANY}
}
