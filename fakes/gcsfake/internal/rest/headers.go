// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

// uncacheable and longAgo are the values of responses that must not be cached.
const (
	uncacheable = "no-cache, no-store, max-age=0, must-revalidate"
	longAgo     = "Mon, 01 Jan 1990 00:00:00 GMT"
)

// cacheHeaders sets the headers that control caches, with the values that Cloud Storage sends (recorded in March 2026
// by gocloud.dev v0.46.0). The attributes of an object replace them.
func (c *Call) cacheHeaders(h http.Header, failed bool) {
	switch {
	case c.flavour == inXML:
		if c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
			h.Set("Vary", "Origin")
		}
		if c.r.Method != http.MethodPut && c.r.Method != http.MethodPost {
			h.Set("Cache-Control", "private, max-age=0")
			h.Set("Expires", c.api.now().UTC().Format(http.TimeFormat))
		}
	case c.flavour != inJSON:
	case failed || c.r.Method != http.MethodGet:
		h["Vary"] = []string{"Origin", "X-Origin"}
		h.Set("Cache-Control", uncacheable)
		h.Set("Pragma", "no-cache")
		h.Set("Expires", longAgo)
	default:
		h["Vary"] = []string{"Origin", "X-Origin"}
		h.Set("Cache-Control", "private, max-age=0, must-revalidate, no-transform")
		h.Set("Expires", c.api.now().UTC().Format(http.TimeFormat))
	}
}

// etagHeader repeats the etag of a resource.
func etagHeader(h http.Header, resource any) {
	switch r := resource.(type) {
	case objectResource:
		h.Set("ETag", r.ETag)
	case accessControl:
		h.Set("ETag", r.ETag)
	case map[string]any:
		if etag, ok := r["etag"].(string); ok && r["kind"] == "storage#bucket" {
			h.Set("ETag", etag)
		}
	case policyDocument:
		if r.Kind == "storage#policy" {
			h.Set("ETag", r.ETag)
		}
	}
}

// expirationHeader shows when a lifecycle rule deletes an object, if the rule has no condition other than an age.
func expirationHeader(h http.Header, b *store.Bucket, o *store.Object) {
	var lifecycle struct {
		Rule []struct {
			Action struct {
				Type string `json:"type"`
			} `json:"action"`
			Condition map[string]any `json:"condition"`
		} `json:"rule"`
	}
	if raw := b.Config["lifecycle"]; raw == nil || json.Unmarshal(raw, &lifecycle) != nil {
		return
	}
	var first time.Time
	for _, r := range lifecycle.Rule {
		age, ok := r.Condition["age"].(float64)
		if !ok || len(r.Condition) > 1 || r.Action.Type != "Delete" {
			continue
		}
		if t := o.Created.AddDate(0, 0, int(age)); first.IsZero() || t.Before(first) {
			first = t
		}
	}
	if !first.IsZero() {
		h.Set("X-Goog-Expiration", first.UTC().Format(http.TimeFormat))
	}
}

// noContent is the response of a deletion.
func (c *Call) noContent(w http.ResponseWriter) {
	if c.flavour == inJSON {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(http.StatusNoContent)
}
