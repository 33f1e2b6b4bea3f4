// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/cooper-cosi/cooper/drivers/adapter/internal/vendor"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// DriverGenerateBucketAccessId implements cosi.ProvisionerServer.
func (a *Adapter) DriverGenerateBucketAccessId(
	ctx context.Context, request *cosi.DriverGenerateBucketAccessIdRequest,
) (*cosi.DriverGenerateBucketAccessIdResponse, error) {
	err := a.driver.conn.CheckGrant(&cosi.DriverGrantBucketAccessRequest{
		Protocol: request.GetProtocol(), AuthenticationType: request.GetAuthenticationType(), Parameters: request.GetParameters(),
		Buckets: request.GetBuckets(), Rotation: request.GetRotation(), DisallowedAccessModes: request.GetDisallowedAccessModes(),
	})
	if err != nil {
		return nil, failure(err)
	}
	id, err := a.newID(ctx, request.GetAccountName(), cosi.ValidateAccountID)
	if err != nil {
		return nil, err
	}
	return &cosi.DriverGenerateBucketAccessIdResponse{AccountId: id}, nil
}

// DriverGrantBucketAccess implements cosi.ProvisionerServer. It calls the driver only until there is a valid response,
// because many drivers create another key with each call. It calls the driver again for a credential that expires.
func (a *Adapter) DriverGrantBucketAccess(
	ctx context.Context, request *cosi.DriverGrantBucketAccessRequest,
) (*cosi.DriverGrantBucketAccessResponse, error) {
	name, ours := nameOf(request.GetAccountId())
	if !ours {
		return nil, driverkit.FailedPrecondition("account %s was granted without the adapter, so the adapter does not have its credential; "+
			"delete the BucketAccess and create it again", request.GetAccountId())
	}
	if err := a.driver.conn.CheckGrant(request); err != nil {
		return nil, failure(err)
	}
	first := identity(request)
	e, err := a.accountWithID(ctx, request.GetAccountId())
	if err != nil {
		return nil, err
	}
	isNew := e == nil
	if isNew {
		e = &accountEntry{key: accountKind.named(name), name: name, request: first}
		for _, bucket := range first.GetBuckets() {
			id, err := a.bucketID(ctx, bucket.GetBucketId())
			if err != nil {
				return nil, err
			}
			e.buckets = append(e.buckets, id)
		}
		if err := writeEntry(ctx, a.store, e); err != nil {
			return nil, err
		}
	}
	if !proto.Equal(e.request, first) {
		return nil, driverkit.AlreadyExists("account %s was requested with other buckets, modes or parameters before", request.GetAccountId())
	}
	if !isNew {
		if err := a.revokeUndelivered(ctx, e); err != nil {
			return nil, err
		}
	}
	err = a.obtainAccount(ctx, e)
	if isNew {
		return e.response, a.dropRefused(ctx, e.key, err)
	}
	return e.response, err
}

// identity returns the part of a request that must not change, in a fixed order. The disallowed modes were checked.
func identity(request *cosi.DriverGrantBucketAccessRequest) *cosi.DriverGrantBucketAccessRequest {
	same := proto.CloneOf(request)
	same.DisallowedAccessModes = nil
	slices.SortFunc(same.GetBuckets(), func(x, y *cosi.AccessedBucket) int { return cmp.Compare(x.GetBucketId(), y.GetBucketId()) })
	return same
}

// bucketID returns the driver's ID of a bucket. It records a bucket from before the adapter like an import, so that no
// name gets it.
func (a *Adapter) bucketID(ctx context.Context, id string) (string, error) {
	if _, ours := nameOf(id); !ours {
		known, err := driverID(id)
		if err != nil {
			return "", err
		}
		owner, err := a.bucket(ctx, bucketKind.owned(known))
		if err == nil && owner == nil {
			err = writeEntry(ctx, a.store, &bucketEntry{key: bucketKind.owned(known), id: known})
		}
		return known, err
	}
	e, err := a.bucketWithID(ctx, id)
	if err != nil {
		return "", err
	}
	if e == nil || e.id == "" {
		return "", driverkit.NotFound("bucket %s does not exist", id)
	}
	return e.id, nil
}

// bucketInfo returns the connection data of a bucket, or nil if the bucket has no entry.
func (a *Adapter) bucketInfo(ctx context.Context, id, driverID string) (*cosi.ObjectProtocolAndBucketInfo, error) {
	key := bucketKind.owned(driverID)
	if name, ours := nameOf(id); ours {
		key = bucketKind.named(name)
	}
	e, err := a.bucket(ctx, key)
	if err != nil || e == nil {
		return nil, err
	}
	return e.response.GetProtocols(), nil
}

// expires reports whether a delivered credential has an expiry.
func expires(delivered *cosi.DriverGrantBucketAccessResponse) bool {
	return delivered.GetCredentials().GetAzure().GetExpiryTimestamp() != ""
}

