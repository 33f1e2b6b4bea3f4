// SPDX-License-Identifier: Apache-2.0

package iamapi

import (
	"net/http"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// unservedOperations return NotImplemented to authenticated callers: AWS supports them, so InvalidAction, its
// response to unknown names, would be wrong.
func unservedOperations() map[string]operation {
	table := map[string]operation{}
	for service, names := range map[string]string{"iam": unservedIAM, "sts": unservedSTS} {
		for name := range strings.FieldsSeq(names) {
			// The one of them that is called without a signature.
			open := name == "AssumeRoleWithSAML"
			table[name] = operation{service: service, unserved: true, open: open, allowed: true, run: unserved}
		}
	}
	return table
}

func unserved(c *call) (any, error) {
	return nil, awserr.Newf(http.StatusNotImplemented, "NotImplemented", "%s is not supported by this fake.", c.action)
}

// unservedIAM and unservedSTS are the operations of the AWS SDKs' models that are not served here.
const (
	unservedIAM = `
AcceptDelegationRequest AcquireRole AddRoleToInstanceProfile AssociateDelegationRequest ChangePassword
CreateAccountAlias CreateDelegationRequest CreateInstanceProfile CreateLoginProfile CreateSAMLProvider
CreateServiceSpecificCredential CreateVirtualMFADevice DeactivateMFADevice DeleteAccountAlias
DeleteAccountPasswordPolicy DeleteInstanceProfile DeleteSAMLProvider DeleteSSHPublicKey DeleteServerCertificate
DeleteServiceLinkedRole DeleteServiceSpecificCredential DeleteSigningCertificate DeleteVirtualMFADevice
DisableOrganizationsRootCredentialsManagement DisableOrganizationsRootSessions DisableOutboundWebIdentityFederation
EnableMFADevice EnableOrganizationsRootCredentialsManagement EnableOrganizationsRootSessions
EnableOutboundWebIdentityFederation GenerateCredentialReport GenerateOrganizationsAccessReport
GenerateServiceLastAccessedDetails GetAccountAuthorizationDetails GetAccountPasswordPolicy GetAccountProperties
GetAccountSummary GetContextKeysForCustomPolicy GetContextKeysForPrincipalPolicy GetCredentialReport
GetDelegationRequest GetHumanReadableSummary GetInstanceProfile GetMFADevice GetOrganizationsAccessReport
GetOutboundWebIdentityFederationInfo GetRoleTemplateVersion GetSAMLProvider GetSSHPublicKey GetServerCertificate
GetServiceLastAccessedDetails GetServiceLastAccessedDetailsWithEntities GetServiceLinkedRoleDeletionStatus
ListAccountAliases ListDelegationRequests ListInstanceProfileTags ListInstanceProfiles ListMFADeviceTags
ListOrganizationsFeatures ListPoliciesGrantingServiceAccess ListSAMLProviderTags ListSAMLProviders
ListServerCertificateTags ListServerCertificates PutAccountProperties RejectDelegationRequest
RemoveRoleFromInstanceProfile ResetServiceSpecificCredential ResyncMFADevice SendDelegationToken
SetSecurityTokenServicePreferences SimulateCustomPolicy SimulatePrincipalPolicy TagInstanceProfile TagMFADevice
TagSAMLProvider TagServerCertificate UntagInstanceProfile UntagMFADevice UntagSAMLProvider UntagServerCertificate
UpdateAccountPasswordPolicy UpdateDelegationRequest UpdateLoginProfile UpdateRoleDescription UpdateSAMLProvider
UpdateSSHPublicKey UpdateServerCertificate UpdateServiceSpecificCredential UpdateSigningCertificate UploadSSHPublicKey
UploadServerCertificate UploadSigningCertificate
`
	unservedSTS = `
AssumeRoleWithSAML AssumeRoot DecodeAuthorizationMessage GetAccessKeyInfo GetDelegatedAccessToken GetFederationToken
GetWebIdentityToken
`
)
