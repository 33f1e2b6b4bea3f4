// SPDX-License-Identifier: Apache-2.0

package iamapi

import (
	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
)

func roleOperations() map[string]operation {
	return map[string]operation{
		"CreateRole": {
			tagging: "iam:TagRole", resource: newARN("role", "RoleName"), run: createRole,
			parameters: tagParameters.With("AssumeRolePolicyDocument", "Description", "MaxSessionDuration", "Path", "PermissionsBoundary", "RoleName"),
		},
		"GetRole":                {resource: roleARN, run: on((*call).roleName, getRole), parameters: accept.Names("RoleName")},
		"ListRoles":              {resource: prefixARN("role"), run: listRoles, parameters: pageParameters.With("PathPrefix")},
		"UpdateRole":             {resource: roleARN, run: about(iam.KindRole, updateRole), parameters: accept.Names("Description", "MaxSessionDuration", "RoleName")},
		"DeleteRole":             {resource: roleARN, run: on((*call).roleName, withoutResult((*iam.Account).DeleteRole)), parameters: accept.Names("RoleName")},
		"UpdateAssumeRolePolicy": {resource: roleARN, run: about(iam.KindRole, withArgument((*call).policyDocument, (*iam.Account).SetTrust)), parameters: accept.Names("PolicyDocument", "RoleName")},
	}
}

func roleARN(c *call) string { return c.identityARN(iam.KindRole, c.Form.Get("RoleName")) }

type xmlRole struct {
	Path        string
	RoleName    string
	RoleID      string `xml:"RoleId"`
	ARN         string `xml:"Arn"`
	CreateDate  string
	Trust       string       `xml:"AssumeRolePolicyDocument"`
	Description string       `xml:"Description,omitempty"`
	MaxSession  int          `xml:"MaxSessionDuration,omitempty"`
	Boundary    *xmlBoundary `xml:"PermissionsBoundary,omitempty"`
	Tags        *xmlTagList  `xml:"Tags,omitempty"`
	LastUsed    *struct{}    `xml:"RoleLastUsed,omitempty"`
}

func (c *call) xmlRole(r iam.Role, detail bool) xmlRole {
	x := xmlRole{
		Path: r.Path, RoleName: r.Name, RoleID: r.ID, ARN: c.account.RoleARN(&r), CreateDate: stamp(r.Created), Trust: escapeDocument(c.account.Shown(r.Trust, r.Principals)),
		Description: r.Description, MaxSession: r.MaxSession,
	}
	if detail {
		x.Boundary, x.Tags, x.LastUsed = boundaryOf(r.Boundary), tagList(r.Tags), &struct{}{}
	}
	return x
}

func createRole(c *call) (any, error) {
	in := iam.NewRole{Boundary: c.Form.Get("PermissionsBoundary")}
	var err error
	if in.Name, err = c.name("RoleName", 64); err != nil {
		return nil, err
	}
	if in.Path, err = c.path("Path"); err != nil {
		return nil, err
	}
	if in.Trust, err = c.document("AssumeRolePolicyDocument"); err != nil {
		return nil, err
	}
	if description, err := c.description(); err != nil {
		return nil, err
	} else if description != nil {
		in.Description = *description
	}
	if in.MaxSession, err = c.maxSession(); err != nil {
		return nil, err
	}
	if in.Tags, err = c.tags(); err != nil {
		return nil, err
	}
	r, err := c.account.CreateRole(in)
	if err != nil {
		return nil, err
	}
	x := c.xmlRole(r, true)
	x.LastUsed = nil
	if x.MaxSession == defaultMaxSession { // as recorded; the documentation does not say so
		x.MaxSession = 0
	}
	return struct{ Role xmlRole }{x}, nil
}

// defaultMaxSession is the MaxSessionDuration of a role that was created without one.
const defaultMaxSession = 3600

// description reads the optional Description; nil means that it was left out.
func (c *call) description() (*string, error) {
	if !c.Form.Has("Description") {
		return nil, nil
	}
	v := c.Form.Get("Description")
	if len([]rune(v)) > 1000 {
		return nil, constraint("description", "Member must have length less than or equal to 1000")
	}
	for _, r := range v {
		if r != '\t' && r != '\n' && r != '\r' && (r < 0x20 || r > 0xff || (r > 0x7e && r < 0xa1)) {
			return nil, constraint("description", `Member must satisfy regular expression pattern: [\u0009\u000A\u000D\u0020-\u007E\u00A1-\u00FF]*`)
		}
	}
	return &v, nil
}

// maxSession reads the optional MaxSessionDuration in seconds; 0 means that it was left out.
func (c *call) maxSession() (int, error) { return c.number("MaxSessionDuration", 0, 3600, 43200) }

func getRole(c *call, name string) (any, error) {
	r, err := c.account.Role(name)
	if err != nil {
		return nil, err
	}
	return struct{ Role xmlRole }{c.xmlRole(r, true)}, nil
}

func listRoles(c *call) (any, error) {
	prefix, err := c.pathPrefix()
	if err != nil {
		return nil, err
	}
	roles, p, err := listed(c, c.account.Roles(prefix), func(r iam.Role) string { return r.Name }, func(r iam.Role) xmlRole { return c.xmlRole(r, false) })
	return struct {
		Roles []xmlRole `xml:"Roles>member"`
		page
	}{roles, p}, err
}

func updateRole(c *call, name string) (any, error) {
	description, err := c.description()
	if err != nil {
		return nil, err
	}
	seconds, err := c.maxSession()
	if err != nil {
		return nil, err
	}
	return struct{}{}, c.account.UpdateRole(name, description, seconds)
}

// roleName reads RoleName where IAM checks only its presence.
func (c *call) roleName() (string, error) {
	if !c.Form.Has("RoleName") {
		return "", missing("RoleName")
	}
	return c.name("RoleName", 64)
}
