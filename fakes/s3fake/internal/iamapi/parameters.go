// SPDX-License-Identifier: Apache-2.0

package iamapi

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

var (
	pageParameters = accept.Names("Marker", "MaxItems")
	tagParameters  = accept.Names("Tags.member.Key", "Tags.member.Value") // the parameters of every tag, such as Tags.member.1.Key
)

// parameters are the parameters of each operation in the API description from which AWS generates its SDKs, except
// those that the fake does not implement.
var parameters = map[string]accept.List{
	"AddClientIDToOpenIDConnectProvider":      accept.Names("ClientID", "OpenIDConnectProviderArn"),
	"AddUserToGroup":                          accept.Names("GroupName", "UserName"),
	"AssumeRole":                              tagParameters.With("DurationSeconds", "ExternalId", "MinimumSessionTokenSize", "Policy", "PolicyArns.member.arn", "RoleArn", "RoleSessionName"),
	"AssumeRoleWithWebIdentity":               accept.Names("DurationSeconds", "MinimumSessionTokenSize", "Policy", "PolicyArns.member.arn", "RoleArn", "RoleSessionName", "WebIdentityToken"),
	"AttachGroupPolicy":                       accept.Names("GroupName", "PolicyArn"),
	"AttachRolePolicy":                        accept.Names("PolicyArn", "RoleName"),
	"AttachUserPolicy":                        accept.Names("PolicyArn", "UserName"),
	"CreateAccessKey":                         accept.Names("UserName"),
	"CreateGroup":                             accept.Names("GroupName", "Path"),
	"CreateOpenIDConnectProvider":             tagParameters.With("ClientIDList.member", "ThumbprintList.member", "Url"),
	"CreatePolicy":                            tagParameters.With("Description", "Path", "PolicyDocument", "PolicyName"),
	"CreatePolicyVersion":                     accept.Names("PolicyArn", "PolicyDocument", "SetAsDefault"),
	"CreateRole":                              tagParameters.With("AssumeRolePolicyDocument", "Description", "MaxSessionDuration", "Path", "PermissionsBoundary", "RoleName"),
	"CreateServiceLinkedRole":                 accept.Names("AWSServiceName", "CustomSuffix", "Description"),
	"CreateUser":                              tagParameters.With("Path", "PermissionsBoundary", "UserName"),
	"DeleteAccessKey":                         accept.Names("AccessKeyId", "UserName"),
	"DeleteGroup":                             accept.Names("GroupName"),
	"DeleteGroupPolicy":                       accept.Names("GroupName", "PolicyName"),
	"DeleteOpenIDConnectProvider":             accept.Names("OpenIDConnectProviderArn"),
	"DeletePolicy":                            accept.Names("PolicyArn"),
	"DeletePolicyVersion":                     accept.Names("PolicyArn", "VersionId"),
	"DeleteRole":                              accept.Names("RoleName"),
	"DeleteRolePermissionsBoundary":           accept.Names("RoleName"),
	"DeleteRolePolicy":                        accept.Names("PolicyName", "RoleName"),
	"DeleteUser":                              accept.Names("UserName"),
	"DeleteUserPermissionsBoundary":           accept.Names("UserName"),
	"DeleteUserPolicy":                        accept.Names("PolicyName", "UserName"),
	"DetachGroupPolicy":                       accept.Names("GroupName", "PolicyArn"),
	"DetachRolePolicy":                        accept.Names("PolicyArn", "RoleName"),
	"DetachUserPolicy":                        accept.Names("PolicyArn", "UserName"),
	"GetAccessKeyLastUsed":                    accept.Names("AccessKeyId"),
	"GetCallerIdentity":                       {},
	"GetGroup":                                pageParameters.With("GroupName"),
	"GetGroupPolicy":                          accept.Names("GroupName", "PolicyName"),
	"GetOpenIDConnectProvider":                accept.Names("OpenIDConnectProviderArn"),
	"GetPolicy":                               accept.Names("PolicyArn"),
	"GetPolicyVersion":                        accept.Names("PolicyArn", "VersionId"),
	"GetRole":                                 accept.Names("RoleName"),
	"GetRolePolicy":                           accept.Names("PolicyName", "RoleName"),
	"GetSessionToken":                         accept.Names("DurationSeconds", "MinimumSessionTokenSize"),
	"GetUser":                                 accept.Names("UserName"),
	"GetUserPolicy":                           accept.Names("PolicyName", "UserName"),
	"ListAccessKeys":                          pageParameters.With("UserName"),
	"ListAttachedGroupPolicies":               pageParameters.With("GroupName", "PathPrefix"),
	"ListAttachedRolePolicies":                pageParameters.With("PathPrefix", "RoleName"),
	"ListAttachedUserPolicies":                pageParameters.With("PathPrefix", "UserName"),
	"ListEntitiesForPolicy":                   pageParameters.With("EntityFilter", "PathPrefix", "PolicyArn", "PolicyUsageFilter"),
	"ListGroupPolicies":                       pageParameters.With("GroupName"),
	"ListGroups":                              pageParameters.With("PathPrefix"),
	"ListGroupsForUser":                       pageParameters.With("UserName"),
	"ListOpenIDConnectProviderTags":           pageParameters.With("OpenIDConnectProviderArn"),
	"ListOpenIDConnectProviders":              {},
	"ListPolicies":                            pageParameters.With("OnlyAttached", "PathPrefix", "PolicyUsageFilter", "Scope"),
	"ListPolicyTags":                          pageParameters.With("PolicyArn"),
	"ListPolicyVersions":                      pageParameters.With("PolicyArn"),
	"ListRolePolicies":                        pageParameters.With("RoleName"),
	"ListRoleTags":                            pageParameters.With("RoleName"),
	"ListRoles":                               pageParameters.With("PathPrefix"),
	"ListUserPolicies":                        pageParameters.With("UserName"),
	"ListUserTags":                            pageParameters.With("UserName"),
	"ListUsers":                               pageParameters.With("PathPrefix"),
	"PutGroupPolicy":                          accept.Names("GroupName", "PolicyDocument", "PolicyName"),
	"PutRolePermissionsBoundary":              accept.Names("PermissionsBoundary", "RoleName"),
	"PutRolePolicy":                           accept.Names("PolicyDocument", "PolicyName", "RoleName"),
	"PutUserPermissionsBoundary":              accept.Names("PermissionsBoundary", "UserName"),
	"PutUserPolicy":                           accept.Names("PolicyDocument", "PolicyName", "UserName"),
	"RemoveClientIDFromOpenIDConnectProvider": accept.Names("ClientID", "OpenIDConnectProviderArn"),
	"RemoveUserFromGroup":                     accept.Names("GroupName", "UserName"),
	"SetDefaultPolicyVersion":                 accept.Names("PolicyArn", "VersionId"),
	"TagOpenIDConnectProvider":                tagParameters.With("OpenIDConnectProviderArn"),
	"TagPolicy":                               tagParameters.With("PolicyArn"),
	"TagRole":                                 tagParameters.With("RoleName"),
	"TagUser":                                 tagParameters.With("UserName"),
	"UntagOpenIDConnectProvider":              accept.Names("OpenIDConnectProviderArn", "TagKeys.member"),
	"UntagPolicy":                             accept.Names("PolicyArn", "TagKeys.member"),
	"UntagRole":                               accept.Names("RoleName", "TagKeys.member"),
	"UntagUser":                               accept.Names("TagKeys.member", "UserName"),
	"UpdateAccessKey":                         accept.Names("AccessKeyId", "Status", "UserName"),
	"UpdateAssumeRolePolicy":                  accept.Names("PolicyDocument", "RoleName"),
	"UpdateGroup":                             accept.Names("GroupName", "NewGroupName", "NewPath"),
	"UpdateOpenIDConnectProviderThumbprint":   accept.Names("OpenIDConnectProviderArn", "ThumbprintList.member"),
	"UpdateRole":                              accept.Names("Description", "MaxSessionDuration", "RoleName"),
	"UpdateUser":                              accept.Names("NewPath", "NewUserName", "UserName"),
}

