// SPDX-License-Identifier: Apache-2.0

package vendor

import (
	"cmp"
	"context"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

const (
	// nameV1alpha1 is the name of the generation in refusals.
	nameV1alpha1 = "COSI v1alpha1"
	// maxMap is the maximum size of the keys and values of a map in v1alpha1, in bytes.
	maxMap = 4 << 10
	// usualRegion is the region in signatures for stores without regions.
	usualRegion = "us-east-1"
)

// v1alpha1Driver implements Driver and Limits for the specification v1alpha1.
type v1alpha1Driver struct {
	identity v1alpha1.IdentityClient
	client   v1alpha1.ProvisionerClient
}

func newV1alpha1(conn grpc.ClientConnInterface) v1alpha1Driver {
	return v1alpha1Driver{v1alpha1.NewIdentityClient(conn), v1alpha1.NewProvisionerClient(conn)}
}

// Info returns all protocols, because the response of v1alpha1 has none. Each bucket has its own.
func (d v1alpha1Driver) Info(ctx context.Context) (*cosi.DriverGetInfoResponse, error) {
	info, err := d.identity.DriverGetInfo(ctx, &v1alpha1.DriverGetInfoRequest{})
	if err != nil {
		return nil, err
	}
	return &cosi.DriverGetInfoResponse{Name: info.GetName(), SupportedProtocols: []*cosi.ObjectProtocol{
		{Type: cosi.ObjectProtocol_S3}, {Type: cosi.ObjectProtocol_AZURE}, {Type: cosi.ObjectProtocol_GCS},
	}}, nil
}

// CheckBucket refuses bucket requests that v1alpha1 cannot express.
func (d v1alpha1Driver) CheckBucket(asked *cosi.DriverCreateBucketRequest) error {
	if len(asked.GetProtocols()) > 1 {
		return refuse("%s supports one protocol per bucket; request only one", nameV1alpha1)
	}
	return checkMap(asked.GetParameters())
}

func checkMap(parameters map[string]string) error {
	size := 0
	for key, value := range parameters {
		size += len(key) + len(value)
	}
	if size > maxMap {
		return refuse("the parameters have %d bytes, but %s allows %d; shorten the parameters of the class", size, nameV1alpha1, maxMap)
	}
	return nil
}

// Create implements Driver.
func (d v1alpha1Driver) Create(
	ctx context.Context, name string, asked *cosi.DriverCreateBucketRequest,
) (string, *cosi.ObjectProtocolAndBucketInfo, error) {
	created, err := d.client.DriverCreateBucket(ctx, &v1alpha1.DriverCreateBucketRequest{Name: name, Parameters: asked.GetParameters()})
	if err != nil {
		return "", nil, err
	}
	return created.GetBucketId(), bucketInfo(name, created.GetBucketInfo(), asked.GetProtocols()), nil
}

// Get describes an existing bucket from the administrator's input, because v1alpha1 has no call to read a bucket. The
// first grant shows whether it exists.
func (d v1alpha1Driver) Get(_ context.Context, id string, asked *cosi.DriverGetBucketRequest) (*cosi.ObjectProtocolAndBucketInfo, error) {
	if len(asked.GetProtocols()) != 1 {
		return nil, refuse("%s cannot inspect an existing bucket; set exactly one protocol in the Bucket", nameV1alpha1)
	}
	return bucketInfo(id, nil, asked.GetProtocols()), nil
}

// Delete accepts NOT_FOUND for a bucket that no longer exists, as the released sidecars do.
func (d v1alpha1Driver) Delete(ctx context.Context, id string, parameters map[string]string) error {
	_, err := d.client.DriverDeleteBucket(ctx, &v1alpha1.DriverDeleteBucketRequest{BucketId: id, DeleteContext: parameters})
	if status.Code(err) == codes.NotFound {
		return nil
	}
	return err
}

// CheckGrant refuses access requests that v1alpha1 cannot express.
func (d v1alpha1Driver) CheckGrant(asked *cosi.DriverGrantBucketAccessRequest) error {
	if err := checkPlain(asked, nameV1alpha1); err != nil {
		return err
	}
	if asked.GetProtocol().GetType() == cosi.ObjectProtocol_GCS {
		return refuse("%s does not support credentials for protocol GCS; use protocol S3 if the driver supports it", nameV1alpha1)
	}
	if n := len(asked.GetBuckets()); n != 1 {
		return status.Errorf(codes.OutOfRange, "not sent to the driver: %s grants access to one bucket, not to %d", nameV1alpha1, n)
	}
	if err := checkMap(withoutOurs(asked.GetParameters())); err != nil {
		return err
	}
	return checkDeclared(asked)
}

// Grant implements Driver, for one bucket.
func (d v1alpha1Driver) Grant(ctx context.Context, grant Grant) (string, *cosi.DriverGrantBucketAccessResponse, error) {
	bucket := grant.Buckets[0]
	granted, err := d.client.DriverGrantBucketAccess(ctx, &v1alpha1.DriverGrantBucketAccessRequest{
		BucketId: bucket.ID, Name: grant.Name, AuthenticationType: v1alpha1.AuthenticationType_Key,
		Parameters: withoutOurs(grant.Request.GetParameters()),
	})
	if err != nil {
		return "", nil, err
	}
	response := &cosi.DriverGrantBucketAccessResponse{}
	info := &cosi.DriverGrantBucketAccessResponse_BucketInfo{BucketId: grant.Request.GetBuckets()[0].GetBucketId()}
	if grant.Request.GetProtocol().GetType() == cosi.ObjectProtocol_AZURE {
		info.BucketInfo, response.Credentials = azureAccess(granted.GetCredentials()[v1alpha1.ProtocolAzure].GetSecrets(), bucket.Info)
	} else {
		info.BucketInfo, response.Credentials = s3Access(granted.GetCredentials()[v1alpha1.ProtocolS3].GetSecrets(), bucket.ID, bucket.Info)
	}
	response.Buckets = append(response.Buckets, info)
	return granted.GetAccountId(), response, nil
}

// Revoke implements Driver.
func (d v1alpha1Driver) Revoke(ctx context.Context, id string, buckets []string, asked *cosi.DriverRevokeBucketAccessRequest) error {
	for _, bucket := range buckets {
		if _, err := d.client.DriverRevokeBucketAccess(ctx, &v1alpha1.DriverRevokeBucketAccessRequest{
			BucketId: bucket, AccountId: id, RevokeAccessContext: withoutOurs(asked.GetParameters()),
		}); err != nil {
			return err
		}
	}
	return nil
}

// bucketInfo returns the connection data of a bucket. Released sidecars ignored the data that a driver returns for a
// bucket, so a driver may return none. In that case it is the requested protocol, or S3. For Google, v1alpha1 only has
// credentials for S3.
func bucketInfo(name string, said *v1alpha1.Protocol, asked []*cosi.ObjectProtocol) *cosi.ObjectProtocolAndBucketInfo {
	s3 := &cosi.S3BucketInfo{BucketId: name, Region: said.GetS3().GetRegion()}
	azure := &cosi.AzureBucketInfo{StorageAccount: said.GetAzureBlob().GetStorageAccount()}
	gcs := &cosi.GcsBucketInfo{ProjectId: said.GetGcs().GetProjectId(), BucketName: name}
	protocol := cosi.ObjectProtocol_S3
	if len(asked) > 0 {
		protocol = asked[0].GetType()
	}
	switch {
	case said.GetS3() != nil:
		protocol = cosi.ObjectProtocol_S3
	case said.GetAzureBlob() != nil:
		protocol = cosi.ObjectProtocol_AZURE
	case said.GetGcs() != nil:
		protocol = cosi.ObjectProtocol_GCS
	}
	switch protocol {
	case cosi.ObjectProtocol_AZURE:
		return &cosi.ObjectProtocolAndBucketInfo{Azure: azure}
	case cosi.ObjectProtocol_GCS:
		return &cosi.ObjectProtocolAndBucketInfo{Gcs: gcs, S3: s3}
	default:
		return &cosi.ObjectProtocolAndBucketInfo{S3: s3}
	}
}

// s3Access converts the credentials for S3. v1alpha1 does not define the addressing style of a store; nearly all
// stores support this one.
func s3Access(secrets map[string]string, id string, known *cosi.ObjectProtocolAndBucketInfo) (*cosi.ObjectProtocolAndBucketInfo, *cosi.CredentialInfo) {
	said := known.GetS3()
	info := &cosi.S3BucketInfo{
		BucketId: cmp.Or(said.GetBucketId(), id), Endpoint: endpoint(secrets[v1alpha1.KeyEndpoint]),
		Region:          cmp.Or(secrets[v1alpha1.KeyRegion], said.GetRegion(), usualRegion),
		AddressingStyle: &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_PATH},
	}
	pair := &cosi.S3CredentialInfo{AccessKeyId: secrets[v1alpha1.KeyAccessKeyID], AccessSecretKey: secrets[v1alpha1.KeyAccessSecretKey]}
	return &cosi.ObjectProtocolAndBucketInfo{S3: info}, &cosi.CredentialInfo{S3: pair}
}

