// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

// ModesParameter is a parameter of a BucketAccessClass that declares the access modes of the grants of a v1alpha1
// driver, such as "objectData=ReadWrite,objectMetadata=ReadWrite". v1alpha1 requests have no access modes. The
// parameter is not passed to the driver.
const ModesParameter = "cooper.dev/access-modes"

const (
	// maxMap is the maximum size of the keys and values of a map in v1alpha1, in bytes.
	maxMap = 4 << 10
	// usualRegion is the region in signatures for stores without regions.
	usualRegion = "us-east-1"
	// generation1 is the name of the generation in refusals.
	generation1 = "COSI v1alpha1"
)

// speakV1alpha1 is the wire of the specification v1alpha1. Its DriverGetInfo does not return protocols; each bucket
// has its own.
func speakV1alpha1(ctx context.Context, conn grpc.ClientConnInterface, request, reply any, extra *extras) error {
	driver := v1alpha1Driver{v1alpha1.NewProvisionerClient(conn), extra}
	switch asked := request.(type) {
	case *cosi.DriverGetInfoRequest:
		info, err := v1alpha1.NewIdentityClient(conn).DriverGetInfo(ctx, &v1alpha1.DriverGetInfoRequest{})
		if err != nil {
			return err
		}
		return fill(reply, &cosi.DriverGetInfoResponse{Name: info.GetName(), SupportedProtocols: []*cosi.ObjectProtocol{
			{Type: cosi.ObjectProtocol_S3}, {Type: cosi.ObjectProtocol_AZURE}, {Type: cosi.ObjectProtocol_GCS},
		}})
	case *cosi.DriverGenerateBucketIdRequest:
		if err := checkBucket(asked.GetProtocols(), asked.GetParameters()); err != nil {
			return err
		}
		return fill(reply, &cosi.DriverGenerateBucketIdResponse{BucketId: asked.GetName()})
	case *cosi.DriverCreateBucketRequest:
		return driver.create(ctx, asked, reply)
	case *cosi.DriverGetBucketRequest:
		return existing(asked, reply)
	case *cosi.DriverDeleteBucketRequest:
		return driver.remove(ctx, asked)
	case *cosi.DriverGenerateBucketAccessIdRequest:
		if err := checkGrant(GrantRequest(asked, asked.GetAccountName())); err != nil {
			return err
		}
		return fill(reply, &cosi.DriverGenerateBucketAccessIdResponse{AccountId: asked.GetAccountName()})
	case *cosi.DriverGrantBucketAccessRequest:
		return driver.grant(ctx, asked, reply)
	case *cosi.DriverRevokeBucketAccessRequest:
		return driver.revoke(ctx, asked)
	default:
		return status.Errorf(codes.Internal, "%T is not a request of the contract", request)
	}
}

// v1alpha1Driver makes the calls that reach the driver.
type v1alpha1Driver struct {
	client v1alpha1.ProvisionerClient
	extra  *extras
}

func (d v1alpha1Driver) create(ctx context.Context, asked *cosi.DriverCreateBucketRequest, reply any) error {
	if err := checkBucket(asked.GetProtocols(), asked.GetParameters()); err != nil {
		return err
	}
	created, err := d.client.DriverCreateBucket(ctx, &v1alpha1.DriverCreateBucketRequest{
		Name: asked.GetBucketId(), Parameters: asked.GetParameters(),
	})
	if err != nil {
		return err
	}
	d.extra.setID(cosi.EscapeID(created.GetBucketId()))
	return fill(reply, &cosi.DriverCreateBucketResponse{
		Protocols: bucketInfo(asked.GetBucketId(), created.GetBucketInfo(), asked.GetProtocols()),
	})
}

// remove also accepts NOT_FOUND for a bucket that no longer exists, as the released sidecars do.
func (d v1alpha1Driver) remove(ctx context.Context, asked *cosi.DriverDeleteBucketRequest) error {
	id, err := decodeID(asked.GetBucketId())
	if err != nil {
		return err
	}
	_, err = d.client.DriverDeleteBucket(ctx, &v1alpha1.DriverDeleteBucketRequest{BucketId: id, DeleteContext: asked.GetParameters()})
	if status.Code(err) == codes.NotFound {
		return nil
	}
	return err
}

func (d v1alpha1Driver) grant(ctx context.Context, asked *cosi.DriverGrantBucketAccessRequest, reply any) error {
	if err := checkGrant(asked); err != nil {
		return err
	}
	bucket := asked.GetBuckets()[0].GetBucketId()
	id, err := decodeID(bucket)
	if err != nil {
		return err
	}
	granted, err := d.client.DriverGrantBucketAccess(ctx, &v1alpha1.DriverGrantBucketAccessRequest{
		BucketId: id, Name: asked.GetAccountId(), AuthenticationType: v1alpha1.AuthenticationType_Key,
		Parameters: withoutOurs(asked.GetParameters()),
	})
	if err != nil {
		return err
	}
	d.extra.setID(cosi.EscapeID(granted.GetAccountId()))
	response := &cosi.DriverGrantBucketAccessResponse{}
	info := &cosi.DriverGrantBucketAccessResponse_BucketInfo{BucketId: bucket}
	if asked.GetProtocol().GetType() == cosi.ObjectProtocol_AZURE {
		info.BucketInfo, response.Credentials = azureAccess(granted.GetCredentials()[v1alpha1.ProtocolAzure].GetSecrets(), d.extra.known)
	} else {
		info.BucketInfo, response.Credentials = s3Access(granted.GetCredentials()[v1alpha1.ProtocolS3].GetSecrets(), id, d.extra.known)
	}
	response.Buckets = append(response.Buckets, info)
	return fill(reply, response)
}

