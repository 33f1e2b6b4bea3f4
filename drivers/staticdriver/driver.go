// SPDX-License-Identifier: Apache-2.0

package staticdriver

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
)

// keyShared is the parameter with which an access class accepts credentials that others also have.
const keyShared = "acceptSharedCredential"

// Options are the arguments of New.
type Options struct {
	// Config is the configuration. New fills in its defaults.
	Config Config
	// Credentials records what accounts are for. Required.
	Credentials credentials.Store
	// Registerer registers the metrics of calls to stores. Default: none.
	Registerer prometheus.Registerer
	// TracerProvider creates a span for each call to a store. Default: OpenTelemetry's global provider.
	TracerProvider trace.TracerProvider
}

// Driver implements driverkit.Driver and driverkit.IDGenerator.
type Driver struct {
	config Config
	store  credentials.Store
	calls  *driverkit.BackendCalls
	info   driverkit.Info
	// revision is computed from the contents of the directories when they were last read.
	revision atomic.Pointer[string]
}

var (
	_ driverkit.Driver          = (*Driver)(nil)
	_ driverkit.IDGenerator     = (*Driver)(nil)
	_ driverkit.BackendsChecker = (*Driver)(nil)
)

// New returns a driver. It makes no calls, so a store that is down does not prevent the driver from starting.
func New(options Options) (*Driver, error) {
	config, err := options.Config.complete()
	if err != nil {
		return nil, err
	}
	if options.Credentials == nil {
		return nil, errors.New("create the driver for existing buckets: Options.Credentials is required")
	}
	calls, err := driverkit.NewBackendCalls(driverkit.BackendCallsOptions{
		DriverName: config.DriverName, Registerer: options.Registerer, TracerProvider: options.TracerProvider, Name: callName,
	})
	if err != nil {
		return nil, err
	}
	made := &Driver{config: config, store: options.Credentials, calls: calls}
	if made.info, err = declare(config); err != nil {
		return nil, err
	}
	made.note()
	return made, nil
}

// AccessParameters returns the parameters that a BucketAccessClass can have.
func AccessParameters() driverkit.Parameters {
	return driverkit.Parameters{keyShared: {
		Description: "\"true\" accepts that an access gets a credential that other accesses also use and that cannot be revoked. Otherwise, accesses are rejected.",
		Check:       driverkit.Boolean,
	}}
}

// declare returns the combined capabilities of all credentials.
func declare(config Config) (driverkit.Info, error) {
	info := driverkit.Info{
		Name: config.DriverName, KeepsDisallowedModes: true,
		AccessParameters: AccessParameters(),
	}
	for _, bucket := range config.Buckets {
		for _, one := range bucket.Credentials {
			found, err := read(one.Directory)
			if err != nil {
				return info, err
			}
			info.Protocols = add(info.Protocols, found.protocol)
			info.Modes.ObjectData = add(info.Modes.ObjectData, one.ObjectData)
			info.Modes.BucketMetadata = add(info.Modes.BucketMetadata, one.BucketMetadata)
		}
	}
	slices.Sort(info.Protocols)
	slices.Sort(info.Modes.ObjectData)
	slices.Sort(info.Modes.BucketMetadata)
	info.Modes.ObjectMetadata = info.Modes.ObjectData
	return info, nil
}

// Info implements driverkit.Driver.
func (d *Driver) Info() driverkit.Info {
	info := d.info
	info.Revision = *d.revision.Load()
	return info
}

// note reads all directories again. If an administrator has replaced a credential, the revision changes, so that the
// new one is delivered to users' Secrets.
func (d *Driver) note() {
	type visible struct {
		Config      CredentialConfig
		Info        driverkit.BucketInfo
		Authorities string
		Mark        string
	}
	all := map[string]visible{}
	for id, bucket := range d.config.Buckets {
		for i, one := range bucket.Credentials {
			if found, err := read(one.Directory); err == nil { // if not, the call that needs it returns the error
				all[id+" "+strconv.Itoa(i)] = visible{one, found.info, found.credential.CertificateAuthority, found.mark}
			}
		}
	}
	revision, _ := driverkit.Digest(all) // strings can always be encoded as JSON
	d.revision.Store(&revision)
}

func add[T ~string](list []T, one T) []T {
	if one == "" || slices.Contains(list, one) {
		return list
	}
	return append(list, one)
}

// BucketID implements driverkit.IDGenerator.
func (d *Driver) BucketID(context.Context, driverkit.BucketIDRequest) (string, error) {
	return "", d.makesNone()
}

