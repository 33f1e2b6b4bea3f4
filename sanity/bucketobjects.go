// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

// This file is about drivers of v1alpha1 that read the Bucket object when they delete a bucket or revoke an access.

// BucketObject is the content of a v1alpha1 Bucket object.
type BucketObject struct {
	// Name is the requested name of the bucket. ID is the driver's ID, or empty until the driver has returned it.
	Name, ID string
	// Driver is the driver's name.
	Driver string
	// Parameters are those of the creation.
	Parameters map[string]string
}

// BucketObjects records the buckets that the cases of V1Alpha1 create, so that the caller of Run can serve their Bucket
// objects to the driver. The zero value is empty. Its methods may be called concurrently.
type BucketObjects struct {
	mu  sync.Mutex
	all []BucketObject
}

// Find returns the bucket with this name or ID, also after its deletion.
func (o *BucketObjects) Find(nameOrID string) (BucketObject, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := slices.IndexFunc(o.all, func(b BucketObject) bool { return b.Name == nameOrID || b.ID != "" && b.ID == nameOrID })
	if at < 0 {
		return BucketObject{}, false
	}
	return o.all[at], true
}

// record records a bucket before its creation, with an empty ID, and afterwards. Like the spec of a Bucket object, the
// parameters of the first creation are final.
func (o *BucketObjects) record(driver string, create *v1alpha1.DriverCreateBucketRequest, id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := slices.IndexFunc(o.all, func(b BucketObject) bool { return b.Name == create.GetName() })
	if at < 0 {
		at = len(o.all)
		o.all = append(o.all, BucketObject{Name: create.GetName(), Driver: driver, Parameters: create.GetParameters()})
	}
	if id != "" {
		o.all[at].ID = id
	}
}

// recordObject records the bucket of a creation.
func (s *suite) recordObject(request, response proto.Message) {
	create, is := request.(*v1alpha1.DriverCreateBucketRequest)
	if is && s.config.Objects != nil {
		s.config.Objects.record(s.info.GetName(), proto.CloneOf(create), learnedFrom(response))
	}
}

// caseOfObjects is the case that fails if the driver seems to need Bucket objects. The other cases that fail for this
// reason are not applicable, so that the report contains the reason once.
const caseOfObjects = "V1A-BKT-007"

// excuse ends the case if a call failed because the driver seems to need Bucket objects, which the suite does not serve.
func (c *C) excuse(request proto.Message, code codes.Code) {
	if bucketOfRemoval(request) == "" || !fruitless(code) || c.suite.config.Objects != nil || !c.suite.selected(caseOfObjects) {
		return
	}
	c.suite.objects.Do(func() { c.suite.needsObjects = c.failsBeforeTheBackend() })
	switch {
	case !c.suite.needsObjects:
	case c.cs.ID == caseOfObjects:
		c.Fail("the driver fails every deletion: for a bucket that it has just created, and in the same way for one that does not exist. " +
			"It probably reads the v1alpha1 Bucket object from the API server. To serve these objects to the driver, pass --kubernetes-api-dir, or Config.Objects in Go")
	default:
		c.notApplicable("the driver fails every deletion and probably reads the v1alpha1 Bucket object: see %s", caseOfObjects)
	}
}

// bucketOfRemoval returns the bucket ID of a deletion or revocation, or "".
func bucketOfRemoval(request proto.Message) string {
	switch r := request.(type) {
	case *v1alpha1.DriverDeleteBucketRequest:
		return r.GetBucketId()
	case *v1alpha1.DriverRevokeBucketAccessRequest:
		return r.GetBucketId()
	default:
		return ""
	}
}

// fruitless reports whether a driver may return a code because it cannot read an object. Go's gRPC server returns
// Unknown for an error without a code.
func fruitless(code codes.Code) bool { return code == codes.Internal || code == codes.Unknown }

// failsBeforeTheBackend reports whether the driver fails the deletion of a new bucket and of one that does not exist, in
// the same way. A driver that reaches the backend distinguishes the two.
func (c *C) failsBeforeTheBackend() bool {
	create, absent := c.oldRequest(), c.name()
	response, code := try(c.ctx, c, c.old().DriverCreateBucket, create)
	if code != codes.OK {
		return false
	}
	id := response.GetBucketId()
	absentID := strings.ReplaceAll(id, create.GetName(), absent)
	if absentID == id {
		absentID = absent
	}
	existing, missing := c.deletionError(id), c.deletionError(absentID)
	text := strings.NewReplacer(id, absentID, create.GetName(), absent).Replace(existing.Message())
	return fruitless(existing.Code()) && existing.Code() == missing.Code() && text == missing.Message()
}

func (c *C) deletionError(id string) *status.Status {
	ctx, cancel := context.WithTimeout(c.ctx, c.suite.limits.RPC)
	defer cancel()
	_, err := c.old().DriverDeleteBucket(ctx, &v1alpha1.DriverDeleteBucketRequest{BucketId: id, DeleteContext: c.suite.config.Params.Bucket})
	return status.Convert(err)
}
