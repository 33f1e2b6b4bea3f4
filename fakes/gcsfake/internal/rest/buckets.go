// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

// newBucket is a validated new bucket.
func (c *Call) newBucket(name string, p identity.Project, fields map[string]json.RawMessage) (store.Bucket, error) {
	if err := checkBucketName(name); err != nil {
		return store.Bucket{}, err
	}
	cfg := config{}
	if err := cfg.merge(fields); err != nil {
		return store.Bucket{}, err
	}
	cfg.set("location", strings.ToUpper(cfg.text("location")))
	if cfg.text("location") == "" {
		cfg.set("location", "US")
	}
	if cfg.text("storageClass") == "" {
		cfg.set("storageClass", "STANDARD")
	}
	b := store.Bucket{Name: name, Project: p.ID, Config: cfg}
	if c.isTrue("enableObjectRetention") {
		cfg.set("objectRetention", map[string]string{"mode": "Enabled"})
	} else {
		delete(cfg, "objectRetention")
	}
	now := c.api.now()
	if err := cfg.check(); err != nil {
		return store.Bucket{}, err
	}
	if err := c.derive(cfg, nil, now); err != nil {
		return store.Bucket{}, err
	}
	if err := b.Parse(); err != nil {
		return store.Bucket{}, gcserr.Invalid.Say("%v", err)
	}
	b.Policy = defaultPolicy(&b)
	return b, nil
}

// derive adds the fields that the service sets: when a policy took effect, and its defaults.
func (c *Call) derive(cfg, old config, now time.Time) error {
	const softDeleteDefault = `{"retentionDurationSeconds":"604800"}`
	if cfg["softDeletePolicy"] == nil {
		cfg["softDeletePolicy"] = json.RawMessage(softDeleteDefault)
	}
	if err := cfg.writeDurations(); err != nil {
		return err
	}
	for _, name := range []string{"softDeletePolicy", "retentionPolicy"} {
		if cfg[name] == nil || string(cfg[name]) == string(old[name]) {
			continue
		}
		patch := `{"effectiveTime":"` + stamp(now) + `"`
		if name == "retentionPolicy" { // only lockRetentionPolicy locks
			patch += `,"isLocked":` + map[bool]string{true: "true", false: "null"}[old.locked()]
		}
		merged, err := mergePatch(cfg[name], json.RawMessage(patch+"}"))
		if err != nil {
			return err
		}
		cfg[name] = merged
	}
	if err := deriveAutoclass(cfg, old, now); err != nil {
		return err
	}
	return c.deriveAccess(cfg, old, now)
}

// locked reports whether the retention policy is.
func (cfg config) locked() bool {
	var p struct {
		IsLocked bool `json:"isLocked"`
	}
	return json.Unmarshal(cfg["retentionPolicy"], &p) == nil && p.IsLocked
}

// uniformAccess is a setting of uniform access. bucketPolicyOnly is its older name.
type uniformAccess struct {
	Enabled    bool   `json:"enabled"`
	LockedTime string `json:"lockedTime,omitempty"`
}

// uniform returns the setting of uniform access that a configuration asks for: the older name's, if that is the one
// that changes.
func (cfg config) uniform(old config) (uniformAccess, error) {
	type names struct {
		Uniform *uniformAccess `json:"uniformBucketLevelAccess"`
		Older   *uniformAccess `json:"bucketPolicyOnly"`
	}
	var next, was names
	if raw := cfg["iamConfiguration"]; raw != nil {
		if err := parseJSON(raw, &next); err != nil {
			return uniformAccess{}, err
		}
	}
	_ = json.Unmarshal(old["iamConfiguration"], &was) // an absent setting is off
	enabled := was.Uniform != nil && was.Uniform.Enabled
	switch {
	case next.Older != nil && (next.Uniform == nil || next.Uniform.Enabled == enabled):
		next.Older.LockedTime = ""
		if next.Older.Enabled && next.Uniform != nil {
			next.Older.LockedTime = next.Uniform.LockedTime
		}
		return *next.Older, nil
	case next.Uniform != nil:
		return *next.Uniform, nil
	}
	return uniformAccess{}, nil
}

