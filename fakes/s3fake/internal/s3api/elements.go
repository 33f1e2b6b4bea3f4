// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"bytes"
	"encoding/xml"
	"reflect"
	"strings"
)

// checkElements refuses an element of a document that the type it was read into does not have: it asks for what is not
// served, and to leave it out would be to do something else.
func checkElements(raw []byte, into any) error {
	dec := xml.NewDecoder(bytes.NewReader(raw))
	// types are those of the elements that are open.
	var types []reflect.Type
	for {
		token, err := dec.Token()
		if err != nil { // the end: all of it was read before
			return nil
		}
		switch token := token.(type) {
		case xml.StartElement:
			t := reflect.TypeOf(into)
			if len(types) > 0 {
				if t = elementOf(types[len(types)-1], token.Name.Local); t == nil {
					return notImplemented(token.Name.Local, "The element "+token.Name.Local+" is not served by this fake.")
				}
			}
			types = append(types, t)
		case xml.EndElement:
			types = types[:len(types)-1]
		}
	}
}

// elementOf is the type of an element within one of type t, nil if there is none.
func elementOf(t reflect.Type, name string) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for field := range t.Fields() {
		tag, options, _ := strings.Cut(field.Tag.Get("xml"), ",")
		path, below, _ := strings.Cut(tag, ">")
		switch {
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
	return nil
}
