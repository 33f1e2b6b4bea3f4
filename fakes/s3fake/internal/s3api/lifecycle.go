// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"cmp"
	"crypto/rand"
	"encoding/xml"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// lifecycleBody is LifecycleConfiguration.
type lifecycleBody struct {
	XMLName xml.Name        `xml:"LifecycleConfiguration"`
	Rule    []lifecycleRule `xml:"Rule"`
}

type lifecycleRule struct {
	ID         string           `xml:"ID"`
	Filter     *lifecycleFilter `xml:"Filter"`
	Prefix     *string          `xml:"Prefix"`
	Status     string           `xml:"Status"`
	Expiration *struct {
		Days   *int    `xml:"Days"`
		Date   *string `xml:"Date"`
		Marker *bool   `xml:"ExpiredObjectDeleteMarker"`
	} `xml:"Expiration"`
	Transition []struct {
		Days         *int    `xml:"Days"`
		Date         *string `xml:"Date"`
		StorageClass string  `xml:"StorageClass"`
	} `xml:"Transition"`
	Noncurrent *struct {
		Days  *int `xml:"NoncurrentDays"`
		Newer *int `xml:"NewerNoncurrentVersions"`
	} `xml:"NoncurrentVersionExpiration"`
	NoncurrentTransition []struct {
		Days         *int   `xml:"NoncurrentDays"`
		Newer        *int   `xml:"NewerNoncurrentVersions"`
		StorageClass string `xml:"StorageClass"`
	} `xml:"NoncurrentVersionTransition"`
	Abort *struct {
		Days *int `xml:"DaysAfterInitiation"`
	} `xml:"AbortIncompleteMultipartUpload"`
}

// lifecycleFilter selects objects; all conditions in And must be met.
type lifecycleFilter struct {
	And *struct {
		filterTerms

		Tags []xmlTag `xml:"Tag"`
	} `xml:"And"`
	filterTerms

	Tag *xmlTag `xml:"Tag"`
}

type filterTerms struct {
	Prefix  *string `xml:"Prefix"`
	Greater *int64  `xml:"ObjectSizeGreaterThan"`
	Less    *int64  `xml:"ObjectSizeLessThan"`
}

func (q *request) putLifecycle() error {
	if err := q.requireChecksum(); err != nil {
		return err
	}
	var body lifecycleBody
	if err := q.readXML(&body); err != nil {
		return err
	}
	if err := body.validate(); err != nil {
		return err
	}
	for i := range body.Rule {
		// "Unique identifier for the rule": S3 makes one up (API Reference, LifecycleRule, ID).
		body.Rule[i].ID = cmp.Or(body.Rule[i].ID, strings.ToLower(rand.Text()))
	}
	smallest := cmp.Or(q.header(minimumHeader), "all_storage_classes_128K")
	if smallest != "all_storage_classes_128K" && smallest != "varies_by_storage_class" {
		return invalidRequest("Invalid TransitionDefaultMinimumObjectSize found: " + smallest)
	}
	err := q.changeBucket(func(b *store.Bucket) {
		b.Config[configLifecycle], b.Config[configMinimum] = encodeXML("LifecycleConfiguration", body), []byte(smallest)
	})
	if err != nil {
		return err
	}
	q.w.Header().Set(minimumHeader, smallest)
	return q.status(http.StatusOK)
}

// minimumHeader is the minimum size of objects that are moved to other storage classes. It is stored with the
// lifecycle and returned, because clients wait for that.
const minimumHeader = "X-Amz-Transition-Default-Minimum-Object-Size"

func (q *request) getLifecycle() error {
	raw := q.state.Config[configLifecycle]
	if raw == nil {
		return notFound("NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist").With("BucketName", q.bucket)
	}
	q.w.Header().Set(minimumHeader, cmp.Or(string(q.state.Config[configMinimum]), "all_storage_classes_128K"))
	return q.raw(contentXML, raw)
}

func (q *request) deleteLifecycle() error {
	return q.statusUnless(q.changeBucket(func(b *store.Bucket) {
		delete(b.Config, configLifecycle)
		delete(b.Config, configMinimum)
	}), http.StatusNoContent)
}

func (b lifecycleBody) validate() error {
	if len(b.Rule) == 0 || len(b.Rule) > 1000 {
		return errMalformedXML
	}
	seen := map[string]bool{}
	for _, r := range b.Rule {
		if r.ID != "" && seen[r.ID] {
			return invalidArgument("ID", r.ID, "Rule ID must be unique. Found same ID for more than one rule")
		}
		seen[r.ID] = true
		if err := r.validate(); err != nil {
			return err
		}
	}
	return nil
}

func (r lifecycleRule) validate() error {
	switch {
	case r.Status != enabled && r.Status != "Disabled":
		return errMalformedXML
	case len(r.ID) > 255:
		return invalidArgument("ID", r.ID, "ID length should not exceed allowed limit of 255")
	case r.Filter != nil && r.Prefix != nil, r.Filter == nil && r.Prefix == nil:
		return errMalformedXML
	case r.Expiration == nil && len(r.Transition) == 0 && r.Noncurrent == nil && len(r.NoncurrentTransition) == 0 && r.Abort == nil:
		return invalidRequest("At least one action needs to be specified in a rule.")
	}
	if err := r.Filter.validate(); err != nil {
		return err
	}
	return r.validateActions()
}

