// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// DefaultManagement is the URL of Azure Resource Manager in Azure's public cloud.
const DefaultManagement = "https://management.azure.com"

// ManagementConfig says where Azure Resource Manager is.
type ManagementConfig struct {
	// Endpoint is the URL of Azure Resource Manager in a sovereign cloud. Default:
	// https://management.azure.com.
	Endpoint string `json:"endpoint,omitempty"`
	// Audience is what tokens for the endpoint are for. Default: https://management.azure.com.
	Audience string `json:"audience,omitempty"`
	// CAFile is a PEM file with the certificates that may have signed the endpoint's. Default: the system's.
	CAFile string `json:"caFile,omitempty"`
}

func (m ManagementConfig) withDefaults() ManagementConfig {
	if m.Endpoint == "" {
		m.Endpoint = DefaultManagement
	}
	if m.Audience == "" {
		m.Audience = DefaultManagement
	}
	return m
}

// validate says everything that is wrong. Used is whether the driver calls it at all.
func (m ManagementConfig) validate(used bool) []error {
	if !used {
		if m != (ManagementConfig{}) {
			return []error{fmt.Errorf("management: is for serviceAccounts and accountKeyName, of which there is none")}
		}
		return nil
	}
	var problems []error
	if !strings.HasPrefix(m.Endpoint, "https://") {
		problems = append(problems, fmt.Errorf("management.endpoint: %q is not an https URL", m.Endpoint))
	} else if err := driverkit.CheckEndpoint(m.Endpoint, DefaultManagement); err != nil {
		problems = append(problems, fmt.Errorf("management.endpoint: %w", err))
	}
	if _, err := driverkit.CertificateAuthorities(m.CAFile); err != nil {
		problems = append(problems, fmt.Errorf("management.caFile: %w", err))
	}
	return problems
}

// login prepares calls to Azure Resource Manager by credentials of the driver's own. It makes none.
func (m ManagementConfig) login(credentials CredentialsConfig, wrap wrapTransport) (azcore.TokenCredential, *arm.ClientOptions, error) {
	options, err := clientOptions(m.CAFile, wrap)
	if err != nil {
		return nil, nil, err
	}
	identity, err := newIdentity(credentials, options)
	if err != nil {
		return nil, nil, err
	}
	options.Cloud = cloud.Configuration{
		ActiveDirectoryAuthorityHost: cloud.AzurePublic.ActiveDirectoryAuthorityHost,
		Services:                     map[cloud.ServiceName]cloud.ServiceConfiguration{cloud.ResourceManager: {Endpoint: strings.TrimRight(m.Endpoint, "/"), Audience: m.Audience}},
	}
	// What is needed is registered in any subscription that has a storage account.
	return identity, &arm.ClientOptions{ClientOptions: options, DisableRPRegistration: true}, nil
}

// managementCall names a call to Azure Resource Manager for metrics and spans.
func managementCall(request *http.Request) (api, operation string) {
	if request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/listKeys") {
		return "Storage", "ListKeys"
	}
	verb := map[string]string{http.MethodGet: "Get", http.MethodPut: "Create", http.MethodDelete: "Delete"}[request.Method]
	for _, kind := range []struct{ path, api, name string }{
		{"/federatedIdentityCredentials", "ManagedIdentity", "FederatedIdentityCredential"},
		{"/userAssignedIdentities", "ManagedIdentity", "UserAssignedIdentity"},
		{"/roleAssignments", "Authorization", "RoleAssignment"},
	} {
		_, rest, found := strings.Cut(request.URL.Path, kind.path)
		switch {
		case found && verb == "Get" && rest == "":
			return kind.api, "List" + kind.name
		case found && verb != "":
			return kind.api, verb + kind.name
		}
	}
	return "ResourceManager", "Other"
}
