// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

// checkObjectName applies the rules of "Object naming requirements".
func checkObjectName(name string) error {
	const maxName = 1024
	switch {
	case name == "":
		return gcserr.Required.Say("Required")
	case len(name) > maxName, !utf8.ValidString(name), strings.ContainsAny(name, "\r\n"), name == ".", name == "..", strings.HasPrefix(name, ".well-known/acme-challenge/"):
		return gcserr.New(http.StatusBadRequest, "invalid", "InvalidObjectName", "Disallowed unicode characters present in object name, or a reserved or too long name.")
	}
	return nil
}

// objectConditions checks the preconditions on the generation that a request concerns, nil for none.
func (c *Call) objectConditions(o *store.Object, reading bool) error {
	var generation, metageneration int64
	if o != nil {
		generation, metageneration = o.Generation, o.Metageneration
	}
	if err := c.condition("ifGeneration", generation, reading); err != nil {
		return err
	}
	if o == nil && !c.query.Has("ifMetagenerationMatch") {
		return nil
	}
	return c.condition("ifMetageneration", metageneration, reading)
}

// overwriting guards a write. If the object exists, the caller needs an additional permission. The preconditions must
// hold.
func (c *Call) overwriting(name string) store.Guard {
	return func(b *store.Bucket, current *store.Object) error {
		if current != nil {
			if err := c.need("storage.objects.delete", b, name); err != nil {
				return err
			}
		}
		return c.objectConditions(current, false)
	}
}

// creates asks for the permissions to create an object, before its body is read, and completes its access control list.
func (c *Call) creates(b *store.Bucket, name string, a *store.Attributes) error {
	if err := checkObjectName(name); err != nil {
		return err
	}
	if err := c.mayCreate(b, name, a); err != nil {
		return err
	}
	return c.newACL(b, a)
}

// mayCreate asks for the permissions to create an object with the given attributes.
func (c *Call) mayCreate(b *store.Bucket, name string, a *store.Attributes) error {
	if err := c.need("storage.objects.create", b, name); err != nil {
		return err
	}
	if a.Retention != nil {
		if b.Settings.ObjectRetention.Mode == "" {
			return gcserr.Invalid.Say("Object retention is not enabled on bucket '%s'.", b.Name)
		}
		if err := c.newRetention(a); err != nil {
			return err
		}
		return c.need("storage.objects.setRetention", b, name)
	}
	return nil
}

// newRetention rejects a retention that has already expired, and one together with an event-based hold ("Object
// holds").
func (c *Call) newRetention(a *store.Attributes) error {
	switch {
	case !a.Retention.Until.After(c.api.now()):
		return gcserr.Invalid.Say("The retainUntilTime %s is not in the future.", stamp(a.Retention.Until))
	case a.EventBasedHold:
		return gcserr.Invalid.Say("An object cannot have both an event-based hold and a retention configuration.")
	}
	return nil
}

// mayFinish checks the permission for the last request of an upload: the service checks it on the first one, but not the
// preconditions (measured in https://github.com/googleapis/google-cloud-java/issues/201).
func (c *Call) mayFinish(b *store.Bucket, name string) error {
	_, _, err := c.api.store.Get(b.Name, name, 0)
	switch {
	case err == nil:
		return c.need("storage.objects.delete", b, name)
	case errors.Is(err, gcserr.NoObject):
		return nil
	}
	return err
}

// respondObject responds with a stored object, unless err is an error.
func (c *Call) respondObject(w http.ResponseWriter, o *store.Object, err error) error {
	if err != nil {
		return err
	}
	b, err := c.api.store.Bucket(o.Bucket)
	if err != nil {
		return err
	}
	return respond(w, c.show(o, b))
}

// object returns the generation that the call names, after asking for a permission on it.
func (c *Call) object(permission string) (*store.Object, *store.Bucket, error) {
	b, err := c.bucket()
	if err != nil {
		return nil, nil, err
	}
	name := c.vars["object"]
	g, _, err := c.number("generation")
	if err != nil {
		return nil, b, err
	}
	return c.permitted(permission, b, name, g)
}

