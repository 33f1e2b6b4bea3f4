// SPDX-License-Identifier: Apache-2.0

package driverfake

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// accessRequest is what both phases of an access have in common.
type accessRequest interface { //nolint:interfacebloat // the getters of generated messages
	GetProtocol() *cosi.ObjectProtocol
	GetAuthenticationType() *cosi.AuthenticationType
	GetServiceAccountName() string
	GetServiceAccountNamespace() string
	GetParameters() map[string]string
	GetBuckets() []*cosi.AccessedBucket
	GetDisallowedAccessModes() *cosi.DisallowedAccessModes
}

// DriverGenerateBucketAccessId implements cosi.ProvisionerServer. The ID is the name.
func (d *Driver) DriverGenerateBucketAccessId(
	_ context.Context, request *cosi.DriverGenerateBucketAccessIdRequest,
) (*cosi.DriverGenerateBucketAccessIdResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := cosi.ValidateAccountID(request.GetAccountName()); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "account_name %q cannot be an account ID: %v", request.GetAccountName(), err)
	}
	if err := d.checkAccess(request); err != nil {
		return nil, err
	}
	if err := d.backend.accountConflict(request.GetAccountName(), accountOf(request)); err != nil {
		return nil, err
	}
	return &cosi.DriverGenerateBucketAccessIdResponse{AccountId: request.GetAccountName()}, nil
}

