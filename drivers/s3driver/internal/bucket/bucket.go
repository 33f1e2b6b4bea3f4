// SPDX-License-Identifier: Apache-2.0

// Package bucket creates, describes and deletes the buckets of one store through the S3 API.
//
// A bucket belongs to the driver if it carries the driver's mark. How the driver writes the mark depends on the
// store:
//
//   - If the store accepts tags at creation, the mark consists of tags, written in the call that creates the
//     bucket.
//   - If the store accepts tags only later, the driver records a note before it creates the bucket. The note is
//     the mark until the driver has written the tags.
//   - If the store has no tags, the note remains the mark.
//
// On AWS, the bucket must also be in the driver's AWS account, and on Ceph RGW the driver's user must own it, because
// other users could create a bucket with the same name and tags. The driver never adopts, changes or deletes any
// other bucket.
package bucket

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/params"
)

// classicRegion is the region that has no location constraint.
const classicRegion = "us-east-1"

// Store is one store. Fields are required unless stated otherwise; Cluster is optional.
type Store struct {
	// API is the client, with the driver's own credentials.
	API *s3.Client
	// Region of buckets whose class sets none.
	Region string
	// Regional means that buckets may be in regions other than Region. AWS supports that; compatible stores do not.
	Regional bool
	// ExpectsOwner means that the client names the AWS account in every call, so calls about buckets of other accounts
	// are denied.
	ExpectsOwner bool
	// Driver and Cluster are written to the marks of every bucket.
	Driver, Cluster string
	// PublicAccessBlock means that the store supports the public access block, or at least rejects the call properly.
	// Some stores mistake it for another call.
	PublicAccessBlock bool
	// AcceptsPublicACLs makes the store ignore public ACLs instead of rejecting them. It is for a store that would
	// otherwise reject every upload that has a public ACL.
	AcceptsPublicACLs bool
	// TagsAtCreation means that the store accepts the mark in the call that creates a bucket.
	TagsAtCreation bool
	// DeletesObjects means that the store can be configured to delete a bucket together with its objects, so the driver
	// checks that the bucket is empty.
	DeletesObjects bool
	// Placements means that the location of a bucket is a zonegroup and a placement target instead of a region.
	Placements bool
	// Notes holds facts that buckets cannot carry themselves.
	Notes Notes
	// Owners is set for stores where other users could create a bucket with the driver's mark, and where calls cannot
	// name the expected owner.
	Owners Owners
	// Quotas is set for stores that can limit the size of buckets.
	Quotas Quotas
	// QuotasOfObjects means that Quotas can also limit the number of objects.
	QuotasOfObjects bool
	// QueueEvents means that the store can send events to queues. Some other stores mistake the call for another one.
	QueueEvents bool
	// ReadLag is how long reads may be stale after a write.
	ReadLag time.Duration
}

// Owners identifies the owner of the driver's buckets.
type Owners interface {
	// Own reports whether owner is the driver. owner is the owner ID that the store returns for a bucket.
	Own(ctx context.Context, owner string) (bool, error)
}

// Quotas limits the size of buckets. A limit of 0 means none.
type Quotas interface {
	// Set limits the total size of the bucket's objects, in bytes, and their number.
	Set(ctx context.Context, bucket string, bytes, objects int64) error
	// Is reports whether the limits other than 0 have these values.
	Is(ctx context.Context, bucket string, bytes, objects int64) (bool, error)
}

// Ensure ensures that the bucket exists as requested, and returns its region. It can be repeated after a failure at
// any point, and then creates the missing parts. Once a bucket is complete, Ensure does not change it again, which
// preserves later changes by an administrator.
func (s *Store) Ensure(ctx context.Context, name string, want params.Bucket) (string, error) {
	region := s.regionOf(want)
	mark, err := s.readMark(ctx, name, region)
	if isMissing(err) {
		mark, err = s.create(ctx, name, want)
	}
	if err != nil {
		return "", err
	}
	return region, s.complete(ctx, name, mark, want)
}

// complete checks that an existing bucket is the requested one, and finishes an interrupted creation.
func (s *Store) complete(ctx context.Context, name string, found mark, want params.Bucket) error {
	if err := s.checkMark(name, found, want); err != nil || found.ready() {
		return err
	}
	if err := s.settleMark(ctx, name, found, want); err != nil {
		return err
	}
	return s.configure(ctx, name, want)
}

