// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

// objectFields is an object resource as a client sends it; null and absence differ in a patch.
type objectFields struct {
	Name               string             `json:"name"`
	ContentType        *string            `json:"contentType"`
	ContentEncoding    *string            `json:"contentEncoding"`
	ContentLanguage    *string            `json:"contentLanguage"`
	ContentDisposition *string            `json:"contentDisposition"`
	CacheControl       *string            `json:"cacheControl"`
	StorageClass       *string            `json:"storageClass"`
	Metadata           map[string]*string `json:"metadata"`
	CustomTime         *string            `json:"customTime"`
	TemporaryHold      *bool              `json:"temporaryHold"`
	EventBasedHold     *bool              `json:"eventBasedHold"`
	MD5                string             `json:"md5Hash"`
	CRC32C             string             `json:"crc32c,omitempty"`
	KMSKeyName         string             `json:"kmsKeyName"`
	ACL                []policy.Entry     `json:"acl"`
	Contexts           json.RawMessage    `json:"contexts"`
	Retention          *struct {
		Mode  string `json:"mode"`
		Until string `json:"retainUntilTime"`
	} `json:"retention"`
}

// apply sets the fields that were sent. present contains the names of all of them, including those that are null.
func (f *objectFields) apply(a *store.Attributes, present map[string]json.RawMessage) error {
	for name, field := range map[string]struct {
		to   *string
		from *string
	}{
		"contentType": {&a.ContentType, f.ContentType}, "contentEncoding": {&a.ContentEncoding, f.ContentEncoding},
		"contentLanguage": {&a.ContentLanguage, f.ContentLanguage}, "contentDisposition": {&a.ContentDisposition, f.ContentDisposition},
		"cacheControl": {&a.CacheControl, f.CacheControl}, "storageClass": {&a.StorageClass, f.StorageClass},
	} {
		if _, ok := present[name]; ok {
			*field.to = value(field.from)
		}
	}
	if f.Contexts != nil && string(f.Contexts) != "null" {
		return gcserr.Unimplemented.Say("This fake does not keep contexts of objects.")
	}
	if _, ok := present["metadata"]; ok {
		a.Metadata = mergeMetadata(a.Metadata, f.Metadata)
	}
	if _, ok := present["acl"]; ok {
		a.ACL = f.ACL
	}
	if f.TemporaryHold != nil {
		a.TemporaryHold, a.ShowsTemporaryHold = *f.TemporaryHold, true
	}
	if f.EventBasedHold != nil {
		a.EventBasedHold, a.ShowsEventBasedHold = *f.EventBasedHold, true
	}
	if err := f.applyTimes(a, present); err != nil {
		return err
	}
	return checkClass(a.StorageClass)
}

func (f *objectFields) applyTimes(a *store.Attributes, present map[string]json.RawMessage) error {
	if f.CustomTime != nil {
		t, err := time.Parse(time.RFC3339, *f.CustomTime)
		if year := t.UTC().Year(); err != nil || year < 1 || year > 9999 {
			return gcserr.Invalid.Say("Invalid value for customTime: %q.", *f.CustomTime)
		}
		if a.CustomTime != nil && t.Before(*a.CustomTime) {
			return gcserr.Invalid.Say("Custom time cannot be set to an earlier time.")
		}
		a.CustomTime = &t
	}
	if _, sent := present["retention"]; !sent {
		return nil
	}
	if f.Retention == nil || (f.Retention.Mode == "" && f.Retention.Until == "") {
		a.Retention = nil
		return nil
	}
	t, err := time.Parse(time.RFC3339, f.Retention.Until)
	if err != nil || !slices.Contains([]string{"Locked", "Unlocked"}, f.Retention.Mode) {
		return gcserr.Invalid.Say("Invalid retention: mode %q, retainUntilTime %q.", f.Retention.Mode, f.Retention.Until)
	}
	a.Retention = &store.Retention{Mode: f.Retention.Mode, Until: t}
	return nil
}

