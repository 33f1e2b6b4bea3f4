// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"crypto/rand"
	"net"
	"net/http"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/notify"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

const configNotification = "notification"

func (q *request) getNotification() error {
	if raw := q.state.Config[configNotification]; raw != nil {
		return q.raw(contentXML, raw)
	}
	return q.send(newDocument("NotificationConfiguration"))
}

func (q *request) putNotification() error {
	var body notify.Configuration
	if err := q.readXML(&body); err != nil {
		return err
	}
	if err := body.Complete(rand.Text); err != nil {
		return err
	}
	if err := body.CheckRegion(q.region()); err != nil {
		return err
	}
	skip := strings.EqualFold(q.header("X-Amz-Skip-Destination-Validation"), "true")
	if !skip {
		if err := q.Events.Check(&body, q.bucketARN()); err != nil {
			return err
		}
	}
	var document []byte
	if len(body.Queues) > 0 {
		document = encodeXML("NotificationConfiguration", body)
	}
	if err := q.setConfig(configNotification, document); err != nil {
		return err
	}
	if !skip {
		q.Events.Test(&body, q.bucket, q.Now(), q.origin())
	}
	return q.status(http.StatusOK)
}

// notifies reports whether a destination or the callback receives events of the bucket.
func (q *request) notifies() bool {
	return q.state.Config[configNotification] != nil || q.Events.OnEvent != nil
}

// turn begins a write of a key. The returned function ends it and calls the callback for its events. In between, there
// is no other write of the key, so that messages have the order of the writes.
func (q *request) turn(key string) (end func()) {
	if !q.notifies() {
		return func() {}
	}
	unlock := q.Events.Turn(q.bucket, key)
	return func() {
		unlock()
		events := q.events
		q.events = nil
		for _, e := range events {
			q.Events.OnEvent(e)
		}
	}
}

// announce sends an event about a version of a key. Call it in the key's turn, after the write.
func (q *request) announce(name, key string, v *store.Version) {
	if !q.notifies() {
		return
	}
	e := notify.Event{Name: name, Bucket: q.bucket, Key: key, Time: q.Now()}
	if v.ID != store.NullVersion {
		e.VersionID = v.ID
	}
	if q.principal != nil {
		e.Principal = q.principal.ARN
	}
	switch name {
	case notify.RemovedDelete:
	case notify.RemovedMarker:
		e.ETag = emptyETag
	case notify.TaggingPut, notify.TaggingDelete, notify.ACLPut:
		e.ETag = v.ETag
	default:
		e.ETag, e.Size = v.ETag, v.Size
	}
	if notify.Sequenced(name) {
		e.Sequencer = q.Events.Sequencer()
	}
	if raw := q.state.Config[configNotification]; raw != nil {
		q.Events.Publish(raw, e, q.origin())
	}
	if q.Events.OnEvent != nil {
		q.events = append(q.events, e)
	}
}

// emptyETag is the ETag that S3 reports for a delete marker in events: the MD5 of nothing.
const emptyETag = "d41d8cd98f00b204e9800998ecf8427e"

// announceRemoval sends the event of a deletion. Recordings show that S3 also sends one for a key that does not exist.
// There is none for a version that does not exist.
func (q *request) announceRemoval(key, version string, d store.Deleted) {
	switch {
	case d.Marker != nil:
		q.announce(notify.RemovedMarker, key, d.Marker)
	case d.Version != nil:
		q.announce(notify.RemovedDelete, key, d.Version)
	case version == "":
		q.announce(notify.RemovedDelete, key, &store.Version{ID: store.NullVersion})
	}
}

// origin describes the request for messages.
func (q *request) origin() notify.Origin {
	o := notify.Origin{
		Region: q.region(), BucketARN: q.bucketARN(), Owner: "A" + q.Account.Options.ID, Caller: "Anonymous",
		RequestID: q.id, HostID: HostID, Trace: q.r.Header.Get("X-Amzn-Trace-Id"),
	}
	if q.principal != nil {
		o.Caller = "AWS:" + q.principal.ID
	}
	if host, _, err := net.SplitHostPort(q.r.RemoteAddr); err == nil {
		o.SourceIP = host
	}
	return o
}
