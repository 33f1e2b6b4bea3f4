// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Limits of the delivery to one webhook.
const (
	// maxPending is the maximum number of messages that wait for delivery.
	maxPending = 10000
	// maxAttempts is the number of requests for one message. The waits between them double from firstWait to
	// longestWait, about 20 seconds in total.
	maxAttempts = 10
	firstWait   = 100 * time.Millisecond
	longestWait = 5 * time.Second
	timeout     = 10 * time.Second
)

// Webhooks sends messages to URLs with POST. The messages for one URL are sent one after the other, in order.
type Webhooks struct {
	urls   map[string]*url.URL
	client *http.Client
	log    *slog.Logger

	mu      sync.Mutex
	pending map[string]chan delivery
	stop    context.CancelFunc
	running context.Context //nolint:containedctx // ends the senders of this struct
	senders sync.WaitGroup
	closed  bool
}

// delivery is a message with a description of its event for the log.
type delivery struct {
	subject string
	body    []byte
}

// NewWebhooks returns webhooks for the URLs by name.
func NewWebhooks(urls map[string]string, log *slog.Logger) (*Webhooks, error) {
	w := &Webhooks{urls: map[string]*url.URL{}, log: log, client: &http.Client{Timeout: timeout, Transport: &http.Transport{}}, pending: map[string]chan delivery{}}
	for name, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, fmt.Errorf("webhook %s: %q is not a URL with http or https", name, raw)
		}
		w.urls[name] = u
	}
	w.running, w.stop = context.WithCancel(context.Background())
	return w, nil
}

func (w *Webhooks) has(name string) bool { return w != nil && w.urls[name] != nil }

// send queues a message. It does not wait. If too many messages wait, it discards this one.
func (w *Webhooks) send(name, subject string, body []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	line := w.pending[name]
	if line == nil {
		line = make(chan delivery, maxPending)
		w.pending[name] = line
		ctx := w.running
		w.senders.Go(func() { w.deliver(ctx, name, line) })
	}
	select {
	case line <- delivery{subject, body}:
	default:
		w.log.Error("The event is lost, because too many events wait for the webhook. Check that the receiver is running and fast enough.", "webhook", name, "event", subject, "pending", maxPending)
	}
}

// Reset discards all messages that wait for delivery.
func (w *Webhooks) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
	w.running, w.stop = context.WithCancel(context.Background())
}

// Close ends all deliveries.
func (w *Webhooks) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.end()
	w.client.CloseIdleConnections()
}

// end stops the senders and waits for them.
func (w *Webhooks) end() {
	w.stop()
	w.senders.Wait()
	clear(w.pending)
}

func (w *Webhooks) deliver(ctx context.Context, name string, line <-chan delivery) {
	for {
		select {
		case <-ctx.Done():
			return
		case d := <-line:
			if err := w.try(ctx, name, d); err != nil && ctx.Err() == nil {
				w.log.Error("The event is lost, because the webhook failed repeatedly. Check that the receiver responds to POST with a status of 200 to 299.",
					"webhook", name, "url", w.urls[name].Redacted(), "event", d.subject, "attempts", maxAttempts, "err", err)
			}
		}
	}
}

// try posts a message until the receiver accepts it, at most maxAttempts times.
func (w *Webhooks) try(ctx context.Context, name string, d delivery) error {
	var err error
	for attempt := range maxAttempts {
		if attempt > 0 {
			wait := time.NewTimer(min(firstWait<<(attempt-1), longestWait))
			select {
			case <-ctx.Done():
				wait.Stop()
				return ctx.Err()
			case <-wait.C:
			}
		}
		if err = w.post(ctx, w.urls[name].String(), d.body); err == nil {
			return nil
		}
	}
	return err
}

func (w *Webhooks) post(ctx context.Context, to string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("create the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := w.client.Do(req)
	if err != nil {
		return fmt.Errorf("send the event: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // only so that the connection can be used again
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("send the event: the receiver responded with %s", resp.Status)
	}
	return nil
}
