// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"regexp"
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
var comparison = regexp.MustCompile(`^\s*(@container|[A-Za-z_][A-Za-z0-9_]*|"[^"]+")\s*(<=|>=|=|<|>)\s*'([^']*)'\s*`)

// conjunction is what stands between two comparisons.
var conjunction = regexp.MustCompile(`^(?i:and)\b`)

// containerKey stands for the name of the container.
const containerKey = "@container"

// parseSearch reads an expression as "Constructing a search expression" of Find Blobs by Tags defines it: comparisons
// that are joined by AND.
func parseSearch(text string) (search, error) {
	var out search
	for {
		parts := comparison.FindStringSubmatch(text)
		if parts == nil {
			return search{}, azerr.InvalidQueryValue
		}
		if err := out.add(predicate{strings.Trim(parts[1], `"`), parts[2], parts[3]}); err != nil {
			return search{}, err
		}
		text = text[len(parts[0]):]
		if text == "" {
			return out, nil
		}
		and := conjunction.FindString(text)
		if and == "" {
			return search{}, azerr.InvalidQueryValue
		}
		text = text[len(and):]
	}
}

func (s *search) add(p predicate) error {
	if p.key != containerKey {
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
		return nil // what has no tags is in no index of them
	}
	return found
}

// holds compares texts as texts, whatever they mean.
func (p predicate) holds(value string) bool {
	order := strings.Compare(value, p.value)
	switch p.operator {
	case "=":
		return order == 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}
