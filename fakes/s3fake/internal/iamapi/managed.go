// SPDX-License-Identifier: Apache-2.0

package iamapi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
)

func managedOperations() map[string]operation {
	return map[string]operation{
		"CreatePolicy": {
			tagging: "iam:TagPolicy", resource: newARN("policy", "PolicyName"), run: createPolicy,
			parameters: tagParameters.With("Description", "Path", "PolicyDocument", "PolicyName"),
		},
		"GetPolicy":    {resource: policyARN, run: onPolicy(getPolicy), parameters: accept.Names("PolicyArn")},
		"ListPolicies": {run: listPolicies, parameters: pageParameters.With("OnlyAttached", "PathPrefix", "PolicyUsageFilter", "Scope")},
		"DeletePolicy": {resource: policyARN, run: onPolicy(withoutResult((*iam.Account).DeletePolicy)), parameters: accept.Names("PolicyArn")},
		"CreatePolicyVersion": {
			resource: policyARN, run: onPolicy(createPolicyVersion),
			parameters: accept.Names("PolicyArn", "PolicyDocument", "SetAsDefault"),
		},
		"GetPolicyVersion":        {resource: policyARN, run: onPolicy(getPolicyVersion), parameters: accept.Names("PolicyArn", "VersionId")},
		"ListPolicyVersions":      {resource: policyARN, run: onPolicy(listPolicyVersions), parameters: pageParameters.With("PolicyArn")},
		"DeletePolicyVersion":     {resource: policyARN, run: onPolicy(withArgument((*call).versionID, (*iam.Account).DeleteVersion)), parameters: accept.Names("PolicyArn", "VersionId")},
		"SetDefaultPolicyVersion": {resource: policyARN, run: onPolicy(withArgument((*call).versionID, (*iam.Account).SetDefault)), parameters: accept.Names("PolicyArn", "VersionId")},
		"ListEntitiesForPolicy": {
			resource: policyARN, run: onPolicy(listEntities),
			parameters: pageParameters.With("EntityFilter", "PathPrefix", "PolicyArn", "PolicyUsageFilter"),
		},
	}
}

// onPolicy returns an operation on a managed policy.
func onPolicy(do func(c *call, arn string) (any, error)) func(*call) (any, error) {
	return on(func(c *call) (string, error) { return c.arn("PolicyArn") }, do)
}

func policyARN(c *call) string { return c.Form.Get("PolicyArn") }

type xmlPolicy struct {
	PolicyName       string
	PolicyID         string `xml:"PolicyId"`
	ARN              string `xml:"Arn"`
	Path             string
	DefaultVersionID string `xml:"DefaultVersionId"`
	AttachmentCount  int
	BoundaryCount    int    `xml:"PermissionsBoundaryUsageCount"`
	IsAttachable     bool   `xml:"IsAttachable"`
	Description      string `xml:"Description,omitempty"`
	CreateDate       string
	UpdateDate       string
	Tags             *xmlTagList `xml:"Tags,omitempty"`
}

func newXMLPolicy(p iam.Policy, attached, bounds int, detail bool) xmlPolicy {
	x := xmlPolicy{
		PolicyName: p.Name, PolicyID: p.ID, ARN: p.ARN, Path: p.Path, DefaultVersionID: p.Default, AttachmentCount: attached, BoundaryCount: bounds,
		IsAttachable: true, CreateDate: stamp(p.Created), UpdateDate: stamp(p.Updated),
	}
	if detail {
		x.Description, x.Tags = p.Description, tagList(p.Tags)
	}
	return x
}

func createPolicy(c *call) (any, error) {
	in := iam.NewPolicy{Description: c.Form.Get("Description")}
	var err error
	if in.Name, err = c.name("PolicyName", 128); err != nil {
		return nil, err
	}
	if in.Path, err = c.path("Path"); err != nil {
		return nil, err
	}
	if in.Document, err = c.policyDocument(); err != nil {
		return nil, err
	}
	if in.Tags, err = c.exactTags(); err != nil {
		return nil, err
	}
	p, err := c.account.CreatePolicy(in)
	if err != nil {
		return nil, err
	}
	return struct{ Policy xmlPolicy }{newXMLPolicy(p, 0, 0, true)}, nil
}

func getPolicy(c *call, arn string) (any, error) {
	p, attached, err := c.account.ManagedPolicy(arn)
	if err != nil {
		return nil, err
	}
	return struct{ Policy xmlPolicy }{newXMLPolicy(p, attached, c.account.Bounds(arn), true)}, nil
}

