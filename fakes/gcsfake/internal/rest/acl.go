// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

// The roles of the project's team and of everyone in the predefined lists ("Predefined ACLs"). An object's owner is
// added to each list of an object.
type predefinedList struct{ owners, editors, viewers, authenticated, everyone string }

var predefinedObject = map[string]predefinedList{
	"projectPrivate": {owners: "OWNER", editors: "OWNER", viewers: "READER"}, "private": {}, "publicRead": {everyone: "READER"},
	"authenticatedRead": {authenticated: "READER"}, "bucketOwnerRead": {owners: "READER"}, "bucketOwnerFullControl": {owners: "OWNER"},
}

var predefinedBucket = map[string]predefinedList{
	"projectPrivate": {owners: "OWNER", editors: "OWNER", viewers: "READER"}, "private": {owners: "OWNER"}, "publicRead": {owners: "OWNER", everyone: "READER"},
	"publicReadWrite": {owners: "OWNER", everyone: "WRITER"}, "authenticatedRead": {owners: "OWNER", authenticated: "READER"},
}

// entries returns the list for a project.
func (l predefinedList) entries(number string) []policy.Entry {
	out := []policy.Entry{}
	for _, e := range []policy.Entry{
		{Entity: "project-owners-" + number, Role: l.owners},
		{Entity: "project-editors-" + number, Role: l.editors},
		{Entity: "project-viewers-" + number, Role: l.viewers},
		{Entity: "allAuthenticatedUsers", Role: l.authenticated},
		{Entity: "allUsers", Role: l.everyone},
	} {
		if e.Role != "" {
			out = append(out, e)
		}
	}
	return out
}

