// SPDX-License-Identifier: Apache-2.0

// Package accept declares the inputs of the operations that the fakes serve: query parameters, headers, and fields or
// elements of documents. A fake refuses every other input by name, because ignoring it would do something else than the
// client asked for.
package accept

import (
	"maps"
	"slices"
	"strings"
)

// Inputs are the accepted inputs of one operation. Elements of XML documents are declared by Go types instead, see
// [UnknownElement].
type Inputs struct {
	// Query has the query parameters and Headers the headers in lower case.
	Query, Headers List
	// Fields has the fields of the JSON document, with dots between nested names. A field stands for all fields below it
	// unless the list has some of those.
	Fields List
}

// Use is what an operation does with an input.
type Use int

const (
	// Unknown inputs are not in the list.
	Unknown Use = iota
	// Served inputs do what they do in the cloud.
	Served
	// Different inputs do something else than in the cloud.
	Different
	// Refused inputs are known. The operation refuses them with the cloud's own error.
	Refused
	// Ignored inputs have no effect, in the cloud either: clients send back what they have read.
	Ignored
)

// Input is one accepted input.
type Input struct {
	Name string
	// Prefix accepts all names that begin with Name.
	Prefix bool
	Use    Use
}

// List is a list of accepted inputs. Of several entries for one name, the last counts.
type List []Input

// Names returns a list of served inputs.
func Names(names ...string) List { return List{}.With(names...) }

// With adds served inputs.
func (l List) With(names ...string) List { return l.add(Input{Use: Served}, names) }

// Different adds inputs that do something else than in the cloud.
func (l List) Different(names ...string) List { return l.add(Input{Use: Different}, names) }

// Refused adds inputs that the operation refuses with the cloud's own error.
func (l List) Refused(names ...string) List { return l.add(Input{Use: Refused}, names) }

// Ignored adds inputs that have no effect.
func (l List) Ignored(names ...string) List { return l.add(Input{Use: Ignored}, names) }

// Prefix adds served inputs whose names begin with one of the prefixes.
func (l List) Prefix(prefixes ...string) List {
	return l.add(Input{Use: Served, Prefix: true}, prefixes)
}

func (l List) add(in Input, names []string) List {
	out := slices.Clone(l)
	for _, in.Name = range names {
		out = append(out, in)
	}
	return out
}

// And adds the inputs of other lists.
func (l List) And(others ...List) List { return slices.Concat(l, slices.Concat(others...)) }

// Below returns the list as fields below another field.
func (l List) Below(field string) List {
	out := slices.Clone(l)
	for i := range out {
		out[i].Name = field + "." + out[i].Name
	}
	return out
}

// Use returns what the operation does with an input.
func (l List) Use(name string) Use {
	for _, in := range slices.Backward(l) {
		if name == in.Name || in.Prefix && strings.HasPrefix(name, in.Name) {
			return in.Use
		}
	}
	return Unknown
}

// Has reports whether the list has an input.
func (l List) Has(name string) bool { return l.Use(name) != Unknown }

// HasBelow reports whether the list has fields below a field.
func (l List) HasBelow(field string) bool {
	return slices.ContainsFunc(l, func(in Input) bool { return strings.HasPrefix(in.Name, field+".") })
}

// UnknownField returns the path of the first field of a decoded JSON document that the list does not have. A field whose
// value is empty, as the cloud defines it, counts as not sent.
func (l List) UnknownField(document any, empty func(value any) bool) (path string, unknown bool) {
	return l.unknownBelow("", document, empty)
}

func (l List) unknownBelow(parent string, value any, empty func(any) bool) (path string, unknown bool) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			if path, unknown := l.unknownBelow(parent, element, empty); unknown {
				return path, true
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			field, below := parent+name, value[name]
			switch {
			case l.HasBelow(field):
				if path, unknown := l.unknownBelow(field+".", below, empty); unknown {
					return path, true
				}
			case !l.Has(field) && !empty(below):
				return field, true
			}
		}
	}
	return "", false
}
