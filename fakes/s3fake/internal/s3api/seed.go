// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"

	"github.com/cooper-cosi/cooper/fakes/internal/calls"
	"github.com/cooper-cosi/cooper/fakes/internal/seedobject"
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

// SeedObject stores an object as the root user does, unless the key exists.
func (a *API) SeedObject(bucket string, o seedobject.Object) error {
	body, err := o.Body()
	if err != nil {
		return err
	}
	r, err := http.NewRequest(http.MethodPut, "http://seed/", bytes.NewReader(body)) //nolint:noctx // the URL is not used: this server handles the request
	if err != nil {
		return err
	}
	r.URL.Path = "/" + bucket + "/" + o.Name
	r.Header.Set("If-None-Match", "*")
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	if o.ContentType != "" {
		r.Header.Set("Content-Type", o.ContentType)
	}
	for name, value := range o.Metadata {
		r.Header.Set("X-Amz-Meta-"+name, value)
	}
	q := a.Prepare(r).q
	q.w = calls.Discard{}
	root, err := a.Account.Principal(a.Account.Options.RootKey)
	if err != nil {
		return err
	}
	q.principal = &root
	if err := errors.Join(q.findBucket(), q.openBody()); err != nil {
		return err
	}
	if err := q.op.run(q); err != nil && q.wireError(err).Code != errPrecondition.Code {
		return err
	}
	return nil
}
