// SPDX-License-Identifier: Apache-2.0

package accept

import (
	"bytes"
	"encoding/xml"
	"reflect"
	"strings"
)

// UnknownElement returns the first element of an XML document that has no field in the Go type of into, or "" if
// there is none. The document must have been decoded into this type before.
func UnknownElement(raw []byte, into any) string {
	dec := xml.NewDecoder(bytes.NewReader(raw))
	// types are the types of the open elements.
	var types []reflect.Type
	for {
		token, err := dec.Token()
		if err != nil { // the end: all of it was read before
			return ""
		}
		switch token := token.(type) {
		case xml.StartElement:
			t := reflect.TypeOf(into)
			if len(types) > 0 {
				if t = elementOf(types[len(types)-1], token.Name.Local); t == nil {
					return token.Name.Local
				}
			}
			types = append(types, t)
		case xml.EndElement:
			types = types[:len(types)-1]
		}
	}
}

// elementOf is the type of an element within one of type t, nil if there is none. A type that reads itself has them all.
func elementOf(t reflect.Type, name string) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[xml.Unmarshaler]()) {
		return t
	}
	var others reflect.Type
	if t.Kind() != reflect.Struct {
		return nil
	}
	for field := range t.Fields() {
		tag, options, _ := strings.Cut(field.Tag.Get("xml"), ",")
		path, below, _ := strings.Cut(tag, ">")
		switch {
		case options == "any":
			others = field.Type // the owner of this field validates its contents
		case field.Name == "XMLName" && t.NumField() == 1:
			return t
		case field.Anonymous && tag == "":
			if found := elementOf(field.Type, name); found != nil {
				return found
			}
		case options == "attr", field.Name == "XMLName", path != name && (tag != "" || field.Name != name):
		case below != "":
			return reflect.StructOf([]reflect.StructField{{Name: "Below", Type: field.Type, Tag: reflect.StructTag(`xml:"` + below + `"`)}})
		default:
			return field.Type
		}
	}
	return others
}
