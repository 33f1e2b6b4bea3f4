// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
)

// conditions are the conditional headers of a request.
type conditions struct {
	match, noneMatch string
	// modifiedSince and unmodifiedSince are nil for no condition.
	modifiedSince, unmodifiedSince *time.Time
	// tags are alternative conditions on the tags of the blob; nil for no condition.
	tags []search
}

// state is the state that conditions are compared with.
type state struct {
	etag     string
	modified time.Time
	exists   bool
	tags     map[string]string
}

// stateOf is the state of a blob, nil for none.
func stateOf(b *store.Blob) state {
	if b == nil {
		return state{}
	}
	return state{b.ETag, b.Modified, true, b.Tags}
}

// conditions parses the conditions on the target of the call. Calls for tags have separate headers ("Get Blob Tags",
// "Set Blob Tags").
func (c *Call) conditions() (conditions, error) {
	if c.Operation == access.GetBlobTags || c.Operation == access.SetBlobTags {
		return readConditions(c.r.Header, "X-Ms-Blob-", "X-Ms-If-Tags")
	}
	return readConditions(c.r.Header, "", "X-Ms-If-Tags")
}

// sourceConditions parses the conditions on the source of a copy.
func (c *Call) sourceConditions() (conditions, error) {
	return readConditions(c.r.Header, "X-Ms-Source-", "X-Ms-Source-If-Tags")
}

// fulfilled applies the conditions of the call to the state that it is about.
func (c *Call) fulfilled(s state, reading bool) error {
	cond, err := c.conditions()
	if err != nil {
		return err
	}
	return cond.check(s, reading)
}

// readConditions reads the headers that begin with prefix, and the one with a condition on tags.
func readConditions(h http.Header, prefix, tags string) (conditions, error) {
	c := conditions{match: strings.Join(h.Values(prefix+"If-Match"), ","), noneMatch: strings.Join(h.Values(prefix+"If-None-Match"), ",")}
	if text := h.Get(tags); text != "" {
		var err error
		if c.tags, err = parseTagCondition(text); err != nil {
			return c, err
		}
	}
	var err1, err2 error
	c.modifiedSince, err1 = headerTime(h, prefix+"If-Modified-Since")
	c.unmodifiedSince, err2 = headerTime(h, prefix+"If-Unmodified-Since")
	return c, cmp.Or(err1, err2)
}

// headerTime reads a header that is a time, nil if the request does not have it.
func headerTime(h http.Header, name string) (*time.Time, error) {
	value := h.Get(name)
	if value == "" {
		return nil, nil
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return nil, azerr.InvalidHeaderValue
	}
	return &at, nil
}

// errConditions is the error for conditions that cannot be combined.
var errConditions = azerr.New(http.StatusBadRequest, "MultipleConditionHeadersNotSupported", "Multiple condition headers are not supported.")

// errUnsatisfiable is the error for reading something that must not exist.
var errUnsatisfiable = azerr.New(http.StatusBadRequest, "UnsatisfiableCondition", "The request includes an unsatisfiable condition for this operation.")

// check compares the conditions with a state. If a read has a condition for a changed state and the state is
// unchanged, the error is "not modified". Reads can combine any conditions, and other calls only a few ("Specifying
// conditional headers for Blob service operations").
func (c conditions) check(s state, reading bool) error {
	if !reading {
		if err := c.alone(); err != nil {
			return err
		}
	}
	modified := s.modified.Truncate(time.Second)
	switch {
	case c.match != "" && (!s.exists || !listed(c.match, s.etag)):
		return azerr.ConditionNotMet
	case c.tags != nil && !slices.ContainsFunc(c.tags, func(one search) bool { return one.find(s.tags) != nil }):
		return azerr.ConditionNotMet
	case c.match != "" && !reading:
	case c.unmodifiedSince != nil && s.exists && modified.After(*c.unmodifiedSince):
		return azerr.ConditionNotMet
	}
	switch {
	case !s.exists || !c.unchanged(s.etag, modified, reading):
		return nil
	case reading:
		return azerr.New(http.StatusNotModified, "ConditionNotMet", azerr.ConditionNotMet.Message)
	}
	return azerr.ConditionNotMet
}

// alone returns an error for conditions that a write cannot combine. It can combine If-Match with
// If-Unmodified-Since, or If-None-Match with If-Modified-Since, and each ETag condition has only one ETag.
func (c conditions) alone() error {
	if strings.Contains(c.match+c.noneMatch, ",") {
		return errConditions
	}
	if (c.match != "" || c.unmodifiedSince != nil) && (c.noneMatch != "" || c.modifiedSince != nil) {
		return errConditions
	}
	return nil
}

// unchanged reports whether If-None-Match or If-Modified-Since requires a changed state and the state is unchanged.
// If both are set, reads use both, and other calls only If-None-Match.
func (c conditions) unchanged(etag string, modified time.Time, reading bool) bool {
	sameTag, sameTime := c.noneMatch != "" && listed(c.noneMatch, etag), c.modifiedSince != nil && !modified.After(*c.modifiedSince)
	switch {
	case c.noneMatch == "":
		return sameTime
	case reading && c.modifiedSince != nil:
		return sameTag && sameTime
	}
	return sameTag
}

// creating is check for operations that may create a blob. For these, If-None-Match: * has a separate error code.
func (c conditions) creating(s state) error {
	if c.noneMatch == "*" && s.exists {
		return azerr.New(http.StatusConflict, "BlobAlreadyExists", "The specified blob already exists.")
	}
	return c.check(s, false)
}

// committing is creating for a block list. A blob without a committed state does not meet If-Modified-Since; azblob's
// TestBlobPutBlockListIfModifiedSinceFalse records this behavior of the service.
func (c conditions) committing(e *store.Entry) error {
	if e.Current == nil && c.modifiedSince != nil {
		return azerr.ConditionNotMet
	}
	return c.creating(stateOf(e.Current))
}

func listed(header, etag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.Trim(one, `"`) == etag {
			return true
		}
	}
	return false
}
