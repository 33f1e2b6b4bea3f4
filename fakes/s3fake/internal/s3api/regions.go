// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"net/http"
	"slices"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

const (
	// classicRegion is the region of buckets without a location constraint. Its endpoint creates buckets in every region.
	classicRegion = "us-east-1"
	// europe is an old location constraint for buckets in eu-west-1.
	europe = "EU"
)

// regions are the regions of Amazon S3, by partition.
var regions = map[string][]string{
	"aws": {
		"af-south-1", "ap-east-1", "ap-east-2", "ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-south-1", "ap-south-2",
		"ap-southeast-1", "ap-southeast-2", "ap-southeast-3", "ap-southeast-4", "ap-southeast-5", "ap-southeast-6", "ap-southeast-7",
		"ca-central-1", "ca-west-1", "eu-central-1", "eu-central-2", "eu-north-1", "eu-south-1", "eu-south-2", "eu-west-1", "eu-west-2",
		"eu-west-3", "il-central-1", "me-central-1", "me-south-1", "mx-central-1", "sa-east-1", classicRegion, "us-east-2", "us-west-1", "us-west-2",
	},
	"aws-cn":     {"cn-north-1", "cn-northwest-1"},
	"aws-eusc":   {"eusc-de-east-1"},
	"aws-us-gov": {"us-gov-east-1", "us-gov-west-1"},
}

// serves reports whether the server has the region. A server whose own region is not one of AWS's has no others.
func (a *API) serves(region string) bool {
	all := regions[a.Account.Partition]
	return region == a.Region || slices.Contains(all, a.Region) && slices.Contains(all, region)
}

// RegionOf returns the region of a bucket.
func (a *API) RegionOf(b store.Bucket) string {
	switch b.Location {
	case "":
		return a.Region
	case europe:
		return "eu-west-1"
	}
	return b.Location
}

// endpointRegion is the region of the endpoint that the client uses, by its signature.
func (q *request) endpointRegion() string {
	if q.signed != nil && q.signed.Region != "" {
		return q.signed.Region
	}
	return q.Region
}

// region is that of the bucket, or of the endpoint for requests without one.
func (q *request) region() string {
	if q.state.Name == "" {
		return q.endpointRegion()
	}
	return q.RegionOf(q.state)
}

// enterBucket loads the bucket, and checks x-amz-expected-bucket-owner and that the request is signed for its region.
func (q *request) enterBucket() error {
	if err := q.checkAccount(); err != nil {
		return err
	}
	if err := q.findBucket(); err != nil {
		return err
	}
	if q.state.Name != "" {
		if err := q.checkOwner(q.r.Header.Get("X-Amz-Expected-Bucket-Owner")); err != nil {
			return err
		}
	}
	return q.checkRegion()
}

// checkRegion rejects a signature for a region other than the bucket's, as the endpoint of that region does. A host name
// with the bucket, but without a region, leads to the bucket's region.
func (q *request) checkRegion() error {
	if q.signed == nil || q.state.Name == "" {
		return nil
	}
	want := q.region()
	switch {
	case q.signed.Region == want:
		return nil
	case q.signed.Version2 && want != classicRegion:
		return sigv4.ErrVersion2
	case q.signed.Version2:
		return nil
	}
	byName := q.hostBucket(q.r.Host) != ""
	switch {
	case q.op.name == "GetBucketLocation" && q.signed.Region == classicRegion && !byName:
		return nil
	case byName && q.signed.Region == classicRegion, q.signed.Mode == sigv4.Form:
		return q.signed.WrongRegion(want).WithHeader(bucketRegion, want)
	}
	return awserr.New(http.StatusMovedPermanently, "PermanentRedirect",
		"The bucket you are attempting to access must be addressed using the specified endpoint. Please send all future requests to this endpoint.").
		With("Endpoint", q.r.Host).With("Bucket", q.bucket).WithHeader(bucketRegion, want)
}

// bucketRegion is the header with the region of a bucket.
const bucketRegion = "X-Amz-Bucket-Region"

// checkLocation compares the location constraint of a new bucket with the endpoint's region.
func (q *request) checkLocation(location string) error {
	endpoint := q.endpointRegion()
	switch {
	case location == "" && (endpoint == classicRegion || !slices.Contains(regions[q.Account.Partition], endpoint)):
		return nil
	case endpoint == classicRegion && location != classicRegion && (location == europe || q.serves(location)):
		return nil
	case endpoint == classicRegion:
		return awserr.New(http.StatusBadRequest, "InvalidLocationConstraint", "The specified location-constraint is not valid").With("LocationConstraint", location)
	case location == endpoint || location == europe && endpoint == "eu-west-1":
		return nil
	case location == "":
		location = "unspecified"
	}
	return awserr.New(http.StatusBadRequest, "IllegalLocationConstraintException",
		"The "+location+" location constraint is incompatible for the region specific endpoint this request was sent to.")
}

// locate sets the region of a new bucket and returns the value of the header Location.
func (q *request) locate(b *store.Bucket, location string) string {
	b.Location = location
	if endpoint := q.endpointRegion(); location == "" && endpoint != q.Region {
		b.Location = endpoint
	}
	if q.RegionOf(*b) == classicRegion {
		return "/" + b.Name
	}
	scheme, host := "http://", q.r.Host
	if q.r.TLS != nil {
		scheme = "https://"
	}
	if q.hostBucket(host) == "" {
		host = b.Name + "." + host
	}
	return scheme + host + "/"
}

// again creates an existing bucket. In us-east-1, S3 "returns 200 OK and resets the bucket access control lists (ACLs)" (API
// Reference, CreateBucket, BucketAlreadyOwnedByYou).
func (q *request) again(b store.Bucket) error {
	before, err := q.Store.Bucket(b.Name)
	switch {
	case err != nil || q.RegionOf(before) != classicRegion || q.RegionOf(b) != classicRegion || b.Config[configTagging] != nil:
		return store.ErrBucketExists
	case !aclsEnabled(before):
		return nil
	}
	q.state = before
	if err := q.blockACL(b.ACL, "s3:CreateBucket", q.bucketARN()); err != nil {
		return err
	}
	return q.changeBucket(func(current *store.Bucket) { current.ACL = b.ACL })
}
