// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"cmp"
	"encoding/xml"
	"net/http"
	"slices"
	"strings"
	"time"
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

// defaultEncryption is what a bucket has when nobody configured anything.
const defaultEncryption = xml.Header + `<ServerSideEncryptionConfiguration xmlns="` + namespace + `"><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault><BucketKeyEnabled>false</BucketKeyEnabled></Rule></ServerSideEncryptionConfiguration>`

func (q *request) getEncryption() error {
	raw := q.state.Config[configEncryption]
	if raw == nil {
		raw = []byte(defaultEncryption)
	}
	return q.raw("application/xml", raw)
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
		return notImplemented("SSEAlgorithm", "Dual-layer encryption is not served by this fake.")
	case d.SSEAlgorithm != "AES256" && d.SSEAlgorithm != "aws:kms":
		return errMalformedXML
	case d.SSEAlgorithm == "AES256" && d.KMSMasterKeyID != "":
		return invalidArgument("ApplyServerSideEncryptionByDefault", "", "a KMSMasterKeyID is not applicable if the default sse algorithm is not aws:kms or aws:kms:dsse")
	}
	if err := q.setConfig(configEncryption, encodeXML("ServerSideEncryptionConfiguration", body.plain())); err != nil {
		return err
	}
	return q.status(http.StatusOK)
}

// plain drops the namespace that the client used.
func (b encryptionBody) plain() encryptionBody {
	b.XMLName = xml.Name{}
	return b
}

// lifecycleBody is LifecycleConfiguration, as far as it is validated. The document itself is stored as it came.
type lifecycleBody struct {
	XMLName xml.Name        `xml:"LifecycleConfiguration"`
	Rule    []lifecycleRule `xml:"Rule"`
}

type lifecycleRule struct {
	ID         string    `xml:"ID"`
	Status     string    `xml:"Status"`
	Prefix     *string   `xml:"Prefix"`
	Filter     *struct{} `xml:"Filter"`
	Expiration *struct {
		Days   *int    `xml:"Days"`
		Date   *string `xml:"Date"`
		Marker *bool   `xml:"ExpiredObjectDeleteMarker"`
	} `xml:"Expiration"`
	Transition []struct {
		Days         *int    `xml:"Days"`
		Date         *string `xml:"Date"`
		StorageClass string  `xml:"StorageClass"`
	} `xml:"Transition"`
	Noncurrent *struct {
		Days *int `xml:"NoncurrentDays"`
	} `xml:"NoncurrentVersionExpiration"`
	NoncurrentTransition []struct {
		Days         *int   `xml:"NoncurrentDays"`
		StorageClass string `xml:"StorageClass"`
	} `xml:"NoncurrentVersionTransition"`
	Abort *struct {
		Days *int `xml:"DaysAfterInitiation"`
	} `xml:"AbortIncompleteMultipartUpload"`
}

func (q *request) putLifecycle() error {
	if err := q.requireChecksum(); err != nil {
		return err
	}
	raw, err := q.readBody()
	if err != nil {
		return err
	}
	var body lifecycleBody
	if err := parseXML(raw, &body); err != nil {
		return err
	}
	if err := body.validate(); err != nil {
		return err
	}
	smallest := cmp.Or(q.header(minimumHeader), "all_storage_classes_128K")
	if smallest != "all_storage_classes_128K" && smallest != "varies_by_storage_class" {
		return invalidRequest("Value for " + minimumHeader + " header is invalid.")
	}
	err = q.Store.UpdateBucket(q.bucket, func(b *store.Bucket) error {
		b.Config[configLifecycle], b.Config[configMinimum] = raw, []byte(smallest)
		return nil
	})
	if err != nil {
		return err
	}
	q.w.Header().Set(minimumHeader, smallest)
	return q.status(http.StatusOK)
}

// minimumHeader says below which size objects are not moved to other storage classes. It is kept with the lifecycle and
// returned, as clients wait for that.
const minimumHeader = "X-Amz-Transition-Default-Minimum-Object-Size"

func (q *request) getLifecycle() error {
	raw := q.state.Config[configLifecycle]
	if raw == nil {
		return awserr.New(http.StatusNotFound, "NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist").With("BucketName", q.bucket)
	}
	q.w.Header().Set(minimumHeader, cmp.Or(string(q.state.Config[configMinimum]), "all_storage_classes_128K"))
	return q.raw("application/xml", raw)
}

