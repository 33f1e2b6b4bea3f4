// SPDX-License-Identifier: Apache-2.0

package grpcapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/storagepb"
)

// call is a request of the JSON API.
type call struct {
	method string
	path   path
	query  url.Values
	header http.Header
	// body is the JSON document or, as bytes, the media; nil means none.
	body any
	// conflict is the gRPC code of the status 409. Default: ABORTED.
	conflict codes.Code
}

// path is the path of a resource in the JSON API, or the error in its name.
type path struct {
	text string
	err  error
}

// bucketPath returns the path of a bucket by its gRPC name, or of a resource below it.
func bucketPath(name string, below ...string) path {
	id, ok := strings.CutPrefix(name, bucketPrefix)
	if !ok || id == "" {
		return path{err: status.Errorf(codes.InvalidArgument, "The bucket name %q is invalid. Use projects/_/buckets/BUCKET.", name)}
	}
	if strings.Contains(id, "/") {
		return path{err: status.Errorf(codes.Unimplemented, "This fake does not serve calls for %q, but only for buckets: projects/_/buckets/BUCKET.", name)}
	}
	segments := []string{"/storage/v1/b", url.PathEscape(id)}
	for _, segment := range below {
		segments = append(segments, url.PathEscape(segment))
	}
	return path{text: strings.Join(segments, "/")}
}

// objectPath returns the path of an object, or of a resource below it.
func objectPath(bucket, object string, below ...string) path {
	if object == "" {
		return path{err: status.Error(codes.InvalidArgument, "The request has no object name.")}
	}
	return bucketPath(bucket, append([]string{"o", object}, below...)...)
}

// own and source are the prefixes of the headers of customer-supplied keys.
const (
	own    = "X-Goog-Encryption-"
	source = "X-Goog-Copy-Source-Encryption-"
)

// keyHeader returns the headers of a customer-supplied key.
func keyHeader(prefix, algorithm string, key, sum []byte) http.Header {
	h := http.Header{}
	if algorithm != "" || key != nil || sum != nil {
		h.Set(prefix+"Algorithm", algorithm)
		h.Set(prefix+"Key", base64.StdEncoding.EncodeToString(key))
		h.Set(prefix+"Key-Sha256", base64.StdEncoding.EncodeToString(sum))
	}
	return h
}

func ownKey(p *storagepb.CommonObjectRequestParams) http.Header {
	return keyHeader(own, p.GetEncryptionAlgorithm(), p.GetEncryptionKeyBytes(), p.GetEncryptionKeySha256Bytes())
}

// response is a response of the JSON API.
type response struct {
	status int
	header http.Header
	body   bytes.Buffer
	// media receives the body of a successful response; nil keeps it.
	media func([]byte) error
}

// Header implements http.ResponseWriter.
func (r *response) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *response) WriteHeader(code int) { r.status = cmp.Or(r.status, code) }

