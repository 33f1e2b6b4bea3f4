// SPDX-License-Identifier: Apache-2.0

// Package bucketchange defines the annotations of a Bucket with which cosi-obc requests changes of its parameters and the
// sidecar reports the result. It does not read or write objects.
package bucketchange

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// Changes are the values of parameters that differ, or once differed, from spec.parameters of a Bucket. A nil value removes
// the parameter. A key is never removed from the Changes of a Bucket, because an interrupted call may have set the
// parameter in the backend.
type Changes map[string]*string

// Of parses the changes that a Bucket requests. They are empty if there are none.
func Of(b *cosiapi.Bucket) (Changes, error) {
	text := b.Annotations[cosiapi.ParameterChangesAnnotation]
	if text == "" {
		return Changes{}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	changes := Changes{}
	if err := decoder.Decode(&changes); err != nil {
		return nil, fmt.Errorf("annotation %s is not a JSON object of strings: %w", cosiapi.ParameterChangesAnnotation, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("annotation %s has text after the JSON object", cosiapi.ParameterChangesAnnotation)
	}
	return changes, nil
}

// Text returns the changes in the form of the annotation.
func (c Changes) Text() string {
	text, _ := json.Marshal(c) //nolint:errchkjson // strings
	return string(text)
}

// Apply returns the parameters after the changes, and the keys of the changes, sorted.
func (c Changes) Apply(parameters map[string]string) (changed map[string]string, keys []string) {
	changed = maps.Clone(parameters)
	if changed == nil {
		changed = map[string]string{}
	}
	for key, value := range c {
		if value == nil {
			delete(changed, key)
			continue
		}
		changed[key] = *value
	}
	return changed, slices.Sorted(maps.Keys(c))
}

// A Result is what the sidecar reports about requested changes.
type Result struct {
	// Request is the digest of the annotation that requested them.
	Request string `json:"request"`
	// Unsupported lists parameters that the driver cannot change on an existing bucket.
	Unsupported []string `json:"unsupported,omitempty"`
	// Problem is the reason why the other changes were not applied, as a sentence for users.
	Problem string `json:"problem,omitempty"`
	// Retrying reports that the sidecar repeats the call soon, because the problem may be temporary.
	Retrying bool `json:"retrying,omitempty"`
}

// ResultOf returns the result for the changes that a Bucket requests. found is false if there is none yet.
func ResultOf(b *cosiapi.Bucket) (result Result, found bool) {
	err := json.Unmarshal([]byte(b.Annotations[cosiapi.ParameterChangesResultAnnotation]), &result)
	if err != nil || result.Request != Digest(b) {
		return Result{}, false
	}
	return result, true
}

// Text returns the result in the form of the annotation.
func (r Result) Text() string {
	text, _ := json.Marshal(r) //nolint:errchkjson // strings
	return string(text)
}

// Pending reports whether a Bucket requests changes that are not applied, and that a driver with these changeable
// parameters may apply.
func Pending(b *cosiapi.Bucket, changeable []string) bool {
	if b.Annotations[cosiapi.ParameterChangesAnnotation] == "" {
		return false
	}
	result, found := ResultOf(b)
	return !found || result.Problem != "" ||
		slices.ContainsFunc(result.Unsupported, func(key string) bool { return slices.Contains(changeable, key) })
}

// Digest returns the digest of the changes that a Bucket requests.
func Digest(b *cosiapi.Bucket) string {
	return fmt.Sprintf("%.8x", sha256.Sum256([]byte(b.Annotations[cosiapi.ParameterChangesAnnotation])))
}
