// SPDX-License-Identifier: Apache-2.0

package iamapi

import (
	"cmp"
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
)

func userOperations() map[string]operation {
	return map[string]operation{
		"CreateUser": {
			tagging: "iam:TagUser", resource: newARN("user", "UserName"), run: createUser,
			parameters: tagParameters.With("Path", "PermissionsBoundary", "UserName"),
		},
		"GetUser":    {resource: userARN, run: getUser, parameters: accept.Names("UserName")},
		"ListUsers":  {resource: prefixARN("user"), run: listUsers, parameters: pageParameters.With("PathPrefix")},
		"UpdateUser": {resource: userARN, run: about(iam.KindUser, updateUser), parameters: accept.Names("NewPath", "NewUserName", "UserName")},
		"DeleteUser": {resource: userARN, run: about(iam.KindUser, withoutResult((*iam.Account).DeleteUser)), parameters: accept.Names("UserName")},
	}
}

func keyOperations() map[string]operation {
	return map[string]operation{
		"CreateAccessKey":      {resource: userARN, run: on((*call).userName, createAccessKey), parameters: accept.Names("UserName")},
		"ListAccessKeys":       {resource: userARN, run: on((*call).userName, listAccessKeys), parameters: pageParameters.With("UserName")},
		"UpdateAccessKey":      {resource: userARN, run: updateAccessKey, parameters: accept.Names("AccessKeyId", "Status", "UserName")},
		"DeleteAccessKey":      {resource: userARN, run: deleteAccessKey, parameters: accept.Names("AccessKeyId", "UserName")},
		"GetAccessKeyLastUsed": {resource: keyOwnerARN, run: on((*call).keyID, getAccessKeyLastUsed), parameters: accept.Names("AccessKeyId")},
	}
}

// userARN is the ARN of UserName, or of the caller when it is left out.
func userARN(c *call) string {
	return c.identityARN(iam.KindUser, cmp.Or(c.Form.Get("UserName"), c.Principal.Name))
}

// identityARN is the ARN of a user, role or group, which need not exist.
func (c *call) identityARN(kind iam.Kind, name string) string {
	path := "/"
	if i, err := c.account.Identity(kind, name); err == nil {
		path, name = i.Path, i.Name
	}
	return c.account.ARN(string(kind), path, name)
}

// newARN returns the ARN of the entity that the request creates. parameter contains its name.
func newARN(kind, parameter string) func(*call) string {
	return func(c *call) string {
		return c.account.ARN(kind, cmp.Or(c.Form.Get("Path"), "/"), c.Form.Get(parameter))
	}
}

func prefixARN(kind string) func(*call) string {
	return func(c *call) string { return c.account.ARN(kind, cmp.Or(c.Form.Get("PathPrefix"), "/"), "") }
}

func keyOwnerARN(c *call) string {
	k, err := c.account.Key(c.Form.Get("AccessKeyId"))
	if err != nil {
		return "*"
	}
	return c.identityARN(iam.KindUser, k.User)
}

type xmlBoundary struct {
	Type string `xml:"PermissionsBoundaryType"`
	ARN  string `xml:"PermissionsBoundaryArn"`
}

func boundaryOf(arn string) *xmlBoundary {
	if arn == "" {
		return nil
	}
	return &xmlBoundary{Type: "Policy", ARN: arn}
}

type xmlUser struct {
	Path             string       `xml:"Path"`
	UserName         string       `xml:"UserName,omitempty"`
	UserID           string       `xml:"UserId"`
	ARN              string       `xml:"Arn"`
	CreateDate       string       `xml:"CreateDate"`
	PasswordLastUsed string       `xml:"PasswordLastUsed,omitempty"`
	Boundary         *xmlBoundary `xml:"PermissionsBoundary,omitempty"`
	Tags             *xmlTagList  `xml:"Tags,omitempty"`
}

func (c *call) xmlUser(u iam.User, detail bool) xmlUser {
	x := xmlUser{Path: u.Path, UserName: u.Name, UserID: u.ID, ARN: c.account.UserARN(&u), CreateDate: stamp(u.Created)}
	if detail {
		x.Boundary, x.Tags = boundaryOf(u.Boundary), tagList(u.Tags)
	}
	return x
}

// listedUser is a user in a list, without details.
func (c *call) listedUser(u iam.User) xmlUser { return c.xmlUser(u, false) }

func createUser(c *call) (any, error) {
	in := iam.NewUser{Boundary: c.Form.Get("PermissionsBoundary")}
	var err error
	if in.Name, err = c.name("UserName", 64); err != nil {
		return nil, err
	}
	if in.Path, err = c.path("Path"); err != nil {
		return nil, err
	}
	if in.Tags, err = c.tags(); err != nil {
		return nil, err
	}
	u, err := c.account.CreateUser(in)
	if err != nil {
		return nil, err
	}
	return struct{ User xmlUser }{c.xmlUser(u, true)}, nil
}

// userName returns UserName, which defaults to the calling user.
func (c *call) userName() (string, error) {
	if c.Form.Has("UserName") {
		return c.checkName("UserName", c.Form.Get("UserName"), 128)
	}
	if c.Principal.Root {
		return iam.RootUser, nil
	}
	if c.Principal.Name == "" {
		return "", invalid("Must specify userName when calling with non-User credentials")
	}
	return c.Principal.Name, nil
}

