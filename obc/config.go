// SPDX-License-Identifier: Apache-2.0

package obc

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cooper-cosi/cooper/api/objectbucket"
)

// defaultAllowed are the allowed keys of additionalConfig if the StorageClass has no parameter allowedAdditionalConfig
// and creates new buckets.
const defaultAllowed = "maxObjects,maxSize"

// A translation describes a key of additionalConfig that Rook defines.
type translation struct {
	// parameter is the driver parameter that the key sets, unless the StorageClass names another.
	parameter string
	// parse returns the value of a limit; nil for a key whose value is passed unchanged.
	parse func(string) (int64, error)
}

// translations returns Rook's keys with the parameters of the S3 driver that correspond to them. Rook's limits for the
// user of a claim and for its bucket are the same here, because a new bucket belongs to one claim.
func translations() map[string]translation {
	return map[string]translation{
		"maxSize":          {"quota", parseSize},
		"bucketMaxSize":    {"quota", parseSize},
		"maxObjects":       {"quotaObjects", parseCount},
		"bucketMaxObjects": {"quotaObjects", parseCount},
		"bucketLifecycle":  {"lifecycle", nil},
	}
}

// unsupported returns the keys that are refused even if the StorageClass allows them, with the reason.
func unsupported() map[string]string {
	return map[string]string{
		"bucketPolicy": "a policy could give other tenants access to the bucket. Create a BucketAccess or another claim for each application instead",
		"bucketOwner":  "the bucket would belong to a user of the store whom COSI does not manage. The credential of this claim is sufficient",
	}
}

func parseSize(value string) (int64, error) {
	quantity, err := resource.ParseQuantity(value)
	if err != nil || quantity.Sign() <= 0 || quantity.CmpInt64(1<<62) > 0 {
		return 0, fmt.Errorf("is %q, but must be a positive size such as 2G or 500Mi", value)
	}
	return quantity.Value(), nil
}

func parseCount(value string) (int64, error) {
	count, err := strconv.ParseInt(value, 10, 64)
	if err != nil || count <= 0 {
		return 0, fmt.Errorf("is %q, but must be a positive whole number", value)
	}
	return count, nil
}

// settings are the driver parameters from a claim's additionalConfig. The values of setBy are the keys that set them.
type settings struct {
	values, setBy map[string]string
}

// settingsOf translates the claim's additionalConfig to driver parameters. It refuses keys that the administrator did
// not allow.
func settingsOf(claim *objectbucket.ObjectBucketClaim, class *storagev1.StorageClass) (settings, *problem) {
	s, allowed := settings{map[string]string{}, map[string]string{}}, allowedKeys(class)
	for _, key := range slices.Sorted(maps.Keys(claim.Spec.AdditionalConfig)) {
		if why, refused := unsupported()[key]; refused {
			return s, refuse("COSI does not support %q in spec.additionalConfig: %s. Remove it.", key, why)
		}
		parameter, ok := allowed[key]
		if !ok {
			return s, refuse("StorageClass %q does not allow %q in spec.additionalConfig. Remove it, or ask an administrator.", class.Name, key)
		}
		if p := s.set(key, parameter, claim.Spec.AdditionalConfig[key]); p != nil {
			return s, p
		}
	}
	return s, nil
}

// set sets a driver parameter. If two limits set the same parameter, the lower one applies.
func (s settings) set(key, parameter, value string) *problem {
	other, twice := s.setBy[parameter]
	if parse := translations()[key].parse; parse != nil {
		limit, err := parse(value)
		if err != nil {
			return refuse("spec.additionalConfig.%s %v.", key, err)
		}
		if before, err := strconv.ParseInt(s.values[parameter], 10, 64); twice && err == nil && translations()[other].parse != nil {
			limit, twice = min(limit, before), false
		}
		value = strconv.FormatInt(limit, 10)
	}
	if twice {
		return refuse("spec.additionalConfig contains %q and %q, which set the same parameter of the driver. Remove one of them.", other, key)
	}
	s.values[parameter], s.setBy[parameter] = value, key
	return nil
}

// allowedKeys returns the keys of additionalConfig that a StorageClass allows, with the driver parameters that they set.
// The parameter for prefixes is never allowed: prefixes come from generateBucketName.
func allowedKeys(class *storagev1.StorageClass) map[string]string {
	entries, explicit := class.Parameters[paramAllowedConfig]
	if !explicit && class.Parameters[paramBucket] == "" {
		entries = defaultAllowed
	}
	allowed := map[string]string{}
	for _, entry := range list(entries) {
		key, parameter, named := strings.Cut(entry, "=")
		key, parameter = strings.TrimSpace(key), strings.TrimSpace(parameter)
		if !named {
			parameter = key
			if known, ok := translations()[key]; ok {
				parameter = known.parameter
			}
		}
		if parameter != "" && parameter != class.Parameters[paramPrefixParameter] {
			allowed[key] = parameter
		}
	}
	return allowed
}

