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
	var end <-chan time.Time
	for {
		messages, wait, next, err := a.receiveNow(r, name, limit)
		if err != nil || len(messages) > 0 || wait == 0 {
			return r.shown(messages), err
		}
		if end == nil {
			end = time.After(wait)
		}
		var again <-chan time.Time
		if next.again > 0 {
			again = time.After(next.again)
		}
		select {
		case <-next.arrived:
		case <-again:
		case <-end:
			return receiveResult{}, nil
		case <-ctx.Done():
			return receiveResult{}, nil
		}
	}
}

// receiveNow looks for messages once. wait is how long the caller wants to wait for the first one.
func (a *API) receiveNow(r Request, name string, limit int) (messages []message, wait time.Duration, next next, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.queues[name]
	if q == nil {
		return nil, 0, next, errNoQueue
	}
	seconds, err := number("WaitTimeSeconds", r.Input.WaitTimeSeconds, q.attribute("ReceiveMessageWaitTimeSeconds"), 0, 20)
	if err != nil {
		return nil, 0, next, err
	}
	hide, err := number("VisibilityTimeout", r.Input.VisibilityTimeout, q.attribute("VisibilityTimeout"), 0, 43200)
	if err != nil {
		return nil, 0, next, err
	}
	messages, next.again = q.take(a.Now(), limit, time.Duration(hide)*time.Second)
	next.arrived = q.arrived
	return messages, time.Duration(seconds) * time.Second, next, nil
}

// next is when to look for messages again: when one arrives, or after the duration again, when a hidden one becomes
// visible. If again is zero, none does.
type next struct {
	arrived <-chan struct{}
	again   time.Duration
}

// shown returns messages as the result, with the requested attributes. The older parameter has the same meaning.
func (r Request) shown(messages []message) receiveResult {
	var out receiveResult
	names := slices.Concat(r.Input.AttributeNames, r.Input.SystemAttributeNames)
	for i := range messages {
		m := &messages[i]
		all := pairs{
			"ApproximateFirstReceiveTimestamp": strconv.FormatInt(m.first.UnixMilli(), 10), "ApproximateReceiveCount": strconv.Itoa(m.received),
			"SenderId": "s3.amazonaws.com", "SentTimestamp": strconv.FormatInt(m.sent.UnixMilli(), 10),
		}
		if m.trace != "" {
			all["AWSTraceHeader"] = m.trace
		}
		shown := pairs{}
		for name, v := range all {
			if slices.Contains(names, name) || slices.Contains(names, "All") {
				shown[name] = v
			}
		}
		out.Messages = append(out.Messages, receivedMessage{m.id, m.handle(), m.md5(), string(m.body), shown})
	}
	return out
}
