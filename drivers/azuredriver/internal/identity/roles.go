// SPDX-License-Identifier: Apache-2.0

package identity

// The role definitions of Azure that fit access modes, by ID. There is none for writing alone.
const (
	RoleReader      = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1" // Storage Blob Data Reader
	RoleContributor = "ba92f5b4-2d11-453d-a403-e96b0029c9fe" // Storage Blob Data Contributor
)

// RoleID is the resource ID of a role definition in a subscription.
func RoleID(subscription, role string) string {
	return "/subscriptions/" + subscription + "/providers/Microsoft.Authorization/roleDefinitions/" + role
}
