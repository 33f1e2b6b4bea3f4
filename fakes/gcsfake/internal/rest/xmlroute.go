// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
)

// xmlRoute is one operation of the XML API: a method on the service, a bucket or an object, with a sub-resource.
type xmlRoute struct {
	method string
	// on is service, bucket or object.
	on string
	// sub is the query parameter that selects the operation, "" for the plain one.
	sub       string
	operation string
	level     identity.Level
	handler   func(*Call, http.ResponseWriter) error
}

var xmlRoutes = []xmlRoute{
	{"GET", "service", "", "xml.GetService", identity.Read, (*Call).xmlListBuckets},
	{"PUT", "bucket", "", "xml.PutBucket", identity.Write, (*Call).xmlPutBucket},
	{"GET", "bucket", "", "xml.GetBucket", identity.Read, ofBucket("storage.objects.list", (*Call).xmlListObjects)},
	{"HEAD", "bucket", "", "xml.HeadBucket", identity.Read, (*Call).xmlHeadBucket},
	{"DELETE", "bucket", "", "xml.DeleteBucket", identity.Write, ofBucket("storage.buckets.delete", (*Call).deleteBucket)},
	{"GET", "bucket", "location", "xml.GetBucketLocation", identity.Read, ofBucket("storage.buckets.get", (*Call).xmlLocation)},
	{"GET", "bucket", "versioning", "xml.GetBucketVersioning", identity.Read, ofBucket("storage.buckets.get", (*Call).xmlVersioning)},
	{"PUT", "bucket", "versioning", "xml.PutBucketVersioning", identity.Control, (*Call).xmlPutVersioning},
	{"GET", "bucket", "cors", "xml.GetBucketCORS", identity.Read, ofBucket("storage.buckets.get", (*Call).xmlGetCORS)},
	{"PUT", "bucket", "cors", "xml.PutBucketCORS", identity.Control, (*Call).xmlPutCORS},
	{"GET", "bucket", "lifecycle", "xml.GetBucketLifecycle", identity.Read, ofBucket("storage.buckets.get", (*Call).xmlGetLifecycle)},
	{"PUT", "bucket", "lifecycle", "xml.PutBucketLifecycle", identity.Control, (*Call).xmlPutLifecycle},
	{"GET", "bucket", "acl", "xml.GetBucketACL", identity.Control, of(readableList, (*Call).xmlGetACL)},
	{"PUT", "bucket", "acl", "xml.PutBucketACL", identity.Control, (*Call).xmlPutACL},
	{"GET", "bucket", "defaultObjectAcl", "xml.GetBucketDefaultObjectACL", identity.Control, of(readableList, (*Call).xmlGetACL)},
	{"PUT", "bucket", "defaultObjectAcl", "xml.PutBucketDefaultObjectACL", identity.Control, (*Call).xmlPutACL},
	{"GET", "object", "acl", "xml.GetObjectACL", identity.Control, of(readableList, (*Call).xmlGetACL)},
	{"PUT", "object", "acl", "xml.PutObjectACL", identity.Control, (*Call).xmlPutACL},
	{"GET", "bucket", "storageClass", "xml.GetBucketStorageClass", identity.Read, ofBucket("storage.buckets.get", (*Call).xmlStorageClass)},
	{"GET", "bucket", "uploads", "xml.ListMultipartUploads", identity.Read, ofBucket("storage.multipartUploads.list", (*Call).xmlListUploads)},
	{"POST", "bucket", "", "xml.PostObject", identity.Write, (*Call).xmlPostObject},
	{"POST", "bucket", "delete", "xml.DeleteObjects", identity.Write, (*Call).xmlDeleteObjects},
	{"GET", "object", "", "xml.GetObject", identity.Read, (*Call).xmlGetObject},
	{"HEAD", "object", "", "xml.HeadObject", identity.Read, (*Call).xmlGetObject},
	{"PUT", "object", "", "xml.PutObject", identity.Write, (*Call).xmlPutObject},
	{"DELETE", "object", "", "xml.DeleteObject", identity.Write, of(bucketOf, (*Call).deleteObject)},
	{"POST", "object", "", "xml.PostResumable", identity.Write, (*Call).xmlStartResumable},
	{"PUT", "object", "upload_id", "xml.PutResumable", 0, (*Call).continueUpload},
	{"DELETE", "object", "upload_id", "xml.DeleteResumable", 0, (*Call).cancelUpload},
	{"POST", "object", "uploads", "xml.InitiateMultipartUpload", identity.Write, of(bucketOf, (*Call).xmlInitiate)},
	{"PUT", "object", "uploadId", "xml.UploadPart", identity.Write, (*Call).xmlUploadPart},
	{"POST", "object", "uploadId", "xml.CompleteMultipartUpload", identity.Write, (*Call).xmlComplete},
	{"DELETE", "object", "uploadId", "xml.AbortMultipartUpload", identity.Write, ofUpload((*Call).xmlAbort, "storage.multipartUploads.abort")},
	{"GET", "object", "uploadId", "xml.ListParts", identity.Read, ofUpload((*Call).xmlListParts, "storage.multipartUploads.listParts")},
}

