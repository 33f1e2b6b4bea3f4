// SPDX-License-Identifier: Apache-2.0

// Package identity lets Kubernetes service accounts use containers. It calls Azure Resource Manager to create a
// user-assigned managed identity for each access. The identity trusts the tokens of one service account and has a
// role on each of the access's containers.
//
// The driver creates the identity first and deletes it last. After a crash, it finds all other resources of the
// access through the identity, so it stores no other state.
package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/msi/armmsi"
	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Audience is the required audience of tokens for Microsoft Entra in Azure's public cloud.
const Audience = "api://AzureADTokenExchange"

// credential is the name of an identity's only federated credential.
const credential = "cosi"

// Tags that mark an identity as the driver's and record its purpose.
const (
	tagDriver  = "cosi_driver"
	tagCluster = "cosi_cluster"
	tagAccess  = "cosi_access"
)

// Manager creates and deletes identities. All fields except Cluster and ReadLag are required.
type Manager struct {
	Identities  *armmsi.UserAssignedIdentitiesClient
	Federated   *armmsi.FederatedIdentityCredentialsClient
	Assignments *armauthorization.RoleAssignmentsClient
	// Subscription, Group and Location are where identities are created.
	Subscription, Group, Location string
	// Issuer is the URL of the cluster's token issuer, and Audience the required audience of tokens.
	Issuer, Audience string
	// Driver and Cluster are written to the marks of every identity.
	Driver, Cluster string
	// Roles maps modes of access to object data to the UUIDs of role definitions.
	Roles map[driverkit.Mode]string
	// Scopes are the resource IDs of all storage accounts.
	Scopes []string
	// ReadLag is how long reads may be stale after a write.
	ReadLag time.Duration
}

// Check returns an error for access that a service account cannot have. It makes no calls.
func (m *Manager) Check(asked account.Request) error {
	switch {
	case asked.ServiceAccount.Namespace == "":
		return driverkit.InvalidArgument("service_account_namespace is required: Azure identifies a service account by namespace and name")
	case asked.Parameters.Lifetime != 0:
		return driverkit.InvalidArgument("parameter expiry is only for authentication type Key: an identity does not expire")
	case asked.Parameters.NoDelete || asked.Parameters.DeleteVersions:
		return driverkit.InvalidArgument("parameters allowDelete and deleteVersions are only for authentication type Key: " +
			"with ServiceAccount, the roles in the driver's configuration determine the permissions")
	}
	for _, bucket := range asked.Buckets {
		role := m.Roles[bucket.Access.ObjectData]
		if role == "" {
			return driverkit.InvalidArgument("bucket %s: Azure has no built-in role for object data %s; request ReadOnly or ReadWrite, "+
				"or have an administrator configure a custom role as serviceAccounts.roles.writeOnly", bucket.ID, bucket.Access.ObjectData)
		}
		if bucket.ResourceID == "" {
			return driverkit.InvalidArgument("authentication type ServiceAccount is not supported for bucket %s: "+
				"the configuration of storage account %s has no resourceID; use Key", bucket.ID, bucket.StorageAccount)
		}
		if err := asked.Disallowed.Check(driverkit.BucketAccess{BucketID: bucket.ID, BucketMetadata: containerRights(role)}); err != nil {
			return err
		}
	}
	return nil
}

// grant is a role on a container, both as resource IDs.
type grant struct{ scope, role string }

// namespace is the UUID namespace for the names of role assignments, which are derived from their purpose.
var namespace = uuid.MustParse("0f8d5be1-1d52-4f0a-9b7e-6a5fd1a3d0c4")

// assignment returns the name of the role assignment for a grant.
func (m *Manager) assignment(id string, g grant) string {
	parts := []string{m.Driver, m.Cluster, id, strings.ToLower(g.scope), strings.ToLower(roleUUID(g.role))}
	return uuid.NewSHA1(namespace, []byte(strings.Join(parts, "\n"))).String()
}

// roleUUID returns the last part of a role definition's resource ID.
func roleUUID(id string) string { return id[strings.LastIndex(id, "/")+1:] }

// digest returns a value that is equal for equal requests. It excludes roles, because an administrator may configure
// others later.
func digest(asked account.Request) string {
	lines := []string{asked.ServiceAccount.Namespace, asked.ServiceAccount.Name}
	for _, bucket := range asked.Buckets {
		lines = append(lines, bucket.ID, string(bucket.Access.ObjectData))
	}
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:16])
}

func principalOf(found armmsi.Identity) (string, error) {
	if found.Properties == nil || value(found.Properties.PrincipalID) == "" {
		return "", driverkit.Unavailable("the identity %s has no principal yet; the driver tries again", value(found.Name))
	}
	return *found.Properties.PrincipalID, nil
}

func (m *Manager) ours(found armmsi.Identity) bool {
	return value(found.Tags[tagDriver]) == m.Driver && value(found.Tags[tagCluster]) == m.Cluster
}

// Ping makes a call that shows whether Azure Resource Manager responds and accepts the driver's credentials.
func (m *Manager) Ping(ctx context.Context) error {
	_, err := m.Identities.NewListByResourceGroupPager(m.Group, nil).NextPage(ctx)
	if err != nil {
		return fmt.Errorf("list identities: %w", err)
	}
	return nil
}

func gone(err error) bool {
	return apierror.Is(err, "ResourceNotFound", "RoleAssignmentNotFound", "ParentResourceNotFound", "NotFound")
}

func value(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
