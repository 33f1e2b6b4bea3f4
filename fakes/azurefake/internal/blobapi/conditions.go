// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"net/http"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
)

// conditions are the conditional headers of a request.
type conditions struct {
	match, noneMatch                string
	modifiedSince, unmodifiedSince  time.Time
	hasModifiedSince, hasUnmodified bool
}

// readConditions reads the headers; prefix is "" or "X-Ms-Source-".
func readConditions(h http.Header, prefix string) (conditions, error) {
	c := conditions{match: h.Get(prefix + "If-Match"), noneMatch: h.Get(prefix + "If-None-Match")}
	times := []struct {
		header string
		into   *time.Time
		has    *bool
	}{
		{"If-Modified-Since", &c.modifiedSince, &c.hasModifiedSince},
		{"If-Unmodified-Since", &c.unmodifiedSince, &c.hasUnmodified},
	}
	for _, t := range times {
		value := h.Get(prefix + t.header)
		if value == "" {
			continue
		}
		at, err := http.ParseTime(value)
		if err != nil {
			return c, azerr.InvalidHeaderValue
		}
		*t.into, *t.has = at, true
	}
	return c, nil
}

// errConditions refuses conditions that cannot be asked together.
var errConditions = azerr.New(http.StatusBadRequest, "MultipleConditionHeadersNotSupported", "Multiple condition headers are not supported.")

// errUnsatisfiable refuses to read what must not exist.
var errUnsatisfiable = azerr.New(http.StatusBadRequest, "UnsatisfiableCondition", "The request includes an unsatisfiable condition for this operation.")

// check compares the conditions with a state; exists is false when there is none. Reading a state that the client has
// already is "not modified". Reads take any conditions together and other calls few, as "Specifying conditional headers
// for Blob service operations" has it.
func (c conditions) check(etag string, modified time.Time, exists, reading bool) error {
	if !reading {
		if err := c.alone(); err != nil {
			return err
		}
	}
	modified = modified.Truncate(time.Second)
	switch {
	case c.match != "" && (!exists || !listed(c.match, etag)):
		return azerr.ConditionNotMet
	case c.match != "" && !reading:
	case c.hasUnmodified && exists && modified.After(c.unmodifiedSince):
		return azerr.ConditionNotMet
	}
	switch {
	case !exists || !c.unchanged(etag, modified, reading):
		return nil
	case reading:
		return azerr.New(http.StatusNotModified, "ConditionNotMet", azerr.ConditionNotMet.Message)
	}
	return azerr.ConditionNotMet
}

// alone refuses what a call that is no read cannot ask together: only the two that mean the same can be, each with one
// tag.
func (c conditions) alone() error {
	if strings.Contains(c.match+c.noneMatch, ",") {
		return errConditions
	}
	if (c.match != "" || c.hasUnmodified) && (c.noneMatch != "" || c.hasModifiedSince) {
		return errConditions
	}
	return nil
}

// unchanged reports whether the conditions for a changed state do not hold. Of two, a read wants one and another call the
// tag's.
func (c conditions) unchanged(etag string, modified time.Time, reading bool) bool {
	sameTag, sameTime := c.noneMatch != "" && listed(c.noneMatch, etag), c.hasModifiedSince && !modified.After(c.modifiedSince)
	switch {
	case c.noneMatch == "":
		return sameTime
	case reading && c.hasModifiedSince:
		return sameTag && sameTime
	}
	return sameTag
}

// creating is check for operations that may make a blob: for them "if there is none" has a code of its own.
func (c conditions) creating(etag string, modified time.Time, exists bool) error {
	if c.noneMatch == "*" && exists {
		return azerr.New(http.StatusConflict, "BlobAlreadyExists", "The specified blob already exists.")
	}
	return c.check(etag, modified, exists, false)
}

func listed(header, etag string) bool {
	if strings.TrimSpace(header) == "*" {
		return true
	}
	for one := range strings.SplitSeq(header, ",") {
		if strings.Trim(strings.TrimSpace(one), `"`) == etag {
			return true
		}
	}
	return false
}