// validateActions rejects a missing, ambiguous or non-positive time of an action.
func (r lifecycleRule) validateActions() error {
	if e := r.Expiration; e != nil {
		if count(e.Days != nil, e.Date != nil, e.Marker != nil) != 1 {
			return errMalformedXML
		}
		if e.Days != nil && *e.Days < 1 {
			return invalidArgument("Days", itoa(*e.Days), "'Days' for Expiration action must be a positive integer")
		}
		if err := midnight(e.Date); err != nil {
			return err
		}
	}
	for _, t := range r.Transition {
		if count(t.Days != nil, t.Date != nil) != 1 || !slices.Contains(storageClasses, t.StorageClass) {
			return errMalformedXML
		}
		if err := midnight(t.Date); err != nil {
			return err
		}
	}
	if r.Noncurrent != nil && r.Noncurrent.Days == nil {
		return errMalformedXML
	}
	if r.Noncurrent != nil && *r.Noncurrent.Days < 1 {
		return invalidArgument("NoncurrentDays", "", "'NoncurrentDays' for NoncurrentVersionExpiration action must be a positive integer")
	}
	if r.Abort != nil && (r.Abort.Days == nil || *r.Abort.Days < 1) {
		return invalidArgument("DaysAfterInitiation", "", "'DaysAfterInitiation' for AbortIncompleteMultipartUpload action must be a positive integer")
	}
	return nil
}

// validate rejects a filter with several conditions outside And, or with the same tag twice.
func (f *lifecycleFilter) validate() error {
	if f == nil {
		return nil
	}
	if count(f.And != nil, f.Tag != nil, f.Prefix != nil, f.Greater != nil, f.Less != nil) > 1 {
		return errMalformedXML
	}
	seen := map[string]bool{}
	if f.And != nil {
		for _, t := range f.And.Tags {
			if seen[t.Key] {
				return invalidRequest("Duplicate Tag Keys are not allowed.")
			}
			seen[t.Key] = true
		}
	}
	return nil
}

func count(set ...bool) int {
	n := 0
	for _, b := range set {
		if b {
			n++
		}
	}
	return n
}

func midnight(date *string) error {
	if date == nil {
		return nil
	}
	t, err := time.Parse(time.RFC3339, *date)
	if err != nil {
		return errMalformedXML
	}
	if t.UTC() != t.UTC().Truncate(24*time.Hour) {
		return invalidArgument("Date", *date, "'Date' must be at midnight GMT")
	}
	return nil
}

// matches reports whether the rule is about an object of this key, size and tags.
func (r lifecycleRule) matches(key string, size int64, tags []store.Tag) bool {
	terms, wanted := filterTerms{Prefix: r.Prefix}, []xmlTag(nil)
	switch f := r.Filter; {
	case f != nil && f.And != nil:
		terms, wanted = f.And.filterTerms, f.And.Tags
	case f != nil && f.Tag != nil:
		terms, wanted = f.filterTerms, []xmlTag{*f.Tag}
	case f != nil:
		terms = f.filterTerms
	}
	return (terms.Prefix == nil || strings.HasPrefix(key, *terms.Prefix)) &&
		(terms.Greater == nil || size > *terms.Greater) && (terms.Less == nil || size < *terms.Less) &&
		!slices.ContainsFunc(wanted, func(t xmlTag) bool { return !slices.Contains(tags, store.Tag(t)) })
}

// soonest is the first date on which an enabled rule of the bucket does something, and that rule's ID; "" if none does.
func (q *request) soonest(due func(lifecycleRule) time.Time) (first time.Time, id string) {
	for _, r := range configOf[lifecycleBody](q.state, configLifecycle).Rule {
		t := due(r)
		if r.Status == enabled && !t.IsZero() && (id == "" || t.Before(first)) {
			first, id = t, r.ID
		}
	}
	return first, id
}

// nextMidnight returns the time when an action is due after a number of days ("Lifecycle rules: Based on an object's
// age" in the Amazon S3 User Guide).
func nextMidnight(from time.Time, days int) time.Time {
	return from.UTC().AddDate(0, 0, days).Truncate(24*time.Hour).AddDate(0, 0, 1)
}

// showExpiration sets the header with the expiry of a current version (x-amz-expiration of PutObject and HeadObject
// in the API Reference). The fake never executes rules.
func (q *request) showExpiration(v *store.Version) {
	date, id := q.soonest(func(r lifecycleRule) time.Time {
		switch e := r.Expiration; {
		case e == nil || !r.matches(v.Key, v.Size, v.Tags):
		case e.Days != nil:
			return nextMidnight(v.Modified, *e.Days)
		case e.Date != nil:
			t, _ := time.Parse(time.RFC3339, *e.Date) // validated when it was put
			return t
		}
		return time.Time{}
	})
	if id != "" {
		q.w.Header().Set("X-Amz-Expiration", `expiry-date="`+date.Format(http.TimeFormat)+`", rule-id="`+sigv4.Encode(id, false)+`"`)
	}
}

// showAbortion sets the header with the time when an upload is aborted (x-amz-abort-date of CreateMultipartUpload and
// ListParts in the API Reference).
func (q *request) showAbortion(u *store.Upload) {
	date, id := q.soonest(func(r lifecycleRule) time.Time {
		if r.Abort == nil || !r.matches(u.Key, 0, nil) {
			return time.Time{}
		}
		return nextMidnight(u.Initiated, *r.Abort.Days)
	})
	if id != "" {
		q.w.Header().Set("X-Amz-Abort-Date", date.Format(http.TimeFormat))
		q.w.Header().Set("X-Amz-Abort-Rule-Id", id)
	}
}
