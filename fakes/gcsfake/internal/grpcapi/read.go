// SPDX-License-Identifier: Apache-2.0

package grpcapi

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/storagepb"
)

const (
	// maxChunk is the maximum size of the content of a message (MAX_READ_CHUNK_BYTES).
	maxChunk = 2 << 20
	// maxRanges is the maximum number of ranges of a message.
	maxRanges = 100
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// reading is the generation of an object that a stream reads.
type reading struct {
	service *service
	path    path
	header  http.Header
	object  *storagepb.Object
	// shown is the part of the metadata that the client has asked for.
	shown *storagepb.Object
}

// readRequest is what both requests to read have in common.
type readRequest interface {
	proto.Message
	GetBucket() string
	GetObject() string
	GetGeneration() int64
	GetReadMask() *fieldmaskpb.FieldMask
	GetCommonObjectRequestParams() *storagepb.CommonObjectRequestParams
}

// open reads the metadata of the object, which checks the permission and the preconditions.
func (s *service) open(ctx context.Context, r readRequest) (*reading, error) {
	out := &reading{service: s, path: objectPath(r.GetBucket(), r.GetObject()), header: ownKey(r.GetCommonObjectRequestParams())}
	q := masked(query(r, "bucket", "object", "read_offset", "read_limit", "routing_token"), r.GetReadMask())
	var err error
	if out.object, err = s.object(ctx, call{method: http.MethodGet, path: out.path, query: q, header: out.header}); err != nil {
		return nil, err
	}
	out.shown = proto.CloneOf(out.object)
	prune(out.shown, r.GetReadMask())
	return out, nil
}

// span returns the bytes that an offset and a length of google.storage.v2 mean. A negative offset counts from the end.
// A length of 0 means all bytes up to the end.
func (r *reading) span(offset, length int64) (first, count int64, err error) {
	size := r.object.GetSize()
	if length < 0 || offset > size {
		return 0, 0, status.Errorf(codes.OutOfRange, "The range of %d bytes at %d is not in the object, which has %d bytes.", length, offset, size)
	}
	if first = offset; offset < 0 {
		first = max(0, size+offset)
	}
	if count = size - first; length > 0 {
		count = min(count, length)
	}
	return first, count, nil
}

// read passes a range of the content to send, in chunks that are valid only during the call.
func (r *reading) read(ctx context.Context, first, count int64, send func(*storagepb.ChecksummedData) error) error {
	header := maps.Clone(r.header)
	header.Set("Accept-Encoding", "gzip") // the content is never decompressed
	if r.object.GetSize() > 0 {
		if count == 0 {
			return nil
		}
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", first, first+count-1))
	}
	buffer, left := make([]byte, 0, min(count, maxChunk)), count
	c := call{
		method: http.MethodGet, path: r.path, header: header,
		query: url.Values{"alt": {"media"}, "generation": {strconv.FormatInt(r.object.GetGeneration(), 10)}},
	}
	_, err := r.service.stream(ctx, c, func(p []byte) error {
		for len(p) > 0 {
			n := min(len(p), cap(buffer)-len(buffer))
			if n == 0 {
				return errors.New("more bytes than requested")
			}
			buffer, p = append(buffer, p[:n]...), p[n:]
			if left -= int64(n); len(buffer) < cap(buffer) && left > 0 {
				continue
			}
			if err := send(&storagepb.ChecksummedData{Content: buffer, Crc32C: proto.Uint32(crc32.Checksum(buffer, castagnoli))}); err != nil {
				return err
			}
			buffer = buffer[:0]
		}
		return nil
	})
	if err == nil && left > 0 {
		err = status.Error(codes.Unavailable, "The connection was closed.")
	}
	return err
}

// isReplaced reports whether an object was replaced or deleted after its metadata was read. The live generation of the
// request must then be read again.
func isReplaced(r readRequest, err error) bool {
	return status.Code(err) == codes.NotFound && r.GetGeneration() == 0
}

// ReadObject implements storagepb.StorageServer.
func (s *service) ReadObject(r *storagepb.ReadObjectRequest, stream grpc.ServerStreamingServer[storagepb.ReadObjectResponse]) error {
	for {
		o, err := s.open(stream.Context(), r)
		if err != nil {
			return err
		}
		if err := o.sendObject(r, stream); !isReplaced(r, err) {
			return err
		}
	}
}

func (r *reading) sendObject(asked *storagepb.ReadObjectRequest, stream grpc.ServerStreamingServer[storagepb.ReadObjectResponse]) error {
	first, count, err := r.span(asked.GetReadOffset(), asked.GetReadLimit())
	if err != nil {
		return err
	}
	next := &storagepb.ReadObjectResponse{
		ObjectChecksums: r.object.GetChecksums(), Metadata: r.shown,
		ContentRange: &storagepb.ContentRange{Start: first, End: first + count, CompleteLength: r.object.GetSize()},
	}
	err = r.read(stream.Context(), first, count, func(data *storagepb.ChecksummedData) error {
		next.ChecksummedData = data
		err := stream.Send(next)
		next = &storagepb.ReadObjectResponse{}
		return err
	})
	if err == nil && next.GetMetadata() != nil { // there was nothing to read
		err = stream.Send(next)
	}
	return err
}

type bidiReadStream = grpc.BidiStreamingServer[storagepb.BidiReadObjectRequest, storagepb.BidiReadObjectResponse]

// BidiReadObject implements storagepb.StorageServer. It reads the ranges in the order in which they arrive.
func (s *service) BidiReadObject(stream bidiReadStream) error {
	var o *reading
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case len(r.GetReadRanges()) > maxRanges:
			err = status.Errorf(codes.InvalidArgument, "A message has at most %d read_ranges.", maxRanges)
		case o == nil:
			o, err = s.firstRanges(r, stream)
		case r.GetReadObjectSpec() != nil:
			err = status.Error(codes.InvalidArgument, "Only the first message of a stream has a read_object_spec.")
		default:
			err = o.sendRanges(r, stream, &storagepb.BidiReadObjectResponse{})
		}
		if err != nil {
			return err
		}
	}
}

