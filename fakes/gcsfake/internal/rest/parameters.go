// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/internal/accept"
)

// checkParameters rejects query parameters and headers that the operation does not support, and checks the permission
// to bill another project.
func (c *Call) checkParameters() error {
	switch c.flavour {
	case inOAuth:
		return nil
	case inXML:
		if err := c.checkXMLParameters(); err != nil {
			return err
		}
	default:
		inputs, listed := Inputs[c.Operation]
		for name, values := range c.query {
			if listed && !inputs.Query.Has(name) && !strings.EqualFold(values[0], "false") {
				return c.unserved("parameter", name)
			}
		}
		alt, _, _ := strings.Cut(cmp.Or(c.query.Get("alt"), c.query.Get("$alt")), ";") // of its settings there is one for enumerations
		if alt != "" && alt != "json" && (alt != "media" || c.Operation != "storage.objects.get") {
			return c.unserved("parameter", "alt="+alt)
		}
	}
	if err := c.checkHeaders(); err != nil {
		return err
	}
	if c.Operation == "xml.PostObject" { // the form contains the credentials
		return nil
	}
	return c.checkUserProject()
}

// unserved returns the error for inputs that the operation does not support.
func (c *Call) unserved(kind, name string) error {
	return gcserr.Unimplemented.Say("This fake does not support the %s %s of %s.", kind, name, c.Operation)
}

// checkXMLParameters is checkParameters for the XML API. Clients that read objects add meaningless parameters to
// bypass caches, and Google's conformance tests a prefix, so for reads it rejects only the parameters of other ways
// to read an object.
func (c *Call) checkXMLParameters() error {
	if c.Operation == "unknown" {
		return nil
	}
	reads := c.Operation == "xml.GetObject" || c.Operation == "xml.HeadObject"
	elsewhere := func(name string) bool {
		return s3Reads.Has(name) || Inputs["storage.objects.get"].Query.Has(name)
	}
	for name := range c.r.URL.Query() {
		lower := strings.ToLower(name)
		if !strings.HasPrefix(lower, "x-goog-") && !strings.HasPrefix(lower, "x-amz-") && !slices.Contains(subresources, name) &&
			!xmlQuery.Has(name) && !XMLInputs[c.Operation].Query.Has(name) && (!reads || elsewhere(name)) {
			return c.unserved("parameter", name)
		}
	}
	return nil
}

// checkFields rejects fields of a JSON body that the operation does not support.
func (c *Call) checkFields(raw []byte) error {
	inputs, listed := Inputs[c.Operation]
	if !listed || isEmpty(raw) {
		return nil
	}
	var body map[string]any
	if err := parseJSON(raw, &body); err != nil {
		return err
	}
	if field, unknown := inputs.Fields.UnknownField(body, asksForNothing); unknown {
		return c.unserved("field", field)
	}
	return nil
}

// asksForNothing reports whether a field has the value that means that the field is not set.
func asksForNothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, below := range v {
			if !asksForNothing(below) {
				return false
			}
		}
		return true
	}
	return false
}

// checkUserProject lets callers with access to a project name it as the billed one ("Requester Pays"). Nothing is
// billed, and an unknown project is not created.
func (c *Call) checkUserProject() error {
	project := cmp.Or(c.query.Get("userProject"), c.r.Header.Get("X-Goog-User-Project"))
	if project == "" {
		return c.checkRequesterPays()
	}
	if c.api.oneProject {
		project = c.api.project
	}
	p, err := c.api.dir.Project(project)
	err = c.allowedIn("serviceusage.services.use", p, err)
	if errors.Is(err, gcserr.Forbidden) {
		return gcserr.DeniedProject.Say("%s does not have serviceusage.services.use access to project %s.", c.caller.Name, p.Number)
	}
	return err
}

// continues reports whether the call continues or cancels a resumable upload.
func (c *Call) continues() bool {
	path := strings.TrimPrefix(c.r.URL.Path, "/resumable")
	return c.Operation == "xml.PutResumable" || c.Operation == "xml.DeleteResumable" ||
		(c.Operation == "storage.objects.insert" && strings.HasPrefix(path, "/upload/") && c.query.Has("upload_id"))
}

// checkRequesterPays rejects requests that name no project on a bucket with Requester Pays, except from callers who may
// bill the bucket's project. A session of a resumable upload is checked when it starts.
func (c *Call) checkRequesterPays() error {
	if c.continues() {
		return nil
	}
	source, _ := c.copySource()
	for _, name := range []string{c.vars["bucket"], c.vars["sourceBucket"], source} {
		b, err := c.api.store.Bucket(name)
		if err != nil || !b.Settings.Billing.RequesterPays { // the handler reports a missing bucket
			continue
		}
		p, err := c.api.dir.Project(b.Project)
		if c.allowedIn("resourcemanager.projects.createBillingAssignment", p, err) != nil {
			return gcserr.NoUserProject
		}
	}
	return nil
}

// conditional are the headers of HTTP that make a request conditional.
var conditional = []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"}

// checkHeaders rejects Google and S3 headers that the fake does not implement, and conditions that the operation does
// not support.
func (c *Call) checkHeaders() error {
	if c.Operation == "unknown" { // rejected as a whole, even for callers without access
		return nil
	}
	for name := range c.r.Header {
		name = strings.ToLower(name)
		if (strings.HasPrefix(name, "x-goog-") || strings.HasPrefix(name, "x-amz-") || name == "x-http-method-override") &&
			!servedHeaders[c.flavour].Has(name) && !c.xmlHeaders().Has(name) {
			return c.unserved("header", name)
		}
	}
	for _, name := range conditional {
		if name == "If-Modified-Since" && c.r.Header.Get("If-None-Match") != "" {
			continue // it "MUST" be ignored then (RFC 9110, 13.1.3); If-None-Match is judged or refused
		}
		if c.r.Header.Get(name) != "" && !slices.Contains(c.conditions(), name) {
			return c.unserved("header", name)
		}
	}
	return nil
}

// xmlHeaders returns the Google and S3 headers that an operation of the XML API accepts in addition to those of all
// operations. A copy is not a separate operation but accepts other headers.
func (c *Call) xmlHeaders() accept.List {
	name := c.Operation
	if bucket, _ := c.copySource(); name == "xml.PutObject" && bucket != "" {
		name = "xml.CopyObject"
	}
	return XMLInputs[name].Headers
}

// checkForm rejects fields that forms do not support.
func (c *Call) checkForm(fields map[string]string) error {
	for name := range fields {
		if !FormFields.Has(name) && !servedHeaders[inXML].Has(name) {
			return c.unserved("field", name)
		}
	}
	return nil
}

// conditions are the conditional headers that the operation judges.
func (c *Call) conditions() []string {
	switch c.Operation {
	case "xml.GetObject", "xml.HeadObject":
		return conditional[:4]
	case "storage.buckets.get", "storage.objects.get":
		return conditional[:2]
	}
	return nil
}

// etagConditions judges If-Match and If-None-Match of the JSON API.
func (c *Call) etagConditions(etag string) error {
	if v := listOf(c.r.Header, "If-Match"); v != "" && !hasTag(v, etag) {
		return gcserr.Precondition
	}
	if v := listOf(c.r.Header, "If-None-Match"); v != "" && hasTag(v, etag) {
		return gcserr.NotModified
	}
	return nil
}

// s3Reads are the query parameters of S3's GetObject and HeadObject that the XML API does not have.
var s3Reads = accept.Names("partNumber", "response-content-encoding", "response-content-language", "response-expires", "torrent", "versionId")
