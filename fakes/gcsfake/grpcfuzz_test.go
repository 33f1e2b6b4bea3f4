// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/storagepb"
)

// rawCodec sends encoded messages.
type rawCodec struct{}

// Marshal implements encoding.Codec.
func (rawCodec) Marshal(v any) ([]byte, error) {
	raw, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("a message of type %T", v)
	}
	return *raw, nil
}

// Unmarshal implements encoding.Codec.
func (rawCodec) Unmarshal([]byte, any) error { return nil }

// Name implements encoding.Codec.
func (rawCodec) Name() string { return "proto" }

// FuzzGRPC sends arbitrary messages to all calls of the gRPC API. No message may cause an internal error.
func FuzzGRPC(f *testing.F) {
	server := faketest.Start(f, gcsfake.New, gcsfake.Options{AnonymousIs: "cooper-admin"})
	conn, err := grpc.NewClient(strings.TrimPrefix(server.URL(), "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{})))
	wantNoError(f, err)
	f.Cleanup(func() { _ = conn.Close() })
	var calls []string
	for _, m := range storagepb.Storage_ServiceDesc.Methods {
		calls = append(calls, m.MethodName)
	}
	for _, s := range storagepb.Storage_ServiceDesc.Streams {
		calls = append(calls, s.StreamName)
	}
	const docs = "projects/_/buckets/docs"
	bucket := &storagepb.Bucket{
		Name: docs, Labels: map[string]string{"a": "b"}, RetentionPolicy: &storagepb.Bucket_RetentionPolicy{}, Versioning: &storagepb.Bucket_Versioning{},
		Lifecycle: &storagepb.Bucket_Lifecycle{Rule: []*storagepb.Bucket_Lifecycle_Rule{{Condition: &storagepb.Bucket_Lifecycle_Rule_Condition{CreatedBefore: &storagepb.Date{Year: 2020}}}}},
	}
	object := &storagepb.Object{Name: "k", Bucket: docs, Checksums: &storagepb.ObjectChecksums{Crc32C: proto.Uint32(1)}}
	spec := &storagepb.WriteObjectSpec{Resource: object}
	for call, m := range map[string]proto.Message{
		"CreateBucket": &storagepb.CreateBucketRequest{Bucket: bucket, BucketId: "docs"},
		"UpdateBucket": &storagepb.UpdateBucketRequest{Bucket: bucket, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"lifecycle", "labels.a", "encryption.default_kms_key"}}},
		"UpdateObject": &storagepb.UpdateObjectRequest{Object: object, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"*"}}},
		"GetBucket":    &storagepb.GetBucketRequest{Name: docs, ReadMask: &fieldmaskpb.FieldMask{Paths: []string{"name"}}},
		"SetIamPolicy": &storagepb.SetIamPolicyRequest{Resource: docs, Policy: &storagepb.Policy{Etag: []byte("x")}},
		"BidiWriteObject": &storagepb.BidiWriteObjectRequest{
			FirstMessage: &storagepb.BidiWriteObjectRequest_WriteObjectSpec{WriteObjectSpec: spec}, ChecksummedData: &storagepb.ChecksummedData{Content: []byte("x")}, FinishWrite: true,
		},
		"ReadObject":     &storagepb.ReadObjectRequest{Bucket: docs, Object: "k", ReadOffset: -1},
		"BidiReadObject": &storagepb.BidiReadObjectRequest{ReadObjectSpec: &storagepb.BidiReadObjectSpec{Bucket: docs, Object: "k"}, ReadRanges: []*storagepb.ReadRange{{ReadOffset: -1}}},
		"ComposeObject":  &storagepb.ComposeObjectRequest{Destination: object, SourceObjects: []*storagepb.ComposeObjectRequest_SourceObject{{Name: "k"}}},
		"RewriteObject":  &storagepb.RewriteObjectRequest{SourceBucket: docs, SourceObject: "k", DestinationBucket: docs, DestinationName: "k2", Destination: object},
		"ListObjects":    &storagepb.ListObjectsRequest{Parent: docs},
	} {
		raw, err := proto.Marshal(m)
		wantNoError(f, err)
		f.Add(slices.Index(calls, call), raw)
	}
	f.Fuzz(func(t *testing.T, n int, raw []byte) {
		if n < 0 || n >= len(calls) {
			t.Skip("not a call")
		}
		call := calls[n]
		stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/google.storage.v2.Storage/"+call)
		wantNoError(t, err)
		if stream.SendMsg(&raw) != nil || stream.CloseSend() != nil {
			t.Skip("the call has ended")
		}
		for err == nil {
			err = stream.RecvMsg(&raw)
		}
		s := grpcstatus.Convert(err)
		internal := s.Code() == codes.Internal && !strings.Contains(s.Message(), "unmarshal") && !strings.Contains(s.Message(), "malformed")
		if internal || strings.Contains(s.Message(), "panicked") || strings.Contains(s.Message(), "cannot translate") {
			t.Errorf("%s: %v", call, err)
		}
	})
}
