// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/notify"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

const reservedTag = `User-defined tag keys can't start with "aws:". This prefix is reserved for system tags. Remove "aws:" from your tag keys and try again.`

// tagText reports whether all characters are allowed in tags: letters, numbers, spaces and + - = . _ : / @.
func tagText(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsSpace(r) && !strings.ContainsRune("+-=._:/@", r)
	}) < 0
}

// tagHeader reads x-amz-tagging.
func (q *request) tagHeader() ([]store.Tag, error) {
	raw := q.header("X-Amz-Tagging")
	if raw == "" {
		return nil, nil
	}
	bad := invalidArgument("x-amz-tagging", raw, "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates.")
	var tags []xmlTag
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		if strings.Contains(value, "=") {
			return nil, bad
		}
		key, err1 := url.QueryUnescape(name)
		val, err2 := url.QueryUnescape(value)
		if err1 != nil || err2 != nil || seen[key] || key == "" {
			return nil, bad
		}
		seen[key] = true
		tags = append(tags, xmlTag{key, val})
	}
	if err := checkTags(tags, maxObjectTags); err != nil {
		return nil, err
	}
	return storeTags(tags), nil
}

func storeTags(tags []xmlTag) []store.Tag {
	out := make([]store.Tag, len(tags))
	for i, t := range tags {
		out[i] = store.Tag(t)
	}
	return out
}

func (q *request) versionHeader(v *store.Version) {
	if q.state.Versioning != "" || v.ID != store.NullVersion {
		q.w.Header().Set("X-Amz-Version-Id", v.ID)
	}
}

// madeHeader sets the header with the version that the request created. S3 sends the IDs that it generates. It sends
// no header for the null version, which a bucket with suspended versioning creates ("x-amz-version-id" of PutObject
// in the API Reference).
func (q *request) madeHeader(v *store.Version) {
	if v.ID != store.NullVersion {
		q.w.Header().Set("X-Amz-Version-Id", v.ID)
	}
}

// marked rejects a delete marker, which has no tags and no lock.
func (q *request) marked(v *store.Version) error {
	if v.DeleteMarker {
		return errMethodNotAllowed.With("Method", q.r.Method).With("ResourceType", "DeleteMarker").
			WithHeader("X-Amz-Delete-Marker", "true").WithHeader("X-Amz-Version-Id", v.ID).WithHeader("Allow", http.MethodDelete)
	}
	return nil
}

func (q *request) getObjectTagging() error {
	v, err := q.get()
	if err != nil {
		return q.untagged(v, err)
	}
	if err := q.marked(v); err != nil {
		return err
	}
	q.versionHeader(v)
	return q.send(taggingDocument(v.Tags))
}

func (q *request) putObjectTagging() error {
	tags, err := q.readTags(maxObjectTags)
	if err != nil {
		return err
	}
	return q.statusUnless(q.retag(notify.TaggingPut, storeTags(tags)), http.StatusOK)
}

func (q *request) deleteObjectTagging() error {
	return q.statusUnless(q.retag(notify.TaggingDelete, nil), http.StatusNoContent)
}

// retag replaces the tags of the object. event is the notification.
func (q *request) retag(event string, tags []store.Tag) error {
	return q.revise(event, func(v *store.Version) bool {
		v.Tags = tags
		return true
	})
}

// revise changes the object with change. If change returns true, it sends the notification event. It changes only the
// version for which the request was authorized: an object that replaced this version stays as it is, as if the change had
// come first.
func (q *request) revise(event string, change func(*store.Version) bool) error {
	defer q.turn(q.key)()
	notifies := false
	v, err := q.version()
	if err == nil {
		authorized := v.Seq // a new object has the ID of the replaced one in a bucket without versioning
		v, err = q.Store.Update(q.bucket, q.key, v.ID, func(_ store.Bucket, v *store.Version) error {
			if v.Seq == authorized {
				notifies = change(v)
			}
			return q.marked(v)
		})
	}
	if is(err, store.ErrNoVersion) && !q.query.Has("versionId") {
		err = store.ErrNoKey // the object was deleted
	}
	if err != nil {
		if err = q.hide(err); is(err, store.ErrNoKey) && v != nil && v.DeleteMarker {
			return q.marked(v)
		}
		return err
	}
	if notifies {
		q.announce(event, q.key, v)
	}
	q.versionHeader(v)
	return nil
}

// untagged is the error of a read of tags if there is no current version: its key includes the bucket, and a delete
// marker is reported as such.
func (q *request) untagged(v *store.Version, err error) error {
	switch {
	case !is(err, store.ErrNoKey):
		return err
	case v != nil && v.DeleteMarker:
		return q.marked(v)
	}
	return errNoSuchKey.With("Key", q.bucket+"/"+q.key)
}

// get returns the version that the request names, or the current one.
func (q *request) get() (*store.Version, error) {
	v, err := q.version()
	if err != nil {
		return v, q.hide(err)
	}
	return v, nil
}

// hide replaces "no such key" by "access denied" if the caller may not list the bucket, because S3 does not reveal to
// these callers which keys exist.
func (q *request) hide(err error) error {
	if (is(err, store.ErrNoKey) || is(err, store.ErrNoVersion)) && !q.may("s3:ListBucket", q.bucketARN()) {
		return errAccessDenied
	}
	return err
}
