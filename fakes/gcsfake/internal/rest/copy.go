// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

// duplicate copies the bodies of objects into one new body.
func (c *Call) duplicate(sources ...*store.Object) (received, error) {
	reader, writer := io.Pipe()
	go func() {
		for _, o := range sources {
			release, err := c.api.store.Open(o)
			if err == nil {
				err = c.api.store.Read(writer, o.Segments, 0, o.Size)
				release()
			}
			if err != nil {
				writer.CloseWithError(err)
				return
			}
		}
		writer.CloseWithError(nil)
	}()
	body, err := c.api.receive(reader)
	return body, errors.Join(err, reader.Close())
}

// object adds a received body to an object.
func (b received) object(o store.Object) store.Object {
	o.Segments, o.Size, o.CRC32C = []store.Segment{b.segment}, b.size, b.crc
	if o.Components == 0 {
		o.MD5 = b.md5
	}
	return o
}

// keep stores an object with a received body, which is removed if that fails.
func (c *Call) keep(o store.Object, body received) (*store.Object, error) {
	stored, err := c.api.store.Put(body.object(o), c.overwriting(o.Name))
	if err != nil {
		c.api.store.Discard(body.segment)
	}
	return stored, err
}

// keepCopy stores an object with a copy of the bodies of others.
func (c *Call) keepCopy(o store.Object, sources ...*store.Object) (*store.Object, error) {
	body, err := c.duplicate(sources...)
	if err != nil {
		return nil, err
	}
	return c.keep(o, body)
}

// source returns the object to copy from, after asking for the permission to read it.
func (c *Call) source() (*store.Object, error) {
	b, err := c.api.store.Bucket(c.vars["sourceBucket"])
	if err != nil {
		return nil, err
	}
	g, _, err := c.number("sourceGeneration")
	if err != nil {
		return nil, err
	}
	o, _, err := c.permitted("storage.objects.get", b, c.vars["sourceObject"], g)
	if err != nil {
		return nil, err
	}
	if err := c.condition("ifSourceGeneration", o.Generation, false); err != nil {
		return nil, err
	}
	return o, c.condition("ifSourceMetageneration", o.Metageneration, false)
}

// copyTo copies the source to the call's object. Attributes in the body replace all those of the source.
func (c *Call) copyTo(rewrite bool) (*store.Object, error) {
	from, err := c.source()
	if err != nil {
		return nil, err
	}
	to, err := c.bucket()
	if err != nil {
		return nil, err
	}
	key, err := c.copyKeys(from, rewrite)
	if err != nil {
		return nil, err
	}
	f, present, err := c.objectChange()
	if err != nil {
		return nil, err
	}
	if err := c.checkACLs(present, to.Settings.IAM.Uniform.Enabled); err != nil {
		return nil, err
	}
	if present["bucket"] != nil && present["name"] == nil {
		return nil, gcserr.Required
	}
	a := copied(from, to)
	if changes(present) {
		a = store.Attributes{}
	}
	if err := f.apply(&a, present); err != nil {
		return nil, err
	}
	if a.KMSKeyName = c.query.Get("destinationKmsKeyName"); a.KMSKeyName != "" && key != "" {
		return nil, twoKeys
	}
	if err := c.creates(to, c.vars["object"], &a); err != nil {
		return nil, err
	}
	return c.keepCopy(store.Object{Bucket: to.Name, Name: c.vars["object"], Attributes: a, CustomerKey: key, Components: from.Components}, from)
}

// copied are the attributes of a copy that asks for no others. The source's protection and its Cloud KMS key are not
// copied: the destination's bucket has its own.
func copied(from *store.Object, to *store.Bucket) store.Attributes {
	a := from.Attributes
	a.Metadata = maps.Clone(a.Metadata)
	a.TemporaryHold, a.EventBasedHold, a.Retention, a.KMSKeyName = false, false, nil, ""
	a.ShowsTemporaryHold, a.ShowsEventBasedHold = false, false
	a.Owner, a.OwnerUID, a.ACL = "", "", nil
	if from.Bucket != to.Name {
		a.StorageClass = to.Settings.StorageClass
	}
	return a
}

