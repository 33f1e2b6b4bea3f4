// SPDX-License-Identifier: Apache-2.0

package postform

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// Policy is the signed policy document of a form ("Creating a POST policy" of S3, "Policy documents" of Cloud Storage).
type Policy struct {
	expires    time.Time
	conditions []condition
	min, max   int64
	ranged     bool
}

type condition struct {
	operator, field, value string
	// text is how the service quotes the condition.
	text string
}

// never is the operator of a condition that no form meets: S3 accepts the document and rejects the form.
const never = "never"

func badPolicy(message string) *awserr.Error {
	return awserr.New(http.StatusBadRequest, "InvalidPolicyDocument", "Invalid Policy: "+message)
}

// ParsePolicy parses a base64-encoded policy document.
func ParsePolicy(encoded string) (*Policy, error) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, badPolicy("invalid Base64 encoding.")
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, badPolicy("Expecting '{' but found End-of-Input")
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil, badPolicy("Invalid JSON.")
	}
	for name := range fields {
		if name != "expiration" && name != "conditions" {
			return nil, badPolicy("Unexpected: \"" + name + "\"")
		}
	}
	p := &Policy{}
	if err := p.expiration(fields["expiration"]); err != nil {
		return nil, err
	}
	if fields["conditions"] == nil {
		return nil, badPolicy("Policy missing conditions.")
	}
	var list []json.RawMessage
	if json.Unmarshal(fields["conditions"], &list) != nil {
		return nil, badPolicy("Invalid 'conditions' value: must be a List.")
	}
	for _, one := range list {
		if err := p.add(one); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Policy) expiration(raw json.RawMessage) error {
	if raw == nil {
		return badPolicy("Policy missing expiration.")
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return badPolicy("Invalid 'expiration' value: '" + string(raw) + "'")
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return badPolicy("Invalid 'expiration' value: '" + text + "'")
	}
	p.expires = t
	return nil
}

func (p *Policy) add(raw json.RawMessage) error {
	var object map[string]any
	if json.Unmarshal(raw, &object) == nil {
		if len(object) != 1 {
			return badPolicy("Invalid Simple-Condition: Simple-Conditions must have exactly one property specified.")
		}
		for field, v := range object {
			s, ok := v.(string)
			if !ok {
				return badPolicy("Invalid Simple-Condition: value must be a string.")
			}
			p.conditions = append(p.conditions, condition{"eq", strings.ToLower(field), s, `["eq", "$` + field + `", "` + s + `"]`})
		}
		return nil
	}
	var list []any
	if json.Unmarshal(raw, &list) != nil {
		return badPolicy("Invalid condition test: must be a List or Object.")
	}
	if len(list) == 0 {
		return badPolicy("Invalid Condition: missing operation identifier.")
	}
	operator, _ := list[0].(string)
	lower := strings.ToLower(operator)
	switch lower {
	case "eq", "starts-with":
		return p.addMatch(lower, list)
	case "content-length-range":
		return p.addRange(list)
	}
	return badPolicy("Invalid Condition: unknown operation '" + operator + "'.")
}

func (p *Policy) addMatch(operator string, list []any) error {
	if len(list) != 3 {
		return badPolicy("Invalid " + operator + ": wrong number of arguments.")
	}
	field, ok1 := list[1].(string)
	value, ok2 := list[2].(string)
	if !ok1 || !ok2 {
		return badPolicy("Invalid Simple-Condition: value must be a string.")
	}
	c := condition{operator, "", value, `["` + operator + `", "` + field + `", "` + value + `"]`}
	if name, ok := strings.CutPrefix(field, "$"); ok {
		c.field = strings.ToLower(name)
	} else {
		c.operator = never
	}
	p.conditions = append(p.conditions, c)
	return nil
}

func (p *Policy) addRange(list []any) error {
	if len(list) != 3 {
		return badPolicy("Invalid content-length-range: wrong number of arguments.")
	}
	low, ok1 := number(list[1])
	high, ok2 := number(list[2])
	if !ok1 || !ok2 {
		p.conditions = append(p.conditions, condition{operator: never, text: fmt.Sprintf("[%q, %q, %q]", list[0], fmt.Sprint(list[1]), fmt.Sprint(list[2]))})
		return nil
	}
	p.min, p.max, p.ranged = low, high, true
	return nil
}

func number(v any) (int64, bool) {
	switch v := v.(type) {
	case float64:
		return int64(v), v >= 0
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil && n >= 0
	}
	return 0, false
}

func violated(message string) *awserr.Error {
	return awserr.New(http.StatusForbidden, "AccessDenied", "Invalid according to Policy: "+message)
}

// Check checks the fields of a form. Every condition of the policy must be met. Every field must have a condition,
// except the policy, its signature fields, the file, and ignored fields ("Creating a POST policy", "Condition matching").
func (p *Policy) Check(now time.Time, bucket string, signature []string, form map[string]string) error {
	if now.After(p.expires) {
		return violated("Policy expired.")
	}
	covered := append([]string{"policy", "file"}, signature...)
	for _, c := range p.conditions {
		covered = append(covered, c.field)
		got := form[c.field]
		if c.field == "bucket" {
			got = bucket
		}
		if !c.holds(got) {
			return violated("Policy Condition failed: " + c.text)
		}
	}
	for field := range form {
		if !slices.Contains(covered, field) && !strings.HasPrefix(field, "x-ignore-") {
			return violated("Extra input fields: " + field)
		}
	}
	return nil
}

// holds reports whether a field has a value that meets the condition. For starts-with, a Content-Type with commas is
// a list, and each element must have the prefix.
func (c condition) holds(got string) bool {
	switch c.operator {
	case "eq":
		return got == c.value
	case never:
		return false
	}
	values := []string{got}
	if c.field == "content-type" {
		values = strings.Split(got, ",")
	}
	return !slices.ContainsFunc(values, func(v string) bool { return !strings.HasPrefix(strings.TrimSpace(v), c.value) })
}

// checkMax returns an error as soon as a file is too large; a nil policy accepts any size.
func (p *Policy) checkMax(size int64) error {
	if p == nil || !p.ranged || size <= p.max {
		return nil
	}
	return tooLarge.With("ProposedSize", strconv.FormatInt(size, 10)).With("MaxSizeAllowed", strconv.FormatInt(p.max, 10))
}

// CheckSize returns an error if a complete file is too small; a nil policy accepts any size.
func (p *Policy) CheckSize(size int64) error {
	if p == nil || !p.ranged || size >= p.min {
		return nil
	}
	return awserr.New(http.StatusBadRequest, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size").
		With("ProposedSize", strconv.FormatInt(size, 10)).With("MinSizeAllowed", strconv.FormatInt(p.min, 10))
}
