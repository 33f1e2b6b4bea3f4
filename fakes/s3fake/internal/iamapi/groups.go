// SPDX-License-Identifier: Apache-2.0

package iamapi

import (
	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
)

func groupOperations() map[string]operation {
	return map[string]operation{
		"CreateGroup":         {resource: newARN("group", "GroupName"), run: createGroup, parameters: accept.Names("GroupName", "Path")},
		"GetGroup":            {resource: groupARN, run: about(iam.KindGroup, getGroup), parameters: pageParameters.With("GroupName")},
		"ListGroups":          {resource: prefixARN("group"), run: listGroups, parameters: pageParameters.With("PathPrefix")},
		"ListGroupsForUser":   {resource: userARN, run: about(iam.KindUser, listGroupsForUser), parameters: pageParameters.With("UserName")},
		"UpdateGroup":         {resource: groupARN, run: about(iam.KindGroup, updateGroup), parameters: accept.Names("GroupName", "NewGroupName", "NewPath")},
		"DeleteGroup":         {resource: groupARN, run: about(iam.KindGroup, withoutResult((*iam.Account).DeleteGroup)), parameters: accept.Names("GroupName")},
		"AddUserToGroup":      {resource: groupARN, run: about(iam.KindGroup, withArgument((*call).member, (*iam.Account).AddToGroup)), parameters: accept.Names("GroupName", "UserName")},
		"RemoveUserFromGroup": {resource: groupARN, run: about(iam.KindGroup, withArgument((*call).member, (*iam.Account).RemoveFromGroup)), parameters: accept.Names("GroupName", "UserName")},
	}
}

func groupARN(c *call) string { return c.identityARN(iam.KindGroup, c.Form.Get("GroupName")) }

type xmlGroup struct {
	Path       string
	GroupName  string
	GroupID    string `xml:"GroupId"`
	ARN        string `xml:"Arn"`
	CreateDate string
}

func (c *call) xmlGroup(g iam.Group) xmlGroup {
	return xmlGroup{g.Path, g.Name, g.ID, c.account.ARN("group", g.Path, g.Name), stamp(g.Created)}
}

func createGroup(c *call) (any, error) {
	name, err := c.name("GroupName", 128)
	if err != nil {
		return nil, err
	}
	path, err := c.path("Path")
	if err != nil {
		return nil, err
	}
	g, err := c.account.CreateGroup(name, path)
	if err != nil {
		return nil, err
	}
	return struct{ Group xmlGroup }{c.xmlGroup(g)}, nil
}

func getGroup(c *call, name string) (any, error) {
	g, members, err := c.account.Group(name)
	if err != nil {
		return nil, err
	}
	users, p, err := listed(c, members, func(u iam.User) string { return u.Name }, c.listedUser)
	return struct {
		Group xmlGroup
		Users []xmlUser `xml:"Users>member"`
		page
	}{c.xmlGroup(g), users, p}, err
}

func listGroups(c *call) (any, error) {
	prefix, err := c.pathPrefix()
	if err != nil {
		return nil, err
	}
	return c.groupPage(c.account.Groups(prefix))
}

func listGroupsForUser(c *call, user string) (any, error) {
	groups, err := c.account.GroupsOf(user)
	if err != nil {
		return nil, err
	}
	return c.groupPage(groups)
}

func (c *call) groupPage(groups []iam.Group) (any, error) {
	shown, p, err := listed(c, groups, func(g iam.Group) string { return g.Name }, c.xmlGroup)
	return struct {
		Groups []xmlGroup `xml:"Groups>member"`
		page
	}{shown, p}, err
}

func updateGroup(c *call, name string) (any, error) {
	newName, newPath, err := c.renaming("NewGroupName", 128)
	if err != nil {
		return nil, err
	}
	return empty{}, c.account.RenameGroup(name, newName, newPath)
}

func (c *call) member() (string, error) { return c.name("UserName", 128) }
