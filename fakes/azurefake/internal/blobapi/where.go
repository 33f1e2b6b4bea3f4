// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
)

// predicate compares one tag with a text.
type predicate struct {
	key, operator, value string
	// at is the position in the expression, from 1.
	at int
}

// search is the expression of Find Blobs by Tags.
type search struct {
	// container is the only one to search, "" for all.
	container string
	tags      []predicate
}

// comparison is the beginning of an expression: a name that is an identifier or in double quotes, an operator, and a
// text in single quotes.
var comparison = regexp.MustCompile(`^\s*(@?[A-Za-z_][A-Za-z0-9_]*|"[^"]+")\s*(<>|<=|>=|=|<|>)\s*'([^']*)'\s*`)

// alternative separates two conjunctions of a condition.
var alternative = regexp.MustCompile(`^(?i:or)\b`)

// conjunction separates two comparisons.
var conjunction = regexp.MustCompile(`^(?i:and)\b`)

// containerKey is the key for the name of the container.
const containerKey = "@container"

// errSearch returns the error for a search that cannot be read, with a message of the service.
func errSearch(at int, why string) error {
	return azerr.New(http.StatusBadRequest, azerr.InvalidQueryValue.Code, "Error parsing query at or near character position "+strconv.Itoa(at)+": "+why)
}

// parseSearch reads an expression as "Constructing a search expression" of Find Blobs by Tags defines it: comparisons
// that are joined by AND.
func parseSearch(text string) (search, error) {
	out, rest, err := parseConjunction(text)
	if err == nil && rest != "" {
		err = errSearch(len(text)-len(rest)+1, "unexpected '"+rest+"'")
	}
	if err == nil {
		err = out.check()
	}
	return out, err
}

// parseTagCondition parses the condition in x-ms-if-tags ("Specifying conditional headers for Blob service
// operations"). In contrast to a search, the condition can contain OR and the operator <>, but no container.
func parseTagCondition(text string) ([]search, error) {
	var out []search
	for {
		one, rest, err := parseConjunction(text)
		if err != nil || one.container != "" {
			return nil, azerr.InvalidHeaderValue
		}
		if out = append(out, one); rest == "" {
			return out, nil
		}
		or := alternative.FindString(rest)
		if or == "" {
			return nil, azerr.InvalidHeaderValue
		}
		text = rest[len(or):]
	}
}

// parseConjunction parses comparisons joined by AND, and returns the remaining text.
func parseConjunction(text string) (out search, rest string, err error) {
	whole := len(text)
	for {
		at := whole - len(text) + 1
		parts := comparison.FindStringSubmatch(text)
		if parts == nil {
			return search{}, "", errSearch(at, "expecting a tag, an operator and a tag value")
		}
		if err := out.add(predicate{strings.Trim(parts[1], `"`), parts[2], parts[3], at}); err != nil {
			return search{}, "", err
		}
		text = text[len(parts[0]):]
		and := conjunction.FindString(text)
		if and == "" {
			return out, text, nil
		}
		text = text[len(and):]
	}
}

// maxComparisons is how many tags a search can compare ("Find Blobs by Tags"). The name and the value of a tag have the
// lengths of "Set Blob Tags".
const (
	maxComparisons = 10
	maxTagName     = 128
	maxTagValue    = 256
)

func (s *search) add(p predicate) error {
	switch {
	case p.key == containerKey && p.operator == "=" && s.container == "":
		s.container = p.value
		return nil
	case strings.HasPrefix(p.key, "@"):
		return errSearch(p.at, "unsupported parameter '"+p.key+"'")
	}
	for _, c := range p.key + p.value {
		if !tagText.MatchString(string(c)) {
			return errSearch(p.at, "'"+string(c)+"' not permitted in tag name or value")
		}
	}
	s.tags = append(s.tags, p)
	return nil
}

// check applies the rules that hold only for searches, and not for conditions on tags.
func (s *search) check() error {
	keys := map[string]bool{}
	for _, p := range s.tags {
		keys[p.key] = true
		switch {
		case p.operator == "<>":
			return errSearch(p.at, "unexpected <>")
		case len(p.key) > maxTagName:
			return errSearch(p.at, "tag must be between 1 and 128 characters in length")
		case len(p.value) > maxTagValue:
			return errSearch(p.at, "tag value must be between 0 and 256 characters in length")
		}
	}
	if len(keys) > maxComparisons {
		return azerr.New(http.StatusBadRequest, azerr.InvalidQueryValue.Code, "Error parsing query: there can be at most 10 unique tags in a query")
	}
	return nil
}

// find returns the tags of a blob that the search names, nil if they do not fit.
func (s search) find(tags map[string]string) map[string]string {
	found := map[string]string{}
	for _, p := range s.tags {
		value, has := tags[p.key]
		if !has || !p.holds(value) {
			return nil
		}
		found[p.key] = value
	}
	if len(tags) == 0 {
		return nil // blobs without tags are not indexed
	}
	return found
}

// holds compares texts as texts, whatever they mean.
func (p predicate) holds(value string) bool {
	order := strings.Compare(value, p.value)
	switch p.operator {
	case "=":
		return order == 0
	case "<>":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}
