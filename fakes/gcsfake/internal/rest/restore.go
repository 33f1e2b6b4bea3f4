// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"net/http"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

// softDeleted returns the soft-deleted generation of the call, which must be named, after asking for a permission.
func (c *Call) softDeleted(permission string) (*store.Object, *store.Bucket, error) {
	b, err := c.bucket()
	if err != nil {
		return nil, nil, err
	}
	if err := c.need(permission, b, c.vars["object"]); err != nil {
		return nil, b, err
	}
	g, ok, err := c.number("generation")
	switch {
	case err != nil:
		return nil, b, err
	case !ok && c.api.store.IsSoftDeleted(b.Name, c.vars["object"]):
		return nil, b, gcserr.Required.Say("Required parameter: generation")
	}
	return c.api.store.SoftDeleted(b.Name, c.vars["object"], g)
}

// getSoftDeleted returns the metadata of a deleted object; its body cannot be read until it is restored.
func (c *Call) getSoftDeleted(w http.ResponseWriter) error {
	o, b, err := c.softDeleted("storage.objects.get")
	if err != nil {
		return err
	}
	if c.query.Get("alt") == "media" {
		return gcserr.Invalid.Say("The content of a soft-deleted object cannot be read. Restore it first.")
	}
	return respond(w, c.show(o, b))
}

// restorable returns the error if there is nothing to restore: 412 for a generation that was never deleted, and if
// nothing is kept ("HTTP status and error codes for JSON").
func (c *Call) restorable(b *store.Bucket, err error) error {
	if b == nil || !errors.Is(err, gcserr.NoObject) {
		return err
	}
	g, _, _ := c.number("generation") // it was read before
	switch _, _, missing := c.api.store.Get(b.Name, c.vars["object"], g); {
	case missing == nil:
		return gcserr.NotSoftDeleted
	case b.Settings.SoftDelete.Seconds == 0:
		return gcserr.NoSoftDelete
	}
	return err
}

// restoreObject makes a live copy of a soft-deleted generation, which stays until its time is over ("Objects: restore").
func (c *Call) restoreObject(w http.ResponseWriter) error {
	from, b, err := c.softDeleted("storage.objects.restore")
	if err != nil {
		return c.restorable(b, err)
	}
	if c.isTrue("copySourceAcl") {
		if err := c.checkUniform(b.Settings.IAM.Uniform.Enabled); err != nil {
			return err
		}
		if err := c.need("storage.objects.setIamPolicy", b, from.Name); err != nil {
			return err
		}
	}
	a := from.Attributes
	a.TemporaryHold, a.EventBasedHold, a.Retention = false, false, nil
	a.Owner, a.OwnerUID, a.ACL = "", "", nil
	if err := c.creates(b, from.Name, &a); err != nil {
		return err
	}
	if c.isTrue("copySourceAcl") {
		a.Owner, a.OwnerUID, a.ACL = from.Owner, from.OwnerUID, from.ACL
	}
	o, err := c.keepCopy(store.Object{Bucket: b.Name, Name: from.Name, Attributes: a, CustomerKey: from.CustomerKey, Components: from.Components}, from)
	return c.respondObject(w, o, err)
}

// moveObject renames an object within its bucket ("Objects: move").
func (c *Call) moveObject(w http.ResponseWriter) error {
	b, err := c.bucket()
	if err != nil {
		return err
	}
	source, name := c.vars["sourceObject"], c.vars["object"]
	if err := c.need("storage.objects.move", b, source); err != nil {
		return err
	}
	from, _, err := c.api.store.Get(b.Name, source, 0)
	if err != nil {
		return err
	}
	if source == name {
		return gcserr.Invalid.Say("The source and the destination of a move must differ.")
	}
	if err := c.opened(from); err != nil {
		return err
	}
	if err := c.creates(b, name, &store.Attributes{}); err != nil {
		return err
	}
	body, err := c.duplicate(from)
	if err != nil {
		return err
	}
	same := func(_ *store.Bucket, o *store.Object) error {
		if o == nil || o.Generation != from.Generation {
			return gcserr.Conflict.Say("The source object was changed by another request.")
		}
		if err := c.condition("ifSourceGeneration", o.Generation, false); err != nil {
			return err
		}
		return c.condition("ifSourceMetageneration", o.Metageneration, false)
	}
	moved := body.object(store.Object{Bucket: b.Name, Name: name, Attributes: from.Attributes, CustomerKey: from.CustomerKey, Components: from.Components})
	o, err := c.api.store.Move(source, moved, same, c.overwriting(name))
	if err != nil {
		c.api.store.Discard(body.segment)
	}
	return c.respondObject(w, o, err)
}

// isTrue reads a parameter that is true or false. Google's client for Python sends True and False.
func (c *Call) isTrue(name string) bool { return strings.EqualFold(c.query.Get(name), "true") }
