// SPDX-License-Identifier: Apache-2.0

package sqsapi

import (
	"crypto/md5" //nolint:gosec // MD5OfBody is MD5 by definition
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/fakes/internal/journal"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
)

const (
	tableQueue = "sqs.queue"
	// maxMessages is the maximum number of messages of a queue. AWS limits only those in flight, to 120,000.
	maxMessages = 100_000
	// maxQueues is the maximum number of queues.
	maxQueues = 1000
	// maxTrace is the maximum length of a trace header in bytes. Usual ones have about 100. Long ones could fill the memory.
	maxTrace = 1024
)

// definition is the stored part of a queue. Messages are only in memory.
type definition struct {
	Name string `json:"name"`
	// Attributes are those that a client has set.
	Attributes map[string]string `json:"attributes,omitempty"`
	Created    int64             `json:"created"`
}

type queue struct {
	definition

	arn    string
	policy *iampolicy.Document
	// messages are all messages, oldest first.
	messages []*message
	// arrived is closed and replaced when a message arrives.
	arrived chan struct{}
	// full is set after a message was discarded, until there is room again.
	full bool
}

// message is a message of a queue.
type message struct {
	id, trace string
	body      []byte
	sent      time.Time
	// visible is the time from which the message can be received.
	visible time.Time
	// first is the time of the first receive. received counts them.
	first    time.Time
	received int
}

// load reads the queues from the journal.
func (a *API) load(j journal.Journal) error {
	stored := map[string]definition{}
	if err := journal.Load(j, tableQueue, stored); err != nil {
		return fmt.Errorf("load the queues: %w", err)
	}
	for _, d := range stored {
		if err := a.add(d); err != nil {
			return err
		}
	}
	return nil
}

func (a *API) add(d definition) error {
	q := &queue{definition: d, arn: a.arn(d.Name), arrived: make(chan struct{})}
	if raw := d.Attributes["Policy"]; raw != "" {
		var err error
		if q.policy, err = iampolicy.ParseQueue(raw); err != nil {
			return fmt.Errorf("queue %s: %w", d.Name, err)
		}
	}
	a.queues[d.Name] = q
	return nil
}

// Names returns the names of the queues in order.
func (a *API) Names() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.queues))
}

// arn returns the ARN of a queue.
func (a *API) arn(name string) string { return a.ARNPrefix() + name }

// ARNPrefix returns the part of the ARN of each queue before its name.
func (a *API) ARNPrefix() string {
	return "arn:" + a.Account.Partition + ":sqs:" + a.Region + ":" + a.Account.Options.ID + ":"
}

// attribute returns an attribute that a client can set, as a number.
func (q *queue) attribute(name string) int {
	n, _ := strconv.Atoi(q.text(name)) // validated when it was set
	return n
}

func (q *queue) text(name string) string {
	if v, ok := q.Attributes[name]; ok {
		return v
	}
	return attributes[name].initial
}

// Refusal returns S3's reason why it cannot send messages about a bucket to a queue, or "". A queue without a policy
// accepts messages about all buckets of the account; in AWS, a policy must permit them.
func (a *API) Refusal(arn, bucketARN string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.byARN(arn)
	switch {
	case q == nil:
		return "The destination queue does not exist"
	case !a.permitsS3(q, bucketARN):
		return "Permissions on the destination queue do not allow S3 to publish notifications from this bucket"
	}
	return ""
}

func (a *API) byARN(arn string) *queue {
	name, ok := strings.CutPrefix(arn, a.ARNPrefix())
	if !ok {
		return nil
	}
	return a.queues[name]
}

func (a *API) permitsS3(q *queue, bucketARN string) bool {
	if q.policy == nil {
		return true
	}
	ctx := iampolicy.Context{}
	ctx.Set("aws:SourceArn", bucketARN)
	ctx.Set("aws:SourceAccount", a.Account.Options.ID)
	ctx.Set("aws:PrincipalIsAWSService", "true")
	ctx.Set("aws:PrincipalServiceName", s3Principal)
	return q.policy.Evaluate(iampolicy.Request{Action: "sqs:SendMessage", Resource: q.arn, Context: ctx, Principal: iampolicy.Caller{Service: s3Principal}}) == iampolicy.Allow
}

