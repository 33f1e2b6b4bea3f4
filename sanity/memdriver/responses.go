// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// grantResponse returns the buckets and the credential.
func (d *Driver) grantResponse(s *state, request *cosi.DriverGrantBucketAccessRequest) *cosi.DriverGrantBucketAccessResponse {
	protocol := request.GetProtocol().GetType()
	response := &cosi.DriverGrantBucketAccessResponse{}
	for _, bucket := range request.GetBuckets() {
		info := &cosi.ObjectProtocolAndBucketInfo{}
		d.fill(info, bucket.GetBucketId(), protocol)
		d.spoilInfo(info)
		response.Buckets = append(response.Buckets, &cosi.DriverGrantBucketAccessResponse_BucketInfo{BucketId: bucket.GetBucketId(), BucketInfo: info})
	}
	if d.has(RepeatsBucketInResponse) {
		response.Buckets = append(response.Buckets, response.GetBuckets()[0])
	}
	byKey := request.GetAuthenticationType().GetType() == cosi.AuthenticationType_KEY
	if byKey || d.has(SecretForServiceAccount) {
		account := s.Accounts[request.GetAccountId()]
		response.Credentials = d.credentials(protocol, account.Current, s.Keys[account.Current])
	}
	return response
}

func (d *Driver) spoilInfo(info *cosi.ObjectProtocolAndBucketInfo) {
	switch {
	case d.has(ForgetsRegion) && info.GetS3() != nil:
		info.S3.Region = ""
	case d.has(ExtraProtocolInGrant) && info.GetS3() != nil:
		info.Azure = &cosi.AzureBucketInfo{StorageAccount: StorageAccount}
	}
}

func (d *Driver) credentials(protocol cosi.ObjectProtocol_Type, id string, key *keyState) *cosi.CredentialInfo {
	credentials := &cosi.CredentialInfo{}
	switch protocol {
	case cosi.ObjectProtocol_S3:
		credentials.S3 = &cosi.S3CredentialInfo{AccessKeyId: id, AccessSecretKey: key.Secret}
	case cosi.ObjectProtocol_AZURE:
		credentials.Azure = &cosi.AzureCredentialInfo{AccessToken: key.Secret, ExpiryTimestamp: "2099-01-31T12:00:00Z"}
		if d.has(LocalTimeExpiry) {
			credentials.Azure.ExpiryTimestamp = "31.01.2099 12:00"
		}
	case cosi.ObjectProtocol_GCS:
		credentials.Gcs = &cosi.GcsCredentialInfo{AccessId: id, AccessSecret: key.Secret}
		if d.has(HalfHMAC) {
			credentials.Gcs.AccessId = ""
		}
	case cosi.ObjectProtocol_UNKNOWN:
	}
	return credentials
}

// DriverRevokeBucketAccess implements cosi.ProvisionerServer.
func (d *Driver) DriverRevokeBucketAccess(
	_ context.Context, request *cosi.DriverRevokeBucketAccessRequest,
) (*cosi.DriverRevokeBucketAccessResponse, error) {
	if request.GetAccountId() == "" {
		if err := d.check(request); err != nil {
			return nil, err
		}
	}
	id := request.GetAccountId()
	if d.has(RevokeIsStrict) {
		for key := range request.GetParameters() {
			if key != parameterNote {
				return nil, status.Errorf(codes.InvalidArgument, "unknown parameter %q", key)
			}
		}
	}
	if revoked := d.recall("revoked " + id); revoked && d.has(RevokeCache) {
		return &cosi.DriverRevokeBucketAccessResponse{}, nil
	}
	d.remember("revoked "+id, "yes")
	if err := d.store.driver(func(s *state) error { return d.disallow(s, request) }); err != nil {
		return nil, d.fromStore(err)
	}
	return &cosi.DriverRevokeBucketAccessResponse{}, nil
}

func (d *Driver) disallow(s *state, request *cosi.DriverRevokeBucketAccessRequest) error {
	id := request.GetAccountId()
	generated := d.recall("generated " + id)
	account := s.Accounts[id]
	switch {
	case account != nil && !account.Used && d.has(RevokeMissesNew):
		return nil
	case account == nil && d.has(UnknownAccountFails) && !generated:
		return status.Errorf(codes.Internal, "account %s does not exist", id)
	case account == nil && d.has(UngrantedAccountFails) && generated:
		if revoked := d.recall("granted " + id); !revoked {
			return status.Errorf(codes.Internal, "account %s was never granted", id)
		}
	case account == nil && d.has(SecondRevokeFails) && generated:
		if granted := d.recall("granted " + id); granted {
			return status.Errorf(codes.NotFound, "account %s does not exist", id)
		}
	}
	for i, bucket := range request.GetBuckets() {
		found := s.Buckets[bucket.GetBucketId()]
		if found == nil && d.has(RevokeNeedsBucket) {
			return status.Errorf(codes.Internal, "bucket %s does not exist", bucket.GetBucketId())
		}
		if found == nil || i > 0 && d.has(RevokesFirstBucketOnly) {
			continue
		}
		d.disallowOn(found, id)
	}
	if d.has(RevokesFirstBucketOnly) && len(request.GetBuckets()) > 1 || d.has(RevokeKeepsKeys) {
		return nil
	}
	delete(s.Accounts, id)
	if d.has(RevokeForgetsKeys) {
		return nil
	}
	var keys []string
	if account != nil {
		keys = []string{account.Current, account.Previous}
	}
	for _, key := range d.keysOf(s, id, keys...) {
		delete(s.Keys, key)
	}
	return nil
}

func (d *Driver) disallowOn(bucket *bucketState, account string) {
	switch {
	case d.has(RevokeClearsPolicy):
		clear(bucket.Policy)
	case d.has(RevokeDeletesObjects):
		clear(bucket.Objects)
	}
	if !d.has(RevokeKeepsKeys) && !d.has(RevokeKeepsPolicy) {
		delete(bucket.Policy, account)
	}
}

// respond is the outermost layer of a call: it logs the call and applies the defects that change a status.
func (d *Driver) respond(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if err := ctx.Err(); err != nil {
		// The caller gave up before the handler ran, and may already be removing what this call would create.
		return nil, status.FromContextError(err).Err()
	}
	response, err := handle(ctx, request)
	if message, isMessage := response.(proto.Message); isMessage && err == nil {
		text := cosi.RedactedString(message)
		if d.has(LogsSecrets) {
			text = fmt.Sprint(message)
		}
		d.options.Log.Info("responded", "method", info.FullMethod, "response", text)
	}
	if asked, isMessage := request.(proto.Message); isMessage && len(asked.ProtoReflect().GetUnknown()) > 0 && d.has(RefusesUnknownFields) {
		return nil, status.Error(codes.InvalidArgument, "the request has an unknown field")
	}
	if err == nil {
		return response, nil
	}
	return nil, d.spoil(info.FullMethod, err)
}

func (d *Driver) spoil(method string, err error) error {
	refusal := status.Convert(err)
	switch {
	case d.has(EmptyMessages):
		return status.Error(refusal.Code(), "")
	case d.has(StatusDetails):
		if detailed, failed := refusal.WithDetails(durationpb.New(time.Second)); failed == nil {
			return detailed.Err()
		}
	case d.has(OddCodes) && method == cosi.Provisioner_DriverRevokeBucketAccess_FullMethodName && refusal.Code() == codes.InvalidArgument:
		return status.Error(codes.Code(77), refusal.Message())
	}
	return err
}
