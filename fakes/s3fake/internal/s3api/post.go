// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"cmp"
	"encoding/xml"
	"errors"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/checksum"
	"github.com/cooper-cosi/cooper/fakes/internal/postform"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/notify"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// postObject stores an object that a browser uploads as a form ("Browser-based uploads using POST").
func (q *request) postObject() error {
	kind, params, err := mime.ParseMediaType(q.r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return awserr.New(http.StatusPreconditionFailed, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold").
			With("Condition", "Bucket POST must be of the enclosure-type multipart/form-data")
	}
	file, err := q.readForm(multipart.NewReader(q.body, params["boundary"]))
	if err != nil {
		return err
	}
	policy, err := q.authenticateForm()
	if err != nil {
		return err
	}
	q.context = nil
	q.key = q.form["key"]
	if name := file.FileName(); name != "" {
		q.key = strings.ReplaceAll(q.key, "${filename}", name)
	}
	if q.key == "" {
		return invalidArgument("key", "", "User key must have a length greater than 0.")
	}
	if err := q.authorize(q.writePermissions()...); err != nil {
		return err
	}
	return q.storeForm(file, policy)
}

// readForm reads the fields before the file.
func (q *request) readForm(r *multipart.Reader) (*multipart.Part, error) {
	form, err := postform.Read(r)
	if err != nil {
		return nil, err
	}
	if form.Fields["acl"] != "" && form.Fields["x-amz-acl"] != "" {
		return nil, invalidArgument("acl", form.Fields["acl"], "The form has both acl and x-amz-acl. Send only one of them.")
	}
	q.form = form.Fields
	return form.File, nil
}

// authenticateForm verifies the form's signature and its policy; a form without either is anonymous.
func (q *request) authenticateForm() (*postform.Policy, error) {
	signed, err := q.verifier().VerifyForm(q.form)
	if err != nil {
		return nil, err
	}
	if signed == nil {
		return nil, nil
	}
	q.signed = signed
	if err := errors.Join(q.identify(), q.checkRegion()); err != nil {
		return nil, err
	}
	policy, err := postform.ParsePolicy(q.form["policy"])
	if err != nil {
		return nil, err
	}
	ignored := []string{"x-amz-signature"}
	if signed.Version2 {
		ignored = []string{"awsaccesskeyid", "signature"}
	}
	return policy, policy.Check(q.Now(), q.bucket, ignored, q.form)
}

// formFields are the fields of a form except those that are S3's own headers. Only the policy compares the bucket.
var formFields = accept.Names("acl", "bucket", "cache-control", "content-disposition", "content-encoding", "content-language", "content-md5", "content-type", "expires", "file",
	"key", "policy", "success_action_redirect", "success_action_status", "tagging", "awsaccesskeyid", "signature").Prefix("x-ignore-")

func (q *request) storeForm(file *multipart.Part, policy *postform.Policy) error {
	for name := range q.form {
		if err := q.checkHeader(strings.ToLower(name)); err != nil {
			return err
		}
		if !strings.HasPrefix(name, "x-amz-") && !formFields.Has(name) {
			return notImplemented(name, "Forms do not support this field.")
		}
	}
	attrs, err := q.attributes()
	if err != nil {
		return err
	}
	if attrs.Tags, err = q.formTags(); err != nil {
		return err
	}
	want, err := q.checksumHeader()
	if err != nil {
		return err
	}
	want.Algorithm = cmp.Or(want.Algorithm, checksum.CRC64NVME)
	got, err := q.storeBody(policy.Limit(file), want.Algorithm)
	if err != nil {
		return err
	}
	if err := errors.Join(q.checkReceived(got, want), policy.CheckSize(got.size)); err != nil {
		q.Store.Discard(got.segments)
		return err
	}
	v, err := q.keep(notify.CreatedPost, got, attrs, nil)
	if err != nil {
		return err
	}
	q.showPut(v)
	return q.respondForm(v.ETag)
}

// formTags parses the field "tagging". It contains XML, in contrast to the header of PutObject.
func (q *request) formTags() ([]store.Tag, error) {
	raw := q.form["tagging"]
	if raw == "" {
		return nil, nil
	}
	var body taggingBody
	if xml.Unmarshal([]byte(raw), new(struct{})) != nil {
		return nil, errMalformedXML
	}
	if parseXML([]byte(raw), &body) != nil || body.TagSet == nil {
		return nil, nil // S3 ignores other documents
	}
	if err := checkTags(body.TagSet.Tag, maxObjectTags); err != nil {
		return nil, err
	}
	return storeTags(body.TagSet.Tag), q.authorize(permission{"s3:PutObjectTagging", q.objectARN()})
}

// respondForm redirects or responds with the status that the form asks for, 204 by default.
func (q *request) respondForm(etag string) error {
	location := q.location()
	if to := q.form["success_action_redirect"]; strings.HasPrefix(to, "http://") || strings.HasPrefix(to, "https://") { // others are ignored
		sep := "?"
		if strings.Contains(to, "?") {
			sep = "&"
		}
		q.w.Header().Set("Location", to+sep+"bucket="+sigv4.Encode(q.bucket, false)+"&key="+sigv4.Encode(q.key, false)+"&etag="+sigv4.Encode(quote(etag), false))
		return q.status(http.StatusSeeOther)
	}
	q.w.Header().Set("Location", location)
	switch q.form["success_action_status"] {
	case "200":
		return q.status(http.StatusOK)
	case "201":
		d := newDocument("PostResponse").text("Location", location).text("Bucket", q.bucket).text("Key", q.key).text("ETag", quote(etag))
		return q.respond(http.StatusCreated, contentXML, d.bytes())
	}
	return q.status(http.StatusNoContent)
}
