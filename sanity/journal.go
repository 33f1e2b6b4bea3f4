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
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

// note records that something was requested and may exist. It is written before the call, and crossed out when the
// driver reports that the resource no longer exists.
type note struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Gone bool   `json:"gone,omitempty"`
	// Request is the request for the resource as JSON: a DriverCreateBucketRequest or a DriverGrantBucketAccessRequest.
	// Requests contain no credentials.
	Request json.RawMessage `json:"request,omitempty"`

	// Unsure means that a hook was asked to create the resource and has not yet reported success. The resource may have
	// another owner, and is never removed.
	Unsure bool `json:"unsure,omitempty"`

	message proto.Message
	// learned is the ID that the driver returned for a requested name.
	learned string
	// refused means that the driver rejected the request as invalid, so nothing should exist.
	refused bool
	// made means that, judging by the responses so far, the resource may have been created by the suite. calls is the
	// number of requests without a response yet.
	made  bool
	calls int
}

const (
	noteBucket  = "bucket"
	noteAccount = "account"
	noteFixture = "fixture"

	// Resources requested through the v1alpha1 contract, for which ID is the name.
	noteOldBucket  = "v1alpha1 bucket"
	noteOldAccount = "v1alpha1 account"
	noteForeign    = "foreign"
)

// journal writes notes, one JSON object per line.
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
		return fmt.Errorf("write the journal: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// journal records what a request may create. If a request is sent twice, only one response comes back, which proves
// nothing.
func (c *C) journal(request proto.Message, twice bool) error {
	n, makes, err := noteOf(request)
	if err != nil || !makes {
		return err
	}
	n.calls, n.made = 1, twice
	return c.note(n)
}

// noteOf returns what a request creates, if anything.
func noteOf(request proto.Message) (n note, makes bool, err error) {
	switch r := request.(type) {
	case *cosi.DriverCreateBucketRequest:
		n = note{Kind: noteBucket, ID: r.GetBucketId()}
	case *cosi.DriverGrantBucketAccessRequest:
		n = note{Kind: noteAccount, ID: r.GetAccountId()}
	case *v1alpha1.DriverCreateBucketRequest:
		n = note{Kind: noteOldBucket, ID: r.GetName()}
	case *v1alpha1.DriverGrantBucketAccessRequest:
		n = note{Kind: noteOldAccount, ID: r.GetName()}
	}
	if n.ID == "" {
		return note{}, false, nil
	}
	body, err := protojson.Marshal(request)
	if err != nil {
		return note{}, false, fmt.Errorf("encode a request for the journal: %w", err)
	}
	n.Request, n.message = body, proto.Clone(request)
	return n, true, nil
}

// note records a resource once; a repeated request moves it to the end.
func (c *C) note(n note) error {
	c.mu.Lock()
	at := slices.IndexFunc(c.notes, n.same)
	if at < 0 {
		c.notes = append(c.notes, n)
		c.mu.Unlock()
		return c.suite.book.write(n)
	}
	defer c.mu.Unlock()
	known := c.notes[at]
	n.calls, n.made = n.calls+known.calls, n.made || known.made
	if n.Kind == noteAccount || n.Kind == noteOldAccount || n.Kind == noteOldBucket {
		// The first grant defines the account; a second grant that was rejected must not replace it.
		n.Request, n.message, n.refused, n.learned = known.Request, known.message, known.refused, known.learned
		c.notes[at] = n
		return nil
	}
	c.notes = append(slices.Delete(c.notes, at, at+1), n)
	return nil
}

// confirm records that a hook has created the requested resource.
func (c *C) confirm(n note) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n.Unsure = false
	for i, known := range c.notes {
		if known.same(n) {
			c.notes[i] = n
		}
	}
	return c.suite.book.write(n)
}

func (n note) same(other note) bool { return n.Kind == other.Kind && n.ID == other.ID }

// settleNotes crosses out resources that, according to the response, no longer exist or were never the suite's. The
// caller holds c.mu.
func (c *C) settleNotes(x exchange) {
	c.settleMaking(x)
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
	case *v1alpha1.DriverDeleteBucketRequest:
		gone.Kind, gone.ID = noteOldBucket, c.nameOf(noteOldBucket, r.GetBucketId())
	case *v1alpha1.DriverRevokeBucketAccessRequest:
		gone.Kind, gone.ID = noteOldAccount, c.nameOf(noteOldAccount, r.GetAccountId())
	default:
		return
	}
	at := slices.IndexFunc(c.notes, gone.same)
	// A request that is still running may create the resource after this removal.
	if at >= 0 && c.notes[at].calls == 0 {
		c.strike(gone)
	}
}