const s3Principal = "s3.amazonaws.com"

// Send adds a message from S3 to a queue. trace is the X-Amzn-Trace-Id header of the request, or "". Send omits it if
// it is too long. If the queue is full, Send discards the message and returns an error for the first one.
func (a *API) Send(arn, bucketARN, trace string, body []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.byARN(arn)
	switch {
	case q == nil:
		return errors.New("the queue does not exist")
	case !a.permitsS3(q, bucketARN):
		return errors.New("the policy of the queue does not allow s3.amazonaws.com to send messages about this bucket")
	}
	now := a.Now()
	q.expire(now)
	if len(q.messages) >= maxMessages {
		if q.full {
			return nil
		}
		q.full = true
		return fmt.Errorf("the queue has %d messages; further messages are discarded until messages are deleted", maxMessages)
	}
	q.full = false
	if len(trace) > maxTrace {
		trace = ""
	}
	q.messages = append(q.messages, &message{id: uuid.NewString(), body: body, trace: trace, sent: now, visible: now.Add(time.Duration(q.attribute("DelaySeconds")) * time.Second)})
	close(q.arrived)
	q.arrived = make(chan struct{})
	return nil
}

// expire removes the messages that are older than the retention period.
func (q *queue) expire(now time.Time) {
	oldest := now.Add(-time.Duration(q.attribute("MessageRetentionPeriod")) * time.Second)
	kept := 0
	for kept < len(q.messages) && q.messages[kept].sent.Before(oldest) {
		kept++
	}
	q.messages = slices.Delete(q.messages, 0, kept)
}

// take receives up to limit visible messages and hides them. If there are none, next is the time until the next message
// becomes visible, or zero.
func (q *queue) take(now time.Time, limit int, hide time.Duration) (taken []message, next time.Duration) {
	q.expire(now)
	for _, m := range q.messages {
		if len(taken) == limit {
			break
		}
		if hidden := m.visible.Sub(now); hidden > 0 {
			if next == 0 || hidden < next {
				next = hidden
			}
			continue
		}
		m.received++
		m.visible = now.Add(hide)
		if m.received == 1 {
			m.first = now
		}
		taken = append(taken, *m)
	}
	return taken, next
}

// counts returns the numbers of messages that are visible, in flight and delayed.
func (q *queue) counts(now time.Time) (visible, inFlight, delayed int) {
	q.expire(now)
	for _, m := range q.messages {
		switch {
		case !m.visible.After(now):
			visible++
		case m.received == 0:
			delayed++
		default:
			inFlight++
		}
	}
	return visible, inFlight, delayed
}

// handle returns the receipt handle of the last receive.
func (m *message) handle() string {
	return base64.StdEncoding.EncodeToString([]byte(m.id + "/" + strconv.Itoa(m.received)))
}

// handled returns the message ID in a receipt handle.
func handled(handle string) (id string, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(handle)
	id, count, found := strings.Cut(string(raw), "/")
	_, numeric := strconv.Atoi(count)
	return id, err == nil && found && numeric == nil && len(id) == 36
}

func (m *message) md5() string {
	sum := md5.Sum(m.body) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// Create creates a queue, if it does not exist. values are its attributes.
func (a *API) Create(name string, values map[string]string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := checkName(name); err != nil {
		return err
	}
	if err := checkAttributes(values); err != nil {
		return err
	}
	if q := a.queues[name]; q != nil {
		for attribute, v := range values {
			if q.text(attribute) != v {
				return refused(errQueueExists, "A queue already exists with the same name and a different value for attribute %s", attribute)
			}
		}
		return nil
	}
	if len(a.queues) >= maxQueues {
		return refused(errOverLimit, "This fake has at most %d queues.", maxQueues)
	}
	d := definition{Name: name, Attributes: maps.Clone(values), Created: a.Now().Unix()}
	if err := journal.Save(a.Journal, tableQueue, name, d); err != nil {
		return fmt.Errorf("save queue %s: %w", name, err)
	}
	return a.add(d)
}
