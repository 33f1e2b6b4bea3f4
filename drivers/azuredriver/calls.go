// SPDX-License-Identifier: Apache-2.0

package azuredriver

import (
	"net/http"
	"strings"
)

// operations maps method, restype and comp to the names of the driver's calls in the API reference.
var operations = map[string]string{
	"PUT container ":                 "CreateContainer",
	"GET container ":                 "GetContainerProperties",
	"HEAD container ":                "GetContainerProperties",
	"DELETE container ":              "DeleteContainer",
	"GET container acl":              "GetContainerACL",
	"PUT container acl":              "SetContainerACL",
	"PUT container lease":            "LeaseContainer",
	"GET container list":             "ListBlobs",
	"GET  list":                      "ListContainers",
	"POST service userdelegationkey": "GetUserDelegationKey",
}

// recordOperations are the calls for the record of an access.
var recordOperations = map[string]string{
	http.MethodPut: "PutBlob", http.MethodHead: "GetBlobProperties", http.MethodDelete: "DeleteBlob",
}

// callName returns the names of a call for metrics and spans.
func callName(request *http.Request) (api, operation string) {
	if strings.HasPrefix(request.URL.Path, "/subscriptions/") {
		return managementCall(request)
	}
	const blobAPI = "Blob"
	query := request.URL.Query()
	// All requests that are not about containers are about blobs with records.
	if query.Get("restype") == "" && query.Get("comp") == "" {
		if known, ok := recordOperations[request.Method]; ok {
			return blobAPI, known
		}
	}
	if known, ok := operations[request.Method+" "+query.Get("restype")+" "+query.Get("comp")]; ok {
		return blobAPI, known
	}
	return blobAPI, "Other"
}

// managementCall returns the names of a call to Azure Resource Manager for metrics and spans.
func managementCall(request *http.Request) (api, operation string) {
	if request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/listKeys") {
		return "Storage", "ListKeys"
	}
	if request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/blobServices/default") {
		return "Storage", "GetBlobServiceProperties"
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
