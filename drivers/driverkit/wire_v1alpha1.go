// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"strings"
	"time"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

// regionOfGoogle is the region with which S3 clients sign requests to Google, which accepts any region.
const regionOfGoogle = "auto"

// v1alpha1Wire serves cosi.v1alpha1.
type v1alpha1Wire struct {
	v1alpha1.UnimplementedIdentityServer
	v1alpha1.UnimplementedProvisionerServer
	wire
}

// DriverGetInfo implements v1alpha1.IdentityServer.
func (w *v1alpha1Wire) DriverGetInfo(context.Context, *v1alpha1.DriverGetInfoRequest) (*v1alpha1.DriverGetInfoResponse, error) {
	return &v1alpha1.DriverGetInfoResponse{Name: w.rpcs.driver.Info().Name}, nil
}

// DriverCreateBucket implements v1alpha1.ProvisionerServer.
func (w *v1alpha1Wire) DriverCreateBucket(
	ctx context.Context, request *v1alpha1.DriverCreateBucketRequest,
) (*v1alpha1.DriverCreateBucketResponse, error) {
	name := request.GetName()
	asked := &cosi.DriverGenerateBucketIdRequest{Name: name, Parameters: request.GetParameters()}
	id, info, err := w.create(ctx, asked, func(id string) error { return sameName(name, id) })
	if err != nil {
		return nil, err
	}
	return &v1alpha1.DriverCreateBucketResponse{BucketId: id, BucketInfo: protocolOf(info)}, nil
}

// sameName rejects a bucket whose name differs from the requested one, because the upstream sidecar gives workloads
// the requested name.
func sameName(name, id string) error {
	if id == name || strings.HasSuffix(id, "."+name) {
		return nil
	}
	return InvalidArgument("COSI v1alpha1 gives workloads the bucket name %q, but this driver would create the bucket with another name; "+
		"use a class without parameters that change names, and with a shorter class name of lower-case letters, digits and '-'", name)
}

func protocolOf(info *cosi.ObjectProtocolAndBucketInfo) *v1alpha1.Protocol {
	switch {
	case info.GetS3() != nil:
		return &v1alpha1.Protocol{Type: &v1alpha1.Protocol_S3{S3: &v1alpha1.S3{
			Region: info.GetS3().GetRegion(), SignatureVersion: v1alpha1.S3SignatureVersion_S3V4,
		}}}
	case info.GetAzure() != nil:
		return &v1alpha1.Protocol{Type: &v1alpha1.Protocol_AzureBlob{AzureBlob: &v1alpha1.AzureBlob{
			StorageAccount: info.GetAzure().GetStorageAccount(),
		}}}
	default:
		return &v1alpha1.Protocol{Type: &v1alpha1.Protocol_Gcs{Gcs: &v1alpha1.GCS{ProjectId: info.GetGcs().GetProjectId()}}}
	}
}

// DriverDeleteBucket implements v1alpha1.ProvisionerServer.
func (w *v1alpha1Wire) DriverDeleteBucket(
	ctx context.Context, request *v1alpha1.DriverDeleteBucketRequest,
) (*v1alpha1.DriverDeleteBucketResponse, error) {
	_, err := pass(ctx, w.wire, w.rpcs.DriverDeleteBucket, &cosi.DriverDeleteBucketRequest{
		BucketId: request.GetBucketId(), Parameters: request.GetDeleteContext(),
	})
	if err != nil {
		return nil, err
	}
	return &v1alpha1.DriverDeleteBucketResponse{}, nil
}