// settleMark writes the mark that was noted before the bucket was created. If the bucket accepts it, the note is
// deleted.
func (s *Store) settleMark(ctx context.Context, name string, found mark, want params.Bucket) error {
	switch {
	case found.noted:
		return s.writeMark(ctx, name, s.markFor(want), want)
	case s.Regional:
		return nil // nothing was noted
	default:
		return s.Notes.forget(ctx, name)
	}
}

// writeMark writes the mark of a bucket as its tags or, where tags cannot be written, as a note.
func (s *Store) writeMark(ctx context.Context, name string, written mark, want params.Bucket) error {
	region := inRegion(s.regionOf(want))
	_, err := s.API.PutBucketTagging(ctx, &s3.PutBucketTaggingInput{
		Bucket: &name, Tagging: &types.Tagging{TagSet: written.tags(want.Tags)},
	}, region)
	switch {
	case err == nil && written.ready():
		return nil // settleMark has deleted the note
	case err == nil:
		return s.Notes.forget(ctx, name)
	case apierror.Unsupported(err) && len(want.Tags) > 0:
		return driverkit.InvalidArgument("the store does not support bucket tags: bucket %s cannot have the parameter tags", name).WithDetail(err)
	case apierror.Unsupported(err) || s.tagsControlAccess(ctx, name, region):
		return s.Notes.keep(ctx, name, written)
	}
	return err
}

// tagsControlAccess reports whether an administrator has enabled ABAC for the bucket. AWS then rejects
// PutBucketTagging; the tags from the creation of the bucket remain.
func (s *Store) tagsControlAccess(ctx context.Context, name string, region func(*s3.Options)) bool {
	if !s.TagsAtCreation {
		return false
	}
	out, err := s.API.GetBucketAbac(ctx, &s3.GetBucketAbacInput{Bucket: &name}, region)
	return err == nil && out.AbacStatus != nil && out.AbacStatus.Status == types.BucketAbacStatusEnabled
}

// Locate returns the region of an existing bucket, or NotFound.
func (s *Store) Locate(ctx context.Context, name string) (string, error) {
	region, err := driverkit.Reread(ctx, s.ReadLag, isMissing, func(ctx context.Context) (string, error) { return s.locate(ctx, name) })
	switch {
	case isMissing(err):
		return "", driverkit.NotFound("bucket %s does not exist in the store", name).WithDetail(err)
	case s.ofAnotherAccount(ctx, name, err):
		return "", driverkit.AlreadyExists("bucket %s belongs to another account; no access can be granted to it", name).WithDetail(err)
	case err != nil:
		return "", err
	}
	if own, err := s.owns(ctx, name, region); err != nil {
		return "", err
	} else if !own {
		return "", driverkit.AlreadyExists("bucket %s belongs to another user of the store; no access can be granted to it, unless an administrator links it to the driver's user", name)
	}
	return region, nil
}

// owns reports whether the owner of the bucket is the driver, regardless of its mark.
func (s *Store) owns(ctx context.Context, name, region string) (bool, error) {
	if s.Owners == nil {
		return true, nil
	}
	out, err := s.API.GetBucketAcl(ctx, &s3.GetBucketAclInput{Bucket: &name}, inRegion(region))
	if err != nil || out.Owner == nil {
		return false, err
	}
	return s.Owners.Own(ctx, aws.ToString(out.Owner.ID))
}

// locate returns the region of a bucket, or the store's own error if the bucket does not exist.
func (s *Store) locate(ctx context.Context, name string) (string, error) {
	out, err := s.API.GetBucketLocation(ctx, &s3.GetBucketLocationInput{Bucket: &name})
	if region := apierror.Header(err, "X-Amz-Bucket-Region"); err != nil && s.Regional && region != "" && region != s.Region && !isMissing(err) {
		out, err = s.API.GetBucketLocation(ctx, &s3.GetBucketLocationInput{Bucket: &name}, inRegion(region))
	}
	if err != nil {
		return "", err
	}
	if !s.Regional {
		return s.Region, nil
	}
	switch constraint := out.LocationConstraint; constraint {
	case "":
		return classicRegion, nil
	case types.BucketLocationConstraintEu:
		return "eu-west-1", nil
	default:
		return string(constraint), nil
	}
}

func (s *Store) regionOf(want params.Bucket) string {
	if want.Region != "" {
		return want.Region
	}
	return s.Region
}

// placeOf returns the location constraint of a new bucket, or "" for none.
func (s *Store) placeOf(want params.Bucket) string {
	switch region := s.regionOf(want); {
	case s.Placements && want.Placement != "":
		return want.Zonegroup + ":" + want.Placement
	case s.Placements:
		return want.Zonegroup
	case region == classicRegion:
		return ""
	default:
		return region
	}
}