func (d v1alpha1Driver) revoke(ctx context.Context, asked *cosi.DriverRevokeBucketAccessRequest) error {
	account, err := decodeID(asked.GetAccountId())
	if err != nil {
		return err
	}
	for _, accessed := range asked.GetBuckets() {
		bucket, err := decodeID(accessed.GetBucketId())
		if err != nil {
			return err
		}
		if _, err := d.client.DriverRevokeBucketAccess(ctx, &v1alpha1.DriverRevokeBucketAccessRequest{
			BucketId: bucket, AccountId: account, RevokeAccessContext: withoutOurs(asked.GetParameters()),
		}); err != nil {
			return err
		}
	}
	return nil
}

// existing describes an existing bucket from the administrator's input, because v1alpha1 has no call to read a bucket.
// The first grant shows whether it exists.
func existing(asked *cosi.DriverGetBucketRequest, reply any) error {
	id, err := decodeID(asked.GetBucketId())
	if err != nil {
		return err
	}
	if len(asked.GetProtocols()) != 1 {
		return refuse("%s cannot inspect an existing bucket; set exactly one protocol in the Bucket", generation1)
	}
	return fill(reply, &cosi.DriverGetBucketResponse{Protocols: bucketInfo(id, nil, asked.GetProtocols())})
}

// checkBucket refuses bucket requests that v1alpha1 cannot express.
func checkBucket(protocols []*cosi.ObjectProtocol, parameters map[string]string) error {
	if len(protocols) > 1 {
		return refuse("%s supports one protocol per bucket; request only one", generation1)
	}
	return checkMap(parameters)
}

func checkMap(parameters map[string]string) error {
	size := 0
	for key, value := range parameters {
		size += len(key) + len(value)
	}
	if size > maxMap {
		return refuse("the parameters have %d bytes, but %s allows %d; shorten the parameters of the class", size, generation1, maxMap)
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

// checkGrant refuses access requests that v1alpha1 cannot express.
func checkGrant(asked *cosi.DriverGrantBucketAccessRequest) error {
	if err := checkPlain(asked, generation1); err != nil {
		return err
	}
	if asked.GetProtocol().GetType() == cosi.ObjectProtocol_GCS {
		return refuse("%s does not support credentials for protocol GCS; use protocol S3 if the driver supports it", generation1)
	}
	if n := len(asked.GetBuckets()); n != 1 {
		return status.Errorf(codes.OutOfRange, "not sent to the driver: %s grants access to one bucket, not to %d", generation1, n)
	}
	if err := checkMap(withoutOurs(asked.GetParameters())); err != nil {
		return err
	}
	given, err := givenModes(asked.GetParameters()[ModesParameter])
	if err != nil {
		return err
	}
	for _, c := range categories(asked.GetBuckets()[0], asked.GetDisallowedAccessModes()) {
		mode, gives := given[c.name]
		switch {
		case c.isAsked() && mode != c.asked:
			return refuse("the driver grants %s with this BucketAccessClass, not %s=%s; %s does not support requests for access modes. "+
				"Request the modes that the driver grants, or use another class", asked.GetParameters()[ModesParameter], c.name, modeNames[c.asked], generation1)
		case gives && slices.Contains(c.disallowed, mode):
			return refuse("the driver grants %s=%s with this BucketAccessClass, which disallows it; use another class", c.name, modeNames[mode])
		}
	}
	return nil
}

// givenModes parses ModesParameter.
func givenModes(text string) (map[string]cosi.AccessMode_Mode, error) {
	if text == "" {
		return nil, refuse("%s does not support access modes, so the driver cannot enforce those of the BucketAccess. An administrator "+
			"must set the parameter %s of the BucketAccessClass to the modes that the driver grants, such as objectData=ReadWrite", generation1, ModesParameter)
	}
	given := map[string]cosi.AccessMode_Mode{}
	for entry := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(entry), "=")
		mode := modeNamed(value)
		known := slices.ContainsFunc(categories(nil, nil), func(c category) bool { return c.name == name })
		if _, repeated := given[name]; !known || repeated || mode == cosi.AccessMode_UNKNOWN {
			return nil, refuse("the parameter %s of the BucketAccessClass is %q; it must list the categories (objectData, objectMetadata, bucketMetadata) "+
				"that the driver grants, each with a mode (ReadWrite, ReadOnly, WriteOnly), such as objectData=ReadWrite,objectMetadata=ReadOnly",
				ModesParameter, text)
		}
		given[name] = mode
	}
	return given, nil
}

// withoutOurs returns the parameters of a class without the one for the sidecar.
func withoutOurs(parameters map[string]string) map[string]string {
	rest := maps.Clone(parameters)
	delete(rest, ModesParameter)
	return rest
}

// s3Access converts the credentials for S3. v1alpha1 does not define the addressing style of a store; nearly all
// stores support this one.
func s3Access(secrets map[string]string, id string, known *cosi.ObjectProtocolAndBucketInfo) (*cosi.ObjectProtocolAndBucketInfo, *cosi.CredentialInfo) {
	said := known.GetS3()
	info := &cosi.S3BucketInfo{
		BucketId: cmp.Or(said.GetBucketId(), id), Endpoint: secrets[v1alpha1.KeyEndpoint],
		Region:          cmp.Or(secrets[v1alpha1.KeyRegion], said.GetRegion(), usualRegion),
		AddressingStyle: &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_PATH},
	}
	pair := &cosi.S3CredentialInfo{AccessKeyId: secrets[v1alpha1.KeyAccessKeyID], AccessSecretKey: secrets[v1alpha1.KeyAccessSecretKey]}
	return &cosi.ObjectProtocolAndBucketInfo{S3: info}, &cosi.CredentialInfo{S3: pair}
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
