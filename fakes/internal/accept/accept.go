// SPDX-License-Identifier: Apache-2.0

// Package accept declares the inputs of the operations that the fakes implement. Inputs are query parameters,
// headers, and fields or elements of documents. A fake rejects every other input with an error that names the input.
// If the fake ignored the input, the operation would not do what the client requested.
package accept

import (
	"maps"
	"slices"
	"strings"
)

// Inputs are the accepted inputs of one operation. Elements of XML documents are declared by Go types instead, see
// [UnknownElement].
type Inputs struct {
	// Query contains the query parameters, and Headers the headers in lower case.
	Query, Headers List
	// Fields are the fields of the JSON document, with dots between nested names. A field includes all fields below it
	// unless the list names some of them.
	Fields List
}

// Use is how an operation handles an input.
type Use int

const (
	// Unknown inputs are not in the list.
	Unknown Use = iota
	// Served inputs behave as in the cloud.
	Served
	// Different inputs do something else than in the cloud.
	Different
	// Refused inputs are known. The operation rejects them with the cloud's own error.
	Refused
	// Ignored inputs have no effect, as in the cloud: clients send back what they have read.
	Ignored
)

// Input is one accepted input.
type Input struct {
	Name string
	// Prefix means that Name is a prefix: all names that begin with it are accepted.
	Prefix bool
	Use    Use
}

// List is a list of accepted inputs. If a name has several entries, the last one applies.
type List []Input

// Names returns a list of served inputs.
func Names(names ...string) List { return List{}.With(names...) }

// With adds served inputs.
func (l List) With(names ...string) List { return l.add(Input{Use: Served}, names) }

// Different adds inputs that behave differently than in the cloud.
func (l List) Different(names ...string) List { return l.add(Input{Use: Different}, names) }

// Refused adds inputs that the operation rejects with the cloud's own error.
func (l List) Refused(names ...string) List { return l.add(Input{Use: Refused}, names) }

// Ignored adds inputs that have no effect, as in the cloud.
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

// And returns a list that also contains the inputs of other lists.
func (l List) And(others ...List) List { return slices.Concat(l, slices.Concat(others...)) }

// Below returns the list with its inputs as fields of the given field.
func (l List) Below(field string) List {
	out := slices.Clone(l)
	for i := range out {
		out[i].Name = field + "." + out[i].Name
	}
	return out
}

// Use returns how the operation handles an input.
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

// UnknownField returns the path of the first field of a decoded JSON document that is not in the list. It ignores
// fields with an empty value; the function empty implements the cloud's definition.
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
