// SPDX-License-Identifier: Apache-2.0

package s3fake

import (
	"time"

	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/notify"
)

// Event is a change of an object, for Options.OnEvent. It has the members of S3's event messages: Name is without "s3:",
// VersionID is "" for the null version, ETag is without quotes, Size is 0 for events other than ObjectCreated, and
// Principal is the caller's ARN, or "" for an anonymous one. Sequencer, compared as a string, is greater for a later
// event of the same key; events of tags and ACLs have none.
type Event struct {
	Name, Bucket, Key, VersionID, ETag string
	Size                               int64
	Time                               time.Time
	Sequencer, Principal               string
}

// newHub returns the delivery of the state's events.
func (s *state) newHub() *notify.Hub {
	o := notify.Options{Queues: s.sqs, Webhooks: s.options.webhooks, ARNPrefix: s.sqs.ARNPrefix(), Log: s.options.Log}
	if call := s.options.OnEvent; call != nil {
		o.OnEvent = func(e notify.Event) { call(Event(e)) }
	}
	return notify.New(o)
}
