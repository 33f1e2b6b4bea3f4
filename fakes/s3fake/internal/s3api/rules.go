// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"encoding/xml"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// encryptionBody is ServerSideEncryptionConfiguration.
type encryptionBody struct {
	XMLName xml.Name `xml:"ServerSideEncryptionConfiguration"`
	Rule    []struct {
		Default *struct {
			SSEAlgorithm   string `xml:"SSEAlgorithm"`
			KMSMasterKeyID string `xml:"KMSMasterKeyID,omitempty"`
		} `xml:"ApplyServerSideEncryptionByDefault"`
		BucketKeyEnabled bool `xml:"BucketKeyEnabled"`
		Blocked          *struct {
			Type []string `xml:"EncryptionType"`
		} `xml:"BlockedEncryptionTypes,omitempty"`
	} `xml:"Rule"`
}

// defaultEncryption is the encryption of a bucket without a configuration.
const defaultEncryption = xml.Header + `<ServerSideEncryptionConfiguration xmlns="` + namespace + `"><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault><BucketKeyEnabled>false</BucketKeyEnabled></Rule></ServerSideEncryptionConfiguration>`

func (q *request) getEncryption() error {
	raw := q.state.Config[configEncryption]
	if raw == nil {
		raw = []byte(defaultEncryption)
	}
	return q.raw(contentXML, raw)
}

func (q *request) putEncryption() error {
	var body encryptionBody
	if err := q.readXML(&body); err != nil {
		return err
	}
	if len(body.Rule) != 1 || body.Rule[0].Default == nil {
		return errMalformedXML
	}
	d := body.Rule[0].Default
	switch {
	case d.SSEAlgorithm == "aws:kms:dsse":
		return notImplemented("SSEAlgorithm", "Dual-layer encryption is not supported by this fake.")
	case d.SSEAlgorithm != "AES256" && d.SSEAlgorithm != "aws:kms":
		return errMalformedXML
	case d.SSEAlgorithm == "AES256" && d.KMSMasterKeyID != "":
		return invalidArgument("ApplyServerSideEncryptionByDefault", "", "a KMSMasterKeyID is not applicable if the default sse algorithm is not aws:kms or aws:kms:dsse")
	}
	return q.statusUnless(q.setConfig(configEncryption, encodeXML("ServerSideEncryptionConfiguration", body)), http.StatusOK)
}

var storageClasses = []string{"STANDARD", "REDUCED_REDUNDANCY", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER", "DEEP_ARCHIVE", "GLACIER_IR"}

// xmlTag is Tag.
type xmlTag struct {
	Key   string `xml:"Key"`
	Value string `xml:"Value"`
}

// UnmarshalXML implements xml.Unmarshaler. A tag without a key or a value is malformed.
func (t *xmlTag) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	var tag struct {
		Key, Value *string
		Others     []struct{ XMLName xml.Name } `xml:",any"`
	}
	err := d.DecodeElement(&tag, &start)
	if err == nil && len(tag.Others) > 0 {
		return unsupportedElement(tag.Others[0].XMLName.Local)
	}
	if err == nil && (tag.Key == nil || tag.Value == nil) {
		err = errMalformedXML
	}
	if err == nil {
		t.Key, t.Value = *tag.Key, *tag.Value
	}
	return err
}

const (
	maxBucketTags = 50
	maxObjectTags = 10
)

// checkTags applies the restrictions on tags ("Categorizing your storage using tags").
func checkTags(tags []xmlTag, limit int) error {
	if len(tags) > limit {
		if limit == maxObjectTags {
			return awserr.New(http.StatusBadRequest, "BadRequest", "Object tags cannot be greater than 10")
		}
		return awserr.New(http.StatusBadRequest, "BadRequest", "Bucket tag count cannot be greater than 50")
	}
	seen := map[string]bool{}
	for _, t := range tags {
		switch {
		case t.Key == "" || utf8.RuneCountInString(t.Key) > 128 || !tagText(t.Key):
			return invalidTag("The TagKey you have provided is invalid", t.Key, "")
		case strings.HasPrefix(strings.ToLower(t.Key), "aws:"):
			if limit == maxObjectTags {
				return invalidTag("Your TagKey cannot be prefixed with aws:", t.Key, "")
			}
			return invalidTag("System tags cannot be added/updated by requester", t.Key, "")
		case utf8.RuneCountInString(t.Value) > 256 || !tagText(t.Value):
			return invalidTag("The TagValue you have provided is invalid", t.Key, t.Value)
		case seen[t.Key]:
			return invalidTag("Cannot provide multiple Tags with the same key", t.Key, "")
		}
		seen[t.Key] = true
	}
	return nil
}

func taggingDocument(tags []store.Tag) *document {
	d := newDocument("Tagging").start("TagSet")
	for _, t := range tags {
		d.start("Tag").text("Key", t.Key).text("Value", t.Value).end()
	}
	return d
}

// taggingBody is Tagging.
type taggingBody struct {
	XMLName xml.Name `xml:"Tagging"`
	TagSet  *struct {
		Tag []xmlTag `xml:"Tag"`
	} `xml:"TagSet"`
}

func (q *request) readTags(limit int) ([]xmlTag, error) {
	var body taggingBody
	if err := q.readXML(&body); err != nil {
		return nil, err
	}
	if body.TagSet == nil { // the same as no tags
		return nil, nil
	}
	return body.TagSet.Tag, checkTags(body.TagSet.Tag, limit)
}

func (q *request) putBucketTagging() error {
	tags, err := q.readTags(maxBucketTags)
	if err != nil {
		return err
	}
	if len(tags) == 0 {
		return q.deleteConfig(configTagging)
	}
	return q.statusUnless(q.setConfig(configTagging, taggingDocument(storeTags(tags)).bytes()), http.StatusNoContent)
}
