// SPDX-License-Identifier: Apache-2.0

// Package iampolicy parses, validates and evaluates IAM policy documents: identity policies, permissions boundaries,
// role trust policies and bucket policies. It follows "IAM JSON policy elements reference" and "Policy evaluation
// logic" of the IAM User Guide. It does not store policies and does not depend on HTTP.
package iampolicy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Versions of the policy language.
const (
	version2008 = "2008-10-17"
	version2012 = "2012-10-17"
)

// Effect is the result of evaluating a statement or document for a request.
type Effect int

// The three outcomes of an evaluation.
const (
	// NoMatch means that no statement applies.
	NoMatch Effect = iota
	// Allow means that at least one statement allows and none denies.
	Allow
	// Deny means that at least one statement denies.
	Deny
)

// Document is a parsed policy.
type Document struct {
	Version    string
	ID         string
	Statements []Statement
}

// Statement is one statement of a policy. Elements with a single value are converted to lists.
type Statement struct {
	SID         string
	Effect      string
	Principal   *Principals
	NotPrincip  *Principals
	Action      []string
	NotAction   []string
	Resource    []string
	NotResource []string
	Condition   []Condition

	has map[string]bool
}

// Principals is a Principal or NotPrincipal element.
type Principals struct {
	// Any is true for the principal "*".
	Any bool
	// List is true for a list of names without a type.
	List bool
	// By maps a type (AWS, Federated, Service, CanonicalUser) to its values.
	By map[string][]string
}

// Condition is one condition: an operator, a key and the key's values.
type Condition struct {
	Operator string
	Key      string
	Values   []string
}

// list reads a JSON string or a list of strings.
type list []string

func (l *list) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	if len(b) > 0 && b[0] == '[' {
		var many []string
		if err := json.Unmarshal(b, &many); err != nil {
			return fmt.Errorf("read a list of strings: %w", err)
		}
		*l = append(list{}, many...)
		return nil
	}
	var one string
	if err := json.Unmarshal(b, &one); err != nil {
		return fmt.Errorf("read a string: %w", err)
	}
	*l = list{one}
	return nil
}

// scalars reads condition values: strings, numbers and booleans, one or many.
type scalars []string

func (s *scalars) UnmarshalJSON(b []byte) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return fmt.Errorf("read condition values: %w", err)
	}
	many, ok := v.([]any)
	if !ok {
		many = []any{v}
	}
	*s = scalars{}
	for _, one := range many {
		switch one := one.(type) {
		case string:
			*s = append(*s, one)
		case json.Number:
			*s = append(*s, one.String())
		case bool:
			*s = append(*s, strconv.FormatBool(one))
		default:
			return fmt.Errorf("a condition value is %T, not a string, number or boolean", one)
		}
	}
	return nil
}

type rawDocument struct {
	Version   *string         `json:"Version"`
	ID        string          `json:"Id"`
	Statement json.RawMessage `json:"Statement"`
}

type rawStatement struct {
	Sid          *string                       `json:"Sid"`
	Effect       *string                       `json:"Effect"`
	Principal    json.RawMessage               `json:"Principal"`
	NotPrincipal json.RawMessage               `json:"NotPrincipal"`
	Action       *list                         `json:"Action"`
	NotAction    *list                         `json:"NotAction"`
	Resource     *list                         `json:"Resource"`
	NotResource  *list                         `json:"NotResource"`
	Condition    map[string]map[string]scalars `json:"Condition"`
}

// errShape is any departure from the grammar of a policy document.
var errShape = errors.New("the policy document does not follow the policy grammar")

// parse reads the document's grammar without judging its values.
func parse(raw []byte) (*Document, error) {
	if !json.Valid(raw) {
		return nil, errShape
	}
	var rd rawDocument
	if err := strict(raw, &rd); err != nil {
		return nil, err
	}
	d := &Document{Version: version2008, ID: rd.ID}
	if rd.Version != nil {
		d.Version = *rd.Version
	}
	statements, err := rawStatements(rd.Statement)
	if err != nil {
		return nil, err
	}
	for _, rs := range statements {
		s, err := rs.statement()
		if err != nil {
			return nil, err
		}
		d.Statements = append(d.Statements, s)
	}
	return d, nil
}

func strict(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", errShape, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errShape
	}
	return nil
}

func rawStatements(raw json.RawMessage) ([]rawStatement, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, nil
	}
	if raw[0] == '{' {
		var one rawStatement
		err := strict(raw, &one)
		return []rawStatement{one}, err
	}
	var many []rawStatement
	err := strict(raw, &many)
	return many, err
}

func (rs rawStatement) statement() (Statement, error) {
	s := Statement{has: map[string]bool{}}
	if rs.Sid != nil {
		s.SID = *rs.Sid
	}
	if rs.Effect != nil {
		s.Effect, s.has["Effect"] = *rs.Effect, true
	}
	values := func(name string, l *list) []string {
		if l == nil {
			return nil
		}
		s.has[name] = true
		return *l
	}
	s.Action, s.NotAction = values("Action", rs.Action), values("NotAction", rs.NotAction)
	s.Resource, s.NotResource = values("Resource", rs.Resource), values("NotResource", rs.NotResource)
	var err error
	if s.Principal, err = principals(rs.Principal); err != nil {
		return s, err
	}
	if s.NotPrincip, err = principals(rs.NotPrincipal); err != nil {
		return s, err
	}
	for op, keys := range rs.Condition {
		for key, values := range keys {
			s.Condition = append(s.Condition, Condition{Operator: op, Key: key, Values: values})
		}
	}
	return s, nil
}

// principals reads "*", a list (kept under the type "") or an object of lists.
func principals(raw json.RawMessage) (*Principals, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, nil
	}
	p := &Principals{By: map[string][]string{}}
	if raw[0] != '{' {
		var l list
		if err := json.Unmarshal(raw, &l); err != nil {
			return nil, fmt.Errorf("%w: %w", errShape, err)
		}
		p.Any = len(l) == 1 && l[0] == "*"
		p.By[""], p.List = l, raw[0] == '['
		return p, nil
	}
	var by map[string]list
	if err := strict(raw, &by); err != nil {
		return nil, err
	}
	for kind, values := range by {
		p.By[kind] = values
	}
	return p, nil
}
