// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
)

const enabled = "Enabled"

// abacBody is AbacStatus.
type abacBody struct {
	Status string `xml:"Status"`
}

func (q *request) getABAC() error {
	status := "Disabled"
	if q.state.Config[configABAC] != nil {
		status = enabled
	}
	return q.send(newDocument("AbacStatus").text("Status", status))
}

func (q *request) putABAC() error {
	var body abacBody
	if err := q.readXML(&body); err != nil {
		return err
	}
	var config []byte
	switch body.Status {
	case enabled:
		config = []byte(enabled)
	case "Disabled":
	default:
		return errMalformedXML
	}
	return q.statusUnless(q.setConfig(configABAC, config), http.StatusOK)
}

// bucketTags adds the tags of a bucket that are for access control ("Using tags with S3 general purpose buckets").
func (q *request) bucketTags(ctx iampolicy.Context) {
	if q.state.Config[configABAC] == nil {
		return
	}
	for _, t := range tagsOf(q.state) {
		ctx.Set("s3:BucketTag/"+t.Key, t.Value)
		ctx.Set("aws:ResourceTag/"+t.Key, t.Value)
	}
}

// writable rejects changing the tags of a bucket that are used for access control. That requires TagResource or
// UntagResource of S3 Control ("Enabling ABAC in general purpose buckets" in the Amazon S3 User Guide). The error is
// not documented.
func writable(run func(*request) error) func(*request) error {
	return func(q *request) error {
		if q.state.Config[configABAC] != nil {
			return awserr.New(http.StatusBadRequest, "InvalidRequest", "ABAC is enabled for this bucket. Use TagResource and UntagResource.")
		}
		return run(q)
	}
}

// taggable is for a store that may have no tags of buckets.
func taggable(run func(*request) error) func(*request) error {
	return func(q *request) error {
		if q.NoBucketTags {
			return notImplemented("tagging", "This store does not support tags of buckets.")
		}
		return run(q)
	}
}