// Write implements http.ResponseWriter.
func (r *response) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	if r.media == nil || r.status >= http.StatusMultipleChoices {
		return r.body.Write(p)
	}
	if err := r.media(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// do performs a request of the JSON API.
func (s *service) do(ctx context.Context, c call) (*response, error) {
	return s.stream(ctx, c, nil)
}

// receive performs a request of the JSON API and decodes its response into out.
func receive[M proto.Message](ctx context.Context, s *service, c call, out M, edits []edit, at string) (M, error) {
	r, err := s.do(ctx, c)
	if err == nil {
		err = decode(r.body.Bytes(), out, edits, at)
	}
	return out, err
}

// stream performs a request of the JSON API and passes the body of a successful response to media.
func (s *service) stream(ctx context.Context, c call, media func([]byte) error) (*response, error) {
	r, err := c.request(ctx)
	if err != nil {
		return nil, err
	}
	out := &response{header: http.Header{}, media: media}
	s.json.ServeHTTP(out, r)
	const canceled = 499 // the response to the cancellation of an upload
	if out.status >= http.StatusMultipleChoices && out.status != http.StatusPermanentRedirect && out.status != canceled {
		return nil, failure(out.status, out.body.Bytes(), cmp.Or(c.conflict, codes.Aborted))
	}
	return out, nil
}

// request returns the HTTP request of a call, with the credentials of the gRPC call.
func (c *call) request(ctx context.Context) (*http.Request, error) {
	if c.path.err != nil {
		return nil, c.path.err
	}
	body, isMedia := c.body.([]byte)
	if c.body != nil && !isMedia {
		var err error
		if body, err = json.Marshal(c.body); err != nil {
			return nil, status.Errorf(codes.Internal, "Encode the request: %v", err)
		}
	}
	incoming, _ := metadata.FromIncomingContext(ctx)
	r, err := http.NewRequestWithContext(ctx, c.method, c.path.text+"?"+c.query.Encode(), bytes.NewReader(body))
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "The request is invalid: %v", err)
	}
	r.Host = "localhost"
	if authority := incoming.Get(":authority"); len(authority) > 0 {
		r.Host = authority[0]
	}
	maps.Copy(r.Header, c.header)
	for _, name := range []string{"Authorization", "X-Goog-User-Project"} {
		if values := incoming.Get(name); len(values) > 0 {
			r.Header[name] = values
		}
	}
	if c.body != nil && !isMedia {
		r.Header.Set("Content-Type", "application/json")
	}
	r.RequestURI = r.URL.RequestURI()
	if p, ok := peer.FromContext(ctx); ok {
		r.RemoteAddr = p.Addr.String()
		if secure, ok := p.AuthInfo.(credentials.TLSInfo); ok {
			r.TLS = &secure.State
		}
	}
	return r, nil
}

// reasons and statuses translate errors of the JSON API. A reason has precedence.
var (
	reasons = map[string]codes.Code{
		"notImplemented": codes.Unimplemented, "aborted": codes.Aborted, "failedPrecondition": codes.FailedPrecondition,
	}
	statuses = map[int]codes.Code{
		http.StatusNotModified: codes.Aborted, // as Google's storage-testbench
		http.StatusBadRequest:  codes.InvalidArgument, http.StatusUnauthorized: codes.Unauthenticated, http.StatusForbidden: codes.PermissionDenied,
		http.StatusNotFound: codes.NotFound, http.StatusMethodNotAllowed: codes.Unimplemented, http.StatusRequestTimeout: codes.DeadlineExceeded,
		http.StatusPreconditionFailed: codes.FailedPrecondition, http.StatusRequestEntityTooLarge: codes.InvalidArgument,
		http.StatusRequestedRangeNotSatisfiable: codes.OutOfRange, http.StatusTooManyRequests: codes.ResourceExhausted,
		http.StatusInternalServerError: codes.Internal, http.StatusBadGateway: codes.Unavailable,
		http.StatusServiceUnavailable: codes.Unavailable, http.StatusGatewayTimeout: codes.DeadlineExceeded,
	}
)

// failure returns the gRPC error for an error of the JSON API.
func failure(httpStatus int, body []byte, conflict codes.Code) error {
	var document struct {
		Error struct {
			Message string `json:"message"`
			Errors  []struct {
				Reason string `json:"reason"`
			} `json:"errors"`
		} `json:"error"`
	}
	_ = json.Unmarshal(body, &document) // a response without a document has only its status
	code, known := statuses[httpStatus]
	if !known {
		code = codes.Unknown
	}
	if httpStatus == http.StatusConflict {
		code = conflict
	}
	for _, e := range document.Error.Errors {
		if special, ok := reasons[e.Reason]; ok {
			code = special
		}
	}
	return status.Error(code, cmp.Or(document.Error.Message, http.StatusText(httpStatus), strconv.Itoa(httpStatus)))
}
