// SPDX-License-Identifier: Apache-2.0

package s3driver

import (
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/internal/keylock"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/adminapi"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/iamuser"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/minio"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/rgw"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/role"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/seaweedfs"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/static"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/versitygw"
	"github.com/cooper-cosi/cooper/drivers/s3driver/s3store"
)

// BackendType selects how a backend manages accounts.
type BackendType string

// The types of backends. Each type is a constant here, a row of storeTypes, and a package below internal/account.
const (
	// TypeAWS is AWS or a store with a compatible IAM API.
	TypeAWS BackendType = "aws"
	// TypeMinIO is MinIO, with its admin API.
	TypeMinIO BackendType = "minio"
	// TypeVersityGW is versitygw with its own accounts, through its admin API.
	TypeVersityGW BackendType = "versitygw"
	// TypeRGW is the RADOS Gateway of Ceph, with its admin operations.
	TypeRGW BackendType = "rgw"
	// TypeSeaweedFS is SeaweedFS, with its IAM API.
	TypeSeaweedFS BackendType = "seaweedfs"
	// TypeStatic is a store without accounts, with one key pair for all workloads.
	TypeStatic BackendType = "static"
)

// storeType holds the properties that are specific to one type of store.
type storeType struct {
	// equip sets the backend's account manager and the capabilities of its buckets.
	equip func(*backend, parts)
	// iam means that the store has the IAM API, which the iam settings configure. The SDK may take its endpoint and
	// credentials from the environment.
	iam bool
	// sharedKey means that the store has no accounts: all workloads get the configured key pair.
	sharedKey bool
	// needsKMSKey means that the store has no default key for SSE-KMS.
	needsKMSKey bool
	// sharesPolicies means that the permissions of all accounts of a bucket are in one document, which is updated by
	// reading and rewriting it.
	sharesPolicies bool
}

// parts are the components of a backend apart from its own configuration.
type parts struct {
	driver Config
	store  credentials.Store
	base   aws.Config
}

// storeTypes returns the built-in types and the additional ones, whose names differ.
func storeTypes(more map[BackendType]s3store.Type) map[BackendType]storeType {
	types := map[BackendType]storeType{}
	for name, other := range more {
		types[name] = storeType{equip: equipOther(other), sharesPolicies: other.SharesPolicies}
	}
	maps.Copy(types, map[BackendType]storeType{
		TypeAWS:       {equip: equipAWS, iam: true},
		TypeMinIO:     {equip: equipMinIO, needsKMSKey: true},
		TypeVersityGW: {equip: equipVersityGW, sharesPolicies: true},
		TypeRGW:       {equip: equipRGW, needsKMSKey: true},
		TypeSeaweedFS: {equip: equipSeaweedFS},
		TypeStatic:    {equip: equipStatic, sharedKey: true},
	})
	return types
}

// equipOther is equip for a type that another program added.
func equipOther(other s3store.Type) func(*backend, parts) {
	return func(b *backend, p parts) {
		b.buckets.TagsAtCreation, b.buckets.PublicAccessBlock = other.TagsAtCreation, other.PublicAccessBlock
		b.accounts = other.Accounts(s3store.Store{
			S3: b.buckets.API, AdminEndpoint: strings.TrimRight(b.config.AdminEndpoint, "/"), Region: b.config.Region,
			Credentials: p.base.Credentials, HTTP: p.base.HTTPClient, Keys: p.store, Driver: p.driver.DriverName, Cluster: p.driver.Cluster,
		})
	}
}

func equipAWS(b *backend, p parts) {
	b.buckets.TagsAtCreation = true
	b.buckets.PublicAccessBlock = true
	b.buckets.QueueEvents = true
	b.accounts = &iamuser.Users{
		API:       newIAMClient(p.base, b.config),
		Store:     p.store,
		Driver:    p.driver.DriverName,
		Cluster:   p.driver.Cluster,
		Path:      b.config.IAM.Path,
		Boundary:  b.config.IAM.PermissionsBoundary,
		Partition: b.config.IAM.Partition,
		ReadLag:   b.config.ReadLag.Duration(),
	}
}

func equipMinIO(b *backend, p parts) {
	admin := newAdminClient(b.config, p.base)
	b.accounts = &minio.Users{API: admin, Store: p.store, Driver: p.driver.DriverName, Cluster: p.driver.Cluster}
	b.buckets.Quotas = minio.Quota{API: admin}
	b.buckets.QueueEvents = true
}

func equipVersityGW(b *backend, p parts) {
	b.buckets.TagsAtCreation = true
	b.accounts = versitygw.New(newAdminClient(b.config, p.base), b.buckets.API, p.store)
}

func equipRGW(b *backend, p parts) {
	settings := b.config
	settings.IAM.Endpoint = settings.Endpoint
	users := &rgw.Users{Admin: newAdminClient(b.config, p.base), IAM: newIAMClient(p.base, settings), Driver: p.driver.DriverName, Cluster: p.driver.Cluster}
	b.accounts = users
	b.buckets.PublicAccessBlock, b.buckets.AcceptsPublicACLs = true, true
	b.buckets.Placements = true
	b.buckets.Quotas, b.buckets.QuotasOfObjects = rgw.Quota{Users: users}, true
	b.buckets.Owners = users
}

func equipSeaweedFS(b *backend, p parts) {
	settings := b.config
	settings.IAM.Endpoint = settings.AdminEndpoint
	b.accounts = &seaweedfs.Users{API: newIAMClient(p.base, settings), Store: p.store, Driver: p.driver.DriverName, Cluster: p.driver.Cluster}
	b.buckets.PublicAccessBlock = true
	b.buckets.DeletesObjects = true
}

func equipStatic(b *backend, p parts) {
	b.accounts = &static.Key{Credentials: b.config.Workloads.provider(), Store: p.store}
}

func newAdminClient(settings BackendConfig, base aws.Config) *adminapi.Client {
	return &adminapi.Client{
		Name: string(settings.Type), Endpoint: settings.AdminEndpoint, Region: settings.Region,
		Credentials: base.Credentials, HTTP: base.HTTPClient,
	}
}

// newRoles returns the manager of the roles with which workloads authenticate as their service account.
func newRoles(p parts, settings BackendConfig, locks *keylock.Locks) *role.Roles {
	wanted := settings.IAM.ServiceAccounts
	roles := &role.Roles{
		API:       newIAMClient(p.base, settings),
		Driver:    p.driver.DriverName,
		Cluster:   p.driver.Cluster,
		Path:      settings.IAM.Path,
		Prefix:    wanted.RolePrefix,
		Boundary:  settings.IAM.PermissionsBoundary,
		Partition: settings.IAM.Partition,
		Locks:     locks,
		ReadLag:   settings.ReadLag.Duration(),
	}
	if wanted.EKSCluster != "" {
		roles.PodIdentity = &role.PodIdentity{
			API: newEKSClient(p.base, settings), Cluster: wanted.EKSCluster, Region: settings.Region, Driver: p.driver.DriverName, ReadLag: roles.ReadLag,
		}
	}
	if wanted.OIDCProvider != "" {
		roles.WebIdentity = &role.WebIdentity{Provider: wanted.OIDCProvider, Audience: wanted.Audience}
	}
	return roles
}