// predefined returns the predefined list with a name of either API, such as publicRead and public-read.
func (c *Call) predefined(lists map[string]predefinedList, name string, b *store.Bucket) ([]policy.Entry, error) {
	words := strings.Split(name, "-")
	for i := range words[1:] {
		if w := words[i+1]; w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	l, ok := lists[strings.Join(words, "")]
	if !ok {
		return nil, gcserr.Invalid.Say("Invalid value for a predefined ACL: %q.", name)
	}
	return l.entries(c.projectNumber(b.Project)), nil
}

// projectNumber and projectID translate between IDs and numbers of projects; "" means that there is no such project.
func (c *Call) projectNumber(id string) string {
	p, _ := c.api.dir.Project(id) // empty if there is none
	return p.Number
}

func (c *Call) projectID(number string) string {
	p, _ := c.api.dir.Project(number)
	return p.ID
}

// objectOwner returns the entry of an object's owner. If an anonymous or a federated caller has created the object,
// the owner is the team of the bucket's owners.
func (c *Call) objectOwner(a *store.Attributes, b *store.Bucket) policy.Entry {
	if a.Owner == "" {
		return policy.Entry{Entity: "project-owners-" + c.projectNumber(b.Project), Role: "OWNER"}
	}
	return policy.Entry{Entity: "user-" + a.Owner, Role: "OWNER", UID: a.OwnerUID}
}

// objectEntries returns the access control list of an object.
func (c *Call) objectEntries(a *store.Attributes, b *store.Bucket) []policy.Entry {
	if a.ACL != nil {
		return a.ACL
	}
	return withOwner(predefinedObject["projectPrivate"].entries(c.projectNumber(b.Project)), c.objectOwner(a, b))
}

// withOwner returns the list of an object with its owner. A new entry of the owner precedes those for everyone, as
// Google shows it.
func withOwner(entries []policy.Entry, owner policy.Entry) []policy.Entry {
	out := slices.Clone(entries)
	i := slices.IndexFunc(out, func(e policy.Entry) bool { return e.Entity == owner.Entity })
	if i >= 0 {
		out[i] = owner
		return out
	}
	if i = slices.IndexFunc(out, policy.Entry.Public); i < 0 {
		i = len(out)
	}
	return slices.Insert(out, i, owner)
}

// defaultEntries returns the list for new objects of a bucket.
func (c *Call) defaultEntries(b *store.Bucket) []policy.Entry {
	if b.DefaultACL != nil {
		return b.DefaultACL
	}
	return predefinedObject["projectPrivate"].entries(c.projectNumber(b.Project))
}

// with returns a list with an entry in place of another one of the same entity.
func with(entries []policy.Entry, e policy.Entry) []policy.Entry {
	out := slices.DeleteFunc(slices.Clone(entries), func(other policy.Entry) bool { return other.Entity == e.Entity })
	return append(out, e)
}

// mayOn reports whether the caller has a permission on an object: by a policy or by the object's list.
func (c *Call) mayOn(permission string, b *store.Bucket, o *store.Object) bool {
	return c.may(permission, b, o.Name) || c.listed(permission, b, o)
}

// listed reports whether the access control list of an object gives the caller a permission.
func (c *Call) listed(permission string, b *store.Bucket, o *store.Object) bool {
	if b.Settings.IAM.Uniform.Enabled {
		return false
	}
	own := *b
	own.Policy = policy.FromEntries(c.objectEntries(&o.Attributes, b), policy.ObjectRoles, c.projectID)
	return c.api.dir.Allowed(c.caller, permission, identity.Target{Policy: public(&own), Resource: policy.Resource{}})
}

// permitted returns a generation of an object after checking a permission on it.
func (c *Call) permitted(permission string, b *store.Bucket, name string, generation int64) (*store.Object, *store.Bucket, error) {
	o, fresh, err := c.api.store.Get(b.Name, name, generation)
	if c.may(permission, b, name) {
		return o, fresh, err
	}
	if err == nil && c.listed(permission, fresh, o) {
		return o, fresh, nil
	}
	return nil, b, c.refused(permission, "the Google Cloud Storage object")
}

// requestedACL returns the name of the predefined list that a request has for an object, or "".
func (c *Call) requestedACL() string {
	if c.flavour == inXML {
		return cmp.Or(c.r.Header.Get("X-Goog-Acl"), c.r.Header.Get("X-Amz-Acl"))
	}
	return cmp.Or(c.query.Get("predefinedAcl"), c.query.Get("destinationPredefinedAcl"))
}

// newACL sets the owner and the access control list of a new object. The owner is the caller if it is a service account.
func (c *Call) newACL(b *store.Bucket, a *store.Attributes) error {
	if !b.Settings.IAM.Uniform.Enabled && c.caller.UID != "" {
		a.Owner, a.OwnerUID = c.caller.Name, c.caller.UID
	}
	return c.setACL(b, a)
}

// setACL completes the access control list of an object: from the predefined list of the request, the list in the
// attributes, or the bucket's default. nil means projectPrivate. Under uniform access, the list is the default, which
// takes effect when uniform access is disabled ("Uniform bucket-level access", "Behavior if reverted"). The bucket's
// default may contain entries for everyone that public access prevention makes ineffective.
func (c *Call) setACL(b *store.Bucket, a *store.Attributes) error {
	entries, name := a.ACL, c.requestedACL()
	if b.Settings.IAM.Uniform.Enabled {
		a.ACL, entries, name = nil, nil, ""
	}
	var err error
	switch {
	case name != "":
		if entries, err = c.predefined(predefinedObject, name, b); err == nil {
			err = checkPublic(b, entries)
		}
	case entries == nil && b.DefaultACL == nil:
		return nil
	case entries == nil:
		entries = b.DefaultACL
	default:
		entries, err = c.checkEntries(b, entries, policy.ObjectRoles)
	}
	if err != nil {
		return err
	}
	a.ACL = withOwner(entries, c.objectOwner(a, b))
	return nil
}

// checkPublic rejects entries for everyone under public access prevention.
func checkPublic(b *store.Bucket, entries []policy.Entry) error {
	if b.Settings.IAM.PublicAccessPrevention == "enforced" && slices.ContainsFunc(entries, policy.Entry.Public) {
		return gcserr.Precondition.Say("The member bindings allUsers and allAuthenticatedUsers are not allowed since public access prevention is enforced.")
	}
	return nil
}

// checkEntries validates a list that a client sends and adds the unique IDs of service accounts.
func (c *Call) checkEntries(b *store.Bucket, entries []policy.Entry, roles map[string]string) ([]policy.Entry, error) {
	const most = 100
	if len(entries) > most {
		return nil, gcserr.Invalid.Say("An access control list can have at most %d entries.", most)
	}
	out := []policy.Entry{}
	for _, e := range entries {
		checked, err := c.checkEntry(e, roles)
		if err != nil {
			return nil, err
		}
		out = with(out, checked)
	}
	return out, checkPublic(b, out)
}

func (c *Call) checkEntry(e policy.Entry, roles map[string]string) (policy.Entry, error) {
	if roles[e.Role] == "" {
		return e, gcserr.Invalid.Say("Invalid argument: role %q of an access control list.", e.Role)
	}
	var err error
	e.Entity, e.UID, err = c.entity(e.Entity)
	return e, err
}

// entity validates an entity. It returns it with the number of its project, and the unique ID of a service account.
func (c *Call) entity(text string) (name, uid string, err error) {
	bad := gcserr.Invalid.Say("Invalid argument: entity %q of an access control list.", text)
	kind, name, _ := strings.Cut(text, "-")
	if strings.ContainsAny(name, ":/?[] \t\r\n") { // no member of a policy has these
		return "", "", bad
	}
	switch kind {
	case "allUsers", "allAuthenticatedUsers":
		if name != "" {
			return "", "", bad
		}
		return text, "", nil
	case "domain":
		if name == "" {
			return "", "", bad
		}
		return text, "", nil
	case "group", "user":
		if !strings.Contains(name, "@") {
			return "", "", bad
		}
		a, err := c.api.dir.Account("-", name)
		if err != nil && kind == "user" && strings.HasSuffix(name, ".iam.gserviceaccount.com") {
			return "", "", gcserr.Invalid.Say("Unknown user: %s", name)
		}
		return text, a.UniqueID, nil
	case "project":
		team, project, _ := strings.Cut(name, "-")
		number := c.projectNumber(project)
		if number == "" || !slices.Contains([]string{"owners", "editors", "viewers"}, team) {
			return "", "", bad
		}
		return "project-" + team + "-" + number, "", nil
	}
	return "", "", bad
}

// changeACL applies the access control list in a request that changes an object.
func (c *Call) changeACL(b *store.Bucket, before, o *store.Object, present map[string]json.RawMessage) error {
	if !c.setsACL(present) {
		return nil
	}
	if !c.mayOn("storage.objects.setIamPolicy", b, before) {
		return c.refused("storage.objects.setIamPolicy", "the Google Cloud Storage object")
	}
	return c.setACL(b, &o.Attributes)
}

// setsACL reports whether a request has an access control list.
func (c *Call) setsACL(fields map[string]json.RawMessage) bool {
	used := fields["acl"] != nil || fields["defaultObjectAcl"] != nil
	for _, name := range []string{"predefinedAcl", "predefinedDefaultObjectAcl", "destinationPredefinedAcl"} {
		used = used || c.query.Has(name)
	}
	return used
}

// setBucketACLs applies the lists in a request that creates or changes a bucket.
func (c *Call) setBucketACLs(b *store.Bucket, fields map[string]json.RawMessage) error {
	if b.Settings.IAM.Uniform.Enabled || !c.setsACL(fields) {
		return nil
	}
	lists, err := c.bucketLists(b, fields)
	if err != nil {
		return err
	}
	if lists.own != nil {
		if err := checkPublic(b, lists.own); err != nil {
			return err
		}
		b.Policy = b.Policy.WithBucketEntries(lists.own, c.projectID)
	}
	if lists.objects != nil {
		b.DefaultACL = lists.objects
	}
	return checkPublic(b, lists.objects)
}

// bucketLists are the access control lists in a request on a bucket; nil means that the request does not set a list.
type bucketLists struct{ own, objects []policy.Entry }

func (c *Call) bucketLists(b *store.Bucket, fields map[string]json.RawMessage) (bucketLists, error) {
	var out bucketLists
	for _, l := range []struct {
		parameter, field string
		predefined       map[string]predefinedList
		roles            map[string]string
		to               *[]policy.Entry
	}{
		{"predefinedAcl", "acl", predefinedBucket, policy.BucketRoles, &out.own},
		{"predefinedDefaultObjectAcl", "defaultObjectAcl", predefinedObject, policy.ObjectRoles, &out.objects},
	} {
		var err error
		if name := c.query.Get(l.parameter); name != "" {
			*l.to, err = c.predefined(l.predefined, name, b)
		} else if raw := fields[l.field]; raw != nil && string(raw) != "null" {
			var entries []policy.Entry
			if err = parseJSON(raw, &entries); err == nil {
				*l.to, err = c.checkEntries(b, entries, l.roles)
			}
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// showsACLs reports whether a response has access control lists, if the caller has permission to read them.
func (c *Call) showsACLs(b *store.Bucket) bool {
	return (c.query.Get("projection") == "full" || (c.full && c.query.Get("projection") == "")) && !b.Settings.IAM.Uniform.Enabled
}