func checkClass(class string) error {
	if !slices.Contains([]string{"", "STANDARD", "NEARLINE", "COLDLINE", "ARCHIVE", "MULTI_REGIONAL", "REGIONAL", "DURABLE_REDUCED_AVAILABILITY"}, class) {
		return gcserr.Invalid.Say("Invalid argument: storage class %q.", class)
	}
	return nil
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func mergeMetadata(old map[string]string, changes map[string]*string) map[string]string {
	if changes == nil {
		return nil
	}
	out := maps.Clone(old)
	if out == nil {
		out = map[string]string{}
	}
	for name, v := range changes {
		if v == nil {
			delete(out, name)
			continue
		}
		out[name] = *v
	}
	return out
}

// objectResource is an object as the JSON API shows it.
type objectResource struct {
	Kind               string            `json:"kind"`
	ID                 string            `json:"id"`
	SelfLink           string            `json:"selfLink"`
	MediaLink          string            `json:"mediaLink"`
	Name               string            `json:"name"`
	Bucket             string            `json:"bucket"`
	Generation         int64             `json:"generation,string"`
	Metageneration     int64             `json:"metageneration,string"`
	ContentType        string            `json:"contentType,omitempty"`
	ContentEncoding    string            `json:"contentEncoding,omitempty"`
	ContentLanguage    string            `json:"contentLanguage,omitempty"`
	ContentDisposition string            `json:"contentDisposition,omitempty"`
	CacheControl       string            `json:"cacheControl,omitempty"`
	StorageClass       string            `json:"storageClass"`
	Size               int64             `json:"size,string"`
	MD5                string            `json:"md5Hash,omitempty"`
	CRC32C             string            `json:"crc32c,omitempty"`
	ETag               string            `json:"etag"`
	TimeCreated        string            `json:"timeCreated"`
	Updated            string            `json:"updated"`
	TimeFinalized      string            `json:"timeFinalized"`
	ClassUpdated       string            `json:"timeStorageClassUpdated"`
	TimeDeleted        string            `json:"timeDeleted,omitempty"`
	SoftDeleted        string            `json:"softDeleteTime,omitempty"`
	HardDeleted        string            `json:"hardDeleteTime,omitempty"`
	Components         int               `json:"componentCount,omitempty"`
	Metadata           map[string]string `json:"metadata,omitempty"`
	CustomTime         string            `json:"customTime,omitempty"`
	TemporaryHold      *bool             `json:"temporaryHold,omitempty"`
	EventBasedHold     *bool             `json:"eventBasedHold,omitempty"`
	Expires            string            `json:"retentionExpirationTime,omitempty"`
	KMSKeyName         string            `json:"kmsKeyName,omitempty"`
	CustomerEncryption map[string]string `json:"customerEncryption,omitempty"`
	Retention          any               `json:"retention,omitempty"`
	ACL                []accessControl   `json:"acl,omitempty"`
	Owner              map[string]string `json:"owner,omitempty"`
}

// show is an object resource. Its links lead to this server.
func (c *Call) show(o *store.Object, b *store.Bucket) objectResource {
	generation := strconv.FormatInt(o.Generation, 10)
	path := "/storage/v1/b/" + o.Bucket + "/o/" + url.PathEscape(o.Name)
	created := stamp(o.Created)
	updated := created
	if !o.Updated.Equal(o.Created) {
		updated = stamp(o.Updated)
	}
	out := objectResource{
		Kind: "storage#object", ID: o.Bucket + "/" + o.Name + "/" + generation, SelfLink: c.base() + path,
		MediaLink: c.base() + "/download" + path + "?generation=" + generation + "&alt=media",
		Name:      o.Name, Bucket: o.Bucket, Generation: o.Generation, Metageneration: o.Metageneration, ContentType: o.ContentType,
		ContentEncoding: o.ContentEncoding, ContentLanguage: o.ContentLanguage, ContentDisposition: o.ContentDisposition, CacheControl: o.CacheControl,
		StorageClass: o.StorageClass, Size: o.Size, CRC32C: encodeCRC(o.CRC32C), ETag: o.ETag(), TimeCreated: created, Updated: updated,
		TimeFinalized: created, ClassUpdated: created, Components: o.Components, Metadata: o.Metadata,
	}
	if o.TemporaryHold || o.ShowsTemporaryHold {
		out.TemporaryHold = &o.TemporaryHold
	}
	if o.EventBasedHold || o.ShowsEventBasedHold {
		out.EventBasedHold = &o.EventBasedHold
	}
	if o.KMSKeyName != "" {
		out.KMSKeyName = o.KMSKeyName + kmsVersion
	}
	if o.MD5 != nil {
		out.MD5 = base64.StdEncoding.EncodeToString(o.MD5)
	}
	if o.CustomerKey != "" {
		out.CustomerEncryption = map[string]string{"encryptionAlgorithm": keyAlgorithm, "keySha256": o.CustomerKey}
	}
	if !c.showsSums(o) {
		out.MD5, out.CRC32C = "", ""
	}
	if o.Deleted != nil {
		out.TimeDeleted = stamp(*o.Deleted)
	}
	if o.SoftDelete != nil {
		out.SoftDeleted, out.HardDeleted = stamp(*o.SoftDelete), stamp(*o.HardDelete)
	}
	if o.CustomTime != nil {
		out.CustomTime = preciseStamp(*o.CustomTime)
	}
	if t := b.Expires(o); !t.IsZero() {
		out.Expires = stamp(t)
	}
	if o.Retention != nil {
		out.Retention = map[string]string{"mode": o.Retention.Mode, "retainUntilTime": stamp(o.Retention.Until)}
	}
	if c.showsACLs(b) && c.mayOn("storage.objects.getIamPolicy", b, o) {
		out.ACL = c.showEntries(&accessList{bucket: b, object: o, kind: "objectAccessControl", entries: c.objectEntries(&o.Attributes, b)})
		out.Owner = map[string]string{"entity": c.objectOwner(&o.Attributes, b).Entity}
	}
	return out
}