func (q *request) deleteLifecycle() error {
	err := q.Store.UpdateBucket(q.bucket, func(b *store.Bucket) error {
		delete(b.Config, configLifecycle)
		delete(b.Config, configMinimum)
		return nil
	})
	if err != nil {
		return err
	}
	return q.status(http.StatusNoContent)
}

func (b lifecycleBody) validate() error {
	if len(b.Rule) == 0 || len(b.Rule) > 1000 {
		return errMalformedXML
	}
	seen := map[string]bool{}
	for _, r := range b.Rule {
		if r.ID != "" && seen[r.ID] {
			return invalidArgument("ID", r.ID, "Rule ID must be unique. Found same ID for more than one rule")
		}
		seen[r.ID] = true
		if err := r.validate(); err != nil {
			return err
		}
	}
	return nil
}

func (r lifecycleRule) validate() error { //nolint:gocyclo // a list of independent checks
	switch {
	case r.Status != "Enabled" && r.Status != "Disabled":
		return errMalformedXML
	case len(r.ID) > 255:
		return invalidArgument("ID", r.ID, "ID length should not exceed allowed limit of 255")
	case r.Filter != nil && r.Prefix != nil, r.Filter == nil && r.Prefix == nil:
		return errMalformedXML
	case r.Expiration == nil && len(r.Transition) == 0 && r.Noncurrent == nil && len(r.NoncurrentTransition) == 0 && r.Abort == nil:
		return invalidRequest("At least one action needs to be specified in a rule.")
	}
	if e := r.Expiration; e != nil {
		if count(e.Days != nil, e.Date != nil, e.Marker != nil) != 1 {
			return errMalformedXML
		}
		if e.Days != nil && *e.Days < 1 {
			return invalidArgument("Days", itoa(*e.Days), "'Days' for Expiration action must be a positive integer")
		}
		if err := midnight(e.Date); err != nil {
			return err
		}
	}
	for _, t := range r.Transition {
		if count(t.Days != nil, t.Date != nil) != 1 || !slices.Contains(storageClasses, t.StorageClass) {
			return errMalformedXML
		}
		if err := midnight(t.Date); err != nil {
			return err
		}
	}
	if r.Noncurrent != nil && (r.Noncurrent.Days == nil || *r.Noncurrent.Days < 1) {
		return invalidArgument("NoncurrentDays", "", "'NoncurrentDays' for NoncurrentVersionExpiration action must be a positive integer")
	}
	if r.Abort != nil && (r.Abort.Days == nil || *r.Abort.Days < 1) {
		return invalidArgument("DaysAfterInitiation", "", "'DaysAfterInitiation' for AbortIncompleteMultipartUpload action must be a positive integer")
	}
	return nil
}

func count(set ...bool) int {
	n := 0
	for _, b := range set {
		if b {
			n++
		}
	}
	return n
}

func midnight(date *string) error {
	if date == nil {
		return nil
	}
	t, err := time.Parse(time.RFC3339, *date)
	if err != nil {
		return errMalformedXML
	}
	if t.UTC() != t.UTC().Truncate(24*time.Hour) {
		return invalidArgument("Date", *date, "'Date' must be at midnight GMT")
	}
	return nil
}

var storageClasses = []string{"STANDARD", "REDUCED_REDUNDANCY", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER", "DEEP_ARCHIVE", "GLACIER_IR"}

// xmlTag is Tag.
type xmlTag struct {
	Key   string `xml:"Key"`
	Value string `xml:"Value"`
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

func taggingDocument(tags []xmlTag) []byte {
	d := newDocument("Tagging").start("TagSet")
	for _, t := range tags {
		d.start("Tag").text("Key", t.Key).text("Value", t.Value).end()
	}
	d.end().end()
	return d.buf.Bytes()
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
	if body.TagSet == nil {
		return nil, errMalformedXML
	}
	return body.TagSet.Tag, checkTags(body.TagSet.Tag, limit)
}

func (q *request) putBucketTagging() error {
	tags, err := q.readTags(maxBucketTags)
	if err != nil {
		return err
	}
	if err := q.setConfig(configTagging, taggingDocument(tags)); err != nil {
		return err
	}
	return q.status(http.StatusNoContent)
}