// checkOverrides refuses a key that would replace a parameter of the BucketClass, unless the administrator allows the
// key explicitly. Otherwise users could raise a limit of the administrator.
func (s settings) checkOverrides(class *storagev1.StorageClass, inClass map[string]string) *problem {
	if _, explicit := class.Parameters[paramAllowedConfig]; explicit {
		return nil
	}
	for _, parameter := range slices.Sorted(maps.Keys(s.values)) {
		if _, set := inClass[parameter]; set {
			return refuse("StorageClass %q does not allow %q in spec.additionalConfig, because its BucketClass sets the parameter %s. Remove it, or ask an administrator.", class.Name, s.setBy[parameter], parameter)
		}
	}
	return nil
}

// stateRequest is the key of the ObjectBucket's additionalState that records the settings that the claim requested.
const stateRequest = "cosi-request"

// A request is the part of a claim that users can edit later. Edits of GenerateBucketName have no effect.
type request struct {
	GenerateBucketName string            `json:"generateBucketName,omitempty"`
	AdditionalConfig   map[string]string `json:"additionalConfig,omitempty"`
}

// requestOf returns the claim's request in the form that is stored in its ObjectBucket.
func requestOf(claim *objectbucket.ObjectBucketClaim) string {
	text, _ := json.Marshal(request{claim.Spec.GenerateBucketName, claim.Spec.AdditionalConfig}) //nolint:errchkjson // strings
	return string(text)
}

// fieldConfig is the prefix of the names of fields in additionalConfig.
const fieldConfig = "additionalConfig."

// maxFields is the maximum number of changed fields that a message names.
const maxFields = 10

// originalRequest returns the request for which the bucket was created; recorded is false for the ObjectBucket of an
// earlier build.
func originalRequest(bucket *objectbucket.ObjectBucket) (before request, recorded bool) {
	err := json.Unmarshal([]byte(bucket.Spec.AdditionalState[stateRequest]), &before)
	return before, err == nil
}

// changedConfig returns the keys of additionalConfig that were edited after the bucket was requested, as field names.
func changedConfig(claim *objectbucket.ObjectBucketClaim, bucket *objectbucket.ObjectBucket) []string {
	before, recorded := originalRequest(bucket)
	if !recorded {
		return nil
	}
	var fields []string
	for _, key := range slices.Sorted(maps.Keys(either(before.AdditionalConfig, claim.Spec.AdditionalConfig))) {
		was, had := before.AdditionalConfig[key]
		if is, has := claim.Spec.AdditionalConfig[key]; is != was || has != had {
			fields = append(fields, fieldConfig+key)
		}
	}
	return fields
}

// ignoredChanges returns a message about the fields of a claim that were edited after its settings were fixed, or an
// empty string. config are the fields of additionalConfig among them. The message contains no values.
func ignoredChanges(claim *objectbucket.ObjectBucketClaim, bucket *objectbucket.ObjectBucket, config []string) string {
	before, recorded := originalRequest(bucket)
	if !recorded {
		return ""
	}
	var fields []string
	if claim.Spec.StorageClassName != bucket.Spec.StorageClassName {
		fields = append(fields, "storageClassName")
	}
	if claim.Spec.GenerateBucketName != before.GenerateBucketName {
		fields = append(fields, "generateBucketName")
	}
	if fields = append(fields, config...); len(fields) == 0 {
		return ""
	}
	return fmt.Sprintf("The change of %s has no effect, because the driver cannot change these settings of an existing bucket. Revert the change, "+
		"or create another claim and copy the data. An administrator can change quota and lifecycle of the bucket in the store.", naming(fields))
}

// naming returns the names of fields of the spec for a message, at most maxFields.
func naming(fields []string) string {
	more := ""
	if over := len(fields) - maxFields; over > 0 {
		fields, more = fields[:maxFields], fmt.Sprintf(" and %d more", over)
	}
	return "spec." + strings.Join(fields, ", spec.") + more
}

// configHint returns the advice for a claim whose bucket was refused, perhaps because of additionalConfig.
func configHint(w *work) string {
	if !w.refused() || len(w.claim.Spec.AdditionalConfig) == 0 {
		return ""
	}
	keys := slices.Sorted(maps.Keys(w.claim.Spec.AdditionalConfig))
	return fmt.Sprintf(" If the driver does not support a parameter that spec.additionalConfig sets (%s), remove the key from the claim. "+
		"An administrator can forbid keys with the parameter %s of StorageClass %q.",
		strings.Join(keys[:min(len(keys), maxFields)], ", "), paramAllowedConfig, w.claim.Spec.StorageClassName)
}

// either returns the keys of both maps.
func either(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return all
}