// deriveAccess completes the access configuration.
func (c *Call) deriveAccess(cfg, old config, now time.Time) error {
	var iam struct {
		Uniform    uniformAccess `json:"uniformBucketLevelAccess"`
		Older      uniformAccess `json:"bucketPolicyOnly"`
		Prevention string        `json:"publicAccessPrevention"`
	}
	var err error
	if cfg["iamConfiguration"] != nil {
		err = parseJSON(cfg["iamConfiguration"], &iam)
	}
	if err == nil {
		iam.Uniform, err = cfg.uniform(old)
	}
	if err != nil {
		return err
	}
	if iam.Prevention == "" || iam.Prevention == "unspecified" {
		iam.Prevention = "inherited"
	}
	const lockAfter = 90 * 24 * time.Hour
	switch {
	case !iam.Uniform.Enabled:
		iam.Uniform.LockedTime = ""
	case iam.Uniform.LockedTime == "":
		iam.Uniform.LockedTime = stamp(now.Add(lockAfter))
	}
	iam.Older = iam.Uniform
	cfg.set("iamConfiguration", iam)
	return nil
}

// defaultPolicy returns the policy of new buckets ("IAM roles for Cloud Storage", "Basic roles").
func defaultPolicy(b *store.Bucket) policy.Policy {
	owners := []string{"projectEditor:" + b.Project, "projectOwner:" + b.Project}
	viewers := []string{"projectViewer:" + b.Project}
	p := policy.Policy{Sequence: 1, Bindings: []policy.Binding{
		{Role: "roles/storage.legacyBucketOwner", Members: owners},
		{Role: "roles/storage.legacyBucketReader", Members: viewers},
	}}
	if b.Settings.IAM.Uniform.Enabled {
		p.Bindings = append(p.Bindings,
			policy.Binding{Role: "roles/storage.legacyObjectOwner", Members: owners},
			policy.Binding{Role: "roles/storage.legacyObjectReader", Members: viewers})
	}
	return p
}

// checkACLs rejects access control lists in a request if uniform access does not allow them. The response to a
// request with a list shows the list by default.
func (c *Call) checkACLs(fields map[string]json.RawMessage, uniform bool) error {
	c.full = c.full || c.setsACL(fields)
	return c.checkUniform(uniform && c.setsACL(fields))
}

func (c *Call) insertBucket(p identity.Project) (any, error) {
	var fields map[string]json.RawMessage
	if err := c.readJSON(&fields); err != nil {
		return nil, err
	}
	name := config(fields).text("name")
	c.vars["bucket"] = name
	if name == "" {
		return nil, gcserr.Required.Say("Required")
	}
	if c.isTrue("enableObjectRetention") {
		if _, err := c.needProject("storage.buckets.enableObjectRetention", p.ID); err != nil {
			return nil, err
		}
	}
	b, err := c.newBucket(name, p, fields)
	if err != nil {
		return nil, err
	}
	if err := c.checkACLs(fields, b.Settings.IAM.Uniform.Enabled); err != nil {
		return nil, err
	}
	if err := c.setBucketACLs(&b, fields); err != nil {
		return nil, err
	}
	if b, err = c.api.store.CreateBucket(b); err != nil {
		return nil, err
	}
	return c.resource(&b), nil
}

// bucketETag is the etag of a bucket resource.
func bucketETag(b *store.Bucket) string {
	return base64.StdEncoding.EncodeToString([]byte(strconv.FormatInt(b.Metageneration, 10)))
}

