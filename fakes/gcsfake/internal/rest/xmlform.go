// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/xml"
	"errors"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/postform"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
)

// xmlPostObject stores a browser upload by form ("Upload an object with HTML forms"). The caller is the signer of the
// form's policy document ("Policy documents"); a form without one is anonymous.
func (c *Call) xmlPostObject(w http.ResponseWriter) error {
	kind, params, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return gcserr.Invalid.Say("A form needs the content type multipart/form-data with a boundary.")
	}
	form, err := postform.Read(multipart.NewReader(c.r.Body, params["boundary"]))
	if err != nil {
		return err
	}
	policy, err := c.authenticateForm(form.Fields)
	if err != nil {
		return err
	}
	b, err := c.bucket()
	if err == nil {
		err = c.checkUserProject()
	}
	if err != nil {
		return err
	}
	if named := form.Fields["bucket"]; named != "" && named != b.Name {
		return gcserr.Invalid.Say("The form is for bucket %q, but was sent to %q.", named, b.Name)
	}
	if err := c.checkForm(form.Fields); err != nil {
		return err
	}
	c.takeFields(form.Fields)
	c.vars["object"] = strings.ReplaceAll(form.Fields["key"], "${filename}", form.File.FileName())
	o, err := c.storeForm(b, form.File, policy)
	if err != nil {
		return err
	}
	return c.respondForm(w, o, form.Fields)
}

// authenticateForm verifies a policy document and checks the form against it; it returns nil for a form without one.
func (c *Call) authenticateForm(fields map[string]string) (*postform.Policy, error) {
	if fields["googleaccessid"] != "" {
		return nil, gcserr.Unimplemented.Say("This fake serves policy documents of the V4 signing process only.")
	}
	d := sigv4.FormDialect(fields)
	signed, err := c.verifier(d).VerifyForm(fields)
	switch {
	case err != nil:
		c.caller = identity.Anonymous()
		return nil, err
	case signed == nil:
		return nil, nil
	}
	c.verified = signed
	policy, err := postform.ParsePolicy(fields["policy"])
	if err == nil {
		err = policy.Check(c.api.now(), c.vars["bucket"], []string{d.SignatureField()}, fields)
	}
	if refused, ok := errors.AsType[*awserr.Error](err); ok {
		e := *gcserr.PolicyDocument
		e.Details = refused.Message
		return nil, &e
	}
	return policy, err
}

// takeFields brings the fields of a form into the headers that other uploads have them in.
func (c *Call) takeFields(fields map[string]string) {
	h := http.Header{}
	for name, value := range fields {
		switch {
		case slices.Contains([]string{"cache-control", "content-disposition", "content-encoding", "content-language", "content-type", "content-md5"}, name),
			strings.HasPrefix(name, "x-goog-"), strings.HasPrefix(name, "x-amz-"):
			h.Set(name, value)
		case name == "acl":
			h.Set("X-Goog-Acl", value)
		}
	}
	r := *c.r
	r.Header = h
	c.r = &r
	c.conditionHeaders()
}

func (c *Call) storeForm(b *store.Bucket, file *multipart.Part, policy *postform.Policy) (*store.Object, error) {
	o, err := c.xmlNewObject(b)
	if err != nil {
		return nil, err
	}
	body, err := c.api.receive(policy.Limit(file))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(body.checkSums(headerSums(c.r.Header)), policy.CheckSize(body.size)); err != nil {
		c.api.store.Discard(body.segment)
		return nil, err
	}
	return c.keep(o, body)
}

// respondForm redirects, or responds with the status that the form asks for, 204 by default.
func (c *Call) respondForm(w http.ResponseWriter, o *store.Object, fields map[string]string) error {
	h := w.Header()
	location := c.base() + "/" + o.Bucket + "/" + (&url.URL{Path: o.Name}).EscapedPath()
	if to, err := url.Parse(fields["success_action_redirect"]); err == nil && to.Host != "" {
		query := to.Query()
		query.Set("bucket", o.Bucket)
		query.Set("key", o.Name)
		query.Set("etag", xmlETag(o))
		to.RawQuery = query.Encode()
		h.Set("Location", to.String())
		return respondEmpty(w, http.StatusSeeOther)
	}
	h.Set("Location", location)
	switch fields["success_action_status"] {
	case "200":
		return c.xmlStored(w, o)
	case "201":
		return respondXMLWith(w, http.StatusCreated, struct {
			XMLName                     xml.Name `xml:"PostResponse"`
			Location, Bucket, Key, ETag string
		}{Location: location, Bucket: o.Bucket, Key: o.Name, ETag: xmlETag(o)})
	}
	h.Set("ETag", xmlETag(o))
	w.WriteHeader(http.StatusNoContent)
	return nil
}
