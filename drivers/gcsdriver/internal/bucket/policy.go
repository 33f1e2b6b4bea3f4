// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"hash/fnv"
	"net/http"
	"strings"

	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/call"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/policy"
)

const (
	// stripes is how many buckets can be edited at a time by this process.
	stripes = 64
	// settleAttempts is how often one call tries to bind a member that Google does not know yet: for
	// ten to fifteen seconds. It takes up to a minute in rare cases, which the next call waits out.
	settleAttempts = 8
	// staleAttempts is how often Google may refuse a write for a condition that is not met while nobody
	// else has changed the policy. After that it is no lost race, but something that the bucket or the
	// organization rules out, which Google words the same way.
	staleAttempts = 3
)

// PolicyEditor edits the policies of buckets. Several processes may edit one policy: Google refuses what
// was made from an old one, and the editor starts again. Within one process edits of a bucket wait for
// each other, which needs fewer calls.
type PolicyEditor struct {
	api   *storage.Service
	locks [stripes]chan struct{}
}

// NewPolicyEditor returns an editor with the driver's own credentials.
func NewPolicyEditor(api *storage.Service) *PolicyEditor {
	made := &PolicyEditor{api: api}
	for i := range made.locks {
		made.locks[i] = make(chan struct{}, 1)
	}
	return made
}

// Edit changes the policy of a bucket. It calls change, maybe several times, which reports whether it
// changed the policy that it got; if not, nothing is written. The error for a missing bucket is the
// API's.
func (e *PolicyEditor) Edit(ctx context.Context, bucket string, change func(*storage.Policy) (bool, error)) error {
	unlock, err := e.lock(ctx, bucket)
	if err != nil {
		return err
	}
	defer unlock()
	refused := refusals{}
	for attempt := 1; ; attempt++ {
		current, err := e.read(ctx, bucket)
		if err != nil {
			return err
		}
		changed, err := change(current)
		if err != nil || !changed {
			return err
		}
		if err = e.write(ctx, bucket, current); err == nil {
			return nil
		}
		if err := refused.judge(bucket, current.Etag, err); err != nil {
			return err
		}
		if err := call.Pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// refusals are the writes of one edit that Google has refused.
type refusals struct {
	// unknown counts those of a member that does not exist yet.
	unknown int
	// etag is that of the policy that the last one was made from, and stale how many were made from it.
	etag  string
	stale int
}

// judge returns why another attempt makes no sense; nil if it does.
func (r *refusals) judge(bucket, etag string, err error) error {
	switch {
	case unknownMember(err):
		if r.unknown++; r.unknown >= settleAttempts {
			return driverkit.Unavailable("bucket %s: the new account has not reached all of Google Cloud yet; the driver tries again", bucket).WithDetail(err)
		}
		return nil
	case apierror.Is(err, http.StatusPreconditionFailed):
		if r.etag != etag {
			r.etag, r.stale = etag, 0
		}
		if r.stale++; r.stale >= staleAttempts {
			return driverkit.FailedPrecondition("bucket %s does not take this permission; it needs uniform bucket-level access, and members that the policies of the organization allow", bucket).WithDetail(err)
		}
		return nil
	case apierror.Is(err, http.StatusConflict, http.StatusTooManyRequests):
		return nil
	default:
		return err
	}
}

func (e *PolicyEditor) read(ctx context.Context, bucket string) (*storage.Policy, error) {
	return call.Do(ctx, call.Storage, "buckets.getIamPolicy", func(ctx context.Context) (*storage.Policy, error) {
		return e.api.Buckets.GetIamPolicy(bucket).OptionsRequestedPolicyVersion(policy.Version).Context(ctx).Do()
	})
}

// write sends the policy with the etag that was read.
func (e *PolicyEditor) write(ctx context.Context, bucket string, edited *storage.Policy) error {
	edited.Version = policy.Version
	_, err := call.Do(ctx, call.Storage, "buckets.setIamPolicy", func(ctx context.Context) (*storage.Policy, error) {
		return e.api.Buckets.SetIamPolicy(bucket, edited).Context(ctx).Do()
	})
	return err
}

// unknownMember reports whether a policy was refused because a service account in it does not exist,
// which is so for a while after it was made.
func unknownMember(err error) bool {
	return apierror.Is(err, http.StatusBadRequest) && strings.Contains(apierror.Message(err), "does not exist")
}

func (e *PolicyEditor) lock(ctx context.Context, bucket string) (unlock func(), err error) {
	hash := fnv.New32a()
	// A hash never fails to write.
	_, _ = hash.Write([]byte(bucket))
	held := e.locks[hash.Sum32()%stripes]
	select {
	case held <- struct{}{}:
		return func() { <-held }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