func (c *Call) getObject(w http.ResponseWriter) error {
	if c.isTrue("softDeleted") {
		return c.getSoftDeleted(w)
	}
	o, b, err := c.object("storage.objects.get")
	if err != nil {
		return err
	}
	if err := c.objectConditions(o, true); err != nil {
		return err
	}
	if err := c.etagConditions(o.ETag()); err != nil {
		return err
	}
	if c.query.Get("alt") == "media" {
		if err := c.opened(o); err != nil {
			return err
		}
		c.objectHeaders(w.Header(), o)
		return c.serveMedia(w, o)
	}
	if err := c.described(o); err != nil {
		return err
	}
	w.Header().Set("ETag", o.ETag())
	return respond(w, c.show(o, b))
}

// listQuery reads the parameters of a listing.
func (c *Call) listQuery(b *store.Bucket) (store.Query, error) {
	limit, err := c.limit("maxResults", 1)
	if err != nil {
		return store.Query{}, err
	}
	token, err := parsePageToken(c.query.Get("pageToken"))
	if err != nil {
		return store.Query{}, err
	}
	q := store.Query{
		Bucket: b.Name, Prefix: c.query.Get("prefix"), Delimiter: c.query.Get("delimiter"), From: c.query.Get("startOffset"), To: c.query.Get("endOffset"),
		After: token.Name, AfterGeneration: token.Generation, Versions: c.isTrue("versions"), SoftDeleted: c.isTrue("softDeleted"),
		TrailingDelimiter: c.isTrue("includeTrailingDelimiter"), Max: limit,
	}
	if c.query.Get("filter") != "" {
		return q, gcserr.Unimplemented.Say("This fake does not support filter: it keeps no contexts of objects.")
	}
	if text := c.query.Get("matchGlob"); text != "" {
		if q.Match, err = glob(text); err != nil {
			return q, err
		}
	}
	if q.SoftDeleted && q.Versions {
		return q, gcserr.Invalid.Say("softDeleted and versions cannot both be true.")
	}
	return q, nil
}

func (c *Call) listObjects(b *store.Bucket) (any, error) {
	q, err := c.listQuery(b)
	if err != nil {
		return nil, err
	}
	page, err := c.api.store.List(q)
	if err != nil {
		return nil, err
	}
	out := struct {
		Kind     string           `json:"kind"`
		Next     string           `json:"nextPageToken,omitempty"`
		Prefixes []string         `json:"prefixes,omitempty"`
		Items    []objectResource `json:"items,omitempty"`
	}{Kind: "storage#objects", Prefixes: page.Prefixes, Items: make([]objectResource, len(page.Objects))}
	for i, o := range page.Objects {
		out.Items[i] = c.show(o, b)
	}
	if page.More {
		out.Next = newPageToken(page.Last, page.LastGeneration)
	}
	return out, nil
}

// objectChange reads the object resource of a call.
func (c *Call) objectChange() (f objectFields, present map[string]json.RawMessage, err error) {
	raw, err := readAll(c.r.Body, maxJSON)
	if err != nil {
		return f, nil, err
	}
	return c.parseObject(raw)
}

// parseObject parses an object resource and records which fields are present. An empty document has none.
func (c *Call) parseObject(raw []byte) (f objectFields, present map[string]json.RawMessage, err error) {
	if len(raw) == 0 {
		return f, nil, nil
	}
	err = errors.Join(c.checkFields(raw), parseJSON(raw, &f), parseJSON(raw, &present))
	return f, present, err
}

func (c *Call) patchObject(w http.ResponseWriter) error {
	return c.changeObject(w, func(*store.Attributes) {})
}