// create creates the bucket together with its mark. After a lost response, the retry fails with "already owned by
// you"; the mark then shows whether this driver created the bucket.
func (s *Store) create(ctx context.Context, name string, want params.Bucket) (mark, error) {
	region := s.regionOf(want)
	input := &s3.CreateBucketInput{Bucket: &name}
	if !s.Regional {
		// Only AWS documents that the bucket and its tags are created atomically.
		if err := s.Notes.keep(ctx, name, s.markFor(want)); err != nil {
			return mark{}, err
		}
	}
	if s.TagsAtCreation {
		input.CreateBucketConfiguration = &types.CreateBucketConfiguration{Tags: s.markFor(want).tags(want.Tags)}
	}
	if place := s.placeOf(want); place != "" {
		if input.CreateBucketConfiguration == nil {
			input.CreateBucketConfiguration = &types.CreateBucketConfiguration{}
		}
		input.CreateBucketConfiguration.LocationConstraint = types.BucketLocationConstraint(place)
	}
	if s.Regional {
		input.ObjectOwnership = types.ObjectOwnershipBucketOwnerEnforced
	}
	if want.ObjectLock {
		input.ObjectLockEnabledForBucket = aws.Bool(true)
	}
	_, err := s.API.CreateBucket(ctx, input, inRegion(region))
	if !s.Regional && input.CreateBucketConfiguration != nil && apierror.Is(err, "InvalidArgument", "MalformedXML", "NotImplemented") {
		// Ceph RGW does not accept tags here, and the note is sufficient.
		if input.CreateBucketConfiguration.Tags = nil; s.placeOf(want) == "" {
			input.CreateBucketConfiguration = nil
		}
		_, err = s.API.CreateBucket(ctx, input, inRegion(region))
	}
	switch {
	case err == nil, apierror.Is(err, "BucketAlreadyOwnedByYou"):
		return s.findMark(ctx, name, region)
	case apierror.Is(err, "BucketAlreadyExists"):
		return mark{}, foreign(name).WithDetail(err)
	}
	return mark{}, err
}

// findMark reads the mark of a bucket that was just created or already existed.
func (s *Store) findMark(ctx context.Context, name, region string) (mark, error) {
	found, err := driverkit.Reread(ctx, s.ReadLag, isMissing, func(ctx context.Context) (mark, error) { return s.readMark(ctx, name, region) })
	if isMissing(err) {
		return mark{}, driverkit.Unavailable("bucket %s has not propagated yet; the driver tries again", name).WithDetail(err)
	}
	return found, err
}

// readMark reads the mark of an existing bucket. It ignores the mark of a bucket with another owner, because anyone
// can put any mark on their own bucket.
func (s *Store) readMark(ctx context.Context, name, region string) (mark, error) {
	found, err := s.readAnyMark(ctx, name, region)
	if err != nil || found.driver != s.Driver || found.cluster != s.Cluster {
		return found, err
	}
	own, err := s.owns(ctx, name, region)
	if !own {
		return mark{}, err
	}
	return found, nil
}

// readAnyMark reads the mark of a bucket regardless of its owner. If a bucket is unreadable, the list of the driver's
// own buckets shows whether it has another owner, which is terminal, or the driver only lacks access, which is
// retryable.
func (s *Store) readAnyMark(ctx context.Context, name, region string) (mark, error) {
	out, err := s.API.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: &name}, inRegion(region))
	switch {
	case err == nil:
		return s.completeMark(ctx, name, parseMark(out.TagSet))
	case apierror.Is(err, "NoSuchTagSet", "NoSuchTagSetError") || apierror.Unsupported(err):
		return s.missingMark(ctx, name, region)
	case apierror.Header(err, "X-Amz-Bucket-Region") != "" && apierror.Header(err, "X-Amz-Bucket-Region") != region && !isMissing(err):
		return mark{}, driverkit.AlreadyExists("bucket %s exists in a region other than %s", name, region).WithDetail(err)
	case apierror.Is(err, "AccessDenied"):
		return mark{}, s.explainDenial(ctx, name, err)
	}
	return mark{}, err
}

// completeMark adds the state to the mark of one of the driver's buckets if only the notes record that the bucket is
// complete.
func (s *Store) completeMark(ctx context.Context, name string, found mark) (mark, error) {
	if found.ready() || found.driver != s.Driver || found.cluster != s.Cluster {
		return found, nil
	}
	state, _, err := s.Notes.read(ctx, name)
	if state.params == found.params && state.ready() {
		found.state = stateReady
	}
	return found, err
}