// resource is a bucket as the JSON API shows it.
func (c *Call) resource(b *store.Bucket) map[string]any {
	out := map[string]any{}
	for name, value := range b.Config {
		out[name] = value
	}
	p, _ := c.api.dir.Project(b.Project) // projects are never removed
	kind := kindOfPlace(b)
	maps.Copy(out, map[string]any{
		"kind": "storage#bucket", "id": b.Name, "name": b.Name, "selfLink": "https://www.googleapis.com/storage/v1/b/" + b.Name,
		"projectNumber": p.Number, "generation": strconv.FormatInt(b.Generation, 10), "metageneration": strconv.FormatInt(b.Metageneration, 10),
		"timeCreated": stamp(b.Created), "updated": stamp(b.Updated), "etag": bucketETag(b), "locationType": kind,
	})
	if c.showsACLs(b) && c.may("storage.buckets.getIamPolicy", b, "") {
		own := accessList{bucket: b, kind: "bucketAccessControl", entries: b.Policy.BucketEntries(c.projectNumber)}
		objects := accessList{bucket: b, kind: "objectAccessControl", entries: c.defaultEntries(b)}
		out["acl"], out["defaultObjectAcl"] = c.showEntries(&own), c.showEntries(&objects)
		out["owner"] = map[string]string{"entity": "project-owners-" + p.Number}
	}
	if out["rpo"] == nil && kind != "region" {
		out["rpo"] = "DEFAULT"
	}
	return out
}

// checkProjection rejects unknown projections of the JSON API. The projection "full" adds access control lists for
// callers who may read them.
func (c *Call) checkProjection() error {
	p := c.query.Get("projection")
	if c.flavour == inJSON && !slices.Contains([]string{"", "full", "noAcl"}, p) {
		return gcserr.Invalid.Say("Invalid value for projection: %q.", p)
	}
	return nil
}

// listManagedFolders returns an empty list, because the fake does not implement managed folders. gcloud calls it
// before it deletes a bucket with its objects.
func (*Call) listManagedFolders(*store.Bucket) (any, error) {
	return map[string]string{"kind": "storage#managedFolders"}, nil
}

// storageLayout returns the first thing that clients that mount buckets request.
func (c *Call) storageLayout(b *store.Bucket) (any, error) {
	return map[string]any{
		"kind": "storage#storageLayout", "bucket": b.Name, "location": b.Settings.Location, "locationType": kindOfPlace(b),
		"hierarchicalNamespace": map[string]bool{"enabled": false},
	}, nil
}