// endpoint returns the URL of an endpoint. v1alpha1 does not define its form, and some drivers return a host without a
// scheme.
func endpoint(said string) string {
	if said == "" || strings.Contains(said, "://") {
		return said
	}
	return "https://" + said
}

// azureAccess converts a shared access signature. An expiry in an unknown format is passed on and then breaks the
// contract. Otherwise the credential would stop working without a warning.
func azureAccess(secrets map[string]string, known *cosi.ObjectProtocolAndBucketInfo) (*cosi.ObjectProtocolAndBucketInfo, *cosi.CredentialInfo) {
	token, expiry := secrets[v1alpha1.KeyAccessToken], secrets[v1alpha1.KeyExpiry]
	account := known.GetAzure().GetStorageAccount()
	if at, err := url.Parse(token); account == "" && err == nil {
		account, _, _ = strings.Cut(at.Hostname(), ".")
	}
	if at, err := time.Parse(v1alpha1.ExpiryLayout, expiry); err == nil {
		expiry = at.UTC().Format(time.RFC3339)
	}
	return &cosi.ObjectProtocolAndBucketInfo{Azure: &cosi.AzureBucketInfo{StorageAccount: account}},
		&cosi.CredentialInfo{Azure: &cosi.AzureCredentialInfo{AccessToken: token, ExpiryTimestamp: expiry}}
}
