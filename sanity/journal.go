// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// note says that something was asked for and may exist. It is written before the call, and struck
// when the driver says that the thing is gone.
type note struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Gone bool   `json:"gone,omitempty"`
	// Request is what it was asked for with: a DriverCreateBucketRequest, or a
	// DriverGrantBucketAccessRequest, as JSON. Requests hold no credentials.
	Request json.RawMessage `json:"request,omitempty"`

	message proto.Message
	// refused says that the driver refused the request as invalid, so that nothing should exist.
	refused bool
}

const (
	noteBucket  = "bucket"
	noteAccount = "account"
	noteFixture = "fixture"
	noteForeign = "foreign"
)

// journal writes notes, one JSON object a line.
type journal struct {
	mu  sync.Mutex
	out io.Writer
}

func (j *journal) write(n note) error {
	if j.out == nil {
		return nil
	}
	line, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// journal notes what a request may make.
func (c *C) journal(request proto.Message) error {
	var n note
	switch r := request.(type) {
	case *cosi.DriverCreateBucketRequest:
		n = note{Kind: noteBucket, ID: r.GetBucketId()}
	case *cosi.DriverGrantBucketAccessRequest:
		n = note{Kind: noteAccount, ID: r.GetAccountId()}
	default:
		return nil
	}
	if n.ID == "" {
		return nil
	}
	body, err := protojson.Marshal(request)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	n.Request, n.message = body, proto.Clone(request)
	return c.note(n)
}

// note writes down a thing once; a repeated request moves it to the end.
func (c *C) note(n note) error {
	c.mu.Lock()
	known := slices.ContainsFunc(c.notes, n.same)
	if known && n.Kind == noteAccount {
		// The first grant decides what the account is; a refused second one must not replace it.
		c.mu.Unlock()
		return nil
	}
	c.notes = append(slices.DeleteFunc(c.notes, n.same), n)
	c.mu.Unlock()
	if known {
		return nil
	}
	return c.suite.book.write(n)
}

func (n note) same(other note) bool { return n.Kind == other.Kind && n.ID == other.ID }

// settleNotes strikes what the driver says is gone. The caller holds c.mu.
func (c *C) settleNotes(x exchange) {
	if x.status.Code() != codes.OK {
		c.markRefused(x)
		return
	}
	gone := note{Gone: true}
	switch r := x.request.(type) {
	case *cosi.DriverDeleteBucketRequest:
		gone.Kind, gone.ID = noteBucket, r.GetBucketId()
	case *cosi.DriverRevokeBucketAccessRequest:
		gone.Kind, gone.ID = noteAccount, r.GetAccountId()
	default:
		return
	}
	if slices.ContainsFunc(c.notes, gone.same) {
		c.notes = slices.DeleteFunc(c.notes, gone.same)
		// A missing line only makes a later sweep ask again.
		_ = c.suite.book.write(gone)
	}
}

// markRefused marks what was asked for with an invalid request. The caller holds c.mu.
func (c *C) markRefused(x exchange) {
	if code := x.status.Code(); code != codes.InvalidArgument && code != codes.OutOfRange {
		return
	}
	for i, n := range c.notes {
		if n.message != nil && proto.Equal(n.message, x.request) {
			c.notes[i].refused = true
		}
	}
}

// cleanUp removes what the case has made, the last thing first, and returns what it could not
// remove.
func (c *C) cleanUp(ctx context.Context) []string {
	ctx = context.WithValue(ctx, caseKey{}, c)
	var leftovers []string
	for _, v := range slices.Backward(c.undo) {
		if err := v(ctx); err != nil {
			leftovers = append(leftovers, err.Error())
		}
	}
	for {
		c.mu.Lock()
		if len(c.notes) == 0 {
			c.mu.Unlock()
			return leftovers
		}
		last := c.notes[len(c.notes)-1]
		c.mu.Unlock()
		if err := c.remove(ctx, last); err != nil && !last.refused {
			leftovers = append(leftovers, fmt.Sprintf("%s %s: %v", last.Kind, last.ID, err))
		}
		c.mu.Lock()
		c.notes = slices.DeleteFunc(c.notes, last.same)
		c.mu.Unlock()
	}
}

// remove removes one thing by the driver or the fixture that made it.
func (c *C) remove(ctx context.Context, n note) error {
	switch n.Kind {
	case noteAccount:
		grant, isGrant := n.message.(*cosi.DriverGrantBucketAccessRequest)
		if !isGrant {
			return errors.New("the journal lacks its request")
		}
		return c.removeAccount(ctx, grant)
	case noteBucket:
		create, isCreate := n.message.(*cosi.DriverCreateBucketRequest)
		if !isCreate {
			return errors.New("the journal lacks its request")
		}
		return c.removeBucket(ctx, create)
	case noteFixture:
		if c.suite.config.Fixture == nil {
			return errors.New("there is no fixture hook to remove it with")
		}
		return c.suite.config.Fixture.RemoveBucket(ctx, n.ID)
	case noteForeign:
		fixture, can := c.suite.config.Fixture.(ForeignFixture)
		if !can {
			return errors.New("there is no fixture hook to remove it with")
		}
		return fixture.FreeName(ctx, n.ID)
	default:
		return fmt.Errorf("unknown kind %q", n.Kind)
	}
}

func (c *C) removeAccount(ctx context.Context, grant *cosi.DriverGrantBucketAccessRequest) error {
	_, code := try(ctx, c, c.provisioner.DriverRevokeBucketAccess, revokeOf(grant))
	if code == codes.OK || code == codes.NotFound {
		return nil
	}
	return fmt.Errorf("DriverRevokeBucketAccess answers %s", code)
}

// removeBucket deletes a bucket, and empties it first where the driver refuses because of its
// contents. The contents are the suite's own: so is the bucket.
func (c *C) removeBucket(ctx context.Context, create *cosi.DriverCreateBucketRequest) error {
	request := &cosi.DriverDeleteBucketRequest{BucketId: create.GetBucketId(), Parameters: create.GetParameters()}
	_, code := try(ctx, c, c.provisioner.DriverDeleteBucket, request)
	if code == codes.FailedPrecondition {
		if err := c.empty(ctx, create.GetBucketId()); err != nil {
			return fmt.Errorf("it holds data and cannot be emptied: %w", err)
		}
		_, code = try(ctx, c, c.provisioner.DriverDeleteBucket, request)
	}
	if code == codes.OK || code == codes.NotFound {
		return nil
	}
	return fmt.Errorf("DriverDeleteBucket answers %s", code)
}

// empty deletes all objects of a bucket with an account made for it.
func (c *C) empty(ctx context.Context, bucketID string) error {
	protocol := c.protocol()
	prober := c.suite.config.Probers[protocol]
	if prober == nil {
		return errors.New("there is no prober for its protocol")
	}
	phase1 := c.accessRequest(c.name(), protocol, []*cosi.AccessedBucket{readWrite(bucketID)})
	named, code := try(ctx, c, c.provisioner.DriverGenerateBucketAccessId, phase1)
	if code != codes.OK {
		return fmt.Errorf("DriverGenerateBucketAccessId answers %s", code)
	}
	grant := grantOf(named.GetAccountId(), phase1)
	answer, code := try(ctx, c, c.provisioner.DriverGrantBucketAccess, grant)
	if code != codes.OK || len(answer.GetBuckets()) == 0 {
		return fmt.Errorf("DriverGrantBucketAccess answers %s", code)
	}
	attempt := Attempt{BucketID: bucketID, Info: answer.GetBuckets()[0].GetBucketInfo(), Credentials: answer.GetCredentials(), Action: ListObjects}
	listed, err := prober.Try(ctx, attempt)
	for _, key := range listed.Keys {
		attempt.Action, attempt.Key = DeleteObject, key
		_, deleteErr := prober.Try(ctx, attempt)
		err = errors.Join(err, deleteErr)
	}
	return errors.Join(err, c.removeAccount(ctx, grant))
}
