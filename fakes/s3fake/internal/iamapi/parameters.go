// SPDX-License-Identifier: Apache-2.0

package iamapi

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// listed are the parameters that each operation has in the description of the API from which AWS makes its SDKs, without
// those that are not served here. "Tags.member.Key" is that of every tag, Tags.member.1.Key. What is not listed is refused by
// name.
const listed = `
	AddClientIDToOpenIDConnectProvider ClientID OpenIDConnectProviderArn
	AddUserToGroup GroupName UserName
	AssumeRole DurationSeconds ExternalId MinimumSessionTokenSize Policy PolicyArns.member.arn RoleArn RoleSessionName
		Tags.member.Key Tags.member.Value
	AssumeRoleWithWebIdentity DurationSeconds MinimumSessionTokenSize Policy PolicyArns.member.arn RoleArn RoleSessionName
		WebIdentityToken
	AttachGroupPolicy GroupName PolicyArn
	AttachRolePolicy PolicyArn RoleName
	AttachUserPolicy PolicyArn UserName
	CreateAccessKey UserName
	CreateGroup GroupName Path
	CreateOpenIDConnectProvider ClientIDList.member Tags.member.Key Tags.member.Value ThumbprintList.member Url
	CreatePolicy Description Path PolicyDocument PolicyName Tags.member.Key Tags.member.Value
	CreatePolicyVersion PolicyArn PolicyDocument SetAsDefault
	CreateRole AssumeRolePolicyDocument Description MaxSessionDuration Path PermissionsBoundary RoleName Tags.member.Key
		Tags.member.Value
	CreateUser Path PermissionsBoundary Tags.member.Key Tags.member.Value UserName
	DeleteAccessKey AccessKeyId UserName
	DeleteGroup GroupName
	DeleteGroupPolicy GroupName PolicyName
	DeleteOpenIDConnectProvider OpenIDConnectProviderArn
	DeletePolicy PolicyArn
	DeletePolicyVersion PolicyArn VersionId
	DeleteRole RoleName
	DeleteRolePermissionsBoundary RoleName
	DeleteRolePolicy PolicyName RoleName
	DeleteUser UserName
	DeleteUserPermissionsBoundary UserName
	DeleteUserPolicy PolicyName UserName
	DetachGroupPolicy GroupName PolicyArn
	DetachRolePolicy PolicyArn RoleName
	DetachUserPolicy PolicyArn UserName
	GetAccessKeyLastUsed AccessKeyId
	GetCallerIdentity
	GetGroup GroupName Marker MaxItems
	GetGroupPolicy GroupName PolicyName
	GetOpenIDConnectProvider OpenIDConnectProviderArn
	GetPolicy PolicyArn
	GetPolicyVersion PolicyArn VersionId
	GetRole RoleName
	GetRolePolicy PolicyName RoleName
	GetSessionToken DurationSeconds MinimumSessionTokenSize
	GetUser UserName
	GetUserPolicy PolicyName UserName
	ListAccessKeys Marker MaxItems UserName
	ListAttachedGroupPolicies GroupName Marker MaxItems PathPrefix
	ListAttachedRolePolicies Marker MaxItems PathPrefix RoleName
	ListAttachedUserPolicies Marker MaxItems PathPrefix UserName
	ListEntitiesForPolicy EntityFilter Marker MaxItems PathPrefix PolicyArn PolicyUsageFilter
	ListGroupPolicies GroupName Marker MaxItems
	ListGroups Marker MaxItems PathPrefix
	ListGroupsForUser Marker MaxItems UserName
	ListOpenIDConnectProviderTags Marker MaxItems OpenIDConnectProviderArn
	ListOpenIDConnectProviders
	ListPolicies Marker MaxItems OnlyAttached PathPrefix PolicyUsageFilter Scope
	ListPolicyTags Marker MaxItems PolicyArn
	ListPolicyVersions Marker MaxItems PolicyArn
	ListRolePolicies Marker MaxItems RoleName
	ListRoleTags Marker MaxItems RoleName
	ListRoles Marker MaxItems PathPrefix
	ListUserPolicies Marker MaxItems UserName
	ListUserTags Marker MaxItems UserName
	ListUsers Marker MaxItems PathPrefix
	PutGroupPolicy GroupName PolicyDocument PolicyName
	PutRolePermissionsBoundary PermissionsBoundary RoleName
	PutRolePolicy PolicyDocument PolicyName RoleName
	PutUserPermissionsBoundary PermissionsBoundary UserName
	PutUserPolicy PolicyDocument PolicyName UserName
	RemoveClientIDFromOpenIDConnectProvider ClientID OpenIDConnectProviderArn
	RemoveUserFromGroup GroupName UserName
	SetDefaultPolicyVersion PolicyArn VersionId
	TagOpenIDConnectProvider OpenIDConnectProviderArn Tags.member.Key Tags.member.Value
	TagPolicy PolicyArn Tags.member.Key Tags.member.Value
	TagRole RoleName Tags.member.Key Tags.member.Value
	TagUser Tags.member.Key Tags.member.Value UserName
	UntagOpenIDConnectProvider OpenIDConnectProviderArn TagKeys.member
	UntagPolicy PolicyArn TagKeys.member
	UntagRole RoleName TagKeys.member
	UntagUser TagKeys.member UserName
	UpdateAccessKey AccessKeyId Status UserName
	UpdateAssumeRolePolicy PolicyDocument RoleName
	UpdateGroup GroupName NewGroupName NewPath
	UpdateOpenIDConnectProviderThumbprint OpenIDConnectProviderArn ThumbprintList.member
	UpdateRole Description MaxSessionDuration RoleName
	UpdateUser NewPath NewUserName UserName
`

// parameters are those of each operation.
func parameters() map[string][]string {
	out, name := map[string][]string{}, ""
	for line := range strings.Lines(listed) {
		words := strings.Fields(line)
		if len(words) > 0 && !strings.HasPrefix(line, "\t\t") {
			name, words = words[0], words[1:]
		}
		out[name] = append(out[name], words...)
	}
	return out
}

// ofRequests are the parameters of all operations: what they are, and a signature in the query.
var ofRequests = strings.Fields(`Action Version X-Amz-Algorithm X-Amz-Credential X-Amz-Date X-Amz-Expires X-Amz-Security-Token X-Amz-Signature X-Amz-SignedHeaders`)

// element is the number of an element in the name of a parameter.
var element = regexp.MustCompile(`^(\w+\.member)\.([1-9]\d*)(\.\w+)?$`)

// checkParameters refuses a parameter that the operation does not have, or that is not served: to ignore it would be to do
// something else than what was asked for. So does an element of a list after one that is not there, which nobody would read.
func (c *call) checkParameters() error {
	for _, name := range slices.Sorted(maps.Keys(c.Form)) {
		plain := name
		if at := element.FindStringSubmatch(name); at != nil {
			plain = at[1] + at[3]
			if n, err := strconv.Atoi(at[2]); err != nil || n > 1 && !c.hasElement(at[1]+"."+strconv.Itoa(n-1)) {
				return awserr.Newf(http.StatusBadRequest, "MalformedInput", "The parameter %s has none before it.", name)
			}
		}
		if c.Form.Get(name) == "" && slices.ContainsFunc(c.parameters[c.action], func(p string) bool { return strings.HasPrefix(p, name+".") }) {
			continue // how the SDKs send an empty list
		}
		if !slices.Contains(ofRequests, plain) && !slices.Contains(c.parameters[c.action], plain) {
			return awserr.Newf(http.StatusNotImplemented, "NotImplemented", "The parameter %s of %s is not served by this fake.", name, c.action)
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
