// SPDX-License-Identifier: Apache-2.0

package gcsfake

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// The limits of a batch ("Batch requests": 100 calls and 10 MB).
const (
	maxBatch      = 100
	maxBatchBytes = 10 << 20
	batchPath     = "/batch/storage/v1"
)

// serveBatch handles several calls of the JSON API in one request. Each call has its own permissions, faults and
// entry in the record of calls. The credentials of the request apply to calls without their own.
func (s *Server) serveBatch(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBatchBytes)
	responses, err := s.batch(r)
	if err != nil {
		http.Error(w, fmt.Sprintf(`{"error":{"code":400,"message":%q,"errors":[{"message":%[1]q,"domain":"global","reason":"badRequest"}]}}`, err.Error()), http.StatusBadRequest)
		return
	}
	var out bytes.Buffer
	parts := multipart.NewWriter(&out)
	for _, a := range responses {
		// Writing to a buffer never fails.
		part, _ := parts.CreatePart(textproto.MIMEHeader{"Content-Type": {"application/http"}, "Content-Id": {a.id}})
		fmt.Fprintf(part, "HTTP/1.1 %d %s\r\n", a.status, http.StatusText(a.status))
		_ = a.header.Write(part)
		_, _ = io.WriteString(part, "\r\n")
		_, _ = part.Write(a.body.Bytes())
	}
	_ = parts.Close()
	w.Header().Set("Content-Type", "multipart/mixed; boundary="+parts.Boundary())
	_, _ = w.Write(out.Bytes()) // fails only if the client has disconnected
}

// batchResponse captures the response to one call of a batch.
type batchResponse struct {
	id     string
	status int
	header http.Header
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *batchResponse) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *batchResponse) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *batchResponse) Write(p []byte) (int, error) { return a.body.Write(p) }

func (s *Server) batch(r *http.Request) ([]*batchResponse, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Method != http.MethodPost || err != nil || kind != "multipart/mixed" || params["boundary"] == "" {
		return nil, errors.New("a batch must be a POST request with the content type multipart/mixed and a boundary")
	}
	var calls []batchCall
	for parts := multipart.NewReader(r.Body, params["boundary"]); ; {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the batch: %w", err)
		}
		one, err := readBatchCall(r, part)
		if err != nil {
			return nil, err
		}
		if calls = append(calls, one); len(calls) > maxBatch {
			return nil, fmt.Errorf("a batch can have at most %d calls", maxBatch)
		}
	}
	if len(calls) == 0 {
		return nil, errors.New("the batch has no calls")
	}
	out := make([]*batchResponse, len(calls))
	for i, one := range calls {
		out[i] = &batchResponse{id: one.respondID, status: http.StatusOK, header: http.Header{}}
		s.ServeHTTP(out[i], one.request)
	}
	return out, nil
}

// batchCall is one call of a batch.
type batchCall struct {
	request   *http.Request
	respondID string
}

func readBatchCall(outer *http.Request, part *multipart.Part) (batchCall, error) {
	if kind, _, err := mime.ParseMediaType(part.Header.Get("Content-Type")); err != nil || kind != "application/http" {
		return batchCall{}, errors.New("the parts of a batch must have the content type application/http")
	}
	raw, err := io.ReadAll(part)
	if err != nil {
		return batchCall{}, fmt.Errorf("read a part of the batch: %w", err)
	}
	in := textproto.NewReader(bufio.NewReader(bytes.NewReader(bytes.TrimSpace(raw))))
	line, err := in.ReadLine()
	if err != nil {
		return batchCall{}, fmt.Errorf("read a call of the batch: %w", err)
	}
	method, path, err := batchTarget(line)
	if err != nil {
		return batchCall{}, err
	}
	own, err := in.ReadMIMEHeader()
	if err != nil && !errors.Is(err, io.EOF) { // a call without a body need not end with an empty line
		return batchCall{}, fmt.Errorf("read the headers of a call: %w", err)
	}
	body, err := io.ReadAll(in.R)
	if err != nil {
		return batchCall{}, fmt.Errorf("read the body of a call: %w", err)
	}
	req, err := http.NewRequestWithContext(outer.Context(), method, "http://"+outer.Host+path, bytes.NewReader(body)) //nolint:gosec // the URL is not used: this server handles the request
	if err != nil {
		return batchCall{}, fmt.Errorf("read a call of the batch: %w", err)
	}
	if req.URL.Query().Get("alt") == "media" {
		return batchCall{}, errors.New("a batch cannot contain uploads or downloads of media")
	}
	req.Header, req.Host, req.RequestURI, req.TLS = http.Header(own), outer.Host, path, outer.TLS
	if req.Header.Get("Authorization") == "" && outer.Header.Get("Authorization") != "" {
		req.Header.Set("Authorization", outer.Header.Get("Authorization"))
	}
	id := strings.Trim(part.Header.Get("Content-Id"), "<>")
	return batchCall{req, "<response-" + id + ">"}, nil
}

// batchTarget reads the request line of a call: its method, and its path with the query. Google's client for Python sends
// a whole URL.
func batchTarget(line string) (method, path string, err error) {
	if fields := strings.Fields(line); len(fields) >= 2 {
		target, err := url.ParseRequestURI(fields[1])
		if err == nil && strings.HasPrefix(target.EscapedPath(), "/storage/v1/") {
			return fields[0], target.RequestURI(), nil
		}
	}
	return "", "", fmt.Errorf("%q is not a call below /storage/v1/", line)
}