// DriverGrantBucketAccess implements v1alpha1.ProvisionerServer.
func (w *v1alpha1Wire) DriverGrantBucketAccess(
	ctx context.Context, request *v1alpha1.DriverGrantBucketAccessRequest,
) (*v1alpha1.DriverGrantBucketAccessResponse, error) {
	if err := cosi.ValidateName("name", request.GetName()); err != nil {
		return nil, InvalidArgument("%v", err)
	}
	switch by := request.GetAuthenticationType(); by {
	case v1alpha1.AuthenticationType_Key:
	case v1alpha1.AuthenticationType_IAM:
		return nil, InvalidArgument("authentication_type IAM is not supported: requests of COSI v1alpha1 contain no service account; use Key")
	case v1alpha1.AuthenticationType_UnknownAuthenticationType:
		return nil, InvalidArgument("authentication_type is required")
	default:
		return nil, InvalidArgument("authentication_type has the unknown value %d", by)
	}
	protocol, err := w.protocol()
	if err != nil {
		return nil, err
	}
	id, granted, err := w.grant(ctx, &cosi.DriverGenerateBucketAccessIdRequest{
		AccountName: request.GetName(), Protocol: protocolTo(protocol),
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY}, Parameters: request.GetParameters(),
		Buckets: []*cosi.AccessedBucket{{BucketId: request.GetBucketId(), ObjectDataAccessMode: w.rpcs.driver.Info().usual()}},
	})
	if err != nil {
		return nil, err
	}
	key, details := w.details(granted)
	return &v1alpha1.DriverGrantBucketAccessResponse{
		AccountId: id, Credentials: map[string]*v1alpha1.CredentialDetails{key: {Secrets: details}},
	}, nil
}

// protocol returns the protocol of all accesses: the first that the driver declares, because callers cannot request
// one.
func (w *v1alpha1Wire) protocol() (Protocol, error) {
	first := w.rpcs.driver.Info().Protocols[0]
	if _, pairs := w.rpcs.driver.(PairGranter); first == GCS && !pairs {
		return "", InvalidArgument("COSI v1alpha1 has no credentials for protocol %s", GCS)
	}
	return first, nil
}

// details returns the credentials for the single bucket of an access. The guard has checked that they are complete.
func (w *v1alpha1Wire) details(granted *cosi.DriverGrantBucketAccessResponse) (string, map[string]string) {
	bucket, credentials := granted.GetBuckets()[0], granted.GetCredentials()
	pair := func(id, secret, endpoint, region string) (string, map[string]string) {
		return v1alpha1.ProtocolS3, map[string]string{
			v1alpha1.KeyAccessKeyID: id, v1alpha1.KeyAccessSecretKey: secret, v1alpha1.KeyEndpoint: endpoint, v1alpha1.KeyRegion: region,
		}
	}
	if s3 := credentials.GetS3(); s3 != nil {
		info := bucket.GetBucketInfo().GetS3()
		return pair(s3.GetAccessKeyId(), s3.GetAccessSecretKey(), info.GetEndpoint(), info.GetRegion())
	}
	if pairs, ok := w.rpcs.driver.(PairGranter); ok && credentials.GetGcs() != nil {
		gcs := credentials.GetGcs()
		return pair(gcs.GetAccessId(), gcs.GetAccessSecret(), pairs.S3Endpoint(bucket.GetBucketId()), regionOfGoogle)
	}
	signed := map[string]string{v1alpha1.KeyAccessToken: credentials.GetAzure().GetAccessToken()}
	if expiry, err := time.Parse(time.RFC3339, credentials.GetAzure().GetExpiryTimestamp()); err == nil {
		signed[v1alpha1.KeyExpiry] = v1alpha1.FormatExpiry(expiry)
	}
	return v1alpha1.ProtocolAzure, signed
}

// DriverRevokeBucketAccess implements v1alpha1.ProvisionerServer. It uses the protocol and the authentication type of
// all v1alpha1 grants. The upstream sidecar does not send the parameters, so drivers must work without them.
func (w *v1alpha1Wire) DriverRevokeBucketAccess(
	ctx context.Context, request *v1alpha1.DriverRevokeBucketAccessRequest,
) (*v1alpha1.DriverRevokeBucketAccessResponse, error) {
	_, err := pass(ctx, w.wire, w.rpcs.DriverRevokeBucketAccess, &cosi.DriverRevokeBucketAccessRequest{
		AccountId: request.GetAccountId(), Protocol: protocolTo(w.rpcs.driver.Info().Protocols[0]),
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY}, Parameters: request.GetRevokeAccessContext(),
		Buckets: []*cosi.DriverRevokeBucketAccessRequest_AccessedBucket{{BucketId: request.GetBucketId()}},
	})
	if err != nil {
		return nil, err
	}
	return &v1alpha1.DriverRevokeBucketAccessResponse{}, nil
}
