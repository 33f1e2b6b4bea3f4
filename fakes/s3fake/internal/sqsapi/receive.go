// SPDX-License-Identifier: Apache-2.0

package sqsapi

import (
	"context"
	"slices"
	"strconv"
	"time"
)

// receiveResult is the result of ReceiveMessage.
type receiveResult struct {
	Messages []receivedMessage `json:"Messages,omitempty" xml:"Message"`
}

type receivedMessage struct {
	ID            string `json:"MessageId" xml:"MessageId"`
	ReceiptHandle string `json:"ReceiptHandle" xml:"ReceiptHandle"`
	MD5           string `json:"MD5OfBody" xml:"MD5OfBody"`
	Body          string `json:"Body" xml:"Body"`
	Attributes    pairs  `json:"Attributes,omitempty" xml:"Attribute"`
}

// receive returns visible messages. If there are none, it waits for the first one.
func (a *API) receive(ctx context.Context, r Request, name string) (any, error) {
	limit, err := number("MaxNumberOfMessages", r.Input.MaxNumberOfMessages, 1, 1, 10)
	if err != nil {
		return nil, err
	}
	for _, n := range r.names() {
		if n != "All" && !slices.Contains(messageAttributes, n) && !slices.Contains(unservedMessageAttributes, n) {
			return nil, refused(errAttributeName, "Unknown Attribute %s.", n)
		}
	}
	var end <-chan time.Time
	for {
		found, err := a.receiveNow(r, name, limit)
		if err != nil {
			return nil, err
		}
		if len(found.messages) > 0 || found.wait == 0 {
			return r.shown(found.messages), nil
		}
		if end == nil {
			timer := time.NewTimer(found.wait)
			defer timer.Stop()
			end = timer.C
		}
		if !found.await(ctx, end) {
			return receiveResult{}, nil
		}
	}
}

// found is the result of looking for messages once.
type found struct {
	messages []message
	// wait is how long the caller wants to wait for a message. again is the time until the next hidden message becomes
	// visible, or 0.
	wait, again time.Duration
	arrived     <-chan struct{}
}

// receiveNow looks for messages once.
func (a *API) receiveNow(r Request, name string, limit int) (found, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.queues[name]
	if q == nil {
		return found{}, errNoQueue
	}
	wait, err := number("WaitTimeSeconds", r.Input.WaitTimeSeconds, q.attribute("ReceiveMessageWaitTimeSeconds"), 0, 20)
	if err != nil {
		return found{}, err
	}
	hide, err := number("VisibilityTimeout", r.Input.VisibilityTimeout, q.attribute("VisibilityTimeout"), 0, 43200)
	if err != nil {
		return found{}, err
	}
	now := a.Now()
	messages, next := q.take(now, limit, time.Duration(hide)*time.Second)
	f := found{messages: messages, wait: time.Duration(wait) * time.Second, arrived: q.arrived}
	if !next.IsZero() {
		f.again = next.Sub(now)
	}
	return f, nil
}

// await waits until it is useful to look again. It returns false at the end of the time or of the request.
func (f found) await(ctx context.Context, end <-chan time.Time) bool {
	var again <-chan time.Time
	if f.again > 0 {
		timer := time.NewTimer(f.again)
		defer timer.Stop()
		again = timer.C
	}
	select {
	case <-f.arrived:
		return true
	case <-again:
		return true
	case <-end:
		return false
	case <-ctx.Done():
		return false
	}
}

var (
	messageAttributes = []string{"ApproximateFirstReceiveTimestamp", "ApproximateReceiveCount", "SenderId", "SentTimestamp"}
	// unservedMessageAttributes are valid names of attributes that no message of the fake has.
	unservedMessageAttributes = []string{"AWSTraceHeader", "DeadLetterQueueSourceArn", "MessageDeduplicationId", "MessageGroupId", "SequenceNumber"}
)

// names are the requested attributes of messages. The older parameter has the same meaning.
func (r Request) names() []string {
	return slices.Concat(r.Input.AttributeNames, r.Input.SystemAttributeNames)
}

// shown returns messages as the result.
func (r Request) shown(messages []message) receiveResult {
	var out receiveResult
	for i := range messages {
		m := &messages[i]
		all := pairs{
			"ApproximateFirstReceiveTimestamp": strconv.FormatInt(m.first.UnixMilli(), 10), "ApproximateReceiveCount": strconv.Itoa(m.received),
			"SenderId": "s3.amazonaws.com", "SentTimestamp": strconv.FormatInt(m.sent.UnixMilli(), 10),
		}
		shown := pairs{}
		for name, v := range all {
			if names := r.names(); slices.Contains(names, name) || slices.Contains(names, "All") {
				shown[name] = v
			}
		}
		out.Messages = append(out.Messages, receivedMessage{m.id, m.handle(), m.md5(), string(m.body), shown})
	}
	return out
}
