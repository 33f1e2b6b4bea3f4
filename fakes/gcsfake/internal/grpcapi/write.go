// SPDX-License-Identifier: Apache-2.0

package grpcapi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/storagepb"
)

const (
	// quantum is the unit in which a resumable upload of the JSON API accepts bytes before its end.
	quantum = 256 << 10
	// maxBuffered is how many bytes of a stream are held before they are written without a flush.
	maxBuffered = 16 * quantum
)

// upload is a stream that writes an object: a resumable upload of the JSON API.
type upload struct {
	service *service
	path    path
	query   url.Values
	header  http.Header
	// once means that no other stream can continue the upload, because its ID is not known.
	once bool
	// persisted is the number of bytes that the upload has, and buffered are those after them.
	persisted int64
	buffered  []byte
	// sums are the checksums of the whole object that a message has.
	sums *storagepb.ObjectChecksums
	// object is the result of a finished upload.
	object *storagepb.Object
}

// StartResumableWrite implements storagepb.StorageServer.
func (s *service) StartResumableWrite(ctx context.Context, r *storagepb.StartResumableWriteRequest) (*storagepb.StartResumableWriteResponse, error) {
	id, err := s.start(ctx, r.GetWriteObjectSpec(), r.GetObjectChecksums(), r.GetCommonObjectRequestParams())
	return &storagepb.StartResumableWriteResponse{UploadId: id}, err
}

// start starts an upload and returns its ID. The gRPC API does not send the bucket with the ID, so the ID contains it.
func (s *service) start(ctx context.Context, spec *storagepb.WriteObjectSpec, sums *storagepb.ObjectChecksums, key *storagepb.CommonObjectRequestParams) (string, error) {
	if spec.GetAppendable() {
		return "", status.Error(codes.Unimplemented, "This fake does not serve appendable objects, which only zonal buckets have.")
	}
	o := spec.GetResource()
	if o == nil {
		return "", status.Error(codes.InvalidArgument, "The request has no resource.")
	}
	if sums != nil {
		o.Checksums = sums
	}
	body, err := encode(o, objectEdits)
	if err != nil {
		return "", err
	}
	delete(body, "kmsKeyName")
	q := full(query(spec, "appendable"))
	q.Set("uploadType", "resumable")
	if o.GetKmsKey() != "" {
		q.Set("kmsKeyName", o.GetKmsKey())
	}
	p := uploadPath(o.GetBucket())
	response, err := s.do(ctx, call{method: http.MethodPost, path: p, query: q, header: ownKey(key), body: body})
	if err != nil {
		return "", err
	}
	location, err := url.Parse(response.header.Get("Location"))
	if err != nil {
		return "", status.Errorf(codes.Internal, "Translate the response: %v", err)
	}
	return strings.TrimPrefix(o.GetBucket(), bucketPrefix) + "/" + location.Query().Get("upload_id"), nil
}

// uploadPath returns the path for uploads to a bucket.
func uploadPath(bucket string) path {
	p := bucketPath(bucket, "o")
	p.text = "/upload" + p.text
	return p
}

// resume returns the upload with this ID.
func (s *service) resume(ctx context.Context, uploadID string, key *storagepb.CommonObjectRequestParams) (*upload, error) {
	u := s.upload(uploadID, key)
	return u, u.put(ctx, nil, "bytes */*")
}

func (s *service) upload(uploadID string, key *storagepb.CommonObjectRequestParams) *upload {
	bucket, id, _ := strings.Cut(uploadID, "/")
	u := &upload{service: s, path: uploadPath(bucketPrefix + bucket), query: url.Values{"uploadType": {"resumable"}, "upload_id": {id}}, header: ownKey(key)}
	if id == "" {
		u.path.err = status.Errorf(codes.NotFound, "There is no upload %q. Use the upload_id that StartResumableWrite returned.", uploadID)
	}
	return u
}

