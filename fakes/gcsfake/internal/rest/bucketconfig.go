// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

var (
	bucketName  = regexp.MustCompile(`^[a-z0-9][-_a-z0-9.]{1,220}[a-z0-9]$`)
	labelKey    = regexp.MustCompile(`^[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\p{N}_-]{0,62}$`)
	labelValue  = regexp.MustCompile(`^[\p{Ll}\p{Lo}\p{N}_-]{0,63}$`)
	regionName  = regexp.MustCompile(`^[A-Z]+-[A-Z]+\d{1,2}$`)
	kmsKeyName  = regexp.MustCompile(`^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$`)
	dualRegions = []string{"ASIA1", "EUR4", "EUR5", "EUR7", "EUR8", "NAM4"}
)

// reservedName reports a first path segment that this server's other endpoints use.
func reservedName(name string) bool {
	return slices.Contains([]string{"batch", "storage", "upload", "download", "resumable", "v1", "token", "projects"}, name)
}

// checkBucketName applies the rules of "About Cloud Storage buckets".
func checkBucketName(name string) error {
	_, addrErr := netip.ParseAddr(name)
	switch {
	case len(name) < 3 || !bucketName.MatchString(name) || strings.Contains(name, "..") || strings.Contains(name, ".-") || strings.Contains(name, "-."):
		return gcserr.BucketName.Say("Invalid bucket name: '%s'", name)
	case addrErr == nil, strings.HasPrefix(name, "goog"), strings.Contains(name, "google"), strings.Contains(name, "g00gle"):
		return gcserr.BucketName.Say("Invalid bucket name: '%s'", name)
	case slices.ContainsFunc(strings.Split(name, "."), func(part string) bool { return len(part) > 63 }):
		return gcserr.BucketName.Say("Invalid bucket name: '%s'", name)
	case strings.Contains(name, "."):
		return gcserr.Forbidden.Say("The bucket you tried to create is a domain name owned by another user.")
	case reservedName(name):
		return gcserr.Unimplemented.Say("The bucket name %s is the path of another endpoint of this fake. Choose another name.", name)
	}
	return nil
}

// config is the part of a bucket resource that clients set.
type config map[string]json.RawMessage

// writable are the fields that a client may set; the rest of a bucket resource is ignored, as the service does.
var writable = []string{
	"autoclass", "billing", "cors", "customPlacementConfig", "defaultEventBasedHold", "encryption", "hierarchicalNamespace", "iamConfiguration",
	"labels", "lifecycle", "location", "logging", "objectRetention", "retentionPolicy", "rpo", "softDeletePolicy", "storageClass", "versioning", "website",
}

// view contains the fields that checks need.
type view struct {
	Location     string `json:"location"`
	StorageClass string `json:"storageClass"`
	Placement    *struct {
		Locations []string `json:"dataLocations"`
	} `json:"customPlacementConfig"`
	Labels     map[string]string `json:"labels"`
	SoftDelete *struct {
		Seconds store.Long `json:"retentionDurationSeconds"`
	} `json:"softDeletePolicy"`
	Retention *struct {
		Period store.Long `json:"retentionPeriod"`
	} `json:"retentionPolicy"`
	IAM *struct {
		Prevention string `json:"publicAccessPrevention"`
	} `json:"iamConfiguration"`
	Encryption *struct {
		Key string `json:"defaultKmsKeyName"`
	} `json:"encryption"`
	Lifecycle *struct {
		Rule []struct {
			Action    map[string]any `json:"action"`
			Condition map[string]any `json:"condition"`
		} `json:"rule"`
	} `json:"lifecycle"`
	CORS []struct {
		Origin, Method, ResponseHeader []string
		MaxAgeSeconds                  int32 `json:"maxAgeSeconds"`
	} `json:"cors"`
	Website *struct {
		MainPageSuffix string `json:"mainPageSuffix"`
		NotFoundPage   string `json:"notFoundPage"`
	} `json:"website"`
	Versioning *struct {
		Enabled bool `json:"enabled"`
	} `json:"versioning"`
}

// The documented bounds of durations, in seconds, and of labels.
const (
	minSoftDelete = 604800
	maxSoftDelete = 7776000
	maxRetention  = 3155760000
	maxLabels     = 64
	maxRules      = 100
)

