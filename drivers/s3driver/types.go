// SPDX-License-Identifier: Apache-2.0

package s3driver

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/adminapi"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/iamuser"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/minio"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/role"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/static"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/versitygw"
	"github.com/cooper-cosi/cooper/internal/keylock"
)

// BackendType says how a backend manages accounts.
type BackendType string

// The types of backends. A type is a constant here, a row of storeTypes, and a package below internal/account.
const (
	// TypeAWS is a store with the IAM API of AWS: AWS itself, or compatible.
	TypeAWS BackendType = "aws"
	// TypeMinIO is MinIO, with its admin API.
	TypeMinIO BackendType = "minio"
	// TypeVersityGW is versitygw with accounts of its own, through its admin API.
	TypeVersityGW BackendType = "versitygw"
	// TypeStatic is a store without accounts, with one key pair for all workloads.
	TypeStatic BackendType = "static"
)

// storeType is what is particular to the stores of one type.
type storeType struct {
	// equip gives the backend its accounts, and what its buckets have or lack.
	equip func(*backend, parts)
	// iam says that the store has the IAM API, which the iam settings are for. Its endpoint and credentials can be
	// what the SDK finds in its environment.
	iam bool
	// sharedKey says that the store has no accounts: all workloads get the key pair of the configuration.
	sharedKey bool
	// needsKMSKey says that the store has no key of its own for SSE-KMS.
	needsKMSKey bool
	// sharesPolicies says that the rights of all accounts of a bucket are one document, which is read, changed and written.
	sharesPolicies bool
}

// parts are what a backend is made of besides its own configuration.
type parts struct {
	driver Config
	store  credentials.Store
	base   aws.Config
}

func storeTypes() map[BackendType]storeType {
	return map[BackendType]storeType{
		TypeAWS:       {equip: equipAWS, iam: true},
		TypeMinIO:     {equip: equipMinIO, needsKMSKey: true},
		TypeVersityGW: {equip: equipVersityGW, sharesPolicies: true},
		TypeStatic:    {equip: equipStatic, sharedKey: true},
	}
}

// typeNames are the values of the field type.
func typeNames() []string {
	var names []string
	for name := range maps.Keys(storeTypes()) {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return names
}

// accounts manages the accounts of one store.
type accounts interface {
	// Check refuses what the store cannot do. It makes no calls.
	Check(request account.Request) error
	// Grant makes sure that the account exists and returns its credential.
	Grant(ctx context.Context, request account.Request) (credentials.Credential, error)
	// Revoke makes sure that the account does not exist. Only names and IDs of the request are set.
	Revoke(ctx context.Context, request account.Request) error
	// Ping makes a call that Grant makes too, and that changes nothing.
	Ping(ctx context.Context) error
}

func equipAWS(b *backend, p parts) {
	b.buckets.TagsAtCreation = true
	b.buckets.PublicAccessBlock = true
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
}

func equipVersityGW(b *backend, p parts) {
	b.buckets.TagsAtCreation = true
	b.accounts = &versitygw.Users{API: newAdminClient(b.config, p.base), S3: b.buckets.API, Store: p.store}
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

// newRoles makes what gives workloads a role, so that they authenticate as their service account.
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
