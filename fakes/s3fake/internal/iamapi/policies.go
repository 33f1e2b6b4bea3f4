// SPDX-License-Identifier: Apache-2.0

package iamapi

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
)

// inlineOperations are the same four for users, roles and groups.
func inlineOperations() map[string]operation {
	table := map[string]operation{}
	for _, kind := range []iam.Kind{iam.KindUser, iam.KindRole, iam.KindGroup} {
		noun, arn := nounOf(kind)
		one := accept.Names(noun+"Name", "PolicyName")
		table["Put"+noun+"Policy"] = operation{resource: arn, run: putInline(kind), parameters: one.With("PolicyDocument")}
		table["Get"+noun+"Policy"] = operation{resource: arn, run: getInline(kind), parameters: one}
		table["Delete"+noun+"Policy"] = operation{resource: arn, run: deleteInline(kind), parameters: one}
		table["List"+noun+"Policies"] = operation{resource: arn, run: listInline(kind), parameters: pageParameters.With(noun + "Name")}
	}
	return table
}

func nounOf(kind iam.Kind) (string, func(*call) string) {
	switch kind {
	case iam.KindRole:
		return "Role", roleARN
	case iam.KindGroup:
		return "Group", groupARN
	}
	return "User", userARN
}

// entity reads UserName, RoleName or GroupName.
func (c *call) entity(kind iam.Kind) (string, error) {
	noun, _ := nounOf(kind)
	limit := 128
	if kind == iam.KindRole {
		limit = 64
	}
	return c.name(noun+"Name", limit)
}

func (c *call) policyName() (string, error) { return c.name("PolicyName", 128) }

func putInline(kind iam.Kind) func(*call) (any, error) {
	return about(kind, func(c *call, name string) (any, error) {
		policy, err := c.policyName()
		if err != nil {
			return nil, err
		}
		document, err := c.policyDocument()
		if err != nil {
			return nil, err
		}
		return empty{}, c.account.PutInline(kind, name, policy, document)
	})
}

// on returns an operation on a resource: do gets the name or ARN that read finds in the request.
func on(read func(*call) (string, error), do func(c *call, id string) (any, error)) func(*call) (any, error) {
	return func(c *call) (any, error) {
		id, err := read(c)
		if err != nil {
			return nil, err
		}
		return do(c, id)
	}
}

// withoutResult returns an operation without a result.
func withoutResult(do func(a *iam.Account, id string) error) func(*call, string) (any, error) {
	return func(c *call, id string) (any, error) { return empty{}, do(c.account, id) }
}

// withArgument returns an operation without a result. It passes do the ID of the resource and the parameter that read
// returns.
func withArgument(read func(*call) (string, error), do func(a *iam.Account, id, other string) error) func(*call, string) (any, error) {
	return func(c *call, id string) (any, error) {
		other, err := read(c)
		if err != nil {
			return nil, err
		}
		return empty{}, do(c.account, id, other)
	}
}

// about returns an operation on one user, role or group.
func about(kind iam.Kind, do func(c *call, name string) (any, error)) func(*call) (any, error) {
	return on(func(c *call) (string, error) { return c.entity(kind) }, do)
}

type xmlInline struct {
	UserName       string `xml:"UserName,omitempty"`
	RoleName       string `xml:"RoleName,omitempty"`
	GroupName      string `xml:"GroupName,omitempty"`
	PolicyName     string
	PolicyDocument string
}

func getInline(kind iam.Kind) func(*call) (any, error) {
	return about(kind, func(c *call, name string) (any, error) {
		policy, err := c.policyName()
		if err != nil {
			return nil, err
		}
		document, err := c.account.Inline(kind, name, policy)
		if err != nil {
			return nil, err
		}
		out := xmlInline{PolicyName: policy, PolicyDocument: escapeDocument(document)}
		switch kind {
		case iam.KindRole:
			out.RoleName = name
		case iam.KindGroup:
			out.GroupName = name
		default:
			out.UserName = name
		}
		return out, nil
	})
}

// escapeDocument is RFC 3986 escaping, in which IAM returns policy documents.
func escapeDocument(document string) string {
	return strings.ReplaceAll(url.QueryEscape(document), "+", "%20")
}

func deleteInline(kind iam.Kind) func(*call) (any, error) {
	return about(kind, withArgument((*call).policyName, func(a *iam.Account, name, policy string) error { return a.DeleteInline(kind, name, policy) }))
}

func listInline(kind iam.Kind) func(*call) (any, error) {
	return about(kind, func(c *call, name string) (any, error) {
		i, err := c.account.Identity(kind, name)
		if err != nil {
			return nil, err
		}
		names, p, err := paginate(c, slices.Sorted(maps.Keys(i.Inline)), func(s string) string { return s })
		return struct {
			PolicyNames []string `xml:"PolicyNames>member"`
			page
		}{names, p}, err
	})
}

// attachOperations attach managed policies, and boundaries, which groups have not.
func attachOperations() map[string]operation {
	table := map[string]operation{}
	for _, kind := range []iam.Kind{iam.KindUser, iam.KindRole, iam.KindGroup} {
		noun, arn := nounOf(kind)
		table["Attach"+noun+"Policy"] = withPolicy(kind, "PolicyArn", (*iam.Account).Attach)
		table["Detach"+noun+"Policy"] = withPolicy(kind, "PolicyArn", (*iam.Account).Detach)
		table["ListAttached"+noun+"Policies"] = operation{resource: arn, run: listAttached(kind), parameters: pageParameters.With("PathPrefix", noun+"Name")}
		if kind == iam.KindGroup {
			continue
		}
		table["Put"+noun+"PermissionsBoundary"] = withPolicy(kind, "PermissionsBoundary", (*iam.Account).SetBoundary)
		table["Delete"+noun+"PermissionsBoundary"] = operation{resource: arn, run: deleteBoundary(kind), parameters: accept.Names(noun + "Name")}
	}
	return table
}

// withPolicy returns an operation on an identity and the policy whose ARN is in the parameter.
func withPolicy(kind iam.Kind, parameter string, do func(*iam.Account, iam.Kind, string, string) error) operation {
	noun, arn := nounOf(kind)
	read := func(c *call) (string, error) { return c.arn(parameter) }
	return operation{
		resource: arn, parameters: accept.Names(noun+"Name", parameter),
		run: about(kind, withArgument(read, func(a *iam.Account, name, policy string) error { return do(a, kind, name, policy) })),
	}
}

type xmlAttached struct {
	PolicyName string
	PolicyARN  string `xml:"PolicyArn"`
}

func listAttached(kind iam.Kind) func(*call) (any, error) {
	return about(kind, func(c *call, name string) (any, error) {
		i, err := c.account.Identity(kind, name)
		if err != nil {
			return nil, err
		}
		prefix, err := c.pathPrefix()
		if err != nil {
			return nil, err
		}
		var all []xmlAttached
		for _, arn := range slices.Sorted(slices.Values(i.Attached)) {
			policy, _, err := c.account.ManagedPolicy(arn)
			if err != nil {
				return nil, err
			}
			if strings.HasPrefix(policy.Path, prefix) {
				all = append(all, xmlAttached{policy.Name, arn})
			}
		}
		some, p, err := paginate(c, all, func(a xmlAttached) string { return a.PolicyARN })
		return struct {
			Attached []xmlAttached `xml:"AttachedPolicies>member"`
			page
		}{some, p}, err
	})
}

func deleteBoundary(kind iam.Kind) func(*call) (any, error) {
	return about(kind, withoutResult(func(a *iam.Account, name string) error { return a.SetBoundary(kind, name, "") }))
}