// put sends bytes to the upload, with a Content-Range, and reads its new state.
func (u *upload) put(ctx context.Context, body []byte, contentRange string) error {
	header := u.header.Clone()
	header.Set("Content-Range", contentRange)
	response, err := u.service.do(ctx, call{method: http.MethodPut, path: u.path, query: u.query, header: header, body: body})
	if err != nil {
		return err
	}
	if response.status == http.StatusPermanentRedirect {
		u.persisted = 0
		if _, last, ok := strings.Cut(response.header.Get("Range"), "-"); ok {
			n, err := strconv.ParseInt(last, 10, 64)
			if err != nil {
				return status.Errorf(codes.Internal, "Translate the response: %v", err)
			}
			u.persisted = n + 1
		}
		return nil
	}
	u.object = &storagepb.Object{}
	if err := decode(response.body.Bytes(), u.object, objectEdits, ""); err != nil {
		return err
	}
	u.persisted = u.object.GetSize()
	return nil
}

// flush persists as many of the buffered bytes as the upload accepts before its end.
func (u *upload) flush(ctx context.Context) error {
	n := len(u.buffered) / quantum * quantum
	if n == 0 || u.object != nil {
		return nil
	}
	before := u.persisted
	if err := u.put(ctx, u.buffered[:n], fmt.Sprintf("bytes %d-%d/*", before, before+int64(n)-1)); err != nil {
		return err
	}
	// Another stream may have written more than these bytes of the same upload.
	u.buffered = append(u.buffered[:0], u.buffered[min(u.persisted-before, int64(len(u.buffered))):]...)
	return nil
}

// finish ends the upload with the buffered bytes.
func (u *upload) finish(ctx context.Context) error {
	if u.object != nil {
		return nil
	}
	var hashes []string
	if u.sums.GetMd5Hash() != nil {
		hashes = append(hashes, "md5="+base64.StdEncoding.EncodeToString(u.sums.GetMd5Hash()))
	}
	if u.sums != nil && u.sums.Crc32C != nil {
		hashes = append(hashes, "crc32c="+encodeCRC(u.sums.GetCrc32C()))
	}
	if len(hashes) > 0 {
		u.header.Set("X-Goog-Hash", strings.Join(hashes, ","))
	}
	total := u.persisted + int64(len(u.buffered))
	if len(u.buffered) == 0 {
		return u.put(ctx, nil, fmt.Sprintf("bytes */%d", total))
	}
	return u.put(ctx, u.buffered, fmt.Sprintf("bytes %d-%d/%d", u.persisted, total-1, total))
}

// take buffers the content of a message, without bytes that have arrived before.
func (u *upload) take(ctx context.Context, r *storagepb.BidiWriteObjectRequest) error {
	data := r.GetChecksummedData()
	content := data.GetContent()
	if data != nil && data.Crc32C != nil && data.GetCrc32C() != crc32.Checksum(content, castagnoli) {
		return status.Error(codes.InvalidArgument, "The content of a message does not match its CRC32C.")
	}
	if r.GetObjectChecksums() != nil {
		u.sums = r.GetObjectChecksums()
	}
	if u.object != nil {
		return nil
	}
	end := u.persisted + int64(len(u.buffered))
	if r.GetWriteOffset() < 0 || r.GetWriteOffset() > end {
		return status.Errorf(codes.OutOfRange, "The write_offset %d is not within the %d bytes that have arrived.", r.GetWriteOffset(), end)
	}
	if known := end - r.GetWriteOffset(); known < int64(len(content)) {
		u.buffered = append(u.buffered, content[known:]...)
	}
	if len(u.buffered) >= maxBuffered {
		return u.flush(ctx)
	}
	return nil
}

// cancel deletes an upload.
func (u *upload) cancel(ctx context.Context) error {
	_, err := u.service.do(ctx, call{method: http.MethodDelete, path: u.path, query: u.query})
	return err
}