// subresources are the parameters that select another operation than the plain one.
var subresources = []string{
	"acl", "billing", "cors", "compose", "defaultObjectAcl", "delete", "encryption", "encryptionConfig", "lifecycle", "location", "logging", "notification", "object-lock",
	"policy", "publicAccessBlock", "requestPayment", "retention", "legal-hold", "storageClass", "tagging", "upload_id", "uploadId", "uploads", "versioning", "versions", "website", "websiteConfig",
}

// routeXML finds the operation of a path-style request.
func (c *Call) routeXML() {
	bucket, object, hasObject := strings.Cut(strings.TrimPrefix(c.r.URL.Path, "/"), "/")
	c.vars = map[string]string{"bucket": bucket, "object": object}
	on := "service"
	switch {
	case hasObject && object != "":
		on = "object"
	case bucket != "":
		on = "bucket"
	}
	sub := ""
	for _, name := range subresources {
		if c.query.Has(name) {
			sub = name
			break
		}
	}
	c.conditionHeaders()
	for _, r := range xmlRoutes {
		if r.method == c.r.Method && r.on == on && r.sub == sub {
			c.Operation, c.level, c.handler = r.operation, r.level, r.handler
			return
		}
	}
	c.Operation, c.level = "unknown", identity.Read
	c.handler = func(*Call, http.ResponseWriter) error {
		if sub != "" {
			return gcserr.Unimplemented.Say("This fake does not support ?%s.", sub)
		}
		return gcserr.Method
	}
}

// conditionHeaders converts the preconditions of the XML API to those of the JSON API.
func (c *Call) conditionHeaders() {
	for header, name := range map[string]string{
		"X-Goog-If-Generation-Match": "ifGenerationMatch", "X-Goog-If-Generation-Not-Match": "ifGenerationNotMatch",
		"X-Goog-If-Metageneration-Match": "ifMetagenerationMatch", "X-Goog-If-Metageneration-Not-Match": "ifMetagenerationNotMatch",
		"X-Goog-Copy-Source-Generation": "sourceGeneration", "X-Goog-Copy-Source-If-Generation-Match": "ifSourceGenerationMatch",
		"X-Goog-Copy-Source-If-Metageneration-Match": "ifSourceMetagenerationMatch",
	} {
		if v := c.r.Header.Get(header); v != "" {
			c.query.Set(name, v)
		}
	}
}

func (c *Call) readXML(v any) error {
	body, err := sigv4.NewBody(c.r, c.verified) // without the framing of signed chunks, verified while it is read
	if err != nil {
		return err
	}
	sums, err := c.s3Sums(body)
	if err != nil {
		return err
	}
	raw, err := readAll(sums, maxJSON)
	if err == nil {
		err = sums.check()
	}
	if err != nil {
		return err
	}
	if isEmpty(raw) {
		return nil
	}
	if err := xml.Unmarshal(raw, v); err != nil {
		return malformedXML
	}
	if name := accept.UnknownElement(raw, v); name != "" {
		return c.unserved("element", name)
	}
	return nil
}

func respondXML(w http.ResponseWriter, v any) error { return respondXMLWith(w, http.StatusOK, v) }

func respondXMLWith(w http.ResponseWriter, status int, v any) error {
	raw, err := xml.Marshal(v)
	if err != nil {
		return err
	}
	writeXML(w, status, string(raw))
	return nil
}

func writeXML(w http.ResponseWriter, status int, document string) {
	write(w, status, "application/xml; charset=UTF-8", []byte("<?xml version='1.0' encoding='UTF-8'?>"+document))
}

// project is the project of a request about buckets in general: that of the header, or the caller's own.
func (c *Call) project() string {
	for _, name := range []string{"X-Goog-Project-Id", "X-Amz-Project-Id"} {
		if v := c.r.Header.Get(name); v != "" {
			return v
		}
	}
	a, err := c.api.dir.Account("-", c.caller.Name)
	if err != nil {
		return ""
	}
	return a.Project
}

// copySource is the object that a PUT copies from, "" for none.
func (c *Call) copySource() (bucket, object string) {
	for _, name := range []string{"X-Goog-Copy-Source", "X-Amz-Copy-Source"} {
		v := c.r.Header.Get(name)
		if v == "" {
			continue
		}
		if s, err := url.PathUnescape(v); err == nil {
			v = s
		}
		bucket, object, _ = strings.Cut(strings.TrimPrefix(v, "/"), "/")
		return bucket, object
	}
	return "", ""
}

// metadataHeaders are the custom metadata in the headers of either dialect.
func metadataHeaders(h http.Header) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		lower := strings.ToLower(name)
		for _, prefix := range []string{"x-goog-meta-", "x-amz-meta-"} {
			if key, ok := strings.CutPrefix(lower, prefix); ok {
				out[key] = strings.Join(slices.Clone(values), ",")
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
