// SPDX-License-Identifier: Apache-2.0

package sqsapi

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/fakes/internal/journal"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
)

func open(t *testing.T, now func() time.Time) *API {
	t.Helper()
	account, err := iam.New(iam.Options{ID: "000000000000", Partition: "aws", RootKey: "root", RootSecret: "secret", Journal: journal.Discard{}, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(Options{Account: account, Journal: journal.Discard{}, Region: "us-east-1", Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestAQueueIsBounded fills a queue. It discards further messages, with one error, until one is deleted.
func TestAQueueIsBounded(t *testing.T) {
	t.Parallel()
	a := open(t, time.Now)
	if err := a.Create("q", nil); err != nil {
		t.Fatal(err)
	}
	send := func() error { return a.Send(a.arn("q"), "arn:aws:s3:::b", "", []byte("x")) }
	for range maxMessages {
		if err := send(); err != nil {
			t.Fatal(err)
		}
	}
	if err := send(); err == nil || !strings.Contains(err.Error(), "discarded") {
		t.Errorf("one message too many: %v", err)
	}
	if err := send(); err != nil {
		t.Errorf("another: %v", err)
	}
	q := a.queues["q"]
	taken, _ := q.take(time.Now(), 1, time.Minute)
	if _, err := a.deleteMessage(Request{Call: Call{Input: Input{ReceiptHandle: taken[0].handle()}}}, q); err != nil {
		t.Fatal(err)
	}
	if err := send(); err != nil || len(q.messages) != maxMessages {
		t.Errorf("after a deletion: %v, %d messages", err, len(q.messages))
	}
}

// TestTraces sends messages with trace headers. Queues keep them, unless they are too long.
func TestTraces(t *testing.T) {
	t.Parallel()
	a := open(t, time.Now)
	if err := a.Create("q", nil); err != nil {
		t.Fatal(err)
	}
	for trace, want := range map[string]string{"Root=1-5759e988-bd862e3fe1be46a994272793": "Root=1-5759e988-bd862e3fe1be46a994272793", strings.Repeat("x", maxTrace+1): ""} {
		if err := a.Send(a.arn("q"), "arn:aws:s3:::b", trace, []byte("x")); err != nil {
			t.Fatal(err)
		}
		taken, _ := a.queues["q"].take(time.Now(), 1, time.Minute)
		shown := Request{Call: Call{Input: Input{SystemAttributeNames: []string{"All"}}}}.shown(taken)
		if got := shown.Messages[0].Attributes["AWSTraceHeader"]; got != want {
			t.Errorf("a header of %d bytes: got %q, want %q", len(trace), got, want)
		}
	}
}

// TestMessagesExpireAndReappear moves the clock.
func TestMessagesExpireAndReappear(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	a := open(t, func() time.Time { return now })
	if err := a.Create("q", map[string]string{"DelaySeconds": "5", "MessageRetentionPeriod": "60"}); err != nil {
		t.Fatal(err)
	}
	if err := a.Send(a.arn("q"), "arn:aws:s3:::b", "", []byte("x")); err != nil {
		t.Fatal(err)
	}
	q := a.queues["q"]
	for _, step := range []struct {
		after   time.Duration
		visible int
		counts  [3]int
	}{
		{0, 0, [3]int{0, 0, 1}},
		{5 * time.Second, 1, [3]int{0, 1, 0}},
		{10 * time.Second, 0, [3]int{0, 1, 0}},
		{25 * time.Second, 1, [3]int{0, 1, 0}},
		{61 * time.Second, 0, [3]int{0, 0, 0}},
	} {
		at := now.Add(step.after)
		taken, _ := q.take(at, 10, 20*time.Second)
		visible, inFlight, delayed := q.counts(at)
		if got := [3]int{visible, inFlight, delayed}; len(taken) != step.visible || got != step.counts {
			t.Errorf("after %s: %d messages and %v, want %d and %v", step.after, len(taken), got, step.visible, step.counts)
		}
	}
}

// FuzzParse reads any request in both protocols.
func FuzzParse(f *testing.F) {
	f.Add("AmazonSQS.CreateQueue", `{"QueueName":"q","Attributes":{"VisibilityTimeout":"1"}}`)
	f.Add("AmazonSQS.ReceiveMessage", `{"QueueUrl":"http://h/000000000000/q","MaxNumberOfMessages":10}`)
	f.Add("", "Action=CreateQueue&QueueName=q&Attribute.1.Name=VisibilityTimeout&Attribute.1.Value=1")
	f.Add("", "Action=ReceiveMessage&WaitTimeSeconds=x")
	f.Fuzz(func(t *testing.T, target, body string) {
		form, err := url.ParseQuery(body)
		if err != nil {
			form = nil
		}
		c, err := Parse(target, form, []byte(body))
		if err != nil {
			return
		}
		if id, ok := handled(c.Input.ReceiptHandle); ok && len(id) != 36 {
			t.Errorf("the ID is %q", id)
		}
		if raw, _, err := c.Encode(receiveResult{Messages: []receivedMessage{{Attributes: c.Input.Attributes, Body: body}}}, "R"); err != nil || len(raw) == 0 {
			t.Errorf("encode %+v: %v", c, err)
		}
	})
}

func TestHandles(t *testing.T) {
	t.Parallel()
	m := message{id: uuid.NewString(), received: 3}
	if id, ok := handled(m.handle()); !ok || id != m.id {
		t.Errorf("the handle %s is for %q", m.handle(), id)
	}
	for _, h := range []string{"", "x", "eA==", "Lw=="} {
		if _, ok := handled(h); ok {
			t.Errorf("%q is a handle", h)
		}
	}
}
