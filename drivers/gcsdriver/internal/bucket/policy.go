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
	// stripes is the number of buckets that this process can edit concurrently.
	stripes = 64
	// settleAttempts is how often one call tries to bind a member that Google does not recognize yet, for 10 to 15
	// seconds in total. In rare cases propagation takes up to a minute, which the next call waits out.
	settleAttempts = 8
	// staleAttempts is how often Google may reject a write for an unmet condition although the policy has not changed.
	// After that the cause is not a lost race but a restriction of the bucket or the organization, which Google reports
	// in the same way.
	staleAttempts = 3
)

// PolicyEditor edits the policies of buckets. Several processes may edit one policy: Google rejects a write that is
// based on an old version, and the editor then reads the policy again. Within one process, the editor serializes the
// edits of a bucket to save calls.
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

// Edit changes the policy of a bucket. It calls change, possibly several times, with the current policy. change
// modifies the policy and reports whether it did so. If it did not, Edit writes nothing. If the bucket is missing,
// Edit returns the API's error.
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

// refusals counts the writes of one edit that Google rejected.
type refusals struct {
	// unknown counts rejections because a member does not exist yet.
	unknown int
	// etag is the version that the last rejected write was based on, and stale the number of rejected writes based on
	// it.
	etag  string
	stale int
}

// judge returns an error if another attempt is useless, and nil otherwise.
func (r *refusals) judge(bucket, etag string, err error) error {
	switch {
	case unknownMember(err):
		if r.unknown++; r.unknown >= settleAttempts {
			return driverkit.Unavailable("bucket %s: the new account has not propagated in Google Cloud yet; the driver tries again", bucket).WithDetail(err)
		}
		return nil
	case apierror.Is(err, http.StatusPreconditionFailed):
		if r.etag != etag {
			r.etag, r.stale = etag, 0
		}
		if r.stale++; r.stale >= staleAttempts {
			return driverkit.FailedPrecondition("Google Cloud rejects this permission in the IAM policy of bucket %s; check that the bucket has uniform bucket-level access and that the organization's policies allow the member", bucket).WithDetail(err)
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

// unknownMember reports whether a policy was rejected because it names a service account that does not exist. This is
// expected for a while after the service account is created.
func unknownMember(err error) bool {
	return apierror.Is(err, http.StatusBadRequest) && strings.Contains(apierror.Message(err), "does not exist")
}

func (e *PolicyEditor) lock(ctx context.Context, bucket string) (unlock func(), err error) {
	hash := fnv.New32a()
	// Writing to a hash never fails.
	_, _ = hash.Write([]byte(bucket))
	held := e.locks[hash.Sum32()%stripes]
	select {
	case held <- struct{}{}:
		return func() { <-held }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