// strike removes a resource from the notes. The caller holds c.mu.
func (c *C) strike(n note) {
	c.notes = slices.DeleteFunc(c.notes, n.same)
	// If this line is missing, a later sweep only makes an unnecessary request.
	_ = c.suite.book.write(note{Kind: n.Kind, ID: n.ID, Gone: true})
}

// settleMaking evaluates the response to a request that creates something. If every response for a resource is
// AlreadyExists, the resource has another owner and must not be removed, because the suite did not create it. The
// caller holds c.mu.
func (c *C) settleMaking(x exchange) {
	n, makes, err := noteOf(x.request)
	if err != nil || !makes {
		return
	}
	code := x.status.Code()
	at := slices.IndexFunc(c.notes, n.same)
	if at < 0 {
		return
	}
	known := &c.notes[at]
	known.calls--
	if code == codes.OK {
		known.learned = learnedFrom(x.response)
	}
	known.made = known.made || code != codes.AlreadyExists
	if known.calls == 0 && !known.made {
		c.strike(*known)
	}
}

// markRefused marks a resource that was requested with an invalid request. The caller holds c.mu.
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

// cleanUp removes the resources that the case has created, in reverse order, and returns those that it could not
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

// remove removes one resource through the driver or fixture that created it.
func (c *C) remove(ctx context.Context, n note) error {
	switch n.Kind {
	case noteAccount:
		grant, isGrant := n.message.(*cosi.DriverGrantBucketAccessRequest)
		if !isGrant {
			return errors.New("the journal does not contain the request that created the account")
		}
		return c.removeAccount(ctx, grant)
	case noteBucket:
		create, isCreate := n.message.(*cosi.DriverCreateBucketRequest)
		if !isCreate {
			return errors.New("the journal does not contain the request that created the bucket")
		}
		return c.removeBucket(ctx, create)
	case noteOldBucket, noteOldAccount:
		return c.removeOld(ctx, n)
	case noteFixture:
		if c.suite.config.Fixture == nil {
			return errors.New("no configured fixture hook can remove the bucket")
		}
		return c.suite.config.Fixture.RemoveBucket(ctx, n.ID)
	case noteForeign:
		fixture, can := c.suite.config.Fixture.(ForeignFixture)
		if !can {
			return errors.New("no configured fixture hook can remove the bucket")
		}
		if n.Unsure {
			return errors.New("the fixture hook did not confirm the creation, so the bucket may have another owner and was not removed")
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
	return fmt.Errorf("DriverRevokeBucketAccess returns %s", code)
}

// removeBucket deletes a bucket. If the driver refuses because the bucket is not empty, it empties the bucket first.
// The suite owns the bucket and therefore its contents.
func (c *C) removeBucket(ctx context.Context, create *cosi.DriverCreateBucketRequest) error {
	request := &cosi.DriverDeleteBucketRequest{BucketId: create.GetBucketId(), Parameters: create.GetParameters()}
	_, code := try(ctx, c, c.provisioner.DriverDeleteBucket, request)
	if code == codes.FailedPrecondition {
		if err := c.empty(ctx, create.GetBucketId()); err != nil {
			return fmt.Errorf("delete the data of the bucket: %w", err)
		}
		_, code = try(ctx, c, c.provisioner.DriverDeleteBucket, request)
	}
	if code == codes.OK || code == codes.NotFound {
		return nil
	}
	return fmt.Errorf("DriverDeleteBucket returns %s", code)
}

// empty deletes all objects of a bucket with an account created for this purpose.
func (c *C) empty(ctx context.Context, bucketID string) error {
	protocol := c.protocol()
	prober := c.suite.config.Probers[protocol]
	if prober == nil {
		return errors.New("no prober supports the protocol")
	}
	phase1 := c.accessRequest(c.name(), protocol, []*cosi.AccessedBucket{readWrite(bucketID)})
	named, code := try(ctx, c, c.provisioner.DriverGenerateBucketAccessId, phase1)
	if code != codes.OK {
		return fmt.Errorf("DriverGenerateBucketAccessId returns %s", code)
	}
	grant := grantOf(named.GetAccountId(), phase1)
	response, code := try(ctx, c, c.provisioner.DriverGrantBucketAccess, grant)
	if code != codes.OK || len(response.GetBuckets()) == 0 {
		return fmt.Errorf("DriverGrantBucketAccess returns %s", code)
	}
	attempt := Attempt{BucketID: bucketID, Info: response.GetBuckets()[0].GetBucketInfo(), Credentials: response.GetCredentials(), Action: ListObjects}
	listed, err := prober.Try(ctx, attempt)
	for _, key := range listed.Keys {
		attempt.Action, attempt.Key = DeleteObject, key
		_, deleteErr := prober.Try(ctx, attempt)
		err = errors.Join(err, deleteErr)
	}
	return errors.Join(err, c.removeAccount(ctx, grant))
}
