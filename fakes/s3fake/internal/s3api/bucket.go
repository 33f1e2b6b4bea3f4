// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"encoding/xml"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// createBody is CreateBucketConfiguration.
type createBody struct {
	XMLName  xml.Name `xml:"CreateBucketConfiguration"`
	Location string   `xml:"LocationConstraint"`
	Tags     *struct {
		Tag []xmlTag `xml:"Tag"`
	} `xml:"Tags"`
}

func (q *request) createBucketPermissions() []permission {
	needs := []permission{{"s3:CreateBucket", q.bucketARN()}}
	if acl := q.header("X-Amz-Acl"); acl != "" && acl != "private" || q.hasGrants() {
		needs = append(needs, permission{"s3:PutBucketAcl", q.bucketARN()})
	}
	if q.header("X-Amz-Object-Ownership") != "" {
		needs = append(needs, permission{"s3:PutBucketOwnershipControls", q.bucketARN()})
	}
	if strings.EqualFold(q.header("X-Amz-Bucket-Object-Lock-Enabled"), "true") {
		needs = append(needs, permission{"s3:PutBucketObjectLockConfiguration", q.bucketARN()}, permission{"s3:PutBucketVersioning", q.bucketARN()})
	}
	return needs
}

func (q *request) createBucket() error {
	// Only buckets in the namespace of an account may have this suffix ("General purpose bucket naming rules" in the Amazon
	// S3 User Guide). The error is not documented.
	if !validBucketName(q.bucket) || strings.HasSuffix(q.bucket, "-an") {
		return errInvalidBucket.With("BucketName", q.bucket)
	}
	body, err := q.readCreateBody()
	if err != nil {
		return err
	}
	b := q.newBucket(q.bucket)
	if err := q.createOwnership(&b); err != nil {
		return err
	}
	if body.Tags != nil && len(body.Tags.Tag) > 0 {
		if err := q.authorize(permission{"s3:TagResource", q.bucketARN()}); err != nil {
			return err
		}
		if slices.ContainsFunc(body.Tags.Tag, func(t xmlTag) bool { return strings.HasPrefix(strings.ToLower(t.Key), "aws:") }) {
			return invalidTag(reservedTag, "", "")
		}
		if err := checkTags(body.Tags.Tag, maxBucketTags); err != nil {
			return err
		}
		b.Config[configTagging] = taggingDocument(storeTags(body.Tags.Tag)).bytes()
	}
	if v := q.header("X-Amz-Bucket-Object-Lock-Enabled"); v != "" {
		if b.ObjectLock, err = strconv.ParseBool(strings.ToLower(v)); err != nil {
			return invalidArgument("x-amz-bucket-object-lock-enabled", v, "The value must be true or false.")
		}
	}
	if b.ObjectLock {
		b.Versioning = store.VersioningEnabled
	}
	location := q.locate(&b, body.Location)
	err = q.Store.CreateBucket(b)
	if is(err, store.ErrBucketExists) {
		err = q.again(b)
	}
	if err != nil {
		return err
	}
	q.w.Header().Set("Location", location)
	q.w.Header().Set("X-Amz-Bucket-Arn", q.bucketARN())
	return q.status(http.StatusOK)
}

func (q *request) readCreateBody() (createBody, error) {
	raw, err := q.readBody()
	body := createBody{}
	if err == nil && len(raw) > 0 {
		err = parseXML(raw, &body)
	}
	if err != nil {
		return body, err
	}
	if q.LocationOnly && len(raw) > 0 && body.Location == "" {
		return body, invalidArgument("", "", "")
	}
	if q.LocationOnly || q.NoBucketTags {
		body.Tags = nil
	}
	if body.Location == "" && q.endpointRegion() != classicRegion && strings.Contains(string(raw), "<LocationConstraint") {
		return body, errMalformedXML
	}
	return body, q.checkLocation(body.Location)
}

// createOwnership judges x-amz-object-ownership and x-amz-acl, which must fit together.
func (q *request) createOwnership(b *store.Bucket) error {
	ownership, sent := q.sent("X-Amz-Object-Ownership")
	switch {
	case !sent, slices.Contains(ownerships, ownership):
	default:
		return invalidArgument("x-amz-object-ownership", "", "Invalid x-amz-object-ownership header: "+ownership)
	}
	if err := q.newBucketACL(b, ownership); err != nil {
		return err
	}
	if ownership != "" {
		b.Config[configOwnership] = ownershipDocument(ownership)
	}
	return nil
}

func (q *request) headBucket() error {
	q.w.Header().Set("X-Amz-Access-Point-Alias", "false")
	q.w.Header().Set("X-Amz-Bucket-Arn", q.bucketARN())
	q.w.Header().Set("Content-Type", "application/xml")
	q.done = true
	q.w.WriteHeader(http.StatusOK)
	return nil
}

func (q *request) deleteBucket() error {
	return q.statusUnless(q.Store.DeleteBucket(q.bucket), http.StatusNoContent)
}

func (q *request) getLocation() error {
	location := q.region()
	if q.state.Location == europe {
		location = europe
	}
	if location == classicRegion {
		return q.raw(contentXML, []byte(xml.Header+`<LocationConstraint xmlns="`+namespace+`"/>`))
	}
	d := newDocument("LocationConstraint")
	escape(&d.buf, location)
	return q.send(d)
}

func (q *request) listBuckets() error {
	limit := 10000
	if q.query.Has("max-buckets") {
		n, err := strconv.Atoi(q.param("max-buckets"))
		if err != nil || n < 1 || n > 10000 {
			return invalidArgument("max-buckets", q.param("max-buckets"), "Argument max-buckets must be an integer between 1 and 10000.")
		}
		limit = n
	}
	prefix, after := q.param("prefix"), ""
	region := q.param("bucket-region")
	if region != "" && !q.serves(region) {
		return invalidArgument("bucket-region", "", "Argument value "+region+" is not a valid AWS Region")
	}
	if token := q.param("continuation-token"); token != "" {
		name, err := decodeToken(token)
		if err != nil {
			return err
		}
		after = name
	}
	paged := slices.ContainsFunc([]string{"max-buckets", "prefix", "continuation-token", "bucket-region"}, q.query.Has)
	d := newDocument("ListAllMyBucketsResult")
	d.start("Owner").text("ID", q.Account.CanonicalID()).end()
	d.start("Buckets")
	count, last := 0, ""
	token := ""
	for _, b := range q.Store.Buckets() {
		if !strings.HasPrefix(b.Name, prefix) || b.Name <= after || region != "" && region != q.RegionOf(b) {
			continue
		}
		if count == limit {
			token = encodeToken(last)
			break
		}
		d.start("Bucket").text("Name", b.Name).time("CreationDate", b.Created)
		if paged {
			d.text("BucketRegion", q.RegionOf(b))
		}
		d.text("BucketArn", "arn:"+q.Account.Partition+":s3:::"+b.Name).end()
		count, last = count+1, b.Name
	}
	d.end()
	d.optional("ContinuationToken", token)
	return q.send(d.optional("Prefix", prefix))
}
