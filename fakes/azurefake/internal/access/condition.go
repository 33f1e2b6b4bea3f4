// SPDX-License-Identifier: Apache-2.0

package access

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Attributes are the attributes that a condition can refer to, by name:
// "@Request[Microsoft.Authorization/roleAssignments:PrincipalType]".
type Attributes map[string]string

// maxCondition is how long a condition may be, in bytes. Azure's limit is about this.
const maxCondition = 8 << 10

// Holds evaluates the condition of a role assignment ("Azure role assignment condition format and syntax"). It
// supports only the part of the syntax that restricts which roles may be assigned. A missing attribute equals no
// value. Holds returns an error for any condition that is invalid or not supported.
func Holds(condition, action string, about Attributes) (bool, error) {
	if len(condition) > maxCondition {
		return false, fmt.Errorf("the condition has more than %d bytes", maxCondition)
	}
	r := &conditionReader{tokens: conditionToken.FindAllString(condition, -1), action: action, about: about}
	holds := r.group()
	if r.err == nil && len(r.tokens) > 0 {
		r.fail("unexpected %q after the end", r.tokens[0])
	}
	return r.err == nil && holds, r.err
}

var (
	conditionToken = regexp.MustCompile(`'[^']*'|@[A-Za-z]+\[[^\]]*\]|[A-Za-z0-9:-]+|\S`)
	attribute      = regexp.MustCompile(`^@(Request|Resource)\[Microsoft\.Authorization/roleAssignments:(RoleDefinitionId|PrincipalId|PrincipalType)\]$`)
	conditionText  = regexp.MustCompile(`^'[^']*'$`)
	// operators maps the supported operators to the format of their values.
	operators = map[string]*regexp.Regexp{
		"ForAnyOfAnyValues:GuidEquals":             regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`),
		"ForAnyOfAnyValues:StringEqualsIgnoreCase": conditionText,
	}
)

// conditionReader evaluates a condition while it reads it.
type conditionReader struct {
	tokens []string
	action string
	about  Attributes
	err    error
}

// fail ends the reading.
func (r *conditionReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.tokens = nil
}

// peek returns the next token, "" at the end.
func (r *conditionReader) peek() string {
	if len(r.tokens) == 0 {
		return ""
	}
	return r.tokens[0]
}

func (r *conditionReader) next() string {
	token := r.peek()
	r.tokens = r.tokens[min(1, len(r.tokens)):]
	return token
}

func (r *conditionReader) expect(token string) {
	if found := r.next(); found != token {
		r.fail("got %q, want %q", found, token)
	}
}

// group reads terms that are all joined by AND or all by OR. To mix AND and OR, Azure requires parentheses.
func (r *conditionReader) group() bool {
	holds := r.term()
	operator := r.peek()
	for r.peek() == "AND" || r.peek() == "OR" {
		if r.next() != operator {
			r.fail("a mix of AND and OR needs parentheses")
		}
		next := r.term()
		holds = operator == "AND" && holds && next || operator == "OR" && (holds || next)
	}
	return holds
}

func (r *conditionReader) term() bool {
	switch token := r.next(); {
	case token == "!":
		return !r.term()
	case token == "(":
		holds := r.group()
		r.expect(")")
		return holds
	case token == "ActionMatches":
		return r.anyOf(conditionText, func(pattern string) bool { return matches(pattern, r.action) })
	case attribute.MatchString(token):
		operator := r.next()
		values, known := operators[operator]
		if !known {
			r.fail("this fake does not support the operator %q", operator)
			return false
		}
		value, exists := r.about[token]
		return r.anyOf(values, func(one string) bool { return exists && strings.EqualFold(one, value) })
	default:
		r.fail("%q is unexpected, or this fake does not support it", token)
		return false
	}
}

// anyOf reads values in braces and reports whether one is right.
func (r *conditionReader) anyOf(form *regexp.Regexp, right func(value string) bool) bool {
	r.expect("{")
	var values []string
	for r.err == nil {
		value := r.next()
		if !form.MatchString(value) {
			r.fail("%q is not a valid value of the operator", value)
		}
		values = append(values, strings.Trim(value, "'"))
		if r.peek() != "," {
			break
		}
		r.next()
	}
	r.expect("}")
	return slices.ContainsFunc(values, right)
}