// check validates a whole configuration.
func (cfg config) check() error {
	raw, err := json.Marshal(cfg)
	if err != nil {
		return err
	}
	var v view
	if err := parseJSON(raw, &v); err != nil {
		return err
	}
	for _, check := range []func() error{v.checkPlace, v.checkLabels, v.checkDurations, v.checkAccess, v.checkLifecycle} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) checkPlace() error {
	classes := []string{"STANDARD", "NEARLINE", "COLDLINE", "ARCHIVE", "MULTI_REGIONAL", "REGIONAL", "DURABLE_REDUCED_AVAILABILITY"}
	if !slices.Contains(classes, v.StorageClass) {
		return gcserr.Invalid.Say("Invalid argument: storage class %q.", v.StorageClass)
	}
	if locationType(v.Location) == "" {
		return gcserr.Invalid.Say("The specified location constraint is not valid: %q.", v.Location)
	}
	if p := v.Placement; p != nil && (len(p.Locations) != 2 || slices.ContainsFunc(p.Locations, func(l string) bool { return locationType(strings.ToUpper(l)) != "region" })) {
		return gcserr.Invalid.Say("Invalid argument: customPlacementConfig.dataLocations must be two regions.")
	}
	return nil
}

// locationType returns the type of location according to "Bucket locations".
func locationType(location string) string {
	switch {
	case slices.Contains([]string{"US", "EU", "ASIA"}, location):
		return "multi-region"
	case slices.Contains(dualRegions, location):
		return "dual-region"
	case regionName.MatchString(location):
		return "region"
	}
	return ""
}

// kindOfPlace is the location type of a bucket: a multi-region of which two regions are chosen is a dual-region.
func kindOfPlace(b *store.Bucket) string {
	kind := locationType(b.Settings.Location)
	if kind == "multi-region" && b.Config["customPlacementConfig"] != nil {
		return "dual-region"
	}
	return kind
}

// deriveAutoclass completes the state of Autoclass: since when it is on or off, and its terminal storage class.
func deriveAutoclass(cfg, old config, now time.Time) error {
	if cfg["autoclass"] == nil || string(cfg["autoclass"]) == string(old["autoclass"]) {
		return nil
	}
	type autoclass struct {
		Enabled  bool   `json:"enabled"`
		Toggled  string `json:"toggleTime,omitempty"`
		Terminal string `json:"terminalStorageClass,omitempty"`
		Updated  string `json:"terminalStorageClassUpdateTime,omitempty"`
	}
	var next, was autoclass
	if err := parseJSON(cfg["autoclass"], &next); err != nil {
		return err
	}
	_ = json.Unmarshal(old["autoclass"], &was) // none is one that is off
	next.Terminal = cmp.Or(next.Terminal, "NEARLINE")
	if next.Terminal != "NEARLINE" && next.Terminal != "ARCHIVE" {
		return gcserr.Invalid.Say("Invalid argument: autoclass.terminalStorageClass %q is neither NEARLINE nor ARCHIVE.", next.Terminal)
	}
	next.Toggled, next.Updated = was.Toggled, was.Updated
	if next.Enabled != was.Enabled || next.Toggled == "" {
		next.Toggled = stamp(now)
	}
	if next.Terminal != was.Terminal {
		next.Updated = stamp(now)
	}
	if !next.Enabled {
		next.Terminal, next.Updated = "", ""
	}
	cfg.set("autoclass", next)
	return nil
}

func (v *view) checkLabels() error {
	if len(v.Labels) > maxLabels {
		return gcserr.Invalid.Say("Too many labels: at most %d are allowed.", maxLabels)
	}
	for key, value := range v.Labels {
		if !labelKey.MatchString(key) {
			return gcserr.Invalid.Say("Invalid argument: label key %q.", key)
		}
		if !labelValue.MatchString(value) {
			return gcserr.Invalid.Say("Invalid argument: value %q of label %s.", value, key)
		}
	}
	return nil
}

func (v *view) checkDurations() error {
	if s := v.SoftDelete; s != nil && s.Seconds != 0 && (s.Seconds < minSoftDelete || s.Seconds > maxSoftDelete) {
		return gcserr.Invalid.Say("Invalid argument: softDeletePolicy.retentionDurationSeconds must be 0 or between %d and %d.", minSoftDelete, maxSoftDelete)
	}
	if r := v.Retention; r != nil && (r.Period <= 0 || r.Period > maxRetention) {
		return gcserr.Invalid.Say("Invalid argument: retentionPolicy.retentionPeriod must be between 1 and %d.", maxRetention)
	}
	return nil
}

