// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"encoding/xml"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

const (
	governance = "GOVERNANCE"
	compliance = "COMPLIANCE"
)

func is(err, target error) bool { return errors.Is(err, target) }

// lockBody is ObjectLockConfiguration.
type lockBody struct {
	XMLName xml.Name `xml:"ObjectLockConfiguration"`
	Enabled string   `xml:"ObjectLockEnabled"`
	Rule    *struct {
		Default *struct {
			Mode  string `xml:"Mode"`
			Days  *int   `xml:"Days,omitempty"`
			Years *int   `xml:"Years,omitempty"`
		} `xml:"DefaultRetention"`
	} `xml:"Rule,omitempty"`
}

func (q *request) getLockConfig() error {
	if !q.state.ObjectLock {
		return errNoLock.With("BucketName", q.bucket)
	}
	if raw := q.state.Config[configLock]; raw != nil {
		return q.raw(contentXML, raw)
	}
	return q.send(newDocument("ObjectLockConfiguration").text("ObjectLockEnabled", "Enabled"))
}

func (q *request) putLockConfig() error {
	var body lockBody
	if err := q.readXML(&body); err != nil {
		return err
	}
	if err := body.validate(); err != nil {
		return err
	}
	return q.statusUnless(q.Store.UpdateBucket(q.bucket, func(b *store.Bucket) error {
		if b.Versioning != store.VersioningEnabled {
			return awserr.New(http.StatusConflict, "InvalidBucketState", "Versioning must be 'Enabled' on the bucket to apply a Object Lock configuration")
		}
		b.ObjectLock = true
		b.Config[configLock] = encodeXML("ObjectLockConfiguration", body)
		return nil
	}), http.StatusOK)
}

// Longest default retention: 100 years.
const (
	maxLockDays  = 36500
	maxLockYears = 100
)

func (b lockBody) validate() error {
	if b.Enabled != "Enabled" {
		return errMalformedXML
	}
	if b.Rule == nil {
		return nil
	}
	d := b.Rule.Default
	if d == nil || (d.Mode != governance && d.Mode != compliance) || (d.Days == nil) == (d.Years == nil) {
		return errMalformedXML
	}
	name, n, limit := "Days", d.Days, maxLockDays
	if d.Years != nil {
		name, n, limit = "Years", d.Years, maxLockYears
	}
	if *n <= 0 {
		return invalidArgument(name, itoa(*n), "Default retention period must be a positive integer value.")
	}
	if *n > limit {
		return invalidArgument(name, itoa(*n), "Default retention period too large.")
	}
	return nil
}

// defaultLock fills in the bucket's default retention.
func defaultLock(b store.Bucket, l *store.Lock, now time.Time) {
	body := configOf[lockBody](b, configLock)
	if !b.ObjectLock || l.Mode != "" || body.Rule == nil {
		return
	}
	d := body.Rule.Default
	l.Mode = d.Mode
	if d.Days != nil {
		l.RetainUntil = now.AddDate(0, 0, *d.Days)
	} else {
		l.RetainUntil = now.AddDate(*d.Years, 0, 0)
	}
}

// lockHeaders reads the lock that a new object is to have.
func (q *request) lockHeaders() (store.Lock, error) {
	l := store.Lock{Mode: q.header("X-Amz-Object-Lock-Mode"), LegalHold: q.header("X-Amz-Object-Lock-Legal-Hold")}
	until := q.header("X-Amz-Object-Lock-Retain-Until-Date")
	if l.Mode == "" && l.LegalHold == "" && until == "" {
		return l, nil
	}
	const both = "x-amz-object-lock-retain-until-date and x-amz-object-lock-mode must both be supplied"
	switch {
	case l.LegalHold != "" && l.LegalHold != "ON" && l.LegalHold != "OFF":
		return l, invalidArgument("x-amz-object-lock-legal-hold", l.LegalHold, "Legal Hold must be either of 'ON' or 'OFF'")
	case l.Mode == "" && until != "":
		return l, invalidArgument("x-amz-object-lock-mode", "", both)
	case l.Mode != "" && until == "":
		return l, invalidArgument("x-amz-object-lock-retain-until-date", "", both)
	case l.Mode != "" && l.Mode != governance && l.Mode != compliance:
		return l, invalidArgument("x-amz-object-lock-mode", l.Mode, "Unknown wormMode directive.")
	}
	if until != "" {
		t, err := time.Parse(time.RFC3339, until)
		if err != nil {
			return l, invalidArgument("x-amz-object-lock-retain-until-date", until, "The retain until date must be provided in ISO 8601 format")
		}
		if !t.After(q.Now()) {
			return l, invalidArgument("x-amz-object-lock-retain-until-date", until, "The retain until date must be in the future!")
		}
		l.RetainUntil = t.UTC()
	}
	if !q.state.ObjectLock {
		return l, invalidRequest("Bucket is missing ObjectLockConfiguration")
	}
	return l, nil
}