func getUser(c *call) (any, error) {
	if c.Form.Get("UserName") == "" {
		c.Form.Del("UserName")
	}
	if !c.Form.Has("UserName") && c.Principal.Root {
		return struct{ User xmlUser }{xmlUser{Path: "/", UserID: c.account.Options.ID, ARN: c.account.RootARN(), CreateDate: stamp(c.Now)}}, nil
	}
	name, err := c.userName()
	if err != nil {
		return nil, err
	}
	u, err := c.account.User(name)
	if err != nil {
		return nil, err
	}
	return struct{ User xmlUser }{c.xmlUser(u, true)}, nil
}

func listUsers(c *call) (any, error) {
	prefix, err := c.pathPrefix()
	if err != nil {
		return nil, err
	}
	users, p, err := listed(c, c.account.Users(prefix), func(u iam.User) string { return u.Name }, c.listedUser)
	return struct {
		Users []xmlUser `xml:"Users>member"`
		page
	}{users, p}, err
}

func updateUser(c *call, name string) (any, error) {
	newName, newPath, err := c.renaming("NewUserName", 64)
	if err != nil {
		return nil, err
	}
	return empty{}, c.account.RenameUser(name, newName, newPath)
}

// renaming reads the optional new name and new path of an entity.
func (c *call) renaming(param string, limit int) (name, path string, err error) {
	if c.Form.Has(param) {
		if name, err = c.name(param, limit); err != nil {
			return "", "", err
		}
	}
	if c.Form.Has("NewPath") {
		path, err = c.path("NewPath")
	}
	return name, path, err
}

type xmlKey struct {
	UserName        string `xml:"UserName,omitempty"`
	AccessKeyID     string `xml:"AccessKeyId"`
	Status          string `xml:"Status"`
	SecretAccessKey string `xml:"SecretAccessKey,omitempty"`
	CreateDate      string `xml:"CreateDate"`
}

// shown returns the name of an access key's owner. The root user has no name.
func shown(user string) string {
	if user == iam.RootUser {
		return ""
	}
	return user
}

func createAccessKey(c *call, user string) (any, error) {
	k, err := c.account.CreateKey(user)
	if err != nil {
		return nil, err
	}
	return struct{ AccessKey xmlKey }{xmlKey{shown(k.User), k.ID, k.Status, string(k.Secret), stamp(k.Created)}}, nil
}

func listAccessKeys(c *call, name string) (any, error) {
	u, err := c.account.User(name)
	if err != nil {
		return nil, err
	}
	if u.Name == iam.RootUser {
		u.Keys = append([]iam.AccessKey{c.account.FirstKey()}, u.Keys...)
	}
	keys, p, err := listed(c, u.Keys, func(k iam.AccessKey) string { return stamp(k.Created) + k.ID }, func(k iam.AccessKey) xmlKey {
		return xmlKey{shown(k.User), k.ID, k.Status, "", stamp(k.Created)}
	})
	return struct {
		UserName string   `xml:"UserName,omitempty"`
		Keys     []xmlKey `xml:"AccessKeyMetadata>member"`
		page
	}{shown(u.Name), keys, p}, err
}

// keyID reads AccessKeyId.
func (c *call) keyID() (string, error) {
	v := c.Form.Get("AccessKeyId")
	switch {
	case !c.Form.Has("AccessKeyId"):
		return "", missing("AccessKeyId")
	case len(v) < 16:
		return "", constraint("accessKeyId", "Member must have length greater than or equal to 16")
	case len(v) > 128:
		return "", constraint("accessKeyId", "Member must have length less than or equal to 128")
	case !alnum.MatchString(v):
		return "", invalid("The specified value for accessKeyId is invalid. It must contain only alphanumeric characters.")
	}
	return v, nil
}

// keyOf is a key that the caller may change, and its owner. The first key of the root user is the server's own.
func (c *call) keyOf() (user, id string, err error) {
	if id, err = c.keyID(); err != nil {
		return "", "", err
	}
	if user, err = c.userName(); err != nil {
		return "", "", err
	}
	if user == iam.RootUser && id == c.account.RootKey {
		return "", "", awserr.Newf(http.StatusNotImplemented, "NotImplemented", "%s of the root user's first access key is not supported by this fake.", c.action)
	}
	return user, id, nil
}

func updateAccessKey(c *call) (any, error) {
	user, id, err := c.keyOf()
	if err != nil {
		return nil, err
	}
	status := c.Form.Get("Status")
	switch {
	case !c.Form.Has("Status"):
		return nil, missing("Status")
	case status != "Active" && status != "Inactive":
		return nil, invalid("1 validation error detected: Value '%s' at 'status' failed to satisfy constraint: Member must satisfy enum value set: [Active, Inactive]", status)
	}
	return empty{}, c.account.SetKeyStatus(user, id, status)
}

func deleteAccessKey(c *call) (any, error) {
	user, id, err := c.keyOf()
	if err != nil {
		return nil, err
	}
	return empty{}, c.account.DeleteKey(user, id)
}

func getAccessKeyLastUsed(c *call, id string) (any, error) {
	k, err := c.account.Key(id)
	if err != nil {
		return nil, err
	}
	type lastUsed struct {
		Date    string `xml:"LastUsedDate,omitempty"`
		Service string `xml:"ServiceName"`
		Region  string `xml:"Region"`
	}
	used := lastUsed{Service: "N/A", Region: "N/A"}
	if !k.LastUsed.IsZero() {
		used = lastUsed{stamp(k.LastUsed), k.LastService, k.LastRegion}
	}
	return struct {
		UserName string   `xml:"UserName,omitempty"`
		Used     lastUsed `xml:"AccessKeyLastUsed"`
	}{shown(k.User), used}, nil
}
