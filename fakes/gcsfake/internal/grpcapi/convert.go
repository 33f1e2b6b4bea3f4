// SPDX-License-Identifier: Apache-2.0

package grpcapi

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// document is a JSON object.
type document = map[string]any

// edit converts the value at a path of a resource from protojson to the JSON API (send) and back (receive). Lists in
// the path mean all their elements. A conversion to nil removes the value, and a nil function keeps it.
type edit struct {
	path          string
	send, receive func(any) any
}

const bucketPrefix = "projects/_/buckets/"

// without and with remove and add a prefix and a suffix.
func without(prefix, suffix string) func(any) any {
	return func(v any) any {
		text, _ := v.(string)
		return strings.TrimSuffix(strings.TrimPrefix(text, prefix), suffix)
	}
}

func with(prefix, suffix string) func(any) any {
	return func(v any) any { return prefix + fmt.Sprint(v) + suffix }
}

func removed(any) any { return nil }

// identified adds the ID of a bucket, which is its name in the JSON API.
func identified(v any) any {
	if fields, ok := v.(document); ok {
		fields["bucketId"] = fields["name"]
	}
	return v
}

// switched adds a switch that is off, which protojson leaves out.
func switched(v any) any {
	if fields, ok := v.(document); ok && fields["enabled"] == nil {
		fields["enabled"] = false
	}
	return v
}

// sendDate and receiveDate convert a google.type.Date to YYYY-MM-DD and back.
func sendDate(v any) any {
	fields, _ := v.(document)
	number := func(name string) int64 {
		n, _ := fields[name].(json.Number)
		i, _ := n.Int64() // 0 for a part that is missing
		return i
	}
	return fmt.Sprintf("%04d-%02d-%02d", number("year"), number("month"), number("day"))
}

func receiveDate(v any) any {
	var year, month, day int
	if _, err := fmt.Sscanf(fmt.Sprint(v), "%d-%d-%d", &year, &month, &day); err != nil {
		return nil
	}
	return document{"year": year, "month": month, "day": day}
}

var (
	bucketEdits = []edit{
		{"", nil, identified},
		{"name", without(bucketPrefix, ""), with(bucketPrefix, "")},
		{"projectNumber", removed, with("projects/", "")},
		{"logging.logBucket", without(bucketPrefix, ""), with(bucketPrefix, "")},
		{"retentionPolicy.retentionPeriod", without("", "s"), with("", "s")},
		{"softDeletePolicy.retentionDurationSeconds", without("", "s"), with("", "s")},
		{"lifecycle.rule.condition.createdBefore", sendDate, receiveDate},
		{"lifecycle.rule.condition.customTimeBefore", sendDate, receiveDate},
		{"lifecycle.rule.condition.noncurrentTimeBefore", sendDate, receiveDate},
		{"autoclass", switched, nil},
		{"hierarchicalNamespace", switched, nil},
		{"iamConfiguration.uniformBucketLevelAccess", switched, nil},
		{"versioning", switched, nil},
	}
	objectEdits = []edit{
		{"bucket", removed, with(bucketPrefix, "")},
		{"", sendSums, receiveSums},
	}
)

// sendSums and receiveSums convert the checksums of an object, which the JSON API does not nest.
func sendSums(v any) any {
	fields, _ := v.(document)
	sums, _ := fields["checksums"].(document)
	delete(fields, "checksums")
	if md5 := sums["md5Hash"]; md5 != nil {
		fields["md5Hash"] = md5
	}
	if n, ok := sums["crc32c"].(json.Number); ok {
		crc, _ := n.Int64()                       // protojson has written it
		fields["crc32c"] = encodeCRC(uint32(crc)) //nolint:gosec // of 32 bits
	}
	return v
}

func receiveSums(v any) any {
	fields, _ := v.(document)
	sums := document{}
	if md5 := fields["md5Hash"]; md5 != nil {
		sums["md5Hash"] = md5
	}
	text, _ := fields["crc32c"].(string)
	if crc, err := base64.StdEncoding.DecodeString(text); err == nil && len(crc) == 4 {
		sums["crc32c"] = binary.BigEndian.Uint32(crc)
	}
	delete(fields, "crc32c")
	delete(fields, "md5Hash")
	if len(sums) > 0 {
		fields["checksums"] = sums
	}
	return v
}

func encodeCRC(crc uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc))
}

// change applies f to the value at a path.
func change(v any, path string, f func(any) any) {
	if list, ok := v.([]any); ok {
		for _, element := range list {
			change(element, path, f)
		}
		return
	}
	fields, ok := v.(document)
	if path == "" && ok {
		f(v)
		return
	}
	name, rest, deeper := strings.Cut(path, ".")
	switch below, ok := fields[name]; {
	case !ok:
	case deeper:
		change(below, rest, f)
	default:
		if fields[name] = f(below); fields[name] == nil {
			delete(fields, name)
		}
	}
}

