// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"errors"

	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// newBucket is a bucket as CreateBucket makes it.
func (a *API) newBucket(name string) store.Bucket {
	b := store.Bucket{Name: name, Config: map[string][]byte{}}
	if !a.OpenBuckets {
		b.Config[configAccessBlock] = accessBlock{BlockPublicAcls: true, IgnorePublicAcls: true, BlockPublicPolicy: true, RestrictPublicBuckets: true}.document()
	}
	return b
}

// Seed creates a bucket without a request, optionally with versioning and a bucket policy.
func (a *API) Seed(name string, versioning bool, policy []byte) error {
	if !validBucketName(name) {
		return errInvalidBucket.With("BucketName", name)
	}
	b := a.newBucket(name)
	if versioning {
		b.Versioning = store.VersioningEnabled
	}
	if len(policy) > 0 {
		doc, err := iampolicy.ParseBucket(policy, name, a.Account)
		if err != nil {
			return err
		}
		if doc.Public() && !a.OpenBuckets {
			return errors.New("the policy is public, but new buckets block public access; disable the block with --open-buckets or Options.OpenBuckets")
		}
		b.Config[configPolicy], b.Principals = policy, a.Account.Pins(doc)
	}
	return a.Store.CreateBucket(b)
}