// protected returns an error if a lock protects a version from deletion.
func (q *request) protected(v *store.Version) error {
	if v == nil || v.DeleteMarker {
		return nil
	}
	switch {
	case v.Lock.LegalHold == "ON":
		return errLocked
	case v.Lock.Mode == "" || !v.Lock.RetainUntil.After(q.Now()):
		return nil
	case v.Lock.Mode == governance && q.bypasses(v.Key):
		return nil
	}
	return errLocked
}

// bypasses reports whether the caller asks to bypass governance retention and may.
func (q *request) bypasses(key string) bool {
	return strings.EqualFold(q.header("X-Amz-Bypass-Governance-Retention"), "true") &&
		q.may("s3:BypassGovernanceRetention", q.bucketARN()+"/"+key)
}

// checkBypass rejects the header that bypasses governance retention in a bucket without Object Lock.
func (q *request) checkBypass() error {
	const header = "x-amz-bypass-governance-retention"
	if q.header(header) == "" || q.state.ObjectLock {
		return nil
	}
	return invalidArgument(header, "", header+" is only applicable to Object Lock enabled buckets.")
}

// retentionBody is Retention.
type retentionBody struct {
	XMLName xml.Name `xml:"Retention"`
	Mode    string   `xml:"Mode"`
	Until   string   `xml:"RetainUntilDate"`
}

// lockable returns the version that the request names, in a bucket with Object Lock.
func (q *request) lockable() (*store.Version, error) {
	v, err := q.get()
	switch {
	case err != nil:
		return nil, err
	case !q.state.ObjectLock:
		return nil, errMissingLock
	}
	return v, q.marked(v)
}

func (q *request) getRetention() error {
	v, err := q.lockable()
	if err != nil {
		return err
	}
	if v.Lock.Mode == "" {
		return errObjectNoLock
	}
	return q.send(newDocument("Retention").text("Mode", v.Lock.Mode).text("RetainUntilDate", stamp(v.Lock.RetainUntil)))
}

func (q *request) putRetention() error {
	var body retentionBody
	if err := q.readXML(&body); err != nil {
		return err
	}
	if !q.state.ObjectLock {
		return errMissingLock
	}
	var until time.Time
	if body.Mode != "" || body.Until != "" {
		if body.Mode != governance && body.Mode != compliance {
			return errMalformedXML
		}
		t, err := time.Parse(time.RFC3339, body.Until)
		if err != nil {
			return errMalformedXML
		}
		if until = t.UTC(); !until.After(q.Now()) {
			return invalidArgument("RetainUntilDate", pacific(until), "The retain until date must be in the future!")
		}
	}
	return q.relock(func(l *store.Lock, key string) error {
		if l.Mode != "" && l.RetainUntil.After(q.Now()) && weakens(*l, body.Mode, until) {
			if l.Mode == compliance || !q.bypasses(key) {
				return errLocked
			}
		}
		l.Mode, l.RetainUntil = body.Mode, until
		return nil
	})
}

// pacific is how S3 shows a time in this error.
func pacific(t time.Time) string {
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		zone = time.FixedZone("PST", -8*60*60)
	}
	return t.In(zone).Format("Mon Jan 02 15:04:05 MST 2006")
}

// weakens reports whether the new retention protects less than l.
func weakens(l store.Lock, mode string, until time.Time) bool {
	return mode == "" || until.Before(l.RetainUntil) || (l.Mode == compliance && mode == governance) || (l.Mode == governance && mode == compliance)
}

// legalHoldBody is LegalHold.
type legalHoldBody struct {
	XMLName xml.Name `xml:"LegalHold"`
	Status  string   `xml:"Status"`
}

func (q *request) getLegalHold() error {
	v, err := q.lockable()
	if err != nil {
		return err
	}
	if v.Lock.LegalHold == "" {
		return errObjectNoLock
	}
	return q.send(newDocument("LegalHold").text("Status", v.Lock.LegalHold))
}

func (q *request) putLegalHold() error {
	var body legalHoldBody
	if err := q.readXML(&body); err != nil && !is(err, errMissingBody) {
		return err
	}
	if body.Status != "ON" && body.Status != "OFF" {
		return errMalformedXML
	}
	if !q.state.ObjectLock {
		return errMissingLock
	}
	return q.relock(func(l *store.Lock, _ string) error {
		l.LegalHold = body.Status
		return nil
	})
}

func (q *request) relock(change func(l *store.Lock, key string) error) error {
	v, err := q.Store.Update(q.bucket, q.key, q.param("versionId"), func(_ store.Bucket, v *store.Version) error {
		if err := q.marked(v); err != nil {
			return err
		}
		return change(&v.Lock, v.Key)
	})
	if err != nil {
		return q.hide(err)
	}
	q.versionHeader(v)
	return q.status(http.StatusOK)
}
