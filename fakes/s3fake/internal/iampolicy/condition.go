// SPDX-License-Identifier: Apache-2.0

package iampolicy

import (
	"encoding/base64"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Context contains the condition keys of a request and their values. Keys are in lower case.
type Context map[string][]string

// Values returns the values of a key, whose case does not matter. It returns nil if the request does not have the
// key.
func (c Context) Values(key string) []string { return c[strings.ToLower(key)] }

// Set sets the values of a key. Without values, it removes the key.
func (c Context) Set(key string, values ...string) {
	if len(values) == 0 {
		delete(c, strings.ToLower(key))
		return
	}
	c[strings.ToLower(key)] = values
}

// operator compares one value of the policy with one of the request.
type operator struct {
	// compare gets the policy's value with variables expanded.
	compare func(policy pattern, request string) bool
	// negated operators are true when no value matches, and when the key is absent.
	negated bool
	// valid checks a value when the policy is stored; nil accepts every value.
	valid func(value string) bool
}

// operatorTable is built once and never written again.
var operatorTable = operators()

func operators() map[string]operator {
	literal := func(eq func(policy, request string) bool) func(pattern, string) bool {
		return func(p pattern, r string) bool { return eq(string(p.text), r) }
	}
	equal := literal(func(p, r string) bool { return p == r })
	fold := literal(strings.EqualFold)
	like := pattern.match
	m := map[string]operator{
		"StringEquals":              {compare: equal},
		"StringNotEquals":           {compare: equal, negated: true},
		"StringEqualsIgnoreCase":    {compare: fold},
		"StringNotEqualsIgnoreCase": {compare: fold, negated: true},
		"StringLike":                {compare: like},
		"StringNotLike":             {compare: like, negated: true},
		"ArnEquals":                 {compare: arnLike},
		"ArnNotEquals":              {compare: arnLike, negated: true},
		"ArnLike":                   {compare: arnLike},
		"ArnNotLike":                {compare: arnLike, negated: true},
		"Bool":                      {compare: fold, valid: isBool},
		"BinaryEquals":              {compare: equal, valid: isBase64},
		"IpAddress":                 {compare: literal(inNetwork), valid: isNetwork},
		"NotIpAddress":              {compare: literal(inNetwork), negated: true, valid: isNetwork},
	}
	for name, keep := range comparisons() {
		m["Numeric"+name] = operator{compare: literal(numeric(keep)), negated: name == "NotEquals", valid: isNumber}
		m["Date"+name] = operator{compare: literal(dates(keep)), negated: name == "NotEquals", valid: isDate}
	}
	return m
}

// comparisons maps the suffix of Numeric and Date operators to a test of cmp(request, policy). NotEquals is
// Equals, negated by the operator.
func comparisons() map[string]func(int) bool {
	return map[string]func(int) bool{
		"Equals":            func(c int) bool { return c == 0 },
		"NotEquals":         func(c int) bool { return c == 0 },
		"LessThan":          func(c int) bool { return c < 0 },
		"LessThanEquals":    func(c int) bool { return c <= 0 },
		"GreaterThan":       func(c int) bool { return c > 0 },
		"GreaterThanEquals": func(c int) bool { return c >= 0 },
	}
}

func numeric(keep func(int) bool) func(p, r string) bool {
	return func(p, r string) bool {
		want, err1 := strconv.ParseFloat(p, 64)
		got, err2 := strconv.ParseFloat(r, 64)
		if err1 != nil || err2 != nil {
			return false
		}
		switch {
		case got < want:
			return keep(-1)
		case got > want:
			return keep(1)
		}
		return keep(0)
	}
}

func dates(keep func(int) bool) func(p, r string) bool {
	return func(p, r string) bool {
		want, ok1 := parseDate(p)
		got, ok2 := parseDate(r)
		return ok1 && ok2 && keep(got.Compare(want))
	}
}

// parseDate reads ISO 8601 or seconds since 1970.
func parseDate(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.Unix(n, 0), true
	}
	return time.Time{}, false
}

// arnLike matches each of the six parts of an ARN on its own.
func arnLike(p pattern, request string) bool {
	parts := strings.SplitN(request, ":", 6)
	start := 0
	for i, part := range parts {
		end := len(p.text)
		if i < len(parts)-1 {
			colon := slices.Index(p.text[start:], ':')
			if colon < 0 {
				return false
			}
			end = start + colon
		}
		if !(pattern{p.text[start:end], p.wild[start:end]}).match(part) {
			return false
		}
		start = end + 1
	}
	return true
}

func network(s string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p, true
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(a, a.BitLen()), true
}

func inNetwork(policy, request string) bool {
	p, ok := network(policy)
	a, err := netip.ParseAddr(request)
	return ok && err == nil && p.Contains(a.Unmap())
}

func isBool(v string) bool   { return strings.EqualFold(v, "true") || strings.EqualFold(v, "false") }
func isNumber(v string) bool { _, err := strconv.ParseFloat(v, 64); return err == nil }
func isDate(v string) bool   { _, ok := parseDate(v); return ok }
func isNetwork(v string) bool {
	_, ok := network(v)
	return ok
}
func isBase64(v string) bool { _, err := base64.StdEncoding.DecodeString(v); return err == nil }

// splitOperator returns the parts of an operator: the set operator before the colon, if any, the operator itself, and
// whether it ends in IfExists.
func splitOperator(name string) (quantifier, base string, ifExists bool) {
	quantifier, base, found := strings.Cut(name, ":")
	if !found {
		quantifier, base = "", name
	}
	base, ifExists = strings.CutSuffix(base, "IfExists")
	return quantifier, base, ifExists
}

// validOperator reports whether the condition operator exists.
func validOperator(name string) bool {
	quantifier, base, ifExists := splitOperator(name)
	switch quantifier {
	case "", "ForAllValues", "ForAnyValue":
	default:
		return false
	}
	if base == "Null" {
		return !ifExists && quantifier == ""
	}
	_, ok := operatorTable[base]
	return ok
}

// holds reports whether the condition is true for the request.
func (c Condition) holds(ctx Context) bool {
	quantifier, base, ifExists := splitOperator(c.Operator)
	request := ctx.Values(c.Key)
	if base == "Null" {
		absent := request == nil
		return slices.ContainsFunc(c.Values, func(v string) bool { return strings.EqualFold(v, strconv.FormatBool(absent)) })
	}
	op := operatorTable[base]
	if request == nil {
		return ifExists || quantifier == "ForAllValues" || (op.negated && quantifier == "")
	}
	one := func(r string) bool {
		hit := slices.ContainsFunc(c.Values, func(v string) bool {
			p, ok := expand(v, ctx)
			return ok && op.compare(p, r)
		})
		return hit != op.negated
	}
	switch quantifier {
	case "ForAllValues":
		return !slices.ContainsFunc(request, func(r string) bool { return !one(r) })
	case "ForAnyValue":
		return slices.ContainsFunc(request, one)
	}
	if op.negated {
		return !slices.ContainsFunc(request, func(r string) bool { return !one(r) })
	}
	return slices.ContainsFunc(request, one)
}
