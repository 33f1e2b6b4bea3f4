// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"regexp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
)

// predicate compares one tag with a text.
type predicate struct{ key, operator, value string }

// search is the expression of Find Blobs by Tags.
type search struct {
	// container is the only one to search, "" for all.
	container string
	tags      []predicate
}

// comparison is the beginning of an expression: a name that is an identifier or in double quotes, an operator, and a
// text in single quotes.
var comparison = regexp.MustCompile(`^\s*(@container|[A-Za-z_][A-Za-z0-9_]*|"[^"]+")\s*(<>|<=|>=|=|<|>)\s*'([^']*)'\s*`)

// alternative separates two conjunctions of a condition.
var alternative = regexp.MustCompile(`^(?i:or)\b`)

// conjunction separates two comparisons.
var conjunction = regexp.MustCompile(`^(?i:and)\b`)

// containerKey is the key for the name of the container.
const containerKey = "@container"

// parseSearch reads an expression as "Constructing a search expression" of Find Blobs by Tags defines it: comparisons
// that are joined by AND.
func parseSearch(text string) (search, error) {
	out, rest, err := parseConjunction(text)
	if err == nil && rest != "" || slices.ContainsFunc(out.tags, func(p predicate) bool { return p.operator == "<>" }) {
		err = azerr.InvalidQueryValue
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
	for n := 1; ; n++ {
		parts := comparison.FindStringSubmatch(text)
		if parts == nil || n > maxComparisons {
			return search{}, "", azerr.InvalidQueryValue
		}
		if err := out.add(predicate{strings.Trim(parts[1], `"`), parts[2], parts[3]}); err != nil {
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

// maxComparisons is how many comparisons an expression can have ("Find Blobs by Tags"). The name and the value of a tag
// have the lengths of "Set Blob Tags".
const (
	maxComparisons = 10
	maxTagName     = 128
	maxTagValue    = 256
)

func (s *search) add(p predicate) error {
	if p.key != containerKey {
		if len(p.key) > maxTagName || len(p.value) > maxTagValue {
			return azerr.InvalidQueryValue
		}
		s.tags = append(s.tags, p)
		return nil
	}
	if p.operator != "=" || s.container != "" {
		return azerr.InvalidQueryValue
	}
	s.container = p.value
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