func (v *view) checkAccess() error {
	if i := v.IAM; i != nil && !slices.Contains([]string{"", "inherited", "enforced", "unspecified"}, i.Prevention) {
		return gcserr.Invalid.Say("Invalid value for publicAccessPrevention: %q.", i.Prevention)
	}
	if e := v.Encryption; e != nil && e.Key != "" && !kmsKeyName.MatchString(e.Key) {
		return gcserr.Invalid.Say("Invalid argument: encryption.defaultKmsKeyName %q is not projects/P/locations/L/keyRings/R/cryptoKeys/K.", e.Key)
	}
	return nil
}

func (v *view) checkLifecycle() error {
	if v.Lifecycle == nil {
		return nil
	}
	if len(v.Lifecycle.Rule) > maxRules {
		return gcserr.Invalid.Say("A lifecycle configuration has at most %d rules.", maxRules)
	}
	for _, rule := range v.Lifecycle.Rule {
		kind, _ := rule.Action["type"].(string)
		if !slices.Contains([]string{"Delete", "SetStorageClass", "AbortIncompleteMultipartUpload"}, kind) {
			return gcserr.Invalid.Say("Invalid argument: lifecycle action %q.", kind)
		}
		if len(rule.Condition) == 0 {
			return gcserr.Invalid.Say("A lifecycle rule needs a condition.")
		}
		if _, ok := rule.Action["storageClass"].(string); kind == "SetStorageClass" && !ok {
			return gcserr.Invalid.Say("The lifecycle action SetStorageClass needs a storage class.")
		}
		for name, value := range rule.Condition {
			number, isNumber := value.(float64)
			_, isList := value.([]any)
			if isNumber && number != float64(int32(number)) || strings.HasPrefix(name, "matches") && !isList && value != nil {
				return gcserr.Invalid.Say("Invalid value at 'lifecycle.rule.condition.%s'.", name)
			}
		}
	}
	return nil
}

// writeDurations writes durations as strings, since clients may send numbers.
func (cfg config) writeDurations() error {
	for _, name := range []string{"softDeletePolicy", "retentionPolicy"} {
		var d struct {
			Period  *store.Long `json:"retentionPeriod,omitempty"`
			Seconds *store.Long `json:"retentionDurationSeconds,omitempty"`
		}
		if cfg[name] == nil {
			continue
		}
		if err := parseJSON(cfg[name], &d); err != nil {
			return err
		}
		raw, err := json.Marshal(d)
		if err != nil {
			return err
		}
		if cfg[name], err = mergePatch(cfg[name], raw); err != nil {
			return err
		}
	}
	return nil
}

// merge applies a JSON merge patch (RFC 7396) to the writable fields. An empty list and empty labels are not shown.
func (cfg config) merge(patch map[string]json.RawMessage) error {
	for name, value := range patch {
		if !slices.Contains(writable, name) {
			continue
		}
		merged, err := mergePatch(cfg[name], value)
		if err != nil {
			return err
		}
		if merged == nil || string(merged) == "[]" || name == "labels" && string(merged) == "{}" {
			delete(cfg, name)
			continue
		}
		cfg[name] = merged
	}
	return nil
}

// mergePatch returns nil for a removal.
func mergePatch(target, patch json.RawMessage) (json.RawMessage, error) {
	if string(patch) == "null" {
		return nil, nil
	}
	var changes map[string]json.RawMessage
	if json.Unmarshal(patch, &changes) != nil {
		return patch, nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(target, &fields) != nil || fields == nil {
		fields = map[string]json.RawMessage{}
	}
	for name, change := range changes {
		merged, err := mergePatch(fields[name], change)
		if err != nil {
			return nil, err
		}
		if merged == nil {
			delete(fields, name)
			continue
		}
		fields[name] = merged
	}
	return json.Marshal(fields)
}

// text reads a field that is a string.
func (cfg config) text(name string) string {
	var s string
	_ = json.Unmarshal(cfg[name], &s) // another type gives an empty text, which check rejects
	return s
}

func (cfg config) set(name string, value any) {
	raw, err := json.Marshal(value)
	if err == nil { // plain values only: always
		cfg[name] = raw
	}
}