// abandon ends a stream before its object is complete. Only an upload with an ID can continue.
func (u *upload) abandon(ctx context.Context) {
	if u != nil && u.once && u.object == nil {
		_ = u.cancel(context.WithoutCancel(ctx)) // the client has its error already
	}
}

type bidiWriteStream = grpc.BidiStreamingServer[storagepb.BidiWriteObjectRequest, storagepb.BidiWriteObjectResponse]

// BidiWriteObject implements storagepb.StorageServer.
func (s *service) BidiWriteObject(stream bidiWriteStream) error {
	var u *upload
	defer func() { u.abandon(stream.Context()) }()
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return u.pause(stream)
		}
		if err == nil && u == nil {
			u, err = s.begin(stream.Context(), r)
		}
		if err == nil {
			err = u.take(stream.Context(), r)
		}
		if err != nil {
			return err
		}
		if r.GetFinishWrite() {
			if err := u.finish(stream.Context()); err != nil {
				return err
			}
			return stream.Send(&storagepb.BidiWriteObjectResponse{WriteStatus: &storagepb.BidiWriteObjectResponse_Resource{Resource: u.object}})
		}
		if r.GetFlush() {
			err = u.flush(stream.Context())
		}
		if err == nil && r.GetStateLookup() {
			err = u.sendSize(stream)
		}
		if err != nil {
			return err
		}
	}
}

// sendSize responds with the number of persisted bytes.
func (u *upload) sendSize(stream bidiWriteStream) error {
	return stream.Send(&storagepb.BidiWriteObjectResponse{WriteStatus: &storagepb.BidiWriteObjectResponse_PersistedSize{PersistedSize: u.persisted}})
}

// pause ends a stream whose client sends no more messages, without a finish_write.
func (u *upload) pause(stream bidiWriteStream) error {
	if u == nil || u.once {
		return status.Error(codes.InvalidArgument, "The stream has no message with finish_write, and no other stream can continue it. Send finish_write, or call StartResumableWrite first.")
	}
	if err := u.flush(stream.Context()); err != nil {
		return err
	}
	return u.sendSize(stream)
}

// begin returns the upload that the first message of a stream starts or resumes.
func (s *service) begin(ctx context.Context, r *storagepb.BidiWriteObjectRequest) (*upload, error) {
	key := r.GetCommonObjectRequestParams()
	switch first := r.GetFirstMessage().(type) {
	case *storagepb.BidiWriteObjectRequest_UploadId:
		return s.resume(ctx, first.UploadId, key)
	case *storagepb.BidiWriteObjectRequest_WriteObjectSpec:
		id, err := s.start(ctx, first.WriteObjectSpec, r.GetObjectChecksums(), key)
		if err != nil {
			return nil, err
		}
		u := s.upload(id, key)
		u.once = true
		return u, nil
	}
	return nil, status.Error(codes.InvalidArgument, "The first message has neither an upload_id nor a write_object_spec.")
}

// QueryWriteStatus implements storagepb.StorageServer.
func (s *service) QueryWriteStatus(ctx context.Context, r *storagepb.QueryWriteStatusRequest) (*storagepb.QueryWriteStatusResponse, error) {
	u, err := s.resume(ctx, r.GetUploadId(), r.GetCommonObjectRequestParams())
	if err != nil {
		return nil, err
	}
	if u.object != nil {
		return &storagepb.QueryWriteStatusResponse{WriteStatus: &storagepb.QueryWriteStatusResponse_Resource{Resource: u.object}}, nil
	}
	return &storagepb.QueryWriteStatusResponse{WriteStatus: &storagepb.QueryWriteStatusResponse_PersistedSize{PersistedSize: u.persisted}}, nil
}

// CancelResumableWrite implements storagepb.StorageServer.
func (s *service) CancelResumableWrite(ctx context.Context, r *storagepb.CancelResumableWriteRequest) (*storagepb.CancelResumableWriteResponse, error) {
	return &storagepb.CancelResumableWriteResponse{}, s.upload(r.GetUploadId(), nil).cancel(ctx)
}