// encode returns a message as a resource of the JSON API.
func encode(m proto.Message, edits []edit) (document, error) {
	raw, err := protojson.Marshal(m)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "The request is invalid: %v", err)
	}
	fields, err := parse(raw)
	if err != nil {
		return nil, err
	}
	for _, e := range edits {
		if e.send != nil {
			change(fields, e.path, e.send)
		}
	}
	return fields, nil
}

// decode reads a response of the JSON API into a message. The resources to convert are at the path, "" for the whole
// document. A member that the message cannot have is UNIMPLEMENTED, because clients retry INTERNAL.
func decode(raw []byte, m proto.Message, edits []edit, at string) error {
	fields, err := parse(raw)
	if err != nil {
		return err
	}
	var resources any = fields
	if at != "" {
		resources = fields[at]
	}
	for _, e := range edits {
		if e.receive != nil {
			change(resources, e.path, e.receive)
		}
	}
	if raw, err = json.Marshal(fields); err == nil {
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(raw, m)
	}
	if err != nil {
		return status.Errorf(codes.Unimplemented, "This fake cannot translate the response to gRPC; use the JSON API: %v", err)
	}
	return nil
}

func parse(raw []byte) (document, error) {
	var fields document
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		return nil, status.Errorf(codes.Unimplemented, "This fake cannot translate a document to gRPC; use the JSON API: %v", err)
	}
	return fields, nil
}

// query returns the fields of a request as query parameters of the JSON API, without nested messages and except those
// that are in the path.
func query(m proto.Message, except ...string) url.Values {
	out := url.Values{}
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		plain := f.Message() == nil && f.Kind() != protoreflect.BytesKind && !f.IsList()
		if plain && !slices.Contains(except, string(f.Name())) {
			out.Set(f.JSONName(), v.String())
		}
		return true
	})
	return out
}

// full adds access control lists to a response, if the caller has permission to read them.
func full(q url.Values) url.Values {
	q.Set("projection", "full")
	return q
}

// masked is full if the mask of a read includes access control lists.
func masked(q url.Values, mask *fieldmaskpb.FieldMask) url.Values {
	for _, p := range mask.GetPaths() {
		if slices.Contains([]string{"*", "acl", "default_object_acl", "owner"}, p) {
			return full(q)
		}
	}
	return q
}

// prune removes the fields of a response that are not in the mask. An empty mask means all fields.
func prune(m proto.Message, mask *fieldmaskpb.FieldMask) {
	keep := map[string]bool{}
	for _, p := range mask.GetPaths() {
		name, _, _ := strings.Cut(p, ".")
		keep[name] = true
	}
	if len(keep) == 0 || keep["*"] {
		return
	}
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if !keep[string(f.Name())] {
			m.ProtoReflect().Clear(f)
		}
		return true
	})
}

// patch returns the JSON merge patch for an update: the fields of the resource that are in the mask. Fields without a
// value are removed or set to their default.
func patch(m proto.Message, edits []edit, mask *fieldmaskpb.FieldMask) (document, error) {
	fields, err := encode(m, edits)
	if err != nil {
		return nil, err
	}
	if len(mask.GetPaths()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "The request has no update_mask.")
	}
	out := document{}
	for _, p := range mask.GetPaths() {
		if p == "*" {
			return fields, nil
		}
		name, below, nested := strings.Cut(p, ".")
		f := m.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(name))
		if f == nil || (nested && f.Message() == nil) {
			return nil, status.Errorf(codes.Unimplemented, "This fake does not support the path %q of an update_mask.", p)
		}
		if !nested {
			out[f.JSONName()] = valueOr(fields[f.JSONName()], f)
			continue
		}
		part, _ := fields[f.JSONName()].(document)
		if !f.IsMap() {
			inner := f.Message().Fields().ByName(protoreflect.Name(below))
			if inner == nil {
				return nil, status.Errorf(codes.Unimplemented, "This fake does not support the path %q of an update_mask.", p)
			}
			below = inner.JSONName()
		}
		changes, ok := out[f.JSONName()].(document)
		if !ok {
			changes = document{}
		}
		changes[below] = part[below] // null removes it
		out[f.JSONName()] = changes
	}
	return out, nil
}

// valueOr returns the value of a field in a patch, or what removes the field.
func valueOr(v any, f protoreflect.FieldDescriptor) any {
	if fields, ok := v.(document); ok && len(fields) == 0 {
		return nil
	}
	switch {
	case v != nil, f.Message() != nil && !f.IsList():
		return v
	case f.IsList():
		return []any{}
	}
	return f.Default().Interface()
}