// CreateBucket implements driverkit.Driver.
func (d *Driver) CreateBucket(context.Context, driverkit.CreateBucketRequest) (driverkit.BucketInfo, error) {
	return driverkit.BucketInfo{}, d.makesNone()
}

// makesNone returns the error for new buckets. It does not list the configured buckets, because not everyone who can
// create a claim may see them.
func (d *Driver) makesNone() error {
	return driverkit.InvalidArgument("driver %s creates no buckets: it gives access to buckets that an administrator configured; "+
		"an administrator must create a Bucket with existingBucketID, and the BucketClaim must refer to that Bucket with existingBucketName", d.config.DriverName)
}

// GetBucket implements driverkit.Driver.
func (d *Driver) GetBucket(ctx context.Context, request driverkit.GetBucketRequest) (driverkit.BucketInfo, error) {
	config, err := d.bucket(request.BucketID)
	if err != nil {
		return driverkit.BucketInfo{}, err
	}
	var info driverkit.BucketInfo
	for _, one := range config.Credentials {
		found, err := read(one.Directory)
		if err != nil {
			return driverkit.BucketInfo{}, unreadable(request.BucketID, err)
		}
		if supports(info, found.protocol) {
			continue // one check per protocol is enough
		}
		if err := d.look(ctx, request.BucketID, config, found); err != nil {
			return driverkit.BucketInfo{}, err
		}
		info = merge(info, found.info)
	}
	for _, protocol := range request.Protocols {
		if !supports(info, protocol) {
			return driverkit.BucketInfo{}, driverkit.InvalidArgument("bucket %s has no credential for protocol %s", request.BucketID, protocol)
		}
	}
	return info, nil
}

// merge adds the information for another protocol.
func merge(info, other driverkit.BucketInfo) driverkit.BucketInfo {
	return driverkit.BucketInfo{S3: cmp.Or(info.S3, other.S3), Azure: cmp.Or(info.Azure, other.Azure), GCS: cmp.Or(info.GCS, other.GCS)}
}

func supports(info driverkit.BucketInfo, protocol driverkit.Protocol) bool {
	return map[driverkit.Protocol]bool{driverkit.S3: info.S3 != nil, driverkit.Azure: info.Azure != nil, driverkit.GCS: info.GCS != nil}[protocol]
}

func (d *Driver) bucket(id string) (BucketConfig, error) {
	config, ok := d.config.Buckets[id]
	if !ok {
		return config, driverkit.NotFound("bucket %s is not in the configuration of driver %s", id, d.config.DriverName)
	}
	return config, nil
}

func unreadable(id string, err error) error {
	return driverkit.FailedPrecondition("bucket %s: a configured credential cannot be read; see the driver's log", id).WithDetail(err)
}

// DeleteBucket implements driverkit.Driver. A bucket that is not configured does not belong to this driver.
func (d *Driver) DeleteBucket(_ context.Context, request driverkit.DeleteBucketRequest) error {
	if _, ok := d.config.Buckets[request.BucketID]; !ok {
		return nil
	}
	return driverkit.FailedPrecondition("bucket %s was not created by COSI, and driver %s deletes no buckets; set the deletionPolicy of its Bucket to Retain",
		request.BucketID, d.config.DriverName)
}

// AccountID implements driverkit.IDGenerator. The name is the ID.
func (d *Driver) AccountID(_ context.Context, request driverkit.AccountIDRequest) (string, error) {
	return request.Name, d.accept(request.AccessSpec)
}

// accept returns an error for requests that no configured credential can satisfy.
func (d *Driver) accept(spec driverkit.AccessSpec) error {
	if !spec.Parameters.Bool(keyShared) {
		return driverkit.InvalidArgument("an administrator configured the credentials of driver %s: other accesses use the same credential, and it is not revoked with the access; "+
			"an administrator can accept this with the parameter %s: \"true\" of the BucketAccessClass", d.config.DriverName, keyShared)
	}
	if spec.Rotation != "" {
		return driverkit.InvalidArgument("the driver cannot rotate credentials: an administrator rotates the credentials of driver %s, in the store and in the driver's Secret", d.config.DriverName)
	}
	return nil
}