// bucket returns the bucket of the call after asking for a permission on it.
func (c *Call) bucket(permissions ...string) (*store.Bucket, error) {
	b, err := c.api.store.Bucket(c.vars["bucket"])
	if err != nil {
		return nil, err
	}
	for _, p := range permissions {
		if err := c.need(p, b, ""); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (c *Call) getBucket(b *store.Bucket) (any, error) {
	if err := c.condition("ifMetageneration", b.Metageneration, true); err != nil {
		return nil, err
	}
	if err := c.etagConditions(bucketETag(b)); err != nil {
		return nil, err
	}
	return c.resource(b), nil
}

// condition checks the two preconditions whose names are name plus Match and NotMatch, such as ifGenerationMatch and
// ifGenerationNotMatch. If reading is true, the second one fails with status 304.
func (c *Call) condition(name string, is int64, reading bool) error {
	if want, ok, err := c.number(name + "Match"); err != nil || (ok && want != is) {
		return orPrecondition(err)
	}
	want, ok, err := c.number(name + "NotMatch")
	switch {
	case err != nil:
		return err
	case ok && want == is && reading:
		return gcserr.NotModified
	case ok && want == is:
		return gcserr.Precondition
	}
	return nil
}

func orPrecondition(err error) error {
	if err != nil {
		return err
	}
	return gcserr.Precondition
}

// number reads a query parameter.
func (c *Call) number(name string) (v int64, ok bool, err error) {
	if !c.query.Has(name) {
		return 0, false, nil
	}
	if v, err = strconv.ParseInt(c.query.Get(name), 10, 64); err != nil {
		return 0, false, gcserr.Invalid.Say("Invalid value for %s: %q.", name, c.query.Get(name))
	}
	return v, true, nil
}

func (c *Call) listBuckets(p identity.Project) (any, error) {
	limit, err := c.limit("maxResults", 1)
	if err != nil {
		return nil, err
	}
	buckets := slices.DeleteFunc(c.api.store.Buckets(p.ID), func(b store.Bucket) bool { return !strings.HasPrefix(b.Name, c.query.Get("prefix")) })
	page, next, err := pageOf(c, buckets, func(b store.Bucket) string { return b.Name }, limit)
	if err != nil {
		return nil, err
	}
	items := []any{}
	for _, b := range page {
		items = append(items, c.resource(&b))
	}
	out := listing("items", items, next)
	out["kind"] = "storage#buckets"
	return out, nil
}

const defaultPage = 1000

// limit returns the maximum number of entries in a listing from a parameter. A value less than least is an error.
func (c *Call) limit(name string, least int64) (int, error) {
	n, ok, err := c.number(name)
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return defaultPage, nil
	case n < least:
		return 0, gcserr.Invalid.Say("Invalid value for %s: %d.", name, n)
	}
	return int(min(n, defaultPage)), nil
}

type pageToken struct {
	Name       string `json:"n"`
	Generation int64  `json:"g,omitempty"`
}

func newPageToken(name string, generation int64) string {
	raw, err := json.Marshal(pageToken{name, generation})
	if err != nil { // plain values only: never
		return ""
	}
	return base64.StdEncoding.EncodeToString(raw)
}

func parsePageToken(token string) (pageToken, error) {
	var t pageToken
	if token == "" {
		return t, nil
	}
	raw, err := base64.StdEncoding.DecodeString(token)
	if err != nil || json.Unmarshal(raw, &t) != nil {
		return t, gcserr.Invalid.Say("Invalid page token.")
	}
	return t, nil
}

func (c *Call) patchBucket(b *store.Bucket) (any, error) {
	return c.changeBucket(b, func(cfg config, fields map[string]json.RawMessage) error {
		return errors.Join(emptyMeansOff(fields), cfg.merge(fields))
	})
}

// emptyMeansOff turns uniform access off if a patch has one of its names without a value, as Google's client for Go
// sends it.
func emptyMeansOff(fields map[string]json.RawMessage) error {
	var iam map[string]json.RawMessage
	if json.Unmarshal(fields["iamConfiguration"], &iam) != nil {
		return nil // absent; the check of the configuration reports anything else
	}
	for _, name := range []string{"bucketPolicyOnly", "uniformBucketLevelAccess"} {
		if string(iam[name]) == "{}" {
			iam[name] = json.RawMessage(`{"enabled":false}`)
		}
	}
	raw, err := json.Marshal(iam)
	fields["iamConfiguration"] = raw
	return err
}

// updateBucket replaces the configuration. It keeps the location and storage class if the request does not set them.
func (c *Call) updateBucket(b *store.Bucket) (any, error) {
	return c.changeBucket(b, func(cfg config, fields map[string]json.RawMessage) error {
		for _, name := range writable {
			if !slices.Contains([]string{"location", "storageClass", "objectRetention"}, name) {
				delete(cfg, name)
			}
		}
		return cfg.merge(fields)
	})
}

func (c *Call) changeBucket(b *store.Bucket, apply func(config, map[string]json.RawMessage) error) (any, error) {
	var fields map[string]json.RawMessage
	if err := c.readJSON(&fields); err != nil {
		return nil, err
	}
	if err := c.checkACLs(fields, b.Settings.IAM.Uniform.Enabled); err != nil {
		return nil, err
	}
	if len(fields) == 0 && !c.setsACL(nil) && c.r.Method == http.MethodPatch { // nothing changes, the metageneration included
		return c.resource(b), c.condition("ifMetageneration", b.Metageneration, false)
	}
	next, err := c.api.store.UpdateBucket(b.Name, func(b *store.Bucket) error {
		if err := c.condition("ifMetageneration", b.Metageneration-1, false); err != nil {
			return err
		}
		old := config(maps.Clone(b.Config))
		cfg := config(b.Config)
		if err := apply(cfg, fields); err != nil {
			return err
		}
		if c.setsACL(fields) {
			if err := errors.Join(c.need("storage.buckets.setIamPolicy", b, ""), c.setBucketACLs(b, fields)); err != nil {
				return err
			}
		}
		return c.checkChange(b, cfg, old)
	})
	if err != nil {
		return nil, err
	}
	return c.resource(&next), nil
}

// checkChange rejects changes that are no longer allowed, and completes the rest.
func (c *Call) checkChange(b *store.Bucket, cfg, old config) error {
	if fixed := strings.ToUpper(cfg.text("location")); fixed != old.text("location") {
		return gcserr.Invalid.Say("The location of a bucket cannot be changed.")
	}
	cfg["location"] = old["location"]
	if string(cfg["objectRetention"]) != string(old["objectRetention"]) {
		return gcserr.Invalid.Say("Object retention cannot be changed on an existing bucket.")
	}
	if err := cfg.check(); err != nil {
		return err
	}
	if err := c.checkRetentionChange(b, cfg); err != nil {
		return err
	}
	if err := c.checkUniformChange(b, cfg, old); err != nil {
		return err
	}
	if b.Settings.IAM.PublicAccessPrevention != "" && prevention(cfg) != prevention(old) {
		if err := c.need("storage.buckets.setIamPolicy", b, ""); err != nil {
			return err
		}
	}
	return c.derive(cfg, old, c.api.now())
}

// checkUniformChange rejects disabling uniform access after 90 days or while a binding has a condition ("Uniform
// bucket-level access").
func (c *Call) checkUniformChange(b *store.Bucket, cfg, old config) error {
	next, err := cfg.uniform(old)
	if err != nil {
		return err
	}
	was := b.Settings.IAM.Uniform
	switch {
	case !was.Enabled || next.Enabled:
		return nil
	case !was.LockedTime.IsZero() && !c.api.now().Before(was.LockedTime):
		return gcserr.Invalid.Say("Cannot disable uniform bucket-level access on bucket '%s' because it was enabled for more than 90 days.", b.Name)
	case b.Policy.Conditional():
		return gcserr.Precondition.Say("Cannot disable uniform bucket-level access on bucket '%s' while its IAM policy has conditions.", b.Name)
	}
	return nil
}

func prevention(cfg config) string {
	var v view
	raw, err := json.Marshal(cfg)
	if err != nil || json.Unmarshal(raw, &v) != nil || v.IAM == nil || v.IAM.Prevention == "" {
		return "inherited"
	}
	return v.IAM.Prevention
}

// checkRetentionChange lets a locked retention policy only grow ("Bucket Lock").
func (c *Call) checkRetentionChange(b *store.Bucket, cfg config) error {
	if !b.Settings.Retention.IsLocked {
		return nil
	}
	next := store.Bucket{Name: b.Name, Config: cfg}
	if err := next.Parse(); err != nil {
		return gcserr.Invalid.Say("%v", err)
	}
	if next.Settings.Retention.Period < b.Settings.Retention.Period || !next.Settings.Retention.IsLocked {
		return gcserr.Forbidden.Say("Cannot reduce retention duration of a locked Retention Policy for bucket '%s'.", b.Name)
	}
	return nil
}

func (c *Call) deleteBucket(b *store.Bucket) (any, error) {
	return nil, c.api.store.DeleteBucket(b.Name, func(b store.Bucket) error { return c.condition("ifMetageneration", b.Metageneration, false) })
}

func (c *Call) lockRetention(b *store.Bucket) (any, error) {
	if !c.query.Has("ifMetagenerationMatch") {
		return nil, gcserr.Required.Say("Required parameter: ifMetagenerationMatch")
	}
	next, err := c.api.store.UpdateBucket(b.Name, func(b *store.Bucket) error {
		if err := c.condition("ifMetageneration", b.Metageneration-1, false); err != nil {
			return err
		}
		if b.Settings.Retention.Period == 0 {
			return gcserr.Invalid.Say("Bucket '%s' does not have a Retention Policy.", b.Name)
		}
		merged, err := mergePatch(b.Config["retentionPolicy"], json.RawMessage(`{"isLocked":true}`))
		b.Config["retentionPolicy"] = merged
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.resource(&next), nil
}
