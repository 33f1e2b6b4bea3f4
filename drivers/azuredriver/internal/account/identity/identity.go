// SPDX-License-Identifier: Apache-2.0

// Package identity lets Kubernetes service accounts use containers, through Azure Resource Manager: each access has a
// user-assigned managed identity of its own, which trusts the tokens of one service account and has a role at each of
// the access's containers.
//
// The identity is made first and removed last, so that whatever a crash leaves is found again through it. Nothing is
// kept anywhere else.
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

// Audience is what tokens must be for, as Microsoft Entra asks in Azure's public cloud.
const Audience = "api://AzureADTokenExchange"

// credential is the name of the one federated credential of an identity.
const credential = "cosi"

// Tags of an identity that make it ours and say what it is for.
const (
	tagDriver  = "cosi_driver"
	tagCluster = "cosi_cluster"
	tagAccess  = "cosi_access"
)

// Manager makes and removes identities. All fields but Cluster and ReadLag are required.
type Manager struct {
	Identities  *armmsi.UserAssignedIdentitiesClient
	Federated   *armmsi.FederatedIdentityCredentialsClient
	Assignments *armauthorization.RoleAssignmentsClient
	// Subscription, Group and Location are where identities are made.
	Subscription, Group, Location string
	// Issuer is the URL of the cluster that issues the tokens, Audience what they must be for.
	Issuer, Audience string
	// Driver and Cluster are marked on every identity.
	Driver, Cluster string
	// Roles are the role definitions for object data, each by its UUID.
	Roles map[driverkit.Mode]string
	// Scopes are the resource IDs of all storage accounts.
	Scopes []string
	// ReadLag is how long what was written may be missing from reads.
	ReadLag time.Duration
}

// Check refuses what a service account cannot have. It makes no calls.
func (m *Manager) Check(asked account.Request) error {
	switch {
	case asked.ServiceAccount.Namespace == "":
		return driverkit.InvalidArgument("service_account_namespace is required: Azure knows a service account by namespace and name")
	case asked.Parameters.Lifetime != 0:
		return driverkit.InvalidArgument("parameter expiry is for authentication type Key: an identity does not end")
	case asked.Parameters.NoDelete || asked.Parameters.DeleteVersions:
		return driverkit.InvalidArgument("parameters allowDelete and deleteVersions are for authentication type Key: " +
			"with ServiceAccount, the roles in the driver's configuration say what accesses include")
	}
	for _, bucket := range asked.Buckets {
		role := m.Roles[bucket.Access.ObjectData]
		if role == "" {
			return driverkit.InvalidArgument("bucket %s: Azure has no built-in role for object data %s; ask for ReadOnly or ReadWrite, "+
				"or let an administrator configure a custom role as serviceAccounts.roles.writeOnly", bucket.ID, bucket.Access.ObjectData)
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

// grant is a role at a container, each by its resource ID.
type grant struct{ scope, role string }

// namespace makes the names of role assignments from what they are for.
var namespace = uuid.MustParse("0f8d5be1-1d52-4f0a-9b7e-6a5fd1a3d0c4")

// assignment returns the name of the role assignment for a grant.
func (m *Manager) assignment(id string, g grant) string {
	parts := []string{m.Driver, m.Cluster, id, strings.ToLower(g.scope), strings.ToLower(roleUUID(g.role))}
	return uuid.NewSHA1(namespace, []byte(strings.Join(parts, "\n"))).String()
}

// roleUUID returns the last part of a role definition's resource ID.
func roleUUID(id string) string { return id[strings.LastIndex(id, "/")+1:] }

// digest returns what is equal for equal requests. Roles are left out: an administrator may configure others later.
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
