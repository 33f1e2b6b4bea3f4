// SPDX-License-Identifier: Apache-2.0

package iamapi

import "github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"

func groupOperations() map[string]operation {
	return map[string]operation{
		"CreateGroup":         {resource: newGroupARN, run: createGroup},
		"GetGroup":            {resource: groupARN, run: getGroup},
		"ListGroups":          {resource: prefixARN("group"), run: listGroups},
		"ListGroupsForUser":   {resource: userARN, run: listGroupsForUser},
		"UpdateGroup":         {resource: groupARN, run: updateGroup},
		"DeleteGroup":         {resource: groupARN, run: deleteGroup},
		"AddUserToGroup":      {resource: groupARN, run: withMember((*iam.Account).AddToGroup)},
		"RemoveUserFromGroup": {resource: groupARN, run: withMember((*iam.Account).RemoveFromGroup)},
	}
}

func groupARN(c *call) string {
	name := c.Form.Get("GroupName")
	if g, err := c.account.Identity(iam.KindGroup, name); err == nil {
		return c.account.ARN("group", g.Path, g.Name)
	}
	return c.account.ARN("group", "/", name)
}

func newGroupARN(c *call) string {
	path := c.Form.Get("Path")
	if path == "" {
		path = "/"
	}
	return c.account.ARN("group", path, c.Form.Get("GroupName"))
}

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

func getGroup(c *call) (any, error) {
	name, err := c.name("GroupName", 128)
	if err != nil {
		return nil, err
	}
	g, members, err := c.account.Group(name)
	if err != nil {
		return nil, err
	}
	members, p, err := paginate(c, members, func(u iam.User) string { return u.Name })
	if err != nil {
		return nil, err
	}
	out := struct {
		Group xmlGroup
		Users []xmlUser `xml:"Users>member"`
		page
	}{Group: c.xmlGroup(g), page: p}
	for _, u := range members {
		out.Users = append(out.Users, c.xmlUser(u, false))
	}
	return out, nil
}

func listGroups(c *call) (any, error) {
	prefix, err := c.pathPrefix()
	if err != nil {
		return nil, err
	}
	return c.groupPage(c.account.Groups(prefix))
}

func listGroupsForUser(c *call) (any, error) {
	user, err := c.name("UserName", 128)
	if err != nil {
		return nil, err
	}
	groups, err := c.account.GroupsOf(user)
	if err != nil {
		return nil, err
	}
	return c.groupPage(groups)
}

func (c *call) groupPage(groups []iam.Group) (any, error) {
	groups, p, err := paginate(c, groups, func(g iam.Group) string { return g.Name })
	if err != nil {
		return nil, err
	}
	out := struct {
		Groups []xmlGroup `xml:"Groups>member"`
		page
	}{page: p}
	for _, g := range groups {
		out.Groups = append(out.Groups, c.xmlGroup(g))
	}
	return out, nil
}

func updateGroup(c *call) (any, error) {
	name, err := c.name("GroupName", 128)
	if err != nil {
		return nil, err
	}
	newName, newPath := "", ""
	if c.Form.Has("NewGroupName") {
		if newName, err = c.name("NewGroupName", 128); err != nil {
			return nil, err
		}
	}
	if c.Form.Has("NewPath") {
		if newPath, err = c.path("NewPath"); err != nil {
			return nil, err
		}
	}
	return empty{}, c.account.RenameGroup(name, newName, newPath)
}

func deleteGroup(c *call) (any, error) {
	name, err := c.name("GroupName", 128)
	if err != nil {
		return nil, err
	}
	return empty{}, c.account.DeleteGroup(name)
}

func withMember(do func(a *iam.Account, group, user string) error) func(*call) (any, error) {
	return func(c *call) (any, error) {
		group, err := c.name("GroupName", 128)
		if err != nil {
			return nil, err
		}
		user, err := c.name("UserName", 128)
		if err != nil {
			return nil, err
		}
		return empty{}, do(c.account, group, user)
	}
}