func listPolicies(c *call) (any, error) {
	prefix, err := c.pathPrefix()
	if err != nil {
		return nil, err
	}
	var all []iam.ListedPolicy
	scope := c.Form.Get("Scope")
	if scope != "AWS" {
		all = c.account.Policies(prefix)
	}
	if scope != "Local" && prefix == "/" {
		all = append(all, c.account.AWSPolicies()...)
		slices.SortFunc(all, func(x, y iam.ListedPolicy) int { return strings.Compare(x.Name, y.Name) })
	}
	use := c.Form.Get("PolicyUsageFilter")
	all = slices.DeleteFunc(all, func(p iam.ListedPolicy) bool {
		return c.Form.Get("OnlyAttached") == "true" && p.Attached == 0 || use == "PermissionsBoundary" && p.Bounds == 0 || use == "PermissionsPolicy" && p.Attached == 0
	})
	policies, p, err := listed(c, all, func(p iam.ListedPolicy) string { return p.Name + " " + p.ARN }, func(p iam.ListedPolicy) xmlPolicy {
		return newXMLPolicy(p.Policy, p.Attached, p.Bounds, false)
	})
	return struct {
		Policies []xmlPolicy `xml:"Policies>member"`
		page
	}{policies, p}, err
}

type xmlVersion struct {
	Document         string `xml:"Document,omitempty"`
	VersionID        string `xml:"VersionId"`
	IsDefaultVersion bool
	CreateDate       string
}

func createPolicyVersion(c *call, arn string) (any, error) {
	document, err := c.policyDocument()
	if err != nil {
		return nil, err
	}
	asDefault := false
	if v := c.Form.Get("SetAsDefault"); v != "" {
		if asDefault, err = strconv.ParseBool(v); err != nil {
			return nil, constraint("setAsDefault", "Member must be true or false")
		}
	}
	v, err := c.account.AddVersion(arn, document, asDefault)
	if err != nil {
		return nil, err
	}
	return struct{ PolicyVersion xmlVersion }{xmlVersion{"", v.ID, asDefault, stamp(v.Created)}}, nil
}

func getPolicyVersion(c *call, arn string) (any, error) {
	id, err := c.versionID()
	if err != nil {
		return nil, err
	}
	p, _, err := c.account.ManagedPolicy(arn)
	if err != nil {
		return nil, err
	}
	v, err := p.Version(id)
	if err != nil {
		return nil, err
	}
	return struct{ PolicyVersion xmlVersion }{xmlVersion{escapeDocument(v.Document), v.ID, v.ID == p.Default, stamp(v.Created)}}, nil
}

func listPolicyVersions(c *call, arn string) (any, error) {
	p, _, err := c.account.ManagedPolicy(arn)
	if err != nil {
		return nil, err
	}
	versions, pg, err := listed(c, p.Versions, func(v iam.PolicyVersion) string { return stamp(v.Created) + v.ID }, func(v iam.PolicyVersion) xmlVersion {
		return xmlVersion{"", v.ID, v.ID == p.Default, stamp(v.Created)}
	})
	return struct {
		Versions []xmlVersion `xml:"Versions>member"`
		page
	}{versions, pg}, err
}

func (c *call) versionID() (string, error) { return c.required("VersionId", 32) }

// policyUses are the ways of using a policy that PolicyUsageFilter names; all of them by default.
var policyUses = map[string]func(iam.Identity, string) bool{
	"":                    func(i iam.Identity, arn string) bool { return iam.Attaches(i, arn) || iam.Limits(i, arn) },
	"PermissionsPolicy":   iam.Attaches,
	"PermissionsBoundary": iam.Limits,
}

// entities returns the users, groups and roles of a policy. Groups come before roles and roles before users, so that
// one marker works for all.
func (c *call) entities(arn string) ([]iam.Entity, error) {
	uses, ok := policyUses[c.Form.Get("PolicyUsageFilter")]
	if !ok {
		return nil, constraint("policyUsageFilter", "Member must satisfy enum value set: [PermissionsBoundary, PermissionsPolicy]")
	}
	prefix, err := c.pathPrefix()
	if err != nil {
		return nil, err
	}
	use, err := c.account.PolicyUse(arn, uses)
	if err != nil {
		return nil, err
	}
	filter := c.Form.Get("EntityFilter")
	return slices.DeleteFunc(use, func(e iam.Entity) bool {
		return filter != "" && !strings.EqualFold(filter, string(e.Kind)) || !strings.HasPrefix(e.Path, prefix)
	}), nil
}

func listEntities(c *call, arn string) (any, error) {
	all, err := c.entities(arn)
	if err != nil {
		return nil, err
	}
	some, p, err := paginate(c, all, func(e iam.Entity) string { return string(e.Kind) + "/" + e.Name })
	type group struct{ GroupName, GroupId string }
	type user struct{ UserName, UserId string }
	type role struct{ RoleName, RoleId string }
	out := struct {
		Groups []group `xml:"PolicyGroups>member"`
		Users  []user  `xml:"PolicyUsers>member"`
		Roles  []role  `xml:"PolicyRoles>member"`
		page
	}{page: p}
	for _, e := range some {
		switch e.Kind {
		case iam.KindGroup:
			out.Groups = append(out.Groups, group{e.Name, e.ID})
		case iam.KindRole:
			out.Roles = append(out.Roles, role{e.Name, e.ID})
		default:
			out.Users = append(out.Users, user{e.Name, e.ID})
		}
	}
	return out, err
}
