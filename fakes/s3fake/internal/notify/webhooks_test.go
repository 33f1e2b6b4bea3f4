// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// TestAWebhookGetsEverythingInOrder refuses the first request for each message. The others must wait.
func TestAWebhookGetsEverythingInOrder(t *testing.T) {
	t.Parallel()
	got := make(chan string, 10)
	refused := map[string]bool{}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %v", r.Method, r.Header, err)
		}
		if !refused[string(raw)] {
			refused[string(raw)] = true
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		got <- string(raw)
	}))
	t.Cleanup(receiver.Close)
	w, err := NewWebhooks(map[string]string{"q": receiver.URL}, slog.Default())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	for i := range 3 {
		w.send("q", "an event", []byte(strconv.Itoa(i)))
	}
	for i := range 3 {
		if m := <-got; m != strconv.Itoa(i) {
			t.Errorf("message %d is %s", i, m)
		}
	}
}

// TestAWebhookThatHangsHoldsUpNobody sends more messages than may wait, to a receiver that never responds.
func TestAWebhookThatHangsHoldsUpNobody(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	hang := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		requests.Add(1)
		<-hang
	}))
	t.Cleanup(receiver.Close)
	t.Cleanup(func() { close(hang) })
	var log bytes.Buffer
	w, err := NewWebhooks(map[string]string{"q": receiver.URL}, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for range maxPending + 2 {
		w.send("q", "ObjectCreated:Put of b/k", nil)
	}
	w.Reset()
	w.Close()
	w.send("q", "an event after the end", nil)
	if out := log.String(); !strings.Contains(out, "The event is lost") || !strings.Contains(out, "ObjectCreated:Put of b/k") || strings.Contains(out, "after the end") {
		t.Errorf("the log is %s", out)
	}
	if n := requests.Load(); n > 1 {
		t.Errorf("%d requests at the same time", n)
	}
}

// TestARedirectIsAFailure has receivers that redirect to one that accepts every request.
func TestARedirectIsAFailure(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, err := strconv.Atoi(r.URL.Path[1:]); err == nil {
			http.Redirect(w, r, "/accepts", status)
		}
	}))
	t.Cleanup(receiver.Close)
	w, err := NewWebhooks(nil, slog.Default())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	if err := w.post(t.Context(), receiver.URL+"/accepts", nil); err != nil {
		t.Fatal(err)
	}
	for _, status := range []string{"301", "302", "303", "307", "308"} {
		if err := w.post(t.Context(), receiver.URL+"/"+status, nil); err == nil || !strings.Contains(err.Error(), status) {
			t.Errorf("a redirect with %s: %v", status, err)
		}
	}
}

func TestWebhooksNeedURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "receiver:8080", "ftp://receiver", "http://", "://"} {
		if _, err := NewWebhooks(map[string]string{"q": url}, slog.Default()); err == nil {
			t.Errorf("%q is accepted", url)
		}
	}
}
