// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"crypto/tls"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
)

// tagConditions adds the tags that come with the request in a header or a form.
func (q *request) tagConditions(ctx iampolicy.Context) {
	if raw := q.form["tagging"]; raw != "" {
		var body taggingBody
		if parseXML([]byte(raw), &body) == nil && body.TagSet != nil {
			setRequestTags(ctx, body.TagSet.Tag)
		}
		return
	}
	var tags []xmlTag
	given, _ := parseQuery(q.header("X-Amz-Tagging")) // errors in it are reported later
	for key, values := range given {
		tags = append(tags, xmlTag{key, values[0]})
	}
	setRequestTags(ctx, tags)
}

func setRequestTags(ctx iampolicy.Context, tags []xmlTag) {
	var keys []string
	for _, t := range tags {
		keys = append(keys, t.Key)
		ctx.Set("s3:RequestObjectTag/"+t.Key, t.Value)
	}
	ctx.Set("s3:RequestObjectTagKeys", keys...)
}

// existingTags adds the tags of the object that the request is about.
func (q *request) existingTags() {
	v, err := q.version()
	if err != nil || len(v.Tags) == 0 {
		return
	}
	ctx := q.conditions()
	for _, t := range v.Tags {
		ctx.Set("s3:ExistingObjectTag/"+t.Key, t.Value)
	}
}

// tagged asks for permissions that may depend on the object's tags.
func tagged(needs func(*request) []permission) func(*request) []permission {
	return func(q *request) []permission {
		q.existingTags()
		return needs(q)
	}
}

// signatureConditions say how the request is signed ("Amazon S3 Signature Version 4 Authentication Specific Policy Keys").
func (q *request) signatureConditions(ctx iampolicy.Context) {
	if q.r.TLS != nil {
		ctx.Set("s3:TlsVersion", tlsVersion(q.r.TLS.Version))
	}
	if q.signed == nil {
		return
	}
	ctx.Set("s3:signatureversion", "AWS4-HMAC-SHA256")
	if q.signed.Version2 {
		ctx.Set("s3:signatureversion", "AWS")
	}
	if q.signed.Mode != sigv4.Header && !q.signed.Version2 {
		ctx.Set("s3:signatureAge", strconv.FormatInt(max(q.Now().Sub(q.signed.SignedAt).Milliseconds(), 0), 10))
	}
	if q.signed.Mode == sigv4.Query { // UNSIGNED-PAYLOAD, which is in no header
		ctx.Set("s3:x-amz-content-sha256", q.signed.PayloadHash)
	}
	kind := map[sigv4.Mode]string{sigv4.Header: "REST-HEADER", sigv4.Query: "REST-QUERY-STRING", sigv4.Form: "POST"}[q.signed.Mode]
	ctx.Set("s3:authType", kind)
}

// tlsVersion is a version of TLS as a number, which policies compare: 1.2 or 1.3.
func tlsVersion(version uint16) string { return strings.TrimPrefix(tls.VersionName(version), "TLS ") }

// creationConditions set the keys that tell whether the request creates an object. The requests of a multipart upload
// before the last one do not ("Enforce conditional writes on Amazon S3 buckets").
func (q *request) creationConditions(ctx iampolicy.Context) {
	switch q.op.name {
	case "PutObject", "PostObject", "CopyObject", "CompleteMultipartUpload":
		ctx.Set("s3:ObjectCreationOperation", "true")
	case "CreateMultipartUpload", "UploadPart", "UploadPartCopy":
		ctx.Set("s3:ObjectCreationOperation", "false")
	}
}

// lockConditions set the keys for the lock that a request asks for; empty values are omitted.
func (q *request) lockConditions(ctx iampolicy.Context, mode, until, hold string) {
	for key, v := range map[string]string{"s3:object-lock-mode": mode, "s3:object-lock-retain-until-date": until, "s3:object-lock-legal-hold": hold} {
		if v != "" {
			ctx.Set(key, v)
		}
	}
	if t, err := time.Parse(time.RFC3339, until); err == nil {
		days := math.Ceil(t.Sub(q.Now()).Hours() / 24)
		ctx.Set("s3:object-lock-remaining-retention-days", strconv.FormatFloat(days, 'f', -1, 64))
	}
}

// Some operations have conditions in their bodies, which are parsed before the caller's policies are evaluated.
// Errors in a body are reported only to authorized callers.

func (q *request) describeTags() error {
	tags, err := q.readTags(maxObjectTags)
	setRequestTags(q.conditions(), tags)
	return err
}

func (q *request) describeRetention() error {
	var body retentionBody
	err := q.readXML(&body)
	q.lockConditions(q.conditions(), body.Mode, body.Until, "")
	return err
}

func (q *request) describeLegalHold() error {
	var body legalHoldBody
	err := q.readXML(&body)
	if is(err, errMissingBody) {
		err = errMalformedXML
	}
	q.lockConditions(q.conditions(), "", "", body.Status)
	return err
}

func (q *request) describeBucket() error {
	body, err := q.readCreateBody()
	if body.Location != "" {
		q.conditions().Set("s3:locationconstraint", body.Location)
	}
	if body.Tags == nil {
		return err
	}
	q.newTagConditions(body.Tags.Tag)
	return err
}