// ofRequests are the parameters of all operations: action and version, and a signature in the query.
var ofRequests = accept.Names("Action", "Version", "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-Security-Token", "X-Amz-Signature",
	"X-Amz-SignedHeaders")

// element is the number of an element in the name of a parameter.
var element = regexp.MustCompile(`^(\w+\.member)\.([1-9]\d*)(\.\w+)?$`)

// checkParameters rejects parameters that the operation does not have or the fake does not implement. It also rejects
// a list element after a missing one. If the fake ignored any of them, the operation would not do what the client
// requested.
func (c *call) checkParameters() error {
	for _, name := range slices.Sorted(maps.Keys(c.Form)) {
		plain := name
		if at := element.FindStringSubmatch(name); at != nil {
			plain = at[1] + at[3]
			if n, err := strconv.Atoi(at[2]); err != nil || n > 1 && !c.hasElement(at[1]+"."+strconv.Itoa(n-1)) {
				return awserr.Newf(http.StatusBadRequest, "MalformedInput", "The list parameter %s has no predecessor. Number the elements from 1 without gaps.", name)
			}
		}
		if c.Form.Get(name) == "" && parameters[c.action].HasBelow(name) {
			continue // how the SDKs send an empty list
		}
		if !ofRequests.Has(plain) && !parameters[c.action].Has(plain) {
			return awserr.Newf(http.StatusNotImplemented, "NotImplemented", "The parameter %s of %s is not supported by this fake.", name, c.action)
		}
	}
	return nil
}

func (c *call) hasElement(name string) bool {
	for other := range c.Form {
		if other == name || strings.HasPrefix(other, name+".") {
			return true
		}
	}
	return false
}