// changes reports whether a resource sets any attribute.
func changes(present map[string]json.RawMessage) bool {
	for name := range present {
		switch name {
		case "contentType", "contentEncoding", "contentLanguage", "contentDisposition", "cacheControl", "metadata", "storageClass":
			return true
		}
	}
	return false
}

func (c *Call) copyObject(w http.ResponseWriter) error {
	o, err := c.copyTo(false)
	return c.respondObject(w, o, err)
}

// composeRequest is the body of compose.
type composeRequest struct {
	Destination json.RawMessage `json:"destination"`
	Sources     []struct {
		Name          string     `json:"name"`
		Generation    store.Long `json:"generation"`
		Preconditions struct {
			IfGenerationMatch *store.Long `json:"ifGenerationMatch"`
		} `json:"objectPreconditions"`
	} `json:"sourceObjects"`
	DeleteSources bool `json:"deleteSourceObjects"`
}

func (c *Call) composeObject(w http.ResponseWriter) error {
	b, err := c.bucket()
	if err != nil {
		return err
	}
	var req composeRequest
	if err := c.readJSON(&req); err != nil {
		return err
	}
	const maxSources = 32
	if len(req.Sources) == 0 || len(req.Sources) > maxSources {
		return gcserr.Invalid.Say("The number of source components provided (%d) must be between 1 and %d.", len(req.Sources), maxSources)
	}
	o := store.Object{Bucket: b.Name, Name: c.vars["object"]}
	if err := c.readDestination(req.Destination, b, &o.Attributes); err != nil {
		return err
	}
	if o.CustomerKey, err = c.newKey(&o.Attributes); err != nil {
		return err
	}
	if err := c.creates(b, o.Name, &o.Attributes); err != nil {
		return err
	}
	sources, err := c.composed(b, &req, &o)
	if err != nil {
		return err
	}
	stored, err := c.keepCopy(o, sources...)
	if err == nil && req.DeleteSources {
		err = c.deleteSources(sources, o.Name)
	}
	return c.respondObject(w, stored, err)
}

// composed returns the sources of a composition after checking the permissions for them, and counts their components.
func (c *Call) composed(b *store.Bucket, req *composeRequest, o *store.Object) ([]*store.Object, error) {
	var sources []*store.Object
	for _, s := range req.Sources {
		from, _, err := c.permitted("storage.objects.get", b, s.Name, int64(s.Generation))
		if err == nil && req.DeleteSources {
			err = c.need("storage.objects.delete", b, s.Name)
		}
		if err != nil {
			return nil, err
		}
		if want := s.Preconditions.IfGenerationMatch; want != nil && int64(*want) != from.Generation {
			return nil, gcserr.Precondition
		}
		if err := opens(from.CustomerKey, o.CustomerKey); err != nil {
			return nil, err
		}
		o.Components += max(from.Components, 1)
		sources = append(sources, from)
	}
	return sources, nil
}

// deleteSources deletes the sources of a composition: exactly those generations, and not newer ones.
func (c *Call) deleteSources(sources []*store.Object, except string) error {
	for _, from := range sources {
		if from.Name == except {
			continue
		}
		generation := from.Generation
		if from.Deleted == nil {
			generation = 0 // where versions are kept, a live one becomes noncurrent
		}
		same := func(_ *store.Bucket, o *store.Object) error {
			if o != nil && o.Generation != from.Generation {
				return gcserr.NoObject
			}
			return nil
		}
		if err := c.api.store.Delete(from.Bucket, from.Name, generation, same); err != nil && !errors.Is(err, gcserr.NoObject) {
			return err
		}
	}
	return nil
}

// readDestination reads the attributes of a composed object.
func (c *Call) readDestination(raw json.RawMessage, b *store.Bucket, a *store.Attributes) error {
	var f objectFields
	var present map[string]json.RawMessage
	if raw != nil {
		if err := errors.Join(parseJSON(raw, &f), parseJSON(raw, &present)); err != nil {
			return gcserr.Parse
		}
	}
	if err := c.checkACLs(present, b.Settings.IAM.Uniform.Enabled); err != nil {
		return err
	}
	a.KMSKeyName = c.query.Get("kmsKeyName")
	return f.apply(a, present)
}
