// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"encoding/xml"
	"net/url"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// deleteBody is Delete.
type deleteBody struct {
	XMLName xml.Name `xml:"Delete"`
	Quiet   bool     `xml:"Quiet"`
	Object  []struct {
		Key       string  `xml:"Key"`
		VersionID *string `xml:"VersionId"`
		ETag      string  `xml:"ETag"`
		// Modified and Size are conditions that only directory buckets support.
		Modified *string `xml:"LastModifiedTime"`
		Size     *string `xml:"Size"`
	} `xml:"Object"`
}

// deleteObjects deletes up to 1000 keys, each judged on its own.
func (q *request) deleteObjects() error {
	if err := q.requireChecksum(); err != nil {
		return err
	}
	var body deleteBody
	if err := q.readXML(&body); err != nil {
		return err
	}
	if len(body.Object) == 0 || len(body.Object) > 1000 {
		return errMalformedXML
	}
	for _, o := range body.Object {
		if o.Modified != nil || o.Size != nil {
			return notImplemented("LastModifiedTime", "This condition is for directory buckets, which are not supported by this fake.")
		}
		if o.VersionID != nil && *o.VersionID == "" { // it would delete a different version from the one that the client means
			return checkVersionID("")
		}
	}
	if err := q.checkBypass(); err != nil {
		return err
	}
	d := newDocument("DeleteResult")
	for _, o := range body.Object {
		version := ""
		if o.VersionID != nil {
			version = *o.VersionID
		}
		if err := q.deleteOne(d, o.Key, version, o.ETag, body.Quiet); err != nil {
			d.start("Error").text("Key", o.Key).optional("VersionId", version).text("Code", err.Code).text("Message", err.Message).end()
		}
	}
	return q.send(d)
}

func (q *request) deleteOne(d *document, key, version, etag string, quiet bool) *awserr.Error {
	action := "s3:DeleteObject"
	if version != "" {
		action = "s3:DeleteObjectVersion"
	}
	q.conditions().Set("s3:VersionId")
	if version != "" {
		q.conditions().Set("s3:VersionId", version)
	}
	q.conditions().Set("s3:if-match")
	one := *q // a request for this object, so that the rules for objects of other accounts apply
	one.key, one.query, one.pinned = key, url.Values{"versionId": {version}}, nil
	defer one.unpin()
	needs := []permission{{action, one.objectARN()}}
	if etag != "" {
		q.conditions().Set("s3:if-match", etag)
	}
	if etag != "" && etag != "*" {
		needs = append(needs, permission{"s3:GetObject", one.objectARN()})
	}
	if err := one.authorize(needs...); err != nil {
		return one.wireError(err)
	}
	removed, err := q.remove(key, version, etag)
	if err == nil && version != "" && removed.Version == nil && !one.issued(version) {
		err = errNoSuchVersion
	}
	if err != nil {
		return one.wireError(err)
	}
	if quiet {
		return nil
	}
	d.start("Deleted").text("Key", key).optional("VersionId", version)
	switch {
	case removed.Marker != nil:
		d.bool("DeleteMarker", true).text("DeleteMarkerVersionId", removed.Marker.ID)
	case removed.Version != nil && removed.Version.DeleteMarker && version != "":
		d.bool("DeleteMarker", true).text("DeleteMarkerVersionId", removed.Version.ID)
	}
	d.end()
	return nil
}
