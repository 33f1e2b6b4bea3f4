// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

// aclRoutes returns the methods of the three kinds of access control lists.
func aclRoutes() []route {
	actions := []action{
		{"GET", "", "list", (*Call).listEntries},
		{"POST", "", "insert", (*Call).insertEntry},
		{"GET", "/{entity}", "get", of(readableList, (*Call).getEntry)},
		{"PATCH", "/{entity}", "patch", (*Call).putEntry},
		{"PUT", "/{entity}", "update", (*Call).putEntry},
		{"DELETE", "/{entity}", "delete", (*Call).deleteEntry},
	}
	return slices.Concat(
		below("/storage/v1/b/{bucket}/acl", "storage.bucketAccessControls.", identity.Control, actions),
		below("/storage/v1/b/{bucket}/defaultObjectAcl", "storage.defaultObjectAccessControls.", identity.Control, actions),
		below("/storage/v1/b/{bucket}/o/{object}/acl", "storage.objectAccessControls.", identity.Control, actions),
	)
}

// accessList is an access control list.
type accessList struct {
	bucket *store.Bucket
	// object is nil for a list of a bucket.
	object  *store.Object
	entries []policy.Entry
	// kind is bucketAccessControl or objectAccessControl, and roles are the roles that entries may have.
	kind  string
	roles map[string]string
}

// accessList returns the list of the call. The caller needs a permission, and uniform access excludes lists ("IAM
// permissions for JSON methods", "ACL-related methods").
func (c *Call) accessList(action string) (*accessList, error) {
	b, err := c.bucket()
	if err != nil {
		return nil, err
	}
	l := &accessList{bucket: b, kind: "objectAccessControl", roles: policy.ObjectRoles}
	if c.vars["object"] != "" {
		generation, _, err := c.number("generation")
		if err != nil {
			return nil, err
		}
		if b.Settings.IAM.Uniform.Enabled { // whether or not the object exists
			if err := c.need("storage.objects."+action+"IamPolicy", b, c.vars["object"]); err != nil {
				return nil, err
			}
			return nil, c.checkUniform(true)
		}
		l.object, l.bucket, err = c.permitted("storage.objects."+action+"IamPolicy", b, c.vars["object"], generation)
		if err != nil {
			return nil, err
		}
		l.entries = c.objectEntries(&l.object.Attributes, b)
		return l, nil
	}
	if err := c.need("storage.buckets."+action+"IamPolicy", b, ""); err != nil {
		return nil, err
	}
	if c.ofBucketItself() {
		l.kind, l.roles = "bucketAccessControl", policy.BucketRoles
	}
	l.entries = c.listOfBucket(b)
	return l, c.checkUniform(b.Settings.IAM.Uniform.Enabled)
}

// ofBucketItself reports whether the call is about the list of a bucket, in contrast to the default for its objects.
func (c *Call) ofBucketItself() bool {
	return strings.HasPrefix(c.Operation, "storage.bucketAccessControls.") || strings.HasSuffix(c.Operation, "BucketACL")
}

func (c *Call) listOfBucket(b *store.Bucket) []policy.Entry {
	if c.ofBucketItself() {
		return b.Policy.BucketEntries(c.projectNumber)
	}
	return c.defaultEntries(b)
}

// changeEntries changes the list of the call in one step.
func (c *Call) changeEntries(change func(l *accessList) error) (*accessList, error) {
	l, err := c.accessList("set")
	if err != nil {
		return nil, err
	}
	if l.object != nil {
		l.object, err = c.api.store.Update(l.bucket.Name, l.object.Name, l.object.Generation, func(b *store.Bucket, o *store.Object) error {
			l.entries = c.objectEntries(&o.Attributes, b)
			if err := change(l); err != nil {
				return err
			}
			o.ACL = withOwner(l.entries, c.objectOwner(&o.Attributes, b))
			return checkPublic(b, l.entries)
		})
		return l, err
	}
	next, err := c.api.store.UpdateBucket(l.bucket.Name, func(b *store.Bucket) error {
		l.entries = c.listOfBucket(b)
		if err := change(l); err != nil {
			return err
		}
		if c.ofBucketItself() {
			b.Policy = b.Policy.WithBucketEntries(l.entries, c.projectID)
		} else {
			b.DefaultACL = append([]policy.Entry{}, l.entries...)
		}
		return checkPublic(b, l.entries)
	})
	l.bucket = &next
	return l, err
}

// accessControl is an entry as the JSON API shows it.
type accessControl struct {
	Kind        string       `json:"kind"`
	ID          string       `json:"id,omitempty"`
	SelfLink    string       `json:"selfLink,omitempty"`
	Bucket      string       `json:"bucket,omitempty"`
	Object      string       `json:"object,omitempty"`
	Generation  string       `json:"generation,omitempty"`
	Entity      string       `json:"entity"`
	Role        string       `json:"role"`
	Email       string       `json:"email,omitempty"`
	Domain      string       `json:"domain,omitempty"`
	ProjectTeam *projectTeam `json:"projectTeam,omitempty"`
	ETag        string       `json:"etag"`
}

