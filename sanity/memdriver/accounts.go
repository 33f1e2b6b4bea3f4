// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// asked has the fields that both phases of an access share.
type asked interface { //nolint:interfacebloat // the getters of generated messages
	GetProtocol() *cosi.ObjectProtocol
	GetAuthenticationType() *cosi.AuthenticationType
	GetServiceAccountName() string
	GetServiceAccountNamespace() string
	GetParameters() map[string]string
	GetBuckets() []*cosi.AccessedBucket
	GetDisallowedAccessModes() *cosi.DisallowedAccessModes
}

// DriverGenerateBucketAccessId implements cosi.ProvisionerServer.
func (d *Driver) DriverGenerateBucketAccessId(
	_ context.Context, request *cosi.DriverGenerateBucketAccessIdRequest,
) (*cosi.DriverGenerateBucketAccessIdResponse, error) {
	if err := d.check(request); err != nil {
		return nil, err
	}
	if err := d.checkAccess(request); err != nil {
		return nil, err
	}
	id := d.accountIDOf(request.GetAccountName())
	if d.has(GrantsInPhaseOne) {
		err := d.store.driver(func(s *state) error {
			if s.Accounts[id] == nil {
				s.Accounts[id] = &accountState{Granted: fingerprint(request), Current: s.newKey(id, "")}
			}
			return nil
		})
		if err != nil {
			return nil, d.fromStore(err)
		}
	}
	d.remember("generated "+id, "yes")
	return &cosi.DriverGenerateBucketAccessIdResponse{AccountId: id}, nil
}