// updateObject replaces the attributes: those that are not sent are removed.
func (c *Call) updateObject(w http.ResponseWriter) error {
	return c.changeObject(w, func(a *store.Attributes) {
		*a = store.Attributes{
			StorageClass: a.StorageClass, KMSKeyName: a.KMSKeyName, Retention: a.Retention, CustomTime: a.CustomTime,
			Owner: a.Owner, OwnerUID: a.OwnerUID, ACL: a.ACL,
		}
	})
}

func (c *Call) changeObject(w http.ResponseWriter, prepare func(*store.Attributes)) error {
	o, b, err := c.object("storage.objects.update")
	if err != nil {
		return err
	}
	f, present, err := c.objectChange()
	if err != nil {
		return err
	}
	if err := c.checkACLs(present, b.Settings.IAM.Uniform.Enabled); err != nil {
		return err
	}
	next, err := c.api.store.Update(b.Name, o.Name, o.Generation, func(b *store.Bucket, o *store.Object) error {
		before := *o
		before.Metageneration--
		if err := c.objectConditions(&before, false); err != nil {
			return err
		}
		class := o.StorageClass
		o.Metadata = maps.Clone(o.Metadata)
		prepare(&o.Attributes)
		if err := f.apply(&o.Attributes, present); err != nil {
			return err
		}
		if err := c.changeACL(b, &before, o, present); err != nil {
			return err
		}
		if o.StorageClass != class {
			return gcserr.Invalid.Say("The storage class of an object cannot be changed by a metadata update; rewrite the object.")
		}
		if before.EventBasedHold && !o.EventBasedHold {
			released := o.Updated
			o.HoldReleased = &released
		}
		return c.checkRetention(b, &before, o)
	})
	if err != nil {
		return err
	}
	return respond(w, c.show(next, b))
}

// checkRetention checks the permissions for changing an object's own retention.
func (c *Call) checkRetention(b *store.Bucket, before, after *store.Object) error {
	old, now := before.Retention, after.Retention
	if now != nil && after.EventBasedHold && !before.EventBasedHold {
		return c.newRetention(&after.Attributes)
	}
	if old == now || (old != nil && now != nil && *old == *now) {
		return nil
	}
	if b.Settings.ObjectRetention.Mode == "" {
		return gcserr.Invalid.Say("Object retention is not enabled on bucket '%s'.", b.Name)
	}
	if err := c.need("storage.objects.setRetention", b, before.Name); err != nil {
		return err
	}
	if now != nil {
		if err := c.newRetention(&after.Attributes); err != nil {
			return err
		}
	}
	return c.checkReduction(b, before, now)
}

// checkReduction rejects the reduction of an object's retention if the retention is locked. For an unlocked
// retention, the request must set overrideUnlockedRetention and the caller needs a separate permission ("Object
// Retention Lock").
func (c *Call) checkReduction(b *store.Bucket, before *store.Object, now *store.Retention) error {
	old := before.Retention
	reduced := old != nil && (now == nil || now.Until.Before(old.Until))
	unlocked := old != nil && old.Mode == "Locked" && (now == nil || now.Mode != "Locked")
	switch {
	case !reduced && !unlocked:
		return nil
	case old.Mode == "Locked":
		return gcserr.Retention.Say("Object '%s/%s' has a locked retention, which cannot be reduced.", before.Bucket, before.Name)
	case !c.isTrue("overrideUnlockedRetention"):
		return gcserr.Retention.Say("Reducing the retention of object '%s/%s' needs overrideUnlockedRetention.", before.Bucket, before.Name)
	}
	return c.need("storage.objects.overrideUnlockedRetention", b, before.Name)
}

func (c *Call) deleteObject(b *store.Bucket) (any, error) {
	if err := c.need("storage.objects.delete", b, c.vars["object"]); err != nil {
		return nil, err
	}
	g, _, err := c.number("generation")
	if err != nil {
		return nil, err
	}
	guard := func(_ *store.Bucket, o *store.Object) error { return c.objectConditions(o, true) }
	return nil, c.api.store.Delete(b.Name, c.vars["object"], g, guard)
}