// firstRanges opens the object of a stream, and responds to the first message with its metadata.
func (s *service) firstRanges(r *storagepb.BidiReadObjectRequest, stream bidiReadStream) (*reading, error) {
	for {
		o, err := s.open(stream.Context(), r.GetReadObjectSpec())
		if err != nil {
			return nil, err
		}
		first := &storagepb.BidiReadObjectResponse{
			Metadata: o.shown, ReadHandle: &storagepb.BidiReadHandle{Handle: strconv.AppendInt(nil, o.object.GetGeneration(), 10)},
		}
		if len(r.GetReadRanges()) == 0 {
			return o, stream.Send(first)
		}
		if err := o.sendRanges(r, stream, first); first.GetObjectDataRanges() != nil || !isReplaced(r.GetReadObjectSpec(), err) {
			return o, err
		}
	}
}

// sendRanges reads the ranges of a message. next is the first response to send.
func (r *reading) sendRanges(asked *storagepb.BidiReadObjectRequest, stream bidiReadStream, next *storagepb.BidiReadObjectResponse) error {
	for _, one := range asked.GetReadRanges() {
		if err := r.sendRange(stream, one, next); err != nil {
			return err
		}
		next = &storagepb.BidiReadObjectResponse{}
	}
	return nil
}

// sendRange reads one range. next is the first response to send.
func (r *reading) sendRange(stream bidiReadStream, asked *storagepb.ReadRange, next *storagepb.BidiReadObjectResponse) error {
	at, left, err := r.span(asked.GetReadOffset(), asked.GetReadLength())
	if err != nil {
		return err
	}
	send := func(data *storagepb.ChecksummedData) error {
		n := int64(len(data.GetContent()))
		left -= n
		next.ObjectDataRanges = []*storagepb.ObjectRangeData{{
			ChecksummedData: data, RangeEnd: left == 0,
			ReadRange: &storagepb.ReadRange{ReadOffset: at, ReadLength: n, ReadId: asked.GetReadId()},
		}}
		at += n
		err := stream.Send(next)
		next = &storagepb.BidiReadObjectResponse{}
		return err
	}
	empty := left == 0
	if err := r.read(stream.Context(), at, left, send); err != nil || !empty {
		return err
	}
	return send(nil)
}