type projectTeam struct {
	ProjectNumber string `json:"projectNumber"`
	Team          string `json:"team"`
}

// etag returns the etag of the object or bucket.
func (l *accessList) etag() string {
	if l.object != nil {
		return l.object.ETag()
	}
	return bucketETag(l.bucket)
}

func (c *Call) showEntry(l *accessList, e policy.Entry) accessControl {
	out := accessControl{Kind: "storage#" + l.kind, Entity: e.Entity, Role: e.Role, ETag: l.etag()}
	path := "/storage/v1/b/" + l.bucket.Name
	switch {
	case l.object != nil:
		out.Bucket, out.Object, out.Generation = l.bucket.Name, l.object.Name, strconv.FormatInt(l.object.Generation, 10)
		out.ID = out.Bucket + "/" + out.Object + "/" + out.Generation + "/" + e.Entity
		out.SelfLink = c.base() + path + "/o/" + url.PathEscape(out.Object) + "/acl/" + e.Entity
	case l.kind == "bucketAccessControl":
		out.Bucket, out.ID, out.SelfLink = l.bucket.Name, l.bucket.Name+"/"+e.Entity, c.base()+path+"/acl/"+e.Entity
	}
	kind, name, _ := strings.Cut(e.Entity, "-")
	switch kind {
	case "user", "group":
		out.Email = name
	case "domain":
		out.Domain = name
	case "project":
		team, number, _ := strings.Cut(name, "-")
		out.ProjectTeam = &projectTeam{number, team}
	}
	return out
}

func (c *Call) showEntries(l *accessList) []accessControl {
	out := make([]accessControl, len(l.entries))
	for i, e := range l.entries {
		out[i] = c.showEntry(l, e)
	}
	return out
}

func (c *Call) listEntries(w http.ResponseWriter) error {
	l, err := c.accessList("get")
	if err != nil {
		return err
	}
	if err := c.condition("ifMetageneration", l.bucket.Metageneration, true); err != nil { // a parameter of the default list only
		return err
	}
	w.Header().Set("ETag", l.etag())
	return respond(w, map[string]any{"kind": "storage#" + l.kind + "s", "items": c.showEntries(l)})
}

// find returns the index of the entry that the path names.
func (c *Call) find(l *accessList) (int, error) {
	name, _, err := c.entity(c.vars["entity"])
	if err != nil {
		name = c.vars["entity"] // an account can be deleted
	}
	i := slices.IndexFunc(l.entries, func(e policy.Entry) bool { return e.Entity == name })
	if i < 0 {
		return i, gcserr.NotFound.Say("The specified ACL entry does not exist: %s", c.vars["entity"])
	}
	return i, nil
}

func (c *Call) getEntry(l *accessList) (any, error) {
	i, err := c.find(l)
	if err != nil {
		return nil, err
	}
	return c.showEntry(l, l.entries[i]), nil
}

func (c *Call) insertEntry(w http.ResponseWriter) error {
	return c.setEntry(w, func(*accessList, *policy.Entry) error { return nil })
}

// putEntry serves patch, which needs an existing entry, and update, which also adds one.
func (c *Call) putEntry(w http.ResponseWriter) error {
	return c.setEntry(w, func(l *accessList, e *policy.Entry) error {
		i, err := c.find(l)
		switch {
		case err == nil:
			e.Entity = l.entries[i].Entity
			if e.Role == "" {
				e.Role = l.entries[i].Role
			}
		case c.r.Method == http.MethodPatch:
			return err
		default:
			e.Entity = c.vars["entity"]
		}
		return nil
	})
}

// setEntry sets the entry in the body; complete adds what the path determines.
func (c *Call) setEntry(w http.ResponseWriter, complete func(*accessList, *policy.Entry) error) error {
	var e policy.Entry
	sent := struct{ Entity, Role string }{}
	if err := c.readJSON(&sent); err != nil {
		return err
	}
	l, err := c.changeEntries(func(l *accessList) error {
		e = policy.Entry{Entity: sent.Entity, Role: sent.Role}
		if err := complete(l, &e); err != nil {
			return err
		}
		var err error
		if e, err = c.checkEntry(e, l.roles); err == nil {
			l.entries = with(l.entries, e)
		}
		return err
	})
	if err != nil {
		return err
	}
	return respond(w, c.showEntry(l, e))
}

func (c *Call) deleteEntry(w http.ResponseWriter) error {
	l, err := c.changeEntries(func(l *accessList) error {
		i, err := c.find(l)
		if err == nil {
			l.entries = slices.Delete(slices.Clone(l.entries), i, i+1)
		}
		return err
	})
	if err != nil {
		return err
	}
	w.Header().Set("ETag", l.etag())
	c.noContent(w)
	return nil
}
