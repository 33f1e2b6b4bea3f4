// SPDX-License-Identifier: Apache-2.0

package cosi

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"regexp"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// redactedText replaces every secret value in output.
const redactedText = "[redacted]"

// Redact returns a copy of m that is safe to log. It replaces the values of all fields with the option cosi_secret,
// at any depth, including in lists and maps. Strings become "[redacted]" and values of other types are removed; empty
// values remain empty, so that their absence is visible. User names and passwords are removed from URLs in other
// strings, as by RedactURLs. Unknown fields are removed, because they may be secrets of a newer contract. A nil
// message remains nil.
func Redact(m proto.Message) proto.Message {
	if m == nil || !m.ProtoReflect().IsValid() {
		return m
	}
	redacted := proto.Clone(m)
	redactMessage(redacted.ProtoReflect())
	return redacted
}

// userinfo matches the user information before the host of a URL.
var userinfo = regexp.MustCompile(`//[^\s/?#"<>\\]*@`)

// RedactURLs returns text with user names and passwords removed from URLs.
func RedactURLs(text string) string {
	return userinfo.ReplaceAllLiteralString(text, "//"+redactedText+"@")
}

// SecretsIn returns the values that Redact replaces: all non-empty string fields with the option cosi_secret.
func SecretsIn(m proto.Message) []string {
	if m == nil || !m.ProtoReflect().IsValid() {
		return nil
	}
	var found []string
	collectSecrets(m.ProtoReflect(), func(value string) {
		if value != "" {
			found = append(found, value)
		}
	})
	return found
}

// RedactedString returns m as JSON on one line, without its secrets. It is for humans and logs; the format may
// change.
func RedactedString(m proto.Message) string {
	if m == nil || !m.ProtoReflect().IsValid() {
		return "null"
	}
	indented, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(Redact(m))
	if err != nil {
		return "[" + string(m.ProtoReflect().Descriptor().Name()) + " that cannot be printed]"
	}
	// protojson randomizes its white space; compacting makes the output stable.
	var line bytes.Buffer
	if err := json.Compact(&line, indented); err != nil {
		return string(indented)
	}
	return line.String()
}

// Redacted wraps a message for a log line and prints it without its secrets. The message is formatted only when the
// line is written. It supports fmt, log/slog and logr.
type Redacted struct {
	message proto.Message
}

// NewRedacted wraps m, which may be nil.
func NewRedacted(m proto.Message) Redacted { return Redacted{message: m} }

// String implements fmt.Stringer by RedactedString.
func (r Redacted) String() string { return RedactedString(r.message) }

// GoString implements fmt.GoStringer, so %#v does not print secrets either.
func (r Redacted) GoString() string { return r.String() }

// LogValue implements slog.LogValuer.
func (r Redacted) LogValue() slog.Value { return slog.StringValue(r.String()) }

// MarshalLog implements logr.Marshaler.
func (r Redacted) MarshalLog() any { return r.String() }

// MarshalText implements encoding.TextMarshaler for JSON log encoders.
func (r Redacted) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func redactMessage(m protoreflect.Message) {
	m.SetUnknown(nil)
	// Range allows changing the current field.
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case isSecret(field):
			redactField(m, field, value)
		case field.IsMap():
			value.Map().Range(func(key protoreflect.MapKey, one protoreflect.Value) bool {
				redactValue(field.MapValue(), one, func(v protoreflect.Value) { value.Map().Set(key, v) })
				return true
			})
		case field.IsList():
			for i := range value.List().Len() {
				redactValue(field, value.List().Get(i), func(v protoreflect.Value) { value.List().Set(i, v) })
			}
		default:
			redactValue(field, value, func(v protoreflect.Value) { m.Set(field, v) })
		}
		return true
	})
}

// collectSecrets calls found for every secret string, at any depth.
func collectSecrets(m protoreflect.Message, found func(string)) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		kind := field
		if field.IsMap() {
			kind = field.MapValue()
		}
		visit := func(v protoreflect.Value) {
			switch {
			case kind.Message() != nil:
				collectSecrets(v.Message(), found)
			case isSecret(field) && kind.Kind() == protoreflect.StringKind:
				found(v.String())
			}
		}
		switch {
		case field.IsMap():
			value.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { visit(v); return true })
		case field.IsList():
			for i := range value.List().Len() {
				visit(value.List().Get(i))
			}
		default:
			visit(value)
		}
		return true
	})
}

// redactValue redacts the value of a field that is not itself secret.
func redactValue(field protoreflect.FieldDescriptor, value protoreflect.Value, set func(protoreflect.Value)) {
	switch {
	case field.Message() != nil:
		redactMessage(value.Message())
	case field.Kind() == protoreflect.StringKind:
		if text := RedactURLs(value.String()); text != value.String() {
			set(protoreflect.ValueOfString(text))
		}
	}
}

// redactField replaces the value of a secret field that is set.
func redactField(m protoreflect.Message, field protoreflect.FieldDescriptor, value protoreflect.Value) {
	switch {
	case field.IsMap() && field.MapValue().Kind() == protoreflect.StringKind:
		var keys []protoreflect.MapKey
		value.Map().Range(func(key protoreflect.MapKey, _ protoreflect.Value) bool {
			keys = append(keys, key)
			return true
		})
		for _, key := range keys {
			value.Map().Set(key, protoreflect.ValueOfString(redactedText))
		}
	case field.IsList() && field.Kind() == protoreflect.StringKind:
		for i := range value.List().Len() {
			value.List().Set(i, protoreflect.ValueOfString(redactedText))
		}
	case field.Kind() == protoreflect.StringKind && field.Cardinality() != protoreflect.Repeated:
		if value.String() != "" {
			m.Set(field, protoreflect.ValueOfString(redactedText))
		}
	default:
		m.Clear(field)
	}
}

func isSecret(field protoreflect.FieldDescriptor) bool {
	options, ok := field.Options().(*descriptorpb.FieldOptions)
	if !ok || options == nil {
		return false
	}
	secret, ok := proto.GetExtension(options, E_CosiSecret).(bool)
	return ok && secret
}