// obtainAccount ensures that the account of an entry exists and that the entry has the driver's ID and response. It keeps
// a response with an expiry until there is a new one. The ID may be known even if there is an error.
func (a *Adapter) obtainAccount(ctx context.Context, e *accountEntry) error {
	if e.response != nil && !expires(e.response) {
		return nil
	}
	grant := vendor.Grant{Name: e.name, Request: e.request}
	for i, bucket := range e.request.GetBuckets() {
		info, err := a.bucketInfo(ctx, bucket.GetBucketId(), e.buckets[i])
		if err != nil {
			return err
		}
		grant.Buckets = append(grant.Buckets, vendor.Bucket{ID: e.buckets[i], Info: info})
	}
	defer a.running.begin(e.buckets, e.request.GetParameters())()
	id, response, err := a.driver.conn.Grant(ctx, grant)
	if err != nil {
		return failure(err)
	}
	if err := a.adopt(ctx, accountKind, e.name, &e.id, id); err != nil {
		return err
	}
	invalid := cosi.ValidateResponse(e.request, response)
	if invalid == nil {
		e.response = response
	}
	if err := writeEntry(ctx, a.store, e); err != nil {
		return err
	}
	if invalid != nil {
		return broken("DriverGrantBucketAccess", invalid)
	}
	return nil
}

// revokeUndelivered revokes the account that a grant without a valid response may have created, before the grant is
// repeated. Many drivers use the requested name as the account's ID, and fail or crash if the account exists. An error is
// ignored if the driver responded: drivers return different codes for an account that does not exist, such as Internal.
func (a *Adapter) revokeUndelivered(ctx context.Context, e *accountEntry) error {
	if e.response != nil {
		return nil
	}
	id := cmp.Or(e.id, e.name)
	owner, err := a.bucket(ctx, accountKind.owned(id))
	if err != nil || owner != nil && owner.name != e.name {
		return err
	}
	// After this write, another process cannot store and deliver a credential for a version that it has read before.
	if err := writeEntry(ctx, a.store, e); err != nil {
		return err
	}
	defer a.running.begin(e.buckets, e.request.GetParameters())()
	err = a.driver.conn.Revoke(ctx, id, e.buckets, &cosi.DriverRevokeBucketAccessRequest{
		Protocol: e.request.GetProtocol(), AuthenticationType: e.request.GetAuthenticationType(), Parameters: e.request.GetParameters(),
	})
	switch code := status.Code(err); {
	case code == codes.Unavailable || code == codes.DeadlineExceeded || code == codes.Canceled:
		return failure(err)
	case e.id == "" || code != codes.OK && code != codes.NotFound:
		return nil
	}
	if err := a.drop(ctx, accountKind.owned(id)); err != nil {
		return err
	}
	e.id = "" // the next account may have another
	return writeEntry(ctx, a.store, e)
}

// DriverRevokeBucketAccess implements cosi.ProvisionerServer. It deletes the entry last. If the ID of the
// entry has no owner, an interrupted call has revoked the account.
func (a *Adapter) DriverRevokeBucketAccess(
	ctx context.Context, request *cosi.DriverRevokeBucketAccessRequest,
) (*cosi.DriverRevokeBucketAccessResponse, error) {
	name, ours := nameOf(request.GetAccountId())
	if !ours {
		return &cosi.DriverRevokeBucketAccessResponse{}, a.revokeOlder(ctx, request)
	}
	e, err := a.accountWithID(ctx, request.GetAccountId())
	if err != nil || e == nil {
		return &cosi.DriverRevokeBucketAccessResponse{}, err
	}
	if e.id == "" {
		if err := a.revokeUndelivered(ctx, e); err != nil {
			return nil, err
		}
		if err := a.obtainAccount(ctx, e); err != nil && !nothing(err) && e.id == "" {
			return nil, err
		}
	}
	if e.id != "" {
		owns, err := a.owns(ctx, accountKind, e.id, name)
		if err == nil && owns {
			err = withoutSecrets(a.revoke(ctx, e.id, e.buckets, request), e.response)
		}
		if err != nil {
			return nil, err
		}
	}
	return &cosi.DriverRevokeBucketAccessResponse{}, a.drop(ctx, e.key)
}

// revokeOlder revokes an account by the driver's own ID.
func (a *Adapter) revokeOlder(ctx context.Context, request *cosi.DriverRevokeBucketAccessRequest) error {
	id, err := driverID(request.GetAccountId())
	if err == nil {
		err = a.checkNotOwned(ctx, accountKind, id)
	}
	if err != nil {
		return err
	}
	var buckets []string
	for _, bucket := range request.GetBuckets() {
		bucketID, err := a.bucketID(ctx, bucket.GetBucketId())
		if err != nil {
			return err
		}
		buckets = append(buckets, bucketID)
	}
	return a.revoke(ctx, id, buckets, request)
}

// revoke revokes an account at the backend, and then deletes the entry of the driver's ID.
func (a *Adapter) revoke(ctx context.Context, id string, buckets []string, request *cosi.DriverRevokeBucketAccessRequest) error {
	defer a.running.begin(buckets, request.GetParameters())()
	if err := a.driver.conn.Revoke(ctx, id, buckets, request); err != nil {
		return failure(err)
	}
	return a.drop(ctx, accountKind.owned(id))
}

// withoutSecrets returns an error about an account without the secrets in the delivered response.
func withoutSecrets(err error, delivered *cosi.DriverGrantBucketAccessResponse) error {
	if err == nil || delivered == nil {
		return err
	}
	said := failure(err)
	text := said.GRPCStatus().Message()
	for _, secret := range cosi.SecretsIn(delivered) {
		text = strings.ReplaceAll(text, secret, "[redacted]")
	}
	if text == said.GRPCStatus().Message() {
		return err
	}
	return driverkit.FromStatus(status.New(said.Code(), text))
}
