// SPDX-License-Identifier: Apache-2.0

package iamapi

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
)

func invalid(format string, args ...any) *awserr.Error {
	return awserr.Newf(http.StatusBadRequest, "ValidationError", format, args...)
}

func constraint(field, format string, args ...any) *awserr.Error {
	return invalid("1 validation error detected: Value at '%s' failed to satisfy constraint: %s", field, fmt.Sprintf(format, args...))
}

// lower is the spelling of a parameter in validation messages: UserName is userName.
func lower(param string) string { return strings.ToLower(param[:1]) + param[1:] }

var (
	namePattern = regexp.MustCompile(`^[\w+=,.@-]+$`)
	pathPattern = regexp.MustCompile(`^(/|/[!-~]+/)$`)
	prefPattern = regexp.MustCompile(`^/[!-~]*$`)
	tagKey      = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]+$`)
	tagValue    = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)
	alnum       = regexp.MustCompile(`^\w+$`)
)

// name reads a required name of at most limit characters.
func (c *call) name(param string, limit int) (string, error) {
	if !c.Form.Has(param) {
		return "", constraint(lower(param), "Member must not be null")
	}
	return c.checkName(param, c.Form.Get(param), limit)
}

func (c *call) checkName(param, v string, limit int) (string, error) {
	switch {
	case len(v) > limit:
		return "", constraint(lower(param), "Member must have length less than or equal to %d", limit)
	case !namePattern.MatchString(v):
		return "", invalid("The specified value for %s is invalid. It must contain only alphanumeric characters and/or the following: +=,.@_-", lower(param))
	}
	return v, nil
}

// path reads an optional path, "/" by default.
func (c *call) path(param string) (string, error) {
	v := c.Form.Get(param)
	switch {
	case !c.Form.Has(param):
		return "/", nil
	case len(v) > 512:
		return "", constraint(lower(param), "Member must have length less than or equal to 512")
	case !pathPattern.MatchString(v):
		return "", invalid("The specified value for %s is invalid. It must begin and end with / and contain only alphanumeric characters and/or / characters.", lower(param))
	}
	return v, nil
}

func (c *call) pathPrefix() (string, error) {
	v := c.Form.Get("PathPrefix")
	switch {
	case v == "":
		return "/", nil
	case len(v) > 512 || !prefPattern.MatchString(v):
		return "", invalid("The specified value for pathPrefix is invalid. It must begin with the / character and contain only alphanumeric characters and/or / characters.")
	}
	return v, nil
}

// required reads a text of at least one and at most limit characters.
func (c *call) required(param string, limit int) (string, error) {
	v := c.Form.Get(param)
	switch {
	case !c.Form.Has(param):
		return "", constraint(lower(param), "Member must not be null")
	case v == "":
		return "", constraint(lower(param), "Member must have length greater than or equal to 1")
	case utf8.RuneCountInString(v) > limit:
		return "", constraint(lower(param), "Member must have length less than or equal to %d", limit)
	}
	return v, nil
}

const maxDocument = 131072

func (c *call) document(param string) (string, error) {
	v, err := c.required(param, maxDocument)
	if err != nil {
		return "", err
	}
	for _, r := range v {
		if r > 0xff || (r < 0x20 && r != '\t' && r != '\n' && r != '\r') {
			return "", invalid("The specified value for %s is invalid. It must contain only printable ASCII characters.", lower(param))
		}
	}
	return v, nil
}

func (c *call) policyDocument() (string, error) { return c.document("PolicyDocument") }

func (c *call) arn(param string) (string, error) {
	v, err := c.required(param, 2048)
	if err == nil && len(v) < 20 {
		return "", constraint(lower(param), "Member must have length greater than or equal to 20")
	}
	if err == nil && !strings.HasPrefix(v, "arn:") {
		return "", invalid("Invalid ARN:  Could not be parsed!")
	}
	return v, err
}

// roleARN reads the RoleArn of STS, which must have a partition, a service, an account and a resource.
func (c *call) roleARN() (string, error) {
	v, err := c.required("RoleArn", 2048)
	if err == nil && len(v) < 20 {
		return "", constraint("roleArn", "Member must have length greater than or equal to 20")
	}
	parts := strings.SplitN(v, ":", 6)
	if err == nil && (len(parts) < 6 || parts[0] != "arn" || parts[1] == "" || parts[2] == "" || parts[5] == "") {
		return "", invalid("%s is invalid", v)
	}
	return v, err
}

// members reads Param.member.1, Param.member.2, ...; ok is false when the list is absent.
func (c *call) members(param string) []string {
	var out []string
	for i := 1; ; i++ {
		key := param + ".member." + strconv.Itoa(i)
		if !c.Form.Has(key) {
			return out
		}
		out = append(out, c.Form.Get(key))
	}
}

// tags parses Tags.member.N.Key and .Value of a user, role or session, whose keys are case-insensitive.
func (c *call) tags() ([]iam.Tag, error) {
	out, err := c.exactTags()
	for i, t := range out {
		for _, other := range out[:i] {
			if strings.EqualFold(t.Key, other.Key) {
				return nil, awserr.New(http.StatusBadRequest, "InvalidInput", "Duplicate tag keys found. Please note that Tag keys are case insensitive.")
			}
		}
	}
	return out, err
}

// exactTags reads the tags of a managed policy or an identity provider.
func (c *call) exactTags() ([]iam.Tag, error) {
	out, err := c.tagList()
	for i, t := range out {
		if slices.ContainsFunc(out[:i], func(other iam.Tag) bool { return other.Key == t.Key }) && err == nil {
			err = awserr.New(http.StatusBadRequest, "InvalidInput", "Duplicate tag keys found.")
		}
	}
	return out, err
}

func (c *call) tagList() ([]iam.Tag, error) {
	var out []iam.Tag
	for i := 1; ; i++ {
		field := fmt.Sprintf("tags.%d.member", i)
		prefix := fmt.Sprintf("Tags.member.%d.", i)
		if !c.Form.Has(prefix+"Key") && !c.Form.Has(prefix+"Value") {
			break
		}
		if err := checkTag(field, c.Form.Get(prefix+"Key"), c.Form.Get(prefix+"Value"), c.Form.Has(prefix+"Key"), c.Form.Has(prefix+"Value")); err != nil {
			return nil, err
		}
		out = append(out, iam.Tag{Key: c.Form.Get(prefix + "Key"), Value: c.Form.Get(prefix + "Value")})
	}
	if len(out) > iam.MaxTags {
		return nil, constraint("tags", "Member must have length less than or equal to 50")
	}
	return out, nil
}

func checkTag(field, key, value string, hasKey, hasValue bool) error {
	switch {
	case !hasKey:
		return constraint(field+".key", "Member must not be null")
	case !hasValue:
		return constraint(field+".value", "Member must not be null")
	case key == "":
		return constraint(field+".key", "Member must have length greater than or equal to 1")
	case utf8.RuneCountInString(key) > 128:
		return constraint(field+".key", "Member must have length less than or equal to 128")
	case !tagKey.MatchString(key):
		return constraint(field+".key", `Member must satisfy regular expression pattern: [\p{L}\p{Z}\p{N}_.:/=+\-@]+`)
	case utf8.RuneCountInString(value) > 256:
		return constraint(field+".value", "Member must have length less than or equal to 256")
	case !tagValue.MatchString(value):
		return constraint(field+".value", `Member must satisfy regular expression pattern: [\p{L}\p{Z}\p{N}_.:/=+\-@]*`)
	}
	return nil
}

func (c *call) tagKeys() ([]string, error) {
	keys := c.members("TagKeys")
	if len(keys) > iam.MaxTags {
		return nil, constraint("tagKeys", "Member must have length less than or equal to 50")
	}
	for _, k := range keys {
		if k == "" || utf8.RuneCountInString(k) > 128 || !tagKey.MatchString(k) {
			return nil, constraint("tagKeys", `Member must satisfy constraint: [Member must have length less than or equal to 128, Member must have length greater than or equal to 1, Member must satisfy regular expression pattern: [\p{L}\p{Z}\p{N}_.:/=+\-@]+, Member must not be null]`)
		}
	}
	return keys, nil
}

// page is the paging part of list responses.
type page struct {
	IsTruncated bool   `xml:"IsTruncated"`
	Marker      string `xml:"Marker,omitempty"`
}

// maxItems reads MaxItems, 100 by default.
func (c *call) maxItems() (int, error) { return c.number("MaxItems", 100, 1, 1000) }

// number reads an optional number.
func (c *call) number(param string, otherwise, least, most int) (int, error) {
	if !c.Form.Has(param) {
		return otherwise, nil
	}
	n, err := strconv.Atoi(c.Form.Get(param))
	switch {
	case err != nil:
		return 0, errMalformedInput
	case n < least:
		return 0, constraint(lower(param), "Member must have value greater than or equal to %d", least)
	case n > most:
		return 0, constraint(lower(param), "Member must have value less than or equal to %d", most)
	}
	return n, nil
}

// missing is the response to a request without one of the parameters that are checked by presence.
func missing(param string) *awserr.Error {
	return awserr.Newf(http.StatusBadRequest, "MissingParameter", "The request must contain the parameter %s.", param)
}

// paginate returns the part of all that Marker and MaxItems select. key returns an item's marker. Keys and
// attachments are listed in order of creation rather than of their markers, so the order of markers only matters for
// continuing after an item that was deleted.
func paginate[T any](c *call, all []T, key func(T) string) ([]T, page, error) {
	limit, err := c.maxItems()
	if err != nil {
		return nil, page{}, err
	}
	if marker := c.Form.Get("Marker"); marker != "" {
		at := slices.IndexFunc(all, func(v T) bool { return key(v) == marker }) + 1
		if at == 0 {
			at = slices.IndexFunc(all, func(v T) bool { return key(v) > marker })
		}
		if at < 0 {
			at = len(all)
		}
		all = all[at:]
	}
	if len(all) <= limit {
		return all, page{}, nil
	}
	return all[:limit], page{IsTruncated: true, Marker: key(all[limit-1])}, nil
}

// listed returns the part of all that Marker and MaxItems select, as show shows it.
func listed[T, X any](c *call, all []T, key func(T) string, show func(T) X) ([]X, page, error) {
	some, p, err := paginate(c, all, key)
	out := make([]X, len(some))
	for i, v := range some {
		out[i] = show(v)
	}
	return out, p, err
}

// xmlTag is a tag in a response.
type xmlTag struct {
	Key   string `xml:"Key"`
	Value string `xml:"Value"`
}

func xmlTags(tags []iam.Tag) []xmlTag {
	out := make([]xmlTag, len(tags))
	for i, t := range tags {
		out[i] = xmlTag(t)
	}
	return out
}

// xmlTagList is a list of tags that a response omits if it is empty.
type xmlTagList struct {
	Member []xmlTag `xml:"member"`
}

func tagList(tags []iam.Tag) *xmlTagList {
	if len(tags) == 0 {
		return nil
	}
	return &xmlTagList{xmlTags(tags)}
}