// GrantAccess implements driverkit.Driver.
func (d *Driver) GrantAccess(ctx context.Context, request driverkit.GrantAccessRequest) (driverkit.Access, error) {
	if err := d.accept(request.AccessSpec); err != nil {
		return driverkit.Access{}, err
	}
	wanted := request.Buckets[0] // the kit allows only one bucket, because no account can access several
	config, err := d.bucket(wanted.BucketID)
	if err != nil {
		return driverkit.Access{}, err
	}
	found, err := choose(config, wanted, request.AccessSpec)
	if err != nil {
		return driverkit.Access{}, err
	}
	if err := d.look(ctx, wanted.BucketID, config, found); err != nil {
		return driverkit.Access{}, err
	}
	hash, err := driverkit.Digest(request.AccessSpec)
	if err != nil {
		return driverkit.Access{}, err
	}
	if err := credentials.NoteGiven(ctx, d.store, request.AccountID, hash); err != nil {
		return driverkit.Access{}, err
	}
	return driverkit.Access{Buckets: map[string]driverkit.BucketInfo{wanted.BucketID: found.info}, Credential: found.credential, Shared: true}, nil
}

// choose returns the credential that has the requested modes, no disallowed mode, and the fewest permissions in the
// categories that are unset.
func choose(config BucketConfig, wanted driverkit.BucketAccess, spec driverkit.AccessSpec) (given, error) {
	var found given
	var refusal error
	var offered []string
	fewest := math.MaxInt
	for _, one := range config.Credentials {
		candidate, err := read(one.Directory)
		if err != nil {
			return given{}, unreadable(wanted.BucketID, err)
		}
		if candidate.protocol != spec.Protocol {
			continue
		}
		offered = append(offered, one.modes())
		effective := driverkit.BucketAccess{
			BucketID: wanted.BucketID, ObjectData: one.ObjectData, ObjectMetadata: one.ObjectData, BucketMetadata: one.BucketMetadata,
		}
		if !fits(wanted, effective) || one.rights() >= fewest {
			continue
		}
		if err := spec.Disallowed.Check(effective); err != nil {
			refusal = err
			continue
		}
		found, fewest = candidate, one.rights()
	}
	switch {
	case fewest < math.MaxInt:
		return found, nil
	case refusal != nil:
		return given{}, refusal
	case len(offered) == 0:
		return given{}, driverkit.InvalidArgument("bucket %s has no credential for protocol %s", wanted.BucketID, spec.Protocol)
	default:
		return given{}, driverkit.InvalidArgument("bucket %s: no configured credential has exactly the requested access modes; the configured modes are: %s",
			wanted.BucketID, strings.Join(offered, "; "))
	}
}

// fits reports whether a credential has the modes that are asked for, neither less nor more.
func fits(wanted, has driverkit.BucketAccess) bool {
	is := func(asked, given driverkit.Mode) bool { return asked == driverkit.Any || asked == given }
	return is(wanted.ObjectData, has.ObjectData) && is(wanted.ObjectMetadata, has.ObjectMetadata) && is(wanted.BucketMetadata, has.BucketMetadata)
}

// rights returns the number of permissions of the credential, for comparison.
func (c CredentialConfig) rights() int {
	weight := map[driverkit.Mode]int{driverkit.ReadWrite: 2, driverkit.ReadOnly: 1, driverkit.WriteOnly: 1}
	return weight[c.ObjectData] + weight[c.BucketMetadata]
}

// modes describes the permissions of the credential for users.
func (c CredentialConfig) modes() string {
	var parts []string
	if c.ObjectData != "" {
		parts = append(parts, "objectData and objectMetadata "+string(c.ObjectData))
	}
	if c.BucketMetadata != "" {
		parts = append(parts, "bucketMetadata "+string(c.BucketMetadata))
	}
	return strings.Join(parts, ", ")
}

// RevokeAccess implements driverkit.Driver. It deletes the record of the account. The credential continues to work;
// the class accepts this with acceptSharedCredential.
func (d *Driver) RevokeAccess(ctx context.Context, request driverkit.RevokeAccessRequest) error {
	return credentials.ForgetGiven(ctx, d.store, request.AccountID)
}

// CheckBackends implements driverkit.BackendsChecker. It checks that each bucket exists, by bucket ID, and detects
// replaced credentials.
func (d *Driver) CheckBackends(ctx context.Context) map[string]error {
	d.note()
	buckets := driverkit.Backends[string]{ByName: map[string]string{}}
	for id := range d.config.Buckets {
		buckets.ByName[id] = id
	}
	return buckets.Ping(ctx, func(ctx context.Context, id string) error {
		_, err := d.GetBucket(ctx, driverkit.GetBucketRequest{BucketID: id})
		return err
	})
}
