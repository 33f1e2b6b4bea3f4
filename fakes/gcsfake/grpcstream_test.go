// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/storagepb"
)

// wireBucket is the gRPC name of the bucket docs.
const wireBucket = "projects/_/buckets/docs"

// wire calls the gRPC API with messages that Google's client does not send, as a caller with all permissions.
type wire struct {
	fake
	conn *grpc.ClientConn
}

// dial starts a fake with the bucket docs.
func dial(t *testing.T, options ...grpc.DialOption) wire {
	t.Helper()
	f := start(t, gcsfake.Options{AnonymousIs: "cooper-admin"})
	f.grpcBucket(t, "docs", nil)
	conn, err := grpc.NewClient(strings.TrimPrefix(f.URL(), "http://"), append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	wantNoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return wire{f, conn}
}

// call is a call with one response.
func (w wire) call(t *testing.T, method string, in, out any) error {
	t.Helper()
	return w.conn.Invoke(t.Context(), "/google.storage.v2.Storage/"+method, in, out)
}

// stream is a call with many messages.
func (w wire) stream(t *testing.T, method string) grpc.ClientStream {
	t.Helper()
	s, err := w.conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/google.storage.v2.Storage/"+method)
	wantNoError(t, err)
	return s
}

// startUpload starts an upload of the object k and returns its ID.
func (w wire) startUpload(t *testing.T) string {
	t.Helper()
	out := &storagepb.StartResumableWriteResponse{}
	spec := &storagepb.WriteObjectSpec{Resource: &storagepb.Object{Name: "k", Bucket: wireBucket}}
	wantNoError(t, w.call(t, "StartResumableWrite", &storagepb.StartResumableWriteRequest{WriteObjectSpec: spec}, out))
	return out.GetUploadId()
}

// part is a message with content. uploadID is "" in all messages but the first of a stream.
func part(uploadID string, offset int, content []byte) *storagepb.BidiWriteObjectRequest {
	out := &storagepb.BidiWriteObjectRequest{WriteOffset: int64(offset), ChecksummedData: &storagepb.ChecksummedData{Content: content}}
	if uploadID != "" {
		out.FirstMessage = &storagepb.BidiWriteObjectRequest_UploadId{UploadId: uploadID}
	}
	return out
}

// flushed asks for the persisted size after a message.
func flushed(r *storagepb.BidiWriteObjectRequest) *storagepb.BidiWriteObjectRequest {
	r.Flush, r.StateLookup = true, true
	return r
}

// sendPart sends a message and receives the response.
func sendPart(t *testing.T, s grpc.ClientStream, r *storagepb.BidiWriteObjectRequest) *storagepb.BidiWriteObjectResponse {
	t.Helper()
	wantNoError(t, s.SendMsg(r))
	out := &storagepb.BidiWriteObjectResponse{}
	wantNoError(t, s.RecvMsg(out))
	return out
}

// TestGRPCLateAttempt continues an upload while bytes of an earlier attempt still arrive.
func TestGRPCLateAttempt(t *testing.T) {
	t.Parallel()
	w := dial(t)
	want, id := body(2<<20), w.startUpload(t)
	retry := w.stream(t, "BidiWriteObject")
	first := part(id, 0, want[:300<<10])
	first.StateLookup = true
	sendPart(t, retry, first)
	if got := sendPart(t, w.stream(t, "BidiWriteObject"), flushed(part(id, 0, want[:1<<20]))); got.GetPersistedSize() != 1<<20 {
		t.Fatalf("the late attempt has persisted %d bytes", got.GetPersistedSize())
	}
	if got := sendPart(t, retry, flushed(part("", 300<<10, want[300<<10:700<<10]))); got.GetPersistedSize() != 1<<20 {
		t.Fatalf("%d bytes are persisted", got.GetPersistedSize())
	}
	rest := part("", 700<<10, want[700<<10:])
	rest.FinishWrite = true
	sendPart(t, retry, rest)
	if got, err := read(t.Context(), w.adminGRPC(t).Bucket("docs").Object("k")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %d bytes that differ, %v", len(got), err)
	}
}

// TestGRPCFirstChecksums sends the checksums of the object in the first message of a stream that resumes an upload.
func TestGRPCFirstChecksums(t *testing.T) {
	t.Parallel()
	w := dial(t)
	for name, tc := range map[string]struct {
		sum  uint32
		want codes.Code
	}{"right": {crc32.Checksum([]byte("hello"), crc32.MakeTable(crc32.Castagnoli)), codes.OK}, "wrong": {1, codes.InvalidArgument}} {
		s := w.stream(t, "BidiWriteObject")
		first := part(w.startUpload(t), 0, []byte("hello"))
		first.ObjectChecksums = &storagepb.ObjectChecksums{Crc32C: &tc.sum}
		wantNoError(t, s.SendMsg(first))
		wantNoError(t, s.SendMsg(&storagepb.BidiWriteObjectRequest{WriteOffset: 5, FinishWrite: true}))
		if err := s.RecvMsg(&storagepb.BidiWriteObjectResponse{}); grpcstatus.Code(err) != tc.want {
			t.Errorf("%s: got %v, want %v", name, err, tc.want)
		}
	}
}

// TestGRPCUnfinishedWrites ends streams without finish_write. Another stream can continue only an upload with an ID.
func TestGRPCUnfinishedWrites(t *testing.T) {
	t.Parallel()
	w := dial(t)
	spec := part("", 0, []byte("x"))
	spec.FirstMessage = &storagepb.BidiWriteObjectRequest_WriteObjectSpec{WriteObjectSpec: &storagepb.WriteObjectSpec{Resource: &storagepb.Object{Name: "k", Bucket: wireBucket}}}
	for name, tc := range map[string]struct {
		messages  []*storagepb.BidiWriteObjectRequest
		persisted int64
		want      codes.Code
	}{
		"an upload with an ID": {[]*storagepb.BidiWriteObjectRequest{part(w.startUpload(t), 0, body(300<<10))}, 256 << 10, codes.OK},
		"an object":            {[]*storagepb.BidiWriteObjectRequest{spec}, 0, codes.InvalidArgument},
		"nothing":              {nil, 0, codes.InvalidArgument},
	} {
		s := w.stream(t, "BidiWriteObject")
		for _, m := range tc.messages {
			wantNoError(t, s.SendMsg(m))
		}
		wantNoError(t, s.CloseSend())
		got := &storagepb.BidiWriteObjectResponse{}
		if err := s.RecvMsg(got); grpcstatus.Code(err) != tc.want || got.GetPersistedSize() != tc.persisted {
			t.Errorf("%s: %d bytes persisted, %v", name, got.GetPersistedSize(), err)
		}
	}
	if got := w.Inventory().Buckets[0]; got.Live != 0 {
		t.Errorf("there are %d objects", got.Live)
	}
}

// TestGRPCAuthority calls with an :authority that looks like the path of another resource.
func TestGRPCAuthority(t *testing.T) {
	t.Parallel()
	w := dial(t, grpc.WithAuthority("x/storage/v1/b/docs/iam?"))
	out := &storagepb.Bucket{}
	if err := w.call(t, "GetBucket", &storagepb.GetBucketRequest{Name: wireBucket}, out); err != nil || out.GetBucketId() != "docs" {
		t.Errorf("got %v, %v", out, err)
	}
	if calls := w.Calls(); calls[len(calls)-1].Operation != "storage.buckets.get" {
		t.Errorf("recorded %v", calls[len(calls)-1])
	}
}

// TestGRPCReadMessages sends messages that a read cannot have.
func TestGRPCReadMessages(t *testing.T) {
	t.Parallel()
	w := dial(t)
	wantNoError(t, write(t.Context(), w.adminGRPC(t).Bucket("docs").Object("k"), []byte("x"), 0))
	spec := &storagepb.BidiReadObjectSpec{Bucket: wireBucket, Object: "k"}
	ranges := func(n int) (out []*storagepb.ReadRange) {
		for range n {
			out = append(out, &storagepb.ReadRange{})
		}
		return out
	}
	for name, tc := range map[string]struct {
		messages []*storagepb.BidiReadObjectRequest
		want     codes.Code
	}{
		"100 ranges":       {[]*storagepb.BidiReadObjectRequest{{ReadObjectSpec: spec, ReadRanges: ranges(100)}, {ReadRanges: ranges(100)}}, codes.OK},
		"101 ranges":       {[]*storagepb.BidiReadObjectRequest{{ReadObjectSpec: spec, ReadRanges: ranges(101)}}, codes.InvalidArgument},
		"101 ranges later": {[]*storagepb.BidiReadObjectRequest{{ReadObjectSpec: spec}, {ReadRanges: ranges(101)}}, codes.InvalidArgument},
		"another object":   {[]*storagepb.BidiReadObjectRequest{{ReadObjectSpec: spec}, {ReadObjectSpec: spec, ReadRanges: ranges(1)}}, codes.InvalidArgument},
	} {
		s := w.stream(t, "BidiReadObject")
		for _, m := range tc.messages {
			_ = s.SendMsg(m) // the response has the error
		}
		wantNoError(t, s.CloseSend())
		var err error
		for err == nil {
			err = s.RecvMsg(&storagepb.BidiReadObjectResponse{})
		}
		if got := codeAtEnd(err); got != tc.want {
			t.Errorf("%s: got %v, want %v", name, err, tc.want)
		}
	}
}

// codeAtEnd is the code of a stream that has ended, in which io.EOF means OK.
func codeAtEnd(err error) codes.Code {
	if errors.Is(err, io.EOF) {
		return codes.OK
	}
	return grpcstatus.Code(err)
}

// TestGRPCUntranslatable reads a bucket whose document the gRPC API cannot represent. Clients retry Internal, so the
// error is Unimplemented and names the member.
func TestGRPCUntranslatable(t *testing.T) {
	t.Parallel()
	w := dial(t)
	patch, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, w.URL()+"/storage/v1/b/docs",
		strings.NewReader(`{"lifecycle":{"rule":[{"action":{"type":"Delete"},"condition":{"isLive":"maybe"}}]}}`))
	wantNoError(t, err)
	patch.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(patch)
	wantNoError(t, err)
	wantNoError(t, response.Body.Close())
	if response.StatusCode != http.StatusOK {
		t.Fatalf("the fake does not store the document: %s", response.Status)
	}
	err = w.call(t, "GetBucket", &storagepb.GetBucketRequest{Name: wireBucket}, &storagepb.Bucket{})
	if grpcstatus.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "isLive") {
		t.Errorf("got %v, want Unimplemented with the member", err)
	}
}
