// SPDX-License-Identifier: Apache-2.0

// Package strictyaml reads configuration files. It rejects unknown fields with an error that contains the path of the
// field and the most similar known field.
package strictyaml

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Unmarshal decodes YAML into a pointer to a struct with JSON tags. It reports all unknown fields and all values of a
// wrong type at once, one per line. Each line starts with the path of the value, such as backends.a.region. Field
// names are case-sensitive.
func Unmarshal(data []byte, into any) error {
	var tree any
	if err := yaml.UnmarshalStrict(data, &tree); err != nil {
		return fmt.Errorf("not valid YAML: %w", err)
	}
	kind := reflect.TypeOf(into).Elem()
	c := checker{places: map[string]string{}}
	c.learn("", kind)
	c.check("", tree, kind)
	if len(c.problems) > 0 {
		return errors.Join(c.problems...)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		return fmt.Errorf("invalid value: %w", err)
	}
	return nil
}

// checker compares a document with a type.
type checker struct {
	// places maps each field name to its path, for hints about misplaced fields. If there are several, the first is
	// used.
	places   map[string]string
	problems []error
}

func (c *checker) problem(path, format string, args ...any) {
	if path == "" {
		path = "the file"
	}
	c.problems = append(c.problems, fmt.Errorf("%s: %w", path, fmt.Errorf(format, args...)))
}

// learn records the paths of the fields of a type.
func (c *checker) learn(path string, kind reflect.Type) {
	switch shapeOf(kind) {
	case shapeFields:
		known := fieldsOf(kind)
		for _, name := range slices.Sorted(maps.Keys(known)) {
			if _, taken := c.places[name]; !taken {
				c.places[name] = join(path, name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(known)) {
			c.learn(join(path, name), known[name])
		}
	case shapeNames:
		c.learn(join(path, "<name>"), kind.Elem())
	case shapeList:
		c.learn(path, kind.Elem())
	case shapeValue, shapeAny:
	}
}

func (c *checker) check(path string, node any, kind reflect.Type) {
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	want := shapeOf(kind)
	if node == nil || want == shapeAny {
		return
	}
	switch value := node.(type) {
	case map[string]any:
		c.checkMap(path, value, kind, want)
	case []any:
		if want != shapeList {
			c.problem(path, "expected %s, got a list", want)
			return
		}
		for i, element := range value {
			c.check(fmt.Sprintf("%s[%d]", path, i), element, kind.Elem())
		}
	default:
		if want != shapeValue {
			c.problem(path, "expected %s, got a single value", want)
		}
	}
}

func (c *checker) checkMap(path string, value map[string]any, kind reflect.Type, want shape) {
	switch want {
	case shapeFields:
		known := fieldsOf(kind)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if field, ok := known[name]; ok {
				c.check(join(path, name), value[name], field)
				continue
			}
			c.problem(join(path, name), "there is no such field%s", c.hint(path, name, slices.Sorted(maps.Keys(known))))
		}
	case shapeNames:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			c.check(join(path, name), value[name], kind.Elem())
		}
	default:
		c.problem(path, "expected %s, got a group of fields", want)
	}
}

// hint returns a suggestion for an unknown name at a path.
func (c *checker) hint(path, name string, known []string) string {
	if nearest, ok := Nearest(name, known); ok {
		return "; did you mean " + join(path, nearest) + "?"
	}
	if place, ok := c.places[name]; ok {
		return "; did you mean " + place + "?"
	}
	return "; the valid fields are " + strings.Join(known, ", ")
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// shape is the type of a value in a document, in the words of error messages.
type shape string

const (
	shapeFields shape = "a group of fields"
	shapeNames  shape = "a group of names"
	shapeList   shape = "a list"
	shapeValue  shape = "a single value"
	shapeAny    shape = "anything"
)

func shapeOf(kind reflect.Type) shape {
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	pointer := reflect.PointerTo(kind)
	if pointer.Implements(reflect.TypeFor[json.Unmarshaler]()) || pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return shapeAny
	}
	switch kind.Kind() {
	case reflect.Struct:
		return shapeFields
	case reflect.Map:
		return shapeNames
	case reflect.Slice, reflect.Array:
		return shapeList
	case reflect.Interface:
		return shapeAny
	default:
		return shapeValue
	}
}

// fieldsOf returns the fields of a struct that a document can set.
func fieldsOf(kind reflect.Type) map[string]reflect.Type {
	known := map[string]reflect.Type{}
	for member := range kind.Fields() {
		name, _, _ := strings.Cut(member.Tag.Get("json"), ",")
		switch {
		case name == "-" || !member.IsExported():
		case name == "" && member.Anonymous:
			maps.Copy(known, fieldsOf(member.Type))
		case name == "":
			known[member.Name] = member.Type
		default:
			known[name] = member.Type
		}
	}
	return known
}
