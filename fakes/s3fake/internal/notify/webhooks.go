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

// Limits of the delivery to one webhook: the messages that wait, the requests for one message, and the waits between
// them, which double and are about 20 seconds in total.
const (
	maxPending  = 10000
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
	senders sync.WaitGroup
	running context.Context //nolint:containedctx // ends the senders; nil after Close
	stop    context.CancelFunc
}

// delivery is a message with a description of its event for the log.
type delivery struct {
	subject string
	body    []byte
}

// NewWebhooks returns webhooks for the URLs by name.
func NewWebhooks(urls map[string]string, log *slog.Logger) (*Webhooks, error) {
	w := &Webhooks{urls: map[string]*url.URL{}, log: log, pending: map[string]chan delivery{}}
	w.client = &http.Client{
		Timeout: timeout, Transport: &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a redirect of a POST can lose the body
	}
	w.running, w.stop = context.WithCancel(context.Background())
	for name, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, fmt.Errorf("webhook %s: %q is not a URL with http or https", name, raw)
		}
		w.urls[name] = u
	}
	return w, nil
}

func (w *Webhooks) has(name string) bool { return w != nil && w.urls[name] != nil }

// send queues a message. It does not wait. If too many messages wait, it discards this one.
func (w *Webhooks) send(name, subject string, body []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running == nil {
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
	w.stop()
	w.senders.Wait()
	clear(w.pending)
	w.client.CloseIdleConnections()
	w.running, w.stop = context.WithCancel(context.Background())
}

// Close ends all deliveries.
func (w *Webhooks) Close() {
	w.Reset()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop()
	w.running = nil
}

func (w *Webhooks) deliver(ctx context.Context, name string, line <-chan delivery) {
	for {
		select {
		case <-ctx.Done():
			return
		case d := <-line:
			if err := w.try(ctx, w.urls[name].String(), d.body); err != nil && ctx.Err() == nil {
				w.log.Error("The event is lost, because the webhook failed repeatedly. Check that the receiver responds to POST with a status of 200 to 299.",
					"webhook", name, "url", w.urls[name].Redacted(), "event", d.subject, "attempts", maxAttempts, "err", err)
			}
		}
	}
}

// try posts a message until the receiver accepts it, at most maxAttempts times.
func (w *Webhooks) try(ctx context.Context, to string, body []byte) error {
	wait := firstWait
	for attempt := 1; ; attempt++ {
		err := w.post(ctx, to, body)
		if err == nil || attempt == maxAttempts {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		wait = min(2*wait, longestWait)
	}
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