// missingMark determines what a bucket without tags is: one of the driver's that could not be marked or is not marked
// yet, one with another owner, or a missing bucket, because some stores report missing tags for missing buckets.
func (s *Store) missingMark(ctx context.Context, name, region string) (mark, error) {
	if _, err := s.API.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &name}, inRegion(region)); err != nil {
		return mark{}, err
	}
	noted, exists, err := s.Notes.read(ctx, name)
	switch {
	case err != nil || !exists:
		return mark{}, err
	case noted.driver == "":
		// The credential store may belong to a clone of the cluster, and the bucket to the original cluster.
		return mark{}, driverkit.FailedPrecondition("bucket %s was recorded in the credential store by an older version of this driver, without its owner; "+
			"the driver cannot verify the owner and does not change the bucket: copy its data, then delete the bucket manually", name)
	}
	return noted, nil
}

func (s *Store) explainDenial(ctx context.Context, name string, denial error) error {
	if s.isForeign(ctx, name) {
		return foreign(name).WithDetail(denial)
	}
	return denial
}

// ofAnotherAccount reports whether a call was denied because the bucket does not belong to the account that the call
// named.
func (s *Store) ofAnotherAccount(ctx context.Context, name string, denial error) bool {
	return s.ExpectsOwner && apierror.Denied(denial) && s.isForeign(ctx, name)
}

// isForeign reports whether the bucket is known not to belong to the driver's account.
func (s *Store) isForeign(ctx context.Context, name string) bool {
	_, own, err := driverkit.Find(ctx, s.ReadLag, func(ctx context.Context) (*s3.ListBucketsOutput, bool, error) {
		out, err := s.API.ListBuckets(ctx, &s3.ListBucketsInput{Prefix: &name})
		if err != nil {
			return nil, false, err
		}
		return out, slices.ContainsFunc(out.Buckets, func(own types.Bucket) bool { return aws.ToString(own.Name) == name }), nil
	})
	return err == nil && !own
}

func (s *Store) checkMark(name string, found mark, want params.Bucket) error {
	ours := s.markFor(want)
	switch {
	case found.driver != ours.driver || found.cluster != ours.cluster:
		return foreign(name)
	case found.params != ours.params:
		return driverkit.AlreadyExists("bucket %s already exists with other parameters", name)
	}
	return nil
}

func foreign(name string) *driverkit.Error {
	return driverkit.AlreadyExists("bucket %s already exists and was not created by this driver; the driver does not change it", name)
}

// isMissing recognizes the errors of calls with a response body and those of HEAD, which have none.
func isMissing(err error) bool { return apierror.Is(err, "NoSuchBucket", "NotFound") }

// inRegion signs and sends one call for another region than the client's.
func inRegion(region string) func(*s3.Options) {
	return func(options *s3.Options) { options.Region = region }
}

// Names of the tags that mark a bucket as the driver's.
const (
	tagDriver  = params.TagPrefix + "driver"
	tagCluster = params.TagPrefix + "cluster"
	tagParams  = params.TagPrefix + "params"
	tagState   = params.TagPrefix + "state"
)

// stateReady marks a bucket whose configuration was completed.
const stateReady = "ready"

// mark is the mark that the driver puts on its buckets.
type mark struct {
	driver, cluster, params, state string
	// noted means that the mark is in a note and not on the bucket itself.
	noted bool
}

func (s *Store) markFor(want params.Bucket) mark {
	return mark{driver: s.Driver, cluster: s.Cluster, params: want.Hash, state: "creating"}
}

func (m mark) ready() bool { return m.state == stateReady }

func (m mark) tags(others []types.Tag) []types.Tag {
	tags := []types.Tag{newTag(tagDriver, m.driver), newTag(tagParams, m.params), newTag(tagState, m.state)}
	if m.cluster != "" {
		tags = append(tags, newTag(tagCluster, m.cluster))
	}
	return append(tags, others...)
}

func newTag(key, value string) types.Tag {
	return types.Tag{Key: aws.String(key), Value: aws.String(value)}
}

func parseMark(tags []types.Tag) mark {
	var found mark
	fields := map[string]*string{tagDriver: &found.driver, tagCluster: &found.cluster, tagParams: &found.params, tagState: &found.state}
	for _, tag := range tags {
		if field, ours := fields[aws.ToString(tag.Key)]; ours {
			*field = aws.ToString(tag.Value)
		}
	}
	return found
}
