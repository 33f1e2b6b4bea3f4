// SPDX-License-Identifier: Apache-2.0

package s3fake

import (
	"time"

	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/notify"
)

// Event is a change of an object, for Options.OnEvent. It has the members of S3's event messages.
type Event struct {
	// Name is the type of the event without "s3:", for example ObjectCreated:Put.
	Name        string
	Bucket, Key string
	// VersionID is "" for the null version.
	VersionID string
	// ETag is without quotes. It is "" for a deleted version.
	ETag string
	// Size is the size of a created object in bytes, and 0 for other events.
	Size int64
	Time time.Time
	// Sequencer is greater for a later event of the same key, if compared as a string. Events of tags have none.
	Sequencer string
	// Principal is the ARN of the caller, or "" for an anonymous one.
	Principal string
}

// newHub returns the delivery of the state's events.
func (s *state) newHub() *notify.Hub {
	o := notify.Options{Queues: s.sqs, Webhooks: s.options.webhooks, ARNPrefix: s.sqs.ARNPrefix(), Log: s.options.Log}
	if call := s.options.OnEvent; call != nil {
		o.OnEvent = func(e notify.Event) { call(Event(e)) }
	}
	return notify.New(o)
}