// DriverGrantBucketAccess implements cosi.ProvisionerServer. With authentication type KEY a repeat
// returns the same key until the rotation changes; then the key before stays valid.
func (d *Driver) DriverGrantBucketAccess(
	_ context.Context, request *cosi.DriverGrantBucketAccessRequest,
) (*cosi.DriverGrantBucketAccessResponse, error) {
	var granted Account
	err := d.change(func(b *backend) error {
		if err := d.checkAccess(request); err != nil {
			return err
		}
		for _, bucket := range request.GetBuckets() {
			if err := b.reachable(bucket.GetBucketId(), request.GetProtocol().GetType()); err != nil {
				return err
			}
		}
		granted = accountOf(request)
		granted.ID, granted.Rotation = request.GetAccountId(), request.GetRotation()
		if err := b.accountConflict(granted.ID, granted); err != nil {
			return err
		}
		found, exists := b.Accounts[granted.ID]
		granted.Keys = found.Keys
		if granted.Authentication == cosi.AuthenticationType_KEY && (!exists || found.Rotation != granted.Rotation) {
			granted.Keys = append([]Key{{ID: "FAKE" + rand.Text(), Secret: rand.Text() + rand.Text()}}, found.Keys...)
			granted.Keys = granted.Keys[:min(len(granted.Keys), 2)]
		}
		b.Accounts[granted.ID] = granted
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d.grantResponse(granted), nil
}

// DriverRevokeBucketAccess implements cosi.ProvisionerServer.
func (d *Driver) DriverRevokeBucketAccess(
	_ context.Context, request *cosi.DriverRevokeBucketAccessRequest,
) (*cosi.DriverRevokeBucketAccessResponse, error) {
	err := d.change(func(b *backend) error {
		delete(b.Accounts, request.GetAccountId())
		return nil
	})
	return &cosi.DriverRevokeBucketAccessResponse{}, err
}

// checkAccess refuses what the driver does not support. The caller holds mu.
func (d *Driver) checkAccess(request accessRequest) error {
	protocol, authentication := request.GetProtocol(), request.GetAuthenticationType().GetType()
	if err := d.checkBucket([]*cosi.ObjectProtocol{protocol}, request.GetParameters()); err != nil {
		return err
	}
	// As with the real service, a SAS token is for one container.
	single := d.options.SingleBucket ||
		protocol.GetType() == cosi.ObjectProtocol_AZURE && authentication == cosi.AuthenticationType_KEY
	if single && len(request.GetBuckets()) > 1 {
		return status.Errorf(codes.OutOfRange, "this driver cannot make one account for %d buckets; use one BucketAccess for each",
			len(request.GetBuckets()))
	}
	return checkDisallowed(request)
}

// checkDisallowed refuses what is asked for by name and disallowed. A category that is left open gets nothing here.
func checkDisallowed(request accessRequest) error {
	disallowed := request.GetDisallowedAccessModes()
	for id, modes := range accountOf(request).Buckets {
		if slices.Contains(disallowed.GetObjectData(), modes.ObjectData) ||
			slices.Contains(disallowed.GetObjectMetadata(), modes.ObjectMetadata) ||
			slices.Contains(disallowed.GetBucketMetadata(), modes.BucketMetadata) {
			return status.Errorf(codes.InvalidArgument, "an access mode for bucket %s is one that the class disallows", id)
		}
	}
	return nil
}

// reachable returns an error unless the bucket exists and supports the protocol.
func (b backend) reachable(id string, protocol cosi.ObjectProtocol_Type) error {
	found, exists := b.Buckets[id]
	if !exists {
		return status.Errorf(codes.NotFound, "bucket %s does not exist", id)
	}
	if !slices.Contains(found.Protocols, protocol) {
		return status.Errorf(codes.InvalidArgument, "bucket %s does not support protocol %s", id, protocol)
	}
	return nil
}

// accountConflict returns ALREADY_EXISTS if an account of this ID exists that is not what is
// wanted.
func (b backend) accountConflict(id string, wanted Account) error {
	found, exists := b.Accounts[id]
	same := found.Protocol == wanted.Protocol && found.Authentication == wanted.Authentication &&
		found.ServiceAccount == wanted.ServiceAccount && maps.Equal(found.Buckets, wanted.Buckets)
	if exists && !same {
		return status.Errorf(codes.AlreadyExists, "account %s exists for other buckets, modes or authentication", id)
	}
	return nil
}

// accountOf returns the account that a request asks for, without ID and keys.
func accountOf(request accessRequest) Account {
	account := Account{
		Protocol:       request.GetProtocol().GetType(),
		Authentication: request.GetAuthenticationType().GetType(),
		Buckets:        map[string]Modes{},
	}
	if account.Authentication == cosi.AuthenticationType_SERVICE_ACCOUNT {
		account.ServiceAccount = request.GetServiceAccountNamespace() + "/" + request.GetServiceAccountName()
	}
	for _, bucket := range request.GetBuckets() {
		account.Buckets[bucket.GetBucketId()] = Modes{
			ObjectData:     modeOf(bucket.GetObjectDataAccessMode()),
			ObjectMetadata: modeOf(bucket.GetObjectMetadataAccessMode()),
			BucketMetadata: modeOf(bucket.GetBucketMetadataAccessMode()),
		}
	}
	return account
}

func modeOf(mode *cosi.AccessMode) cosi.AccessMode_Mode {
	if mode.GetMode() == cosi.AccessMode_UNKNOWN {
		return cosi.AccessMode_ANY
	}
	return mode.GetMode()
}

func (d *Driver) grantResponse(account Account) *cosi.DriverGrantBucketAccessResponse {
	response := &cosi.DriverGrantBucketAccessResponse{}
	ids := slices.Sorted(maps.Keys(account.Buckets))
	for _, id := range ids {
		response.Buckets = append(response.Buckets, &cosi.DriverGrantBucketAccessResponse_BucketInfo{
			BucketId: id, BucketInfo: d.bucketInfo(id, []cosi.ObjectProtocol_Type{account.Protocol}),
		})
	}
	if len(account.Keys) > 0 {
		response.Credentials = credentialOf(account.Protocol, account.Keys[0], ids[0])
	}
	return response
}

func credentialOf(protocol cosi.ObjectProtocol_Type, key Key, bucketID string) *cosi.CredentialInfo {
	switch protocol {
	case cosi.ObjectProtocol_AZURE:
		return &cosi.CredentialInfo{Azure: &cosi.AzureCredentialInfo{AccessToken: sasToken(key, bucketID)}}
	case cosi.ObjectProtocol_GCS:
		return &cosi.CredentialInfo{Gcs: &cosi.GcsCredentialInfo{AccessId: key.ID, AccessSecret: key.Secret}}
	default:
		return &cosi.CredentialInfo{S3: &cosi.S3CredentialInfo{AccessKeyId: key.ID, AccessSecretKey: key.Secret}}
	}
}

func sasToken(key Key, bucketID string) string {
	return fmt.Sprintf("https://fakeaccount.blob.fake.example/%s?si=%s&sig=%s", bucketID, key.ID, key.Secret)
}

// Operation is something that a workload does with a credential.
type Operation string

// The operations that Works can try, two for each category of access modes.
const (
	ReadObject          Operation = "read object"
	WriteObject         Operation = "write object"
	ReadObjectMetadata  Operation = "read object metadata"
	WriteObjectMetadata Operation = "write object metadata"
	ReadBucketMetadata  Operation = "read bucket metadata"
	WriteBucketMetadata Operation = "write bucket metadata"
)

// Why Works says no.
var (
	// ErrUnknownCredential means that no account has this credential, for instance no longer.
	ErrUnknownCredential = errors.New("the credential is not known to the backend")
	// ErrDenied means that the account may not do this.
	ErrDenied = errors.New("the backend denies the operation")
	// ErrNoBucket means that the bucket does not exist.
	ErrNoBucket = errors.New("the bucket does not exist")
)

// Works tries a credential, as a workload would with the store: it returns nil if the operation on
// the bucket is allowed, else an error that is ErrUnknownCredential, ErrDenied or ErrNoBucket. A
// category with mode ANY allows nothing, which is the least.
func (d *Driver) Works(credential *cosi.CredentialInfo, bucketID string, operation Operation) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	account, found := d.backend.accountWith(credential)
	if !found {
		return ErrUnknownCredential
	}
	return d.backend.allowed(account, bucketID, operation)
}

// WorksAs is Works for a workload that runs as a Kubernetes service account, which has no
// credential.
func (d *Driver) WorksAs(namespace, name, bucketID string, operation Operation) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	result := ErrUnknownCredential
	for _, account := range d.backend.Accounts {
		if account.ServiceAccount != namespace+"/"+name {
			continue
		}
		if result = d.backend.allowed(account, bucketID, operation); result == nil {
			return nil
		}
	}
	return result
}

