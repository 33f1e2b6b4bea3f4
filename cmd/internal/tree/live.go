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

// live sends what the page shows whenever that changes, as server-sent events, until
// the browser goes. A proof of life keeps the connection.
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
		if _, err := fmt.Fprint(w, event); err != nil || controller.Flush() != nil { //nolint:gosec // html/template has escaped it
			return // the browser has gone
		}
		if !pause(r.Context(), max(interval, leisure*time.Since(began))) {
			return
		}
	}
}

// message is a text as an event. A return ends a line of one, too, and names may hold some.
func message(text string) string {
	return "data: " + strings.NewReplacer("\r", " ", "\n", "\ndata: ").Replace(text) + "\n\n"
}

// content is what changes of the page, with the time left out that changes by itself.
func (p *Page) content(ctx context.Context, selection Selection) string {
	var text bytes.Buffer
	if err := templates().ExecuteTemplate(&text, "content", p.view(ctx, selection)); err != nil {
		return "The page cannot be made: " + err.Error()
	}
	return text.String()
}

// pause reports whether the time passed before ctx ended.
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
