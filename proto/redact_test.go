// SPDX-License-Identifier: Apache-2.0

package cosi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	cosi "github.com/cooper-cosi/cooper/proto"
)

const canary = "canary-value"

func grantResponse() *cosi.DriverGrantBucketAccessResponse {
	return &cosi.DriverGrantBucketAccessResponse{
		Buckets: []*cosi.DriverGrantBucketAccessResponse_BucketInfo{{BucketId: "bc-1"}},
		Credentials: &cosi.CredentialInfo{
			S3:    &cosi.S3CredentialInfo{AccessKeyId: "AKIA", AccessSecretKey: canary},
			Azure: &cosi.AzureCredentialInfo{AccessToken: canary, ExpiryTimestamp: "2030-01-31T12:00:00Z"},
			Gcs:   &cosi.GcsCredentialInfo{AccessId: "GOOG", AccessSecret: canary, PrivateKey: canary},
		},
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	original := grantResponse()
	got := cosi.Redact(original)
	want := grantResponse()
	want.Credentials.S3.AccessSecretKey = "[redacted]"
	want.Credentials.Azure.AccessToken = "[redacted]"
	want.Credentials.Gcs.AccessSecret = "[redacted]"
	want.Credentials.Gcs.PrivateKey = "[redacted]"
	if diff := cmp.Diff(proto.Message(want), got, protocmp.Transform()); diff != "" {
		t.Errorf("Redact (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(grantResponse(), original, protocmp.Transform()); diff != "" {
		t.Errorf("Redact changed its argument (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{canary, canary, canary, canary}, cosi.SecretsIn(original)); diff != "" {
		t.Errorf("SecretsIn (-want +got):\n%s", diff)
	}
}

// A password in a URL is not in one of the contract's secret fields, but must not be logged either.
func TestRedactURLs(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"https://user:pw@host:9000/path":            "https://[redacted]@host:9000/path",
		"https://user:p@ss'w%20ord@host":            "https://[redacted]@host",
		"dial https://user@a, then //user:pw@b: no": "dial https://[redacted]@a, then //[redacted]@b: no",
		"https://host/path/of@somebody?mail=a@b":    "https://host/path/of@somebody?mail=a@b",
		"projects/-/serviceAccounts/name@project":   "projects/-/serviceAccounts/name@project",
	} {
		if got := cosi.RedactURLs(said); got != want {
			t.Errorf("%s: want %s, got %s", said, want, got)
		}
	}
	const address = "https://user:" + canary + "@host"
	for name, message := range map[string]proto.Message{
		"a field": &cosi.DriverCreateBucketResponse{
			Protocols: &cosi.ObjectProtocolAndBucketInfo{S3: &cosi.S3BucketInfo{Endpoint: address}},
		},
		"a map": &cosi.DriverCreateBucketRequest{Parameters: map[string]string{"proxy": address}},
	} {
		if got := cosi.RedactedString(message); strings.Contains(got, canary) || !strings.Contains(got, "https://[redacted]@host") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestRedactKeepsNothing(t *testing.T) {
	t.Parallel()
	if got := cosi.Redact(nil); got != nil {
		t.Errorf("Redact(nil) = %v", got)
	}
	var none *cosi.CredentialInfo
	if got := cosi.Redact(none); got != proto.Message(none) {
		t.Errorf("Redact of a nil message = %v", got)
	}
	if got := cosi.SecretsIn(none); got != nil {
		t.Errorf("SecretsIn a nil message = %v", got)
	}
	if got := cosi.RedactedString(none); got != "null" {
		t.Errorf("RedactedString of a nil message = %q", got)
	}
}

func TestRedactDropsFieldsOfANewerContract(t *testing.T) {
	t.Parallel()
	wire := protowire.AppendTag(nil, 900, protowire.BytesType)
	message := &cosi.S3CredentialInfo{}
	if err := proto.Unmarshal(protowire.AppendString(wire, canary), message); err != nil {
		t.Fatal(err)
	}
	if got := cosi.Redact(message).ProtoReflect().GetUnknown(); len(got) != 0 {
		t.Errorf("the unknown field is still there: %q", got)
	}
}

// TestEverySecretFieldIsMarked fails if a field whose name suggests a secret is added without the option, or if an
// option is lost during code generation.
func TestEverySecretFieldIsMarked(t *testing.T) {
	t.Parallel()
	var got []string
	messages := cosi.File_proto_cosi_proto.Messages()
	for i := range messages.Len() {
		fields := messages.Get(i).Fields()
		for j := range fields.Len() {
			secret, _ := proto.GetExtension(fields.Get(j).Options(), cosi.E_CosiSecret).(bool)
			if secret {
				got = append(got, string(fields.Get(j).Name()))
			}
		}
	}
	want := []string{"access_secret_key", "access_token", "access_secret", "private_key"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields with cosi_secret (-want +got):\n%s", diff)
	}
}

// TestRedactEveryShape uses its own contract that has the option on fields of every type, because the real contract
// has it only on plain strings.
func TestRedactEveryShape(t *testing.T) {
	t.Parallel()
	shapes := shapesDescriptor(t)
	message := dynamicpb.NewMessage(shapes)
	set := func(name string, value protoreflect.Value) {
		message.Set(shapes.Fields().ByName(protoreflect.Name(name)), value)
	}
	set("data", protoreflect.ValueOfBytes([]byte(canary)))
	set("number", protoreflect.ValueOfInt64(4711))
	message.Mutable(shapes.Fields().ByName("list")).List().Append(protoreflect.ValueOfString(canary))
	message.Mutable(shapes.Fields().ByName("map")).Map().Set(
		protoreflect.ValueOfString("key").MapKey(), protoreflect.ValueOfString(canary))
	child := dynamicpb.NewMessage(shapes)
	child.Mutable(shapes.Fields().ByName("list")).List().Append(protoreflect.ValueOfString(canary))
	message.Mutable(shapes.Fields().ByName("children")).List().Append(protoreflect.ValueOfMessage(child))
	grandchild := dynamicpb.NewMessage(shapes)
	grandchild.Set(shapes.Fields().ByName("number"), protoreflect.ValueOfInt64(4711))
	message.Mutable(shapes.Fields().ByName("named")).Map().Set(
		protoreflect.ValueOfString("one").MapKey(), protoreflect.ValueOfMessage(grandchild))

	if diff := cmp.Diff([]string{canary, canary, canary}, cosi.SecretsIn(message)); diff != "" {
		t.Errorf("SecretsIn (-want +got):\n%s", diff)
	}
	got := cosi.RedactedString(message)
	want := `{"list":["[redacted]"],"map":{"key":"[redacted]"},"children":[{"list":["[redacted]"]}],"named":{"one":{}}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func shapesDescriptor(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	secret := &descriptorpb.FieldOptions{}
	proto.SetExtension(secret, cosi.E_CosiSecret, true)
	optional, repeated := descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL, descriptorpb.FieldDescriptorProto_LABEL_REPEATED
	text, message := descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	field := func(name string, number int32, label descriptorpb.FieldDescriptorProto_Label,
		kind descriptorpb.FieldDescriptorProto_Type, of string, options *descriptorpb.FieldOptions,
	) *descriptorpb.FieldDescriptorProto {
		made := &descriptorpb.FieldDescriptorProto{
			Name: &name, JsonName: &name, Number: &number, Label: &label, Type: &kind, Options: options,
		}
		if of != "" {
			made.TypeName = &of
		}
		return made
	}
	entry := func(name string, value *descriptorpb.FieldDescriptorProto) *descriptorpb.DescriptorProto {
		return &descriptorpb.DescriptorProto{
			Name:    &name,
			Field:   []*descriptorpb.FieldDescriptorProto{field("key", 1, optional, text, "", nil), value},
			Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
		}
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("shapes.proto"), Syntax: proto.String("proto3"), Package: proto.String("test"),
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: proto.String("Shapes"),
			Field: []*descriptorpb.FieldDescriptorProto{
				field("data", 1, optional, descriptorpb.FieldDescriptorProto_TYPE_BYTES, "", secret),
				field("number", 2, optional, descriptorpb.FieldDescriptorProto_TYPE_INT64, "", secret),
				field("list", 3, repeated, text, "", secret),
				field("map", 4, repeated, message, ".test.Shapes.MapEntry", secret),
				field("children", 5, repeated, message, ".test.Shapes", nil),
				field("named", 6, repeated, message, ".test.Shapes.NamedEntry", nil),
			},
			NestedType: []*descriptorpb.DescriptorProto{
				entry("MapEntry", field("value", 2, optional, text, "", nil)),
				entry("NamedEntry", field("value", 2, optional, message, ".test.Shapes", nil)),
			},
		}},
	}, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	return file.Messages().Get(0)
}

func TestRedactedPrintsNoSecretAnywhere(t *testing.T) {
	t.Parallel()
	value := cosi.NewRedacted(grantResponse())
	assertNoCanary(t, value)
	if got := value.String(); !strings.Contains(got, `"access_secret_key":"[redacted]"`) || !strings.Contains(got, "AKIA") {
		t.Errorf("the rest of the message is missing: %s", got)
	}
}

func TestSecretPrintsNothingAnywhere(t *testing.T) {
	t.Parallel()
	secret := cosi.NewSecret(canary)
	assertNoCanary(t, secret)
	assertNoCanary(t, &secret)
	assertNoCanary(t, []cosi.Secret{secret})
	assertNoCanary(t, map[string]cosi.Secret{"key": secret})
	assertNoCanary(t, struct{ Public cosi.Secret }{secret})
	assertNoCanary(t, struct{ private cosi.Secret }{secret})
	if got := fmt.Sprintf("%v %s %q %d", secret, secret, secret, secret); got != strings.TrimSpace(strings.Repeat("[redacted] ", 4)) {
		t.Errorf("printed %q", got)
	}
	if got := secret.Reveal(); got != canary {
		t.Errorf("Reveal() = %q", got)
	}
}

func assertNoCanary(t *testing.T, value any) {
	t.Helper()
	var printed bytes.Buffer
	for _, verb := range "vTtbcdoOqxXUeEfFgGsp" {
		for _, flags := range []string{"", "+", "#", "-20", "020"} {
			fmt.Fprintf(&printed, "%"+flags+string(verb)+"\n", value)
		}
	}
	fmt.Fprintln(&printed, value, fmt.Errorf("failed with %v", value))
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	printed.Write(encoded)
	slog.New(slog.NewTextHandler(&printed, nil)).Info("message", "value", value)
	slog.New(slog.NewJSONHandler(&printed, nil)).Info("message", "value", value)
	hexCanary := fmt.Sprintf("%x", canary)
	for line := range strings.Lines(printed.String()) {
		if strings.Contains(line, canary) || strings.Contains(strings.ToLower(line), hexCanary) {
			t.Errorf("%T leaks: %s", value, line)
		}
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	one, same, other, empty := cosi.NewSecret("a"), cosi.NewSecret("a"), cosi.NewSecret("b"), cosi.NewSecret("")
	if !one.Equal(same) || one.Equal(other) || one.Equal(empty) || !empty.Equal(cosi.Secret{}) {
		t.Error("Equal does not compare values")
	}
	if one.IsZero() || !empty.IsZero() || empty.Reveal() != "" {
		t.Error("IsZero is not about the value")
	}
}

func TestLoggingInterceptors(t *testing.T) {
	t.Parallel()
	failure := status.Error(codes.Unavailable, "backend is down")
	tests := map[string]struct {
		err          error
		wantCode     codes.Code
		wantResponse string
	}{
		"a response is logged without its secret": {nil, codes.OK, `"access_secret_key":"[redacted]"`},
		"a failed call has no response":           {failure, codes.Unavailable, "null"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var records []cosi.CallRecord
			log := func(_ context.Context, record cosi.CallRecord) { records = append(records, record) }
			request := &cosi.DriverGrantBucketAccessRequest{AccountId: "ba-1"}
			method := cosi.Provisioner_DriverGrantBucketAccess_FullMethodName

			_, serverErr := cosi.UnaryServerLogging(log)(t.Context(), request, &grpc.UnaryServerInfo{FullMethod: method},
				func(context.Context, any) (any, error) { return grantResponse(), test.err })
			reply := grantResponse()
			clientErr := cosi.UnaryClientLogging(log)(t.Context(), method, request, reply, nil,
				func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return test.err })
			if !errors.Is(serverErr, test.err) || !errors.Is(clientErr, test.err) {
				t.Errorf("the interceptors changed the error: %v, %v", serverErr, clientErr)
			}
			if len(records) != 2 {
				t.Fatalf("%d calls were logged, want 2", len(records))
			}
			for _, record := range records {
				assertNoCanary(t, record.Response)
				if record.Method != method || record.Status.Code() != test.wantCode {
					t.Errorf("logged %s %s", record.Method, record.Status.Code())
				}
				if got := record.Request.String(); got != `{"account_id":"ba-1"}` {
					t.Errorf("request %s", got)
				}
				if got := record.Response.String(); !strings.Contains(got, test.wantResponse) {
					t.Errorf("response %s, want %s in it", got, test.wantResponse)
				}
			}
		})
	}
}