// accountIDOf returns the account ID for a name.
func (d *Driver) accountIDOf(name string) string {
	switch {
	case d.has(NoAccountID):
		return ""
	case d.has(RandomAccountIDs):
		return name + "-" + randomText(8)
	case d.has(TruncatesAccountNames) && len(name) > 200:
		return name[:200]
	case d.has(RestartChangesAccountIDs):
		return d.remembered("account ID of "+name, name+"-"+randomText(6))
	}
	if cosi.ValidateAccountID(name) == nil {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// openModes counts the categories that a request leaves unset.
func openModes(bucket *cosi.AccessedBucket) int {
	n := 0
	for _, mode := range []*cosi.AccessMode{bucket.GetObjectDataAccessMode(), bucket.GetObjectMetadataAccessMode(), bucket.GetBucketMetadataAccessMode()} {
		if mode.GetMode() == cosi.AccessMode_UNKNOWN || mode.GetMode() == cosi.AccessMode_ANY {
			n++
		}
	}
	return n
}

// checkAccess returns an error for requests that the driver does not support.
func (d *Driver) checkAccess(request asked) error {
	supported := d.supported()
	if protocol := request.GetProtocol().GetType(); !slices.Contains(supported, protocol) && !d.has(AccessByAnyProtocol) && !d.has(AcceptsUnknownEnums) {
		return status.Errorf(codes.InvalidArgument, "protocol: %s is not supported; this driver supports %v", protocol, supported)
	}
	if by := request.GetAuthenticationType().GetType(); !slices.Contains(d.options.Authentication, by) && !d.has(AcceptsAnyAuthentication) && !d.has(AcceptsUnknownEnums) {
		return status.Errorf(codes.InvalidArgument, "authentication_type: %s is not supported; this driver supports %v", by, d.options.Authentication)
	}
	if len(request.GetBuckets()) > 1 && d.options.SingleBucket {
		if d.has(MultiBucketIsInvalid) {
			return status.Error(codes.InvalidArgument, "only one bucket at a time")
		}
		return status.Error(codes.OutOfRange, "one credential cannot give access to several buckets; request one access for each")
	}
	err := checkParameters(d.options.AccessParameters, request.GetParameters(), d.has(AcceptsUnknownParameters), d.has(AcceptsInvalidAccessParameters))
	if err != nil {
		return err
	}
	if err := d.checkDisallowed(request); err != nil {
		return err
	}
	return d.checkModes(request.GetBuckets())
}

func (d *Driver) checkModes(buckets []*cosi.AccessedBucket) error {
	for _, bucket := range buckets {
		open := openModes(bucket)
		switch {
		case open == 2 && d.has(RefusesOpenModes) && bucket.GetObjectDataAccessMode().GetMode() == cosi.AccessMode_READ_WRITE &&
			bucket.GetObjectMetadataAccessMode() != nil:
			return status.Error(codes.InvalidArgument, "every access mode is required")
		case bucket.GetObjectDataAccessMode().GetMode() == cosi.AccessMode_WRITE_ONLY && d.has(OutOfRangeForOne):
			return status.Error(codes.OutOfRange, "WriteOnly is not supported")
		case bucket.GetObjectDataAccessMode().GetMode() == cosi.AccessMode_WRITE_ONLY && d.has(UnsupportedModeIsUnimplemented):
			return status.Error(codes.Unimplemented, "WriteOnly is not supported")
		}
	}
	return nil
}

// fingerprint covers everything that must not change for an account.
func fingerprint(request asked) string {
	mode := func(m *cosi.AccessMode) cosi.AccessMode_Mode {
		if m.GetMode() == cosi.AccessMode_UNKNOWN {
			return cosi.AccessMode_ANY
		}
		return m.GetMode()
	}
	lines := []string{request.GetProtocol().GetType().String(), request.GetAuthenticationType().GetType().String()}
	if request.GetAuthenticationType().GetType() == cosi.AuthenticationType_SERVICE_ACCOUNT {
		lines[1] += " " + request.GetServiceAccountNamespace() + "/" + request.GetServiceAccountName()
	}
	for _, bucket := range request.GetBuckets() {
		lines = append(lines, fmt.Sprintf("%s %d %d %d", bucket.GetBucketId(), mode(bucket.GetObjectDataAccessMode()),
			mode(bucket.GetObjectMetadataAccessMode()), mode(bucket.GetBucketMetadataAccessMode())))
	}
	slices.Sort(lines[2:])
	return strings.Join(lines, "\n")
}

// DriverGrantBucketAccess implements cosi.ProvisionerServer.
func (d *Driver) DriverGrantBucketAccess(
	ctx context.Context, request *cosi.DriverGrantBucketAccessRequest,
) (*cosi.DriverGrantBucketAccessResponse, error) {
	if err := d.check(request); err != nil {
		return nil, err
	}
	if err := d.checkAccess(request); err != nil {
		return nil, err
	}
	id := request.GetAccountId()
	if revoked := d.recall("revoked " + id); revoked && d.has(RevokeCache) {
		pause(ctx, 5*time.Millisecond)
	}
	if err := d.store.driver(func(s *state) error { return d.ensureAccount(s, request) }); err != nil {
		return nil, d.fromStore(err)
	}
	if d.has(HalfGranted) {
		pause(ctx, halfway)
	}
	if err := ctx.Err(); err != nil {
		return nil, d.fromStore(err)
	}
	if err := d.allow(ctx, request); err != nil {
		return nil, d.fromStore(err)
	}
	var response *cosi.DriverGrantBucketAccessResponse
	err := d.store.driver(func(s *state) error {
		response = d.grantResponse(s, request)
		return nil
	})
	if err != nil {
		return nil, d.fromStore(err)
	}
	d.remember("granted "+id, "yes")
	return response, nil
}

// ensureAccount is the first step of a grant: it ensures that the account exists with its keys, or returns an error
// if it does not match.
func (d *Driver) ensureAccount(s *state, request *cosi.DriverGrantBucketAccessRequest) error {
	if err := d.checkGrantedBuckets(s, request); err != nil {
		return err
	}
	id := request.GetAccountId()
	account := s.Accounts[id]
	if account == nil {
		account = &accountState{Granted: fingerprint(request), Rotation: request.GetRotation()}
		if request.GetAuthenticationType().GetType() == cosi.AuthenticationType_SERVICE_ACCOUNT {
			account.ServiceAccount = request.GetServiceAccountNamespace() + "/" + request.GetServiceAccountName()
		}
		for _, bucket := range request.GetBuckets() {
			account.Buckets = append(account.Buckets, bucket.GetBucketId())
		}
		slices.Sort(account.Buckets)
		s.Accounts[id] = account
		d.remember("account "+id, "made")
		d.rotate(s, request, account)
		return nil
	}
	granted := d.recall("granted " + id)
	made := d.recall("account " + id)
	switch {
	case d.has(SecondGrantFails), d.has(HalfGranted) && !granted, d.has(AccountsInMemory) && !made:
		return status.Errorf(codes.AlreadyExists, "account %s exists", id)
	case account.Granted != fingerprint(request) && !d.has(NeverComparesAccounts):
		if d.has(SecretInMessage) {
			return status.Errorf(codes.AlreadyExists, "account %s already exists with the secret %s", id, s.Keys[account.Current].Secret)
		}
		return status.Errorf(codes.AlreadyExists, "account %s already exists with other buckets or modes", id)
	}
	return d.again(s, request, account)
}

// checkGrantedBuckets returns an error for buckets that do not exist or do not support the protocol.
func (d *Driver) checkGrantedBuckets(s *state, request *cosi.DriverGrantBucketAccessRequest) error {
	id := request.GetAccountId()
	for _, bucket := range request.GetBuckets() {
		found := s.Buckets[bucket.GetBucketId()]
		if found == nil && d.static(bucket.GetBucketId()) {
			continue
		}
		if found == nil && d.has(AccountBeforeBucket) && s.Accounts[id] == nil {
			s.Accounts[id] = &accountState{Granted: fingerprint(request), Current: s.newKey(id, "")}
		}
		if found == nil && d.has(MissingBucketIsTerminal) {
			return status.Errorf(codes.InvalidArgument, "bucket %s does not exist", bucket.GetBucketId())
		}
		if found == nil || found.Owner == ownerAdmin && d.has(GrantsOnlyItsOwn) {
			return status.Errorf(codes.NotFound, "bucket %s does not exist", bucket.GetBucketId())
		}
		if protocol := request.GetProtocol().GetType(); !slices.Contains(found.Protocols, protocol) && !d.has(AccessByAnyProtocol) && !d.has(AcceptsUnknownEnums) {
			return status.Errorf(codes.InvalidArgument, "bucket %s does not support protocol %s", bucket.GetBucketId(), protocol)
		}
	}
	return nil
}

// again grants an account that exists and matches.
func (d *Driver) again(s *state, request *cosi.DriverGrantBucketAccessRequest, account *accountState) error {
	id := request.GetAccountId()
	switch {
	case account.Rotation != request.GetRotation():
		account.Rotation = request.GetRotation()
		if d.has(RotationKeepsNothing) {
			s.Keys[account.Current] = nil
			delete(s.Keys, account.Current)
		}
		d.rotate(s, request, account)
	case d.has(SecondKeyOnRepeat):
		account.Previous = account.Current
		account.Current = s.newKey(id, "")
	case d.has(RotatesOnRepeat):
		delete(s.Keys, account.Current)
		account.Current = s.newKey(id, "")
	case d.has(DeadKeyOnRepeat):
		delete(s.Keys, account.Current)
		s.Keys[account.Current] = &keyState{Account: "unknown", Secret: randomText(20)}
	case d.has(SecondAccountOnRepeat):
		s.Accounts[id+"-"+randomText(6)] = &accountState{}
	}
	return nil
}

// rotate adds a new key to an account with keys, keeps the previous one, and deletes older ones.
func (d *Driver) rotate(s *state, request *cosi.DriverGrantBucketAccessRequest, account *accountState) {
	if request.GetAuthenticationType().GetType() == cosi.AuthenticationType_SERVICE_ACCOUNT && !d.has(SecretForServiceAccount) {
		return
	}
	id := request.GetAccountId()
	dropped := account.Previous
	secret := ""
	if d.has(DerivedSecrets) {
		sum := sha256.Sum256([]byte("memory:" + id))
		secret = hex.EncodeToString(sum[:])
	}
	account.Previous, account.Current = account.Current, s.newKey(id, secret)
	if d.has(KeepsAllKeys) {
		return
	}
	for _, key := range d.keysOf(s, id, dropped) {
		if key != account.Current && key != account.Previous {
			delete(s.Keys, key)
		}
	}
}

// allow is the second step of a grant: it adds the account to the policies of the buckets.
func (d *Driver) allow(ctx context.Context, request *cosi.DriverGrantBucketAccessRequest) error {
	id := request.GetAccountId()
	for i, bucket := range request.GetBuckets() {
		if i > 0 && d.has(GrantsFirstBucketOnly) || d.has(GrantsNothing) {
			break
		}
		name := bucket.GetBucketId()
		if d.has(LostPolicyUpdate) {
			if err := d.allowFromCopy(ctx, name, id, d.modesOf(bucket, request.GetDisallowedAccessModes())); err != nil {
				return err
			}
			continue
		}
		err := d.store.driver(func(s *state) error {
			if found := s.Buckets[name]; found != nil {
				found.Policy[id] = d.modesOf(bucket, request.GetDisallowedAccessModes())
			}
			if d.has(GrantsEverywhere) {
				for _, other := range s.Buckets {
					other.Policy[id] = d.modesOf(bucket, request.GetDisallowedAccessModes())
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// allowFromCopy reads the policy, waits like a slow backend, and writes the whole policy back.
func (d *Driver) allowFromCopy(ctx context.Context, name, account string, granted modes) error {
	policy := map[string]modes{}
	err := d.store.driver(func(s *state) error {
		if bucket := s.Buckets[name]; bucket != nil {
			policy = maps.Clone(bucket.Policy)
		}
		return nil
	})
	if err != nil {
		return err
	}
	policy[account] = granted
	pause(ctx, 30*time.Millisecond)
	return d.store.driver(func(s *state) error {
		if bucket := s.Buckets[name]; bucket != nil {
			bucket.Policy = policy
		}
		return nil
	})
}
