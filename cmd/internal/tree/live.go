// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// live sends the contents of the page as server-sent events whenever they change, until the browser
// disconnects. A periodic comment keeps the connection open.
func (p *Page) live(w http.ResponseWriter, r *http.Request) {
	selection := selectionOf(r.URL.Query())
	w.Header().Set("Content-Type", "text/event-stream")
	controller := http.NewResponseController(w)
	var last string
	for {
		began := time.Now()
		event := ": nothing new\n\n"
		if text := p.content(r.Context(), selection); text != last {
			last, event = text, message(text)
		}
		if r.Context().Err() != nil {
			return
		}
		if _, err := fmt.Fprint(w, event); err != nil || controller.Flush() != nil { //nolint:gosec // escaped by html/template
			return // the browser has disconnected
		}
		if !pause(r.Context(), max(interval, leisure*time.Since(began))) {
			return
		}
	}
}

// message encodes a text as a server-sent event. A carriage return also ends a line there, and names may
// contain one.
func message(text string) string {
	return "data: " + strings.NewReplacer("\r", " ", "\n", "\ndata: ").Replace(text) + "\n\n"
}

// content returns the variable part of the page, without relative times, which change constantly.
func (p *Page) content(ctx context.Context, selection Selection) string {
	var text bytes.Buffer
	if err := templates().ExecuteTemplate(&text, "content", p.view(ctx, selection)); err != nil {
		return "Cannot render the page: " + err.Error()
	}
	return text.String()
}

// pause reports whether the duration elapsed before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
