// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// many is n queries that differ in a number, which %d stands for in their parameters.
func many(n int, action string, params ...string) []operation {
	var out []operation
	for i := range n {
		numbered := make([]string, len(params))
		for j, p := range params {
			numbered[j] = strings.ReplaceAll(p, "%d", fmt.Sprint(i))
		}
		out = append(out, query(action, numbered...))
	}
	return out
}

// TestQuotasAndConflicts reaches the quotas of an account ("IAM and AWS STS quotas" in the IAM User Guide) and makes
// calls that conflict with the state of the account (errors of each operation in the IAM API Reference).
func TestQuotasAndConflicts(t *testing.T) {
	t.Parallel()
	long := func(n int) string {
		return `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::` + strings.Repeat("a", n) + `"}]}`
	}
	longTrust := strings.Replace(trust, "sts:AssumeRole", "sts:AssumeRole"+strings.Repeat("x", 2048), 1)
	const own = "arn:aws:iam::000000000000:policy/"
	tests := map[string]struct {
		// before succeed, last is refused.
		before []operation
		last   operation
		status int
		code   string
	}{
		"a third access key":                    {many(2, "CreateAccessKey", "UserName=spare"), query("CreateAccessKey", "UserName=spare"), 409, "LimitExceeded"},
		"a sixth version of a policy":           {many(3, "CreatePolicyVersion", "PolicyArn="+managed, "PolicyDocument="+anyPolicy), query("CreatePolicyVersion", "PolicyArn="+managed, "PolicyDocument="+anyPolicy), 409, "LimitExceeded"},
		"an eleventh policy of a user":          {append(many(10, "CreatePolicy", "PolicyName=p%d", "PolicyDocument="+anyPolicy), many(10, "AttachUserPolicy", "UserName=spare", "PolicyArn="+own+"p%d")...), query("AttachUserPolicy", "UserName=spare", "PolicyArn="+managed), 409, "LimitExceeded"},
		"2048 characters of inline policies":    {nil, query("PutUserPolicy", "UserName=spare", "PolicyName=p", "PolicyDocument="+long(2048)), 409, "LimitExceeded"},
		"2048 characters in two policies":       {[]operation{query("PutUserPolicy", "UserName=spare", "PolicyName=p", "PolicyDocument="+long(1000))}, query("PutUserPolicy", "UserName=spare", "PolicyName=q", "PolicyDocument="+long(1000)), 409, "LimitExceeded"},
		"10240 characters of a role's policies": {[]operation{query("PutRolePolicy", "RoleName=spare", "PolicyName=p", "PolicyDocument="+long(5000))}, query("PutRolePolicy", "RoleName=spare", "PolicyName=q", "PolicyDocument="+long(5200)), 409, "LimitExceeded"},
		"6144 characters of a managed policy":   {nil, query("CreatePolicy", "PolicyName=long", "PolicyDocument="+long(6144)), 409, "LimitExceeded"},
		"2048 characters of trust":              {nil, query("CreateRole", "RoleName=long", "AssumeRolePolicyDocument="+longTrust), 409, "LimitExceeded"},
		"a 51st tag":                            {many(50, "TagUser", "UserName=spare", "Tags.member.1.Key=k%d", "Tags.member.1.Value=v"), query("TagUser", "UserName=spare", "Tags.member.1.Key=k50", "Tags.member.1.Value=v"), 409, "LimitExceeded"},
		"a user's name again":                   {nil, query("CreateUser", "UserName=target"), 409, "EntityAlreadyExists"},
		"a user's name in another case":         {nil, query("CreateUser", "UserName=TARGET"), 409, "EntityAlreadyExists"},
		"a role's name again":                   {nil, query("CreateRole", "RoleName=role", "AssumeRolePolicyDocument="+trust), 409, "EntityAlreadyExists"},
		"a policy's name again":                 {nil, query("CreatePolicy", "PolicyName=managed", "PolicyDocument="+anyPolicy), 409, "EntityAlreadyExists"},
		"a provider again":                      {nil, query("CreateOpenIDConnectProvider", "Url=https://issuer.example.com", thumbprint), 409, "EntityAlreadyExists"},
		"the new name of a user is taken":       {nil, query("UpdateUser", "UserName=spare", "NewUserName=target"), 409, "EntityAlreadyExists"},
		"deletion of a user with a policy":      {nil, query("DeleteUser", "UserName=full"), 409, "DeleteConflict"},
		"deletion of a user with a key":         {[]operation{query("CreateAccessKey", "UserName=spare")}, query("DeleteUser", "UserName=spare"), 409, "DeleteConflict"},
		"deletion of a user with an attachment": {[]operation{query("AttachUserPolicy", "UserName=spare", "PolicyArn="+managed)}, query("DeleteUser", "UserName=spare"), 409, "DeleteConflict"},
		"deletion of a role with a policy":      {nil, query("DeleteRole", "RoleName=role"), 409, "DeleteConflict"},
		"deletion of an attached policy":        {[]operation{query("DeletePolicyVersion", "PolicyArn="+managed, "VersionId=v2")}, query("DeletePolicy", "PolicyArn="+managed), 409, "DeleteConflict"},
		"deletion of a policy with versions":    {[]operation{query("CreatePolicyVersion", "PolicyArn="+own+"spare", "PolicyDocument="+anyPolicy)}, query("DeletePolicy", "PolicyArn="+own+"spare"), 409, "DeleteConflict"},
		"deletion of the default version":       {nil, query("DeletePolicyVersion", "PolicyArn="+managed, "VersionId=v1"), 409, "DeleteConflict"},
		"a user that is not there":              {nil, query("GetUser", "UserName=nobody"), 404, "NoSuchEntity"},
		"a role that is not there":              {nil, query("GetRole", "RoleName=nobody"), 404, "NoSuchEntity"},
		"a policy that is not there":            {nil, query("AttachUserPolicy", "UserName=spare", "PolicyArn="+own+"nothing"), 404, "NoSuchEntity"},
		"a version that is not there":           {nil, query("GetPolicyVersion", "PolicyArn="+managed, "VersionId=v9"), 404, "NoSuchEntity"},
		"an inline policy that is not there":    {nil, query("DeleteUserPolicy", "UserName=spare", "PolicyName=nothing"), 404, "NoSuchEntity"},
		"a policy that is not attached":         {nil, query("DetachUserPolicy", "UserName=spare", "PolicyArn="+managed), 404, "NoSuchEntity"},
		"a boundary that is not there":          {nil, query("PutUserPermissionsBoundary", "UserName=spare", "PermissionsBoundary="+own+"nothing"), 404, "NoSuchEntity"},
		"a policy that is none":                 {nil, query("PutUserPolicy", "UserName=spare", "PolicyName=p", "PolicyDocument={}"), 400, "MalformedPolicyDocument"},
		"a user without a name":                 {nil, query("CreateUser"), 400, "ValidationError"},
		"an action that AWS does not have":      {nil, query("CreateCrowd", "CrowdName=g"), 400, "InvalidAction"},
		"an action that is not served":          {nil, query("CreateInstanceProfile", "InstanceProfileName=p"), 501, "NotImplemented"},
		"an eleventh group of a user":           {append(many(10, "CreateGroup", "GroupName=g%d"), many(10, "AddUserToGroup", "GroupName=g%d", "UserName=spare")...), query("AddUserToGroup", "GroupName=group", "UserName=spare"), 409, "LimitExceeded"},
		"5120 characters of a group's policies": {[]operation{query("PutGroupPolicy", "GroupName=spare", "PolicyName=p", "PolicyDocument="+long(3000))}, query("PutGroupPolicy", "GroupName=spare", "PolicyName=q", "PolicyDocument="+long(2200)), 409, "LimitExceeded"},
		"a group's name in another case":        {nil, query("CreateGroup", "GroupName=GROUP"), 409, "EntityAlreadyExists"},
		"the new name of a group is taken":      {nil, query("UpdateGroup", "GroupName=spare", "NewGroupName=group"), 409, "EntityAlreadyExists"},
		"deletion of a group with a member":     {[]operation{query("AddUserToGroup", "GroupName=spare", "UserName=spare")}, query("DeleteGroup", "GroupName=spare"), 409, "DeleteConflict"},
		"deletion of a group with a policy":     {[]operation{query("PutGroupPolicy", "GroupName=spare", "PolicyName=p", "PolicyDocument="+anyPolicy)}, query("DeleteGroup", "GroupName=spare"), 409, "DeleteConflict"},
		"deletion of a group's policy":          {[]operation{query("AttachGroupPolicy", "GroupName=spare", "PolicyArn="+own+"spare")}, query("DeletePolicy", "PolicyArn="+own+"spare"), 409, "DeleteConflict"},
		"deletion of a member":                  {[]operation{query("AddUserToGroup", "GroupName=spare", "UserName=spare")}, query("DeleteUser", "UserName=spare"), 409, "DeleteConflict"},
		"a group that is not there":             {nil, query("AddUserToGroup", "GroupName=nothing", "UserName=spare"), 404, "NoSuchEntity"},
		"a user who is not in the group":        {nil, query("RemoveUserFromGroup", "GroupName=group", "UserName=spare"), 404, "NoSuchEntity"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, op := range tc.before {
				if got := w.send(t, w.Root(), op); got.Code != http.StatusOK {
					t.Fatalf("before: %s: %d %s", op.actions, got.Code, got.Body)
				}
			}
			got := w.send(t, w.Root(), tc.last)
			if code := errorCode(got.Body.Bytes()); got.Code != tc.status || code != tc.code {
				t.Errorf("got %d %s, want %d %s", got.Code, got.Body, tc.status, tc.code)
			}
		})
	}
}

