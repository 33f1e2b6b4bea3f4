// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"encoding/xml"
	"net/http"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// S3 Control is a second API. Its requests name the account in a header and, from SDKs, in a prefix of the host name. The
// fake implements its operations for the tags of buckets. Since version 6.23, Terraform's provider for AWS reads the tags
// of every aws_s3_bucket with them. They are also the only way to change the tags of an existing bucket with ABAC.
const (
	controlPath      = "/v20180820/"
	controlTags      = controlPath + "tags/"
	controlNamespace = "http://awss3control.amazonaws.com/doc/2018-08-20/"
	accountHeader    = "X-Amz-Account-Id"
)

var errNoResource = notFound("NoSuchResource", "The specified resource doesn't exist.")

func controlOperations() map[string]*operation {
	control := func(verb string, describe, run func(*request) error) *operation {
		return &operation{
			name: "s3control:" + verb, permissions: bucketPermission("s3:" + verb), describe: describe, run: taggable(run), signedOnly: true,
		}
	}
	return map[string]*operation{
		"GET control tags":    control("ListTagsForResource", nil, (*request).listResourceTags),
		"POST control tags":   control("TagResource", (*request).describeResourceTags, (*request).tagResource),
		"DELETE control tags": control("UntagResource", (*request).describeTagKeys, (*request).untagResource),
	}
}

// enterControl prepares the request if it is for S3 Control. The bucket is then that of the ARN in the path.
func (q *request) enterControl() {
	if q.r.Header.Get(accountHeader) == "" || !strings.HasPrefix(q.r.URL.Path, controlPath) {
		return
	}
	q.control, q.bucket, q.key = true, "", ""
	if resource, ok := strings.CutPrefix(q.r.URL.Path, controlTags); ok {
		if bucket, ok := strings.CutPrefix(resource, "arn:"+q.Account.Partition+":s3:::"); ok && !strings.Contains(bucket, "/") {
			q.bucket = bucket
		}
	}
}

// routeControl finds the operation of S3 Control. The fake supports these operations only for buckets.
func (q *request) routeControl() *operation {
	op := q.operations[q.r.Method+" control tags"]
	if q.bucket == "" || op == nil {
		return unservedOperation(q.r.Method, "s3", "Control")
	}
	return op
}

// checkAccount rejects requests to S3 Control whose header names another account than the server's.
func (q *request) checkAccount() error {
	if q.control && q.header(accountHeader) != q.Account.Options.ID {
		return errAccessDenied
	}
	return nil
}

// tagResourceBody is TagResourceRequest.
type tagResourceBody struct {
	XMLName xml.Name `xml:"TagResourceRequest"`
	Tags    *struct {
		Tag []xmlTag `xml:"Tag"`
	} `xml:"Tags"`
}

func (q *request) readResourceTags() ([]xmlTag, error) {
	var body tagResourceBody
	if err := q.readXML(&body); err != nil {
		return nil, err
	}
	if body.Tags == nil {
		return nil, errMalformedXML
	}
	if len(body.Tags.Tag) > maxBucketTags {
		return nil, checkTags(body.Tags.Tag, maxBucketTags) // adding tags compares each with all others
	}
	return body.Tags.Tag, nil
}

func (q *request) describeResourceTags() error {
	tags, err := q.readResourceTags()
	q.newTagConditions(tags)
	return err
}

// newTagConditions sets the condition keys for the tags that the request adds to a bucket.
func (q *request) newTagConditions(tags []xmlTag) {
	var keys []string
	for _, t := range tags {
		keys = append(keys, t.Key)
		q.conditions().Set("aws:RequestTag/"+t.Key, t.Value)
	}
	q.conditions().Set("aws:TagKeys", keys...)
}

func (q *request) describeTagKeys() error {
	q.conditions().Set("aws:TagKeys", q.query["tagKeys"]...)
	return nil
}

// tagsOf returns the tags of a bucket in the order in which they were set.
func tagsOf(b store.Bucket) []xmlTag {
	if body := configOf[taggingBody](b, configTagging); body.TagSet != nil {
		return body.TagSet.Tag
	}
	return nil
}

func (q *request) listResourceTags() error {
	d := newDocumentOf("ListTagsForResourceResult", controlNamespace).start("Tags")
	for _, t := range tagsOf(q.state) {
		d.start("Tag").text("Key", t.Key).text("Value", t.Value).end()
	}
	return q.send(d)
}

// tagResource adds tags to the bucket or replaces their values. The errors are those in recordings of Amazon S3.
func (q *request) tagResource() error {
	tags, err := q.readResourceTags()
	if err != nil {
		return err
	}
	if err := checkResourceTags(tags); err != nil {
		return err
	}
	return q.retagBucket(func(now []xmlTag) []xmlTag {
		for _, t := range tags {
			if i := slices.IndexFunc(now, func(n xmlTag) bool { return n.Key == t.Key }); i >= 0 {
				now[i] = t
			} else {
				now = append(now, t)
			}
		}
		return now
	})
}

func checkResourceTags(tags []xmlTag) error {
	seen := map[string]bool{}
	for _, t := range tags {
		switch {
		case strings.HasPrefix(strings.ToLower(t.Key), "aws:"):
			return invalidTag(reservedTag, "", "")
		case seen[t.Key]:
			return invalidTag("There are duplicate tag keys in your request. Remove the duplicate tag keys and try again.", "", "")
		case checkTags([]xmlTag{t}, maxBucketTags) != nil:
			return invalidTag("This request contains a tag key or value that isn't valid. Valid characters include the following: [a-zA-Z+-=._:/]. "+
				"Tag keys can contain up to 128 characters. Tag values can contain up to 256 characters.", "", "")
		}
		seen[t.Key] = true
	}
	return nil
}

func (q *request) untagResource() error {
	keys := q.query["tagKeys"]
	if len(keys) == 0 {
		return awserr.New(http.StatusBadRequest, "InvalidRequest", "The request has no tagKeys.")
	}
	return q.retagBucket(func(now []xmlTag) []xmlTag {
		return slices.DeleteFunc(now, func(t xmlTag) bool { return slices.Contains(keys, t.Key) })
	})
}

// retagBucket changes the tags of the bucket in one step.
func (q *request) retagBucket(change func([]xmlTag) []xmlTag) error {
	return q.statusUnless(q.Store.UpdateBucket(q.bucket, func(b *store.Bucket) error {
		tags := change(tagsOf(*b))
		if err := checkTags(tags, maxBucketTags); err != nil {
			return err
		}
		if len(tags) == 0 {
			delete(b.Config, configTagging)
		} else {
			b.Config[configTagging] = taggingDocument(storeTags(tags)).bytes()
		}
		return nil
	}), http.StatusNoContent)
}
