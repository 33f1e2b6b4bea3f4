// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Parameters declares the class parameters that a driver supports, by key. The kit rejects requests with other keys
// if they create something. If they remove something, the kit ignores other keys.
type Parameters map[string]Parameter

// Parameter declares one class parameter.
type Parameter struct {
	// Description describes the parameter for generated documentation.
	Description string
	// Required rejects requests without the parameter.
	Required bool
	// Changeable declares that CreateBucketRequest.Update may change the parameter of an existing bucket.
	Changeable bool
	// Check returns an error if a value is not acceptable; the error text completes "parameter x ...". Nil accepts every
	// value.
	Check func(value string) error
}

// OneOf returns a Check that accepts exactly the given values.
func OneOf(values ...string) func(string) error {
	return func(value string) error {
		if slices.Contains(values, value) {
			return nil
		}
		return fmt.Errorf("is %q, but must be one of: %s", value, strings.Join(values, ", "))
	}
}

// Boolean is a Check that accepts "true" and "false".
func Boolean(value string) error { return OneOf("true", "false")(value) }

// Integer returns a Check that accepts decimal numbers from low to high.
func Integer(low, high int) func(string) error {
	return func(value string) error {
		number, err := strconv.Atoi(value)
		if err != nil || number < low || number > high {
			return fmt.Errorf("is %q, but must be a number from %d to %d", value, low, high)
		}
		return nil
	}
}

// JSON is a Check that accepts values that ParseJSON can read into a T.
func JSON[T any](value string) error {
	_, err := ParseJSON[T](value)
	return err
}

// ParseJSON parses a parameter that holds a part of the backend's configuration as JSON, such as lifecycle rules. It
// returns nil for an empty value. It returns an error if the value has trailing text or fields that T does not have.
// The error text completes the sentence "parameter x ...".
func ParseJSON[T any](value string) (*T, error) {
	if value == "" {
		return nil, nil //nolint:nilnil // absent is a value of the parameter, not an error
	}
	decoder := json.NewDecoder(strings.NewReader(value))
	decoder.DisallowUnknownFields()
	parsed := new(T)
	if err := decoder.Decode(parsed); err != nil {
		return nil, fmt.Errorf("is not the expected JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("has text after the JSON value")
	}
	return parsed, nil
}

// check returns an InvalidArgument error for the first invalid key, in sorted order.
func (p Parameters) check(values Values) error {
	known := slices.Sorted(maps.Keys(p))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		parameter, declared := p[key]
		if !declared {
			return InvalidArgument("unknown parameter %q; %s", key, knownText(known))
		}
		if parameter.Check == nil {
			continue
		}
		if err := parameter.Check(values[key]); err != nil {
			return InvalidArgument("parameter %s %v", key, err)
		}
	}
	for _, key := range known {
		if _, given := values[key]; p[key].Required && !given {
			return InvalidArgument("parameter %s is required", key)
		}
	}
	return nil
}

// changeable returns the keys that an update of a bucket may change, sorted.
func (p Parameters) changeable() []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(p)) {
		if p[key].Changeable {
			keys = append(keys, key)
		}
	}
	return keys
}

// checkUpdate returns an InvalidArgument error for an update with a changed parameter that is fixed or invalid. The others
// are those of an existing bucket, which an earlier version of the driver may have created.
func (p Parameters) checkUpdate(update *BucketUpdate) error {
	changed, values := Parameters{}, Values{}
	for _, key := range update.Changed {
		if !p[key].Changeable {
			return InvalidArgument("parameter %s cannot be changed on an existing bucket", key)
		}
		changed[key] = p[key]
		if value, given := update.Parameters[key]; given {
			values[key] = value
		}
	}
	return changed.check(values)
}

func knownText(known []string) string {
	if len(known) == 0 {
		return "this driver has no parameters"
	}
	return "supported parameters: " + strings.Join(known, ", ")
}

// Values are the parameters of a request.
type Values map[string]string

// Bool returns whether the value of key is "true".
func (v Values) Bool(key string) bool { return v[key] == "true" }

// Or returns the value of key, or fallback if it is not set.
func (v Values) Or(key, fallback string) string {
	if value, set := v[key]; set {
		return value
	}
	return fallback
}

// Hash returns 32 hexadecimal digits that differ for different parameters. Record the hash on creation and compare it
// later. It does not depend on map order.
func (v Values) Hash() string {
	digest := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(v)) {
		// Quoting makes {"a": "b=c"} and {"a=b": "c"} distinct. Writing to a hash never fails.
		_, _ = fmt.Fprintf(digest, "%q=%q\n", key, v[key])
	}
	return hex.EncodeToString(digest.Sum(nil)[:16])
}