func (b backend) accountWith(credential *cosi.CredentialInfo) (Account, bool) {
	for _, account := range b.Accounts {
		for _, key := range account.Keys {
			for id := range account.Buckets {
				if holds(credential, credentialOf(account.Protocol, key, id)) {
					return account, true
				}
			}
		}
	}
	return Account{}, false
}

// holds compares the parts of a credential that the backend checks.
func holds(presented, known *cosi.CredentialInfo) bool {
	switch {
	case known.GetAzure() != nil:
		return presented.GetAzure().GetAccessToken() == known.GetAzure().GetAccessToken()
	case known.GetGcs() != nil:
		return presented.GetGcs().GetAccessId() == known.GetGcs().GetAccessId() &&
			presented.GetGcs().GetAccessSecret() == known.GetGcs().GetAccessSecret()
	default:
		return presented.GetS3().GetAccessKeyId() == known.GetS3().GetAccessKeyId() &&
			presented.GetS3().GetAccessSecretKey() == known.GetS3().GetAccessSecretKey()
	}
}

func (b backend) allowed(account Account, bucketID string, operation Operation) error {
	if _, exists := b.Buckets[bucketID]; !exists {
		return ErrNoBucket
	}
	modes := account.Buckets[bucketID]
	var mode cosi.AccessMode_Mode
	switch operation {
	case ReadObject, WriteObject:
		mode = modes.ObjectData
	case ReadObjectMetadata, WriteObjectMetadata:
		mode = modes.ObjectMetadata
	case ReadBucketMetadata, WriteBucketMetadata:
		mode = modes.BucketMetadata
	}
	write := operation == WriteObject || operation == WriteObjectMetadata || operation == WriteBucketMetadata
	switch {
	case mode == cosi.AccessMode_READ_WRITE, write && mode == cosi.AccessMode_WRITE_ONLY, !write && mode == cosi.AccessMode_READ_ONLY:
		return nil
	default:
		return ErrDenied
	}
}
