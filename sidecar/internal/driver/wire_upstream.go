// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/upstream"
)

// generation2 is the name of the generation in refusals.
const generation2 = "the upstream project's v1alpha2"

// upstreamModes maps the modes to upstream's.
var upstreamModes = map[cosi.AccessMode_Mode]upstream.AccessMode_Mode{
	cosi.AccessMode_READ_WRITE: upstream.AccessMode_READ_WRITE,
	cosi.AccessMode_READ_ONLY:  upstream.AccessMode_READ_ONLY,
	cosi.AccessMode_WRITE_ONLY: upstream.AccessMode_WRITE_ONLY,
}

// speakUpstream is the wire of the upstream project's v1alpha2 as of its commit ee00c26, which has the same service
// path as our contract but different messages.
func speakUpstream(ctx context.Context, conn grpc.ClientConnInterface, request, reply any, extra *extras) error {
	client := upstream.NewClient(conn)
	switch asked := request.(type) {
	case *cosi.DriverGetInfoRequest:
		info, err := cosi.NewIdentityClient(conn).DriverGetInfo(ctx, asked)
		if err != nil {
			return err
		}
		return fill(reply, info)
	case *cosi.DriverGenerateBucketIdRequest:
		return fill(reply, &cosi.DriverGenerateBucketIdResponse{BucketId: asked.GetName()})
	case *cosi.DriverCreateBucketRequest:
		created, err := client.DriverCreateBucket(ctx, &upstream.DriverCreateBucketRequest{
			Name: asked.GetBucketId(), Protocols: asked.GetProtocols(), Parameters: asked.GetParameters(),
		})
		if err != nil {
			return err
		}
		extra.setID(created.GetBucketId())
		return fill(reply, &cosi.DriverCreateBucketResponse{Protocols: created.GetProtocols()})
	case *cosi.DriverGetBucketRequest:
		return getUpstream(ctx, client, asked, reply)
	case *cosi.DriverGenerateBucketAccessIdRequest:
		if _, err := upstreamGrant(GrantRequest(asked, asked.GetAccountName())); err != nil {
			return err
		}
		return fill(reply, &cosi.DriverGenerateBucketAccessIdResponse{AccountId: asked.GetAccountName()})
	case *cosi.DriverGrantBucketAccessRequest:
		return grantUpstream(ctx, client, asked, reply, extra)
	case *cosi.DriverDeleteBucketRequest:
		_, err := client.DriverDeleteBucket(ctx, asked)
		return err
	case *cosi.DriverRevokeBucketAccessRequest:
		_, err := client.DriverRevokeBucketAccess(ctx, asked)
		return err
	default:
		return status.Errorf(codes.Internal, "%T is not a request of the contract", request)
	}
}

func getUpstream(ctx context.Context, client upstream.ProvisionerClient, asked *cosi.DriverGetBucketRequest, reply any) error {
	found, err := client.DriverGetExistingBucket(ctx, &upstream.DriverGetExistingBucketRequest{
		ExistingBucketId: asked.GetBucketId(), Protocols: asked.GetProtocols(), Parameters: asked.GetParameters(),
	})
	if err != nil {
		return err
	}
	if id := found.GetBucketId(); id != asked.GetBucketId() {
		return status.Errorf(codes.InvalidArgument, "the driver returned another bucket ID, %q; import the bucket with that ID", id)
	}
	return fill(reply, &cosi.DriverGetBucketResponse{Protocols: found.GetProtocols()})
}

func grantUpstream(
	ctx context.Context, client upstream.ProvisionerClient, asked *cosi.DriverGrantBucketAccessRequest, reply any, extra *extras,
) error {
	request, err := upstreamGrant(asked)
	if err != nil {
		return err
	}
	granted, err := client.DriverGrantBucketAccess(ctx, request)
	if err != nil {
		return err
	}
	extra.setID(granted.GetAccountId())
	return fill(reply, &cosi.DriverGrantBucketAccessResponse{Buckets: granted.GetBuckets(), Credentials: granted.GetCredentials()})
}

// upstreamGrant translates a grant request, or returns why that is impossible.
func upstreamGrant(asked *cosi.DriverGrantBucketAccessRequest) (*upstream.DriverGrantBucketAccessRequest, error) {
	if err := checkPlain(asked, generation2); err != nil {
		return nil, err
	}
	request := &upstream.DriverGrantBucketAccessRequest{
		AccountName: asked.GetAccountId(), Protocol: asked.GetProtocol(), AuthenticationType: asked.GetAuthenticationType(),
		Parameters: asked.GetParameters(),
	}
	for _, bucket := range asked.GetBuckets() {
		mode, err := wholeMode(bucket, asked.GetDisallowedAccessModes())
		if err != nil {
			return nil, err
		}
		request.Buckets = append(request.Buckets, &upstream.DriverGrantBucketAccessRequest_AccessedBucket{
			BucketId: bucket.GetBucketId(), AccessMode: &upstream.AccessMode{Mode: upstreamModes[mode]},
		})
	}
	return request, nil
}

// wholeMode returns the single mode for a whole bucket. It must be the same in all requested categories and must not
// be disallowed in any.
func wholeMode(bucket *cosi.AccessedBucket, not *cosi.DisallowedAccessModes) (cosi.AccessMode_Mode, error) {
	all := categories(bucket, not)
	first := slices.IndexFunc(all, category.isAsked)
	if first < 0 {
		return cosi.AccessMode_UNKNOWN, refuse("%s needs an access mode for each bucket, but none is requested; request objectData", generation2)
	}
	mode := all[first].asked
	for _, c := range all {
		switch {
		case c.isAsked() && c.asked != mode:
			return cosi.AccessMode_UNKNOWN, refuse("%s supports only one access mode per bucket, but %s=%s and %s=%s differ; request the same mode in both",
				generation2, all[first].name, modeNames[mode], c.name, modeNames[c.asked])
		case slices.Contains(c.disallowed, mode):
			return cosi.AccessMode_UNKNOWN, refuse("%s supports only one access mode per bucket, but the BucketAccessClass disallows %s=%s; "+
				"request another mode", generation2, c.name, modeNames[mode])
		}
	}
	return mode, nil
}

// differs returns nil if the driver does not implement phase 1. All drivers of our contract do, and none of upstream's
// does. The request is empty, and phase 1 creates nothing anyway.
func differs(ctx context.Context, conn grpc.ClientConnInterface) error {
	_, err := cosi.NewProvisionerClient(conn).DriverGenerateBucketId(ctx, &cosi.DriverGenerateBucketIdRequest{})
	if status.Code(err) == codes.Unimplemented {
		return nil
	}
	return fmt.Errorf("DriverGenerateBucketId returned %s instead of Unimplemented, so the driver probably "+
		"does not use %s: start the sidecar without --driver-dialect", status.Code(err), generation2)
}