// TestIAMPagination reads every list of IAM one entry at a time.
func TestIAMPagination(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, op := range []operation{
		query("CreateAccessKey", "UserName=target"), query("PutUserPolicy", "UserName=target", "PolicyName=second", "PolicyDocument="+anyPolicy),
		query("PutRolePolicy", "RoleName=role", "PolicyName=second", "PolicyDocument="+anyPolicy),
		query("AttachUserPolicy", "UserName=target", "PolicyArn=arn:aws:iam::000000000000:policy/spare"), query("AttachRolePolicy", "RoleName=role", "PolicyArn=arn:aws:iam::000000000000:policy/spare"),
		query("PutGroupPolicy", "GroupName=group", "PolicyName=second", "PolicyDocument="+anyPolicy), query("AttachGroupPolicy", "GroupName=group", "PolicyArn=arn:aws:iam::000000000000:policy/spare"),
		query("AddUserToGroup", "GroupName=group", "UserName=spare"), query("AddUserToGroup", "GroupName=spare", "UserName=target"),
		query("TagUser", "UserName=target", "Tags.member.1.Key=a", "Tags.member.1.Value=b", "Tags.member.2.Key=c", "Tags.member.2.Value=d"),
		query("TagRole", "RoleName=role", "Tags.member.1.Key=a", "Tags.member.1.Value=b", "Tags.member.2.Key=c", "Tags.member.2.Value=d"),
		query("TagPolicy", "PolicyArn="+managed, "Tags.member.1.Key=a", "Tags.member.1.Value=b", "Tags.member.2.Key=c", "Tags.member.2.Value=d"),
		query("TagOpenIDConnectProvider", "OpenIDConnectProviderArn="+provider, "Tags.member.1.Key=a", "Tags.member.1.Value=b", "Tags.member.2.Key=c", "Tags.member.2.Value=d"),
	} {
		if got := w.send(t, w.Root(), op); got.Code != http.StatusOK {
			t.Fatalf("set up %s: %d %s", op.actions, got.Code, got.Body)
		}
	}
	tests := map[string]struct {
		list []string
		want int
	}{
		"ListUsers": {nil, 3}, "ListRoles": {nil, 2}, "ListPolicies": {[]string{"Scope=Local"}, 2}, "ListAccessKeys": {[]string{"UserName=target"}, 2},
		"ListUserPolicies": {[]string{"UserName=target"}, 2}, "ListAttachedUserPolicies": {[]string{"UserName=target"}, 2}, "ListUserTags": {[]string{"UserName=target"}, 2},
		"ListRolePolicies": {[]string{"RoleName=role"}, 2}, "ListAttachedRolePolicies": {[]string{"RoleName=role"}, 2}, "ListRoleTags": {[]string{"RoleName=role"}, 2},
		"ListPolicyVersions": {[]string{"PolicyArn=" + managed}, 2}, "ListEntitiesForPolicy": {[]string{"PolicyArn=" + managed}, 3},
		"ListGroups": {nil, 2}, "ListGroupPolicies": {[]string{"GroupName=group"}, 2}, "ListAttachedGroupPolicies": {[]string{"GroupName=group"}, 2},
		"GetGroup": {[]string{"GroupName=group"}, 2}, "ListGroupsForUser": {[]string{"UserName=target"}, 2},
		"ListPolicyTags": {[]string{"PolicyArn=" + managed}, 2}, "ListOpenIDConnectProviderTags": {[]string{"OpenIDConnectProviderArn=" + provider}, 2},
	}
	for action, tc := range tests {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			pages, entries := 0, 0
			for marker := []string(nil); pages <= tc.want; {
				got := w.send(t, w.Root(), query(action, append(append([]string{"MaxItems=1"}, tc.list...), marker...)...))
				if got.Code != http.StatusOK {
					t.Fatalf("%d %s", got.Code, got.Body)
				}
				pages++
				entries += strings.Count(got.Body.String(), "<member>")
				if element(got, "IsTruncated") != "true" {
					break
				}
				marker = []string{"Marker=" + element(got, "Marker")}
			}
			if pages != tc.want || entries != tc.want {
				t.Errorf("%d entries in %d pages, want %d in as many", entries, pages, tc.want)
			}
		})
	}
}
