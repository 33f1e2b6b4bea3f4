// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/xml"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// Queues are the queues that S3 can send messages to.
type Queues interface {
	// Refusal returns the reason why S3 cannot send messages about a bucket to the queue with an ARN, or "".
	Refusal(arn, bucketARN string) string
	// Send adds a message to the queue. trace is the X-Amzn-Trace-Id header of the request, or "".
	Send(arn, bucketARN, trace string, body []byte) error
}

// Options are the arguments of New.
type Options struct {
	Queues Queues
	// Webhooks receive the messages for queues with their names; nil means none.
	Webhooks *Webhooks
	// ARNPrefix is the part of a queue's ARN before the name.
	ARNPrefix string
	// OnEvent is called for each event; nil means not at all.
	OnEvent func(Event)
	Log     *slog.Logger
}

// Hub delivers the events of one server.
type Hub struct {
	Options

	// turns serialize the writes of a key, so that its messages have the order of the writes.
	turns [64]sync.Mutex
	seed  maphash.Seed
	count atomic.Uint64
}

// New returns a hub.
func New(o Options) *Hub {
	h := &Hub{Options: o, seed: maphash.MakeSeed()}
	h.count.Store(uint64(time.Now().UnixNano()))
	return h
}

// Turn waits for the end of other writes of the key, and returns the function that ends this write.
func (h *Hub) Turn(bucket, key string) (end func()) {
	turn := &h.turns[maphash.String(h.seed, bucket+"/"+key)%uint64(len(h.turns))]
	turn.Lock()
	return turn.Unlock
}

// Sequencer returns a value that is greater than all earlier ones, also those of an earlier hub: the first one is the time
// in nanoseconds at which the hub was created. It has the 18 hexadecimal digits of S3's sequencers.
func (h *Hub) Sequencer() string { return fmt.Sprintf("%018X", h.count.Add(1)) }

// Check returns S3's error if destinations of a configuration do not exist or do not accept messages from S3.
func (h *Hub) Check(c *Configuration, bucketARN string) error {
	e, count := awserr.New(http.StatusBadRequest, "InvalidArgument", "Unable to validate the following destination configurations"), 0
	for _, arn := range c.destinations() {
		if h.webhook(arn) != "" {
			continue
		}
		if why := h.Queues.Refusal(arn, bucketARN); why != "" {
			count++
			e = e.With(fmt.Sprintf("ArgumentName%d", count), arn).With(fmt.Sprintf("ArgumentValue%d", count), why)
		}
	}
	if count == 0 {
		return nil
	}
	return e
}

// webhook returns the name of the webhook that replaces a queue in any region, or "" if there is none.
func (h *Hub) webhook(arn string) string {
	arn = strings.Replace(arn, ":sqs:"+regionOf(arn)+":", ":sqs:"+regionOf(h.ARNPrefix)+":", 1)
	if name, ok := strings.CutPrefix(arn, h.ARNPrefix); ok && h.Webhooks.has(name) {
		return name
	}
	return ""
}

// Test sends s3:TestEvent to all destinations of a configuration.
func (h *Hub) Test(c *Configuration, bucket string, now time.Time, o Origin) {
	for _, arn := range c.destinations() {
		h.send(arn, "s3:TestEvent of bucket "+bucket, o, testMessage(bucket, now, o))
	}
}

// Publish sends an event to the destinations in the configuration document raw.
func (h *Hub) Publish(raw []byte, e Event, o Origin) {
	c := &Configuration{}
	if err := xml.Unmarshal(raw, c); err != nil {
		h.Log.Error("The event is lost, because the notification configuration cannot be read. Store it again.", "bucket", e.Bucket, "key", e.Key, "event", e.Name, "err", err)
		return
	}
	for i := range c.Queues {
		if r := &c.Queues[i]; r.matches(e.Name, e.Key) {
			h.send(r.Queue, e.Name+" of "+e.Bucket+"/"+e.Key, o, message(e, o, r.ID))
		}
	}
}

func (h *Hub) send(arn, subject string, o Origin, body []byte) {
	if name := h.webhook(arn); name != "" {
		h.Webhooks.send(name, subject, body)
		return
	}
	if err := h.Queues.Send(arn, o.BucketARN, o.Trace, body); err != nil {
		h.Log.Error("The event is lost, because the queue does not accept it. Check the queue and its policy.", "queue", arn, "event", subject, "err", err)
	}
}
