// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
)

// The limits of "Blob Batch".
const (
	maxBatch     = 256
	maxBatchBody = 4 << 20
)

var (
	errBatchCount = azerr.New(http.StatusBadRequest, "ExceedsMaxBatchRequestCount", "The batch operation exceeds maximum number of allowed subrequests.")
	errBatchKinds = azerr.New(http.StatusBadRequest, "AllBatchSubRequestsShouldBeSameApi", "All batch subrequests should be the same api.")
)

// batched is one request of a batch, with the ID that the client gave it.
type batched struct {
	id   string
	call *Call
}

// batch implements Blob Batch for an account and for a container. Each of its requests is authorized separately.
func (c *Call) batch(w http.ResponseWriter) error {
	kind, parameters, _ := strings.Cut(c.r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "multipart/mixed") {
		return azerr.InvalidHeaderValue
	}
	body, err := c.readText()
	if err == nil && len(body) > maxBatchBody {
		err = errSize
	}
	if err != nil {
		return err
	}
	var out bytes.Buffer
	parts := multipart.NewWriter(&out)
	var calls []batched
	boundary, err := boundaryOf(parameters)
	if err == nil {
		calls, err = c.readBatch(string(body), boundary)
	}
	if err != nil {
		// The service accepts an invalid batch and returns the error as the only part, without an ID. azblob and
		// Azurite expect this.
		calls = nil
		refused := partWriter{header: http.Header{"X-Ms-Request-Id": {c.requestID}}}
		c.Fail(&refused, azerr.From(err))
		err = refused.write(parts, "")
	}
	for _, one := range calls {
		response := partWriter{header: http.Header{"X-Ms-Request-Id": {one.call.requestID}}}
		one.call.serveBatched(&response, w.Header().Get("X-Ms-Version"))
		if err = response.write(parts, one.id); err != nil {
			break
		}
	}
	if err == nil {
		err = parts.Close()
	}
	if err != nil {
		return fmt.Errorf("encode the responses of a batch: %w", err)
	}
	w.Header().Set("Content-Type", "multipart/mixed; boundary="+parts.Boundary())
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(out.Bytes()) // fails only if the client has disconnected
	return nil
}

// boundaryOf returns the boundary in the parameters of a Content-Type. Package mime does not accept one that contains =
// without quotes.
func boundaryOf(parameters string) (string, error) {
	var out []string
	for parameter := range strings.SplitSeq(parameters, ";") {
		if name, value, _ := strings.Cut(parameter, "="); strings.EqualFold(strings.TrimSpace(name), "boundary") {
			out = append(out, strings.Trim(strings.TrimSpace(value), `"`))
		}
	}
	switch {
	case len(out) > 1:
		return "", azerr.InvalidInput
	case len(out) == 0 || out[0] == "":
		return "", azerr.InvalidHeaderValue
	}
	return out[0], nil
}

// serveBatched performs a request of a batch. Clients sign these requests without the version, which the batch has.
func (c *Call) serveBatched(w http.ResponseWriter, version string) {
	if strings.HasPrefix(c.r.Header.Get("Authorization"), "SharedKey ") {
		var err error
		if c.Caller, err = c.api.Directory.Authenticate(c.r, c.Target); err != nil {
			c.r.Header.Set("X-Ms-Version", version)
			c.Fail(w, azerr.From(err))
			return
		}
	}
	c.r.Header.Set("X-Ms-Version", version)
	_ = c.Serve(w) // the response has the error
}

// readBatch reads the requests of a batch, which must be of one kind and, for a container, in that container.
func (c *Call) readBatch(body, boundary string) ([]batched, error) {
	texts, err := splitBatch(body, boundary)
	if err != nil {
		return nil, err
	}
	if len(texts) > maxBatch {
		return nil, errBatchCount
	}
	var out []batched
	var kind access.Operation
	for _, text := range texts {
		id, r, err := readBatched(text)
		if err != nil {
			return nil, err
		}
		one := c.inBatch(r)
		op := one.Operation
		if op == access.DeleteBlobVersion {
			op = access.DeleteBlob
		}
		switch {
		case op != access.DeleteBlob && op != access.SetBlobTier, c.Target.Container != "" && one.Target.Container != c.Target.Container:
			return nil, azerr.InvalidInput
		case kind != "" && kind != op:
			return nil, errBatchKinds
		}
		kind = op
		out = append(out, batched{id, one})
	}
	return out, nil
}

// inBatch prepares a request of the batch for the same account. In path style, some clients omit the account in the
// path and in the text that they sign.
func (c *Call) inBatch(r *http.Request) *Call {
	r = r.WithContext(c.r.Context())
	r.Host, r.TLS, r.RemoteAddr, r.Body = c.r.Host, c.r.TLS, c.r.RemoteAddr, http.NoBody
	written := r.URL.EscapedPath()
	root := "/" + c.Target.Account + "/"
	if c.api.hostAccount(r.Host) == "" {
		rest, named := strings.CutPrefix(r.URL.Path, root)
		container, name, _ := strings.Cut(rest, "/")
		if !named || name == "" || c.Target.Container != "" && container != c.Target.Container {
			r.URL.Path, r.URL.RawPath = "/"+c.Target.Account+r.URL.Path, "/"+c.Target.Account+written
		}
	}
	one := c.api.Prepare(r, uuid.NewString())
	one.Target.SignedPath = cmp.Or(one.Target.SignedPath, written)
	return one
}

// splitBatch returns the parts of a batch. The service accepts no text before the first of them.
func splitBatch(body, boundary string) ([]string, error) {
	begin := "--" + boundary + "\r\n"
	rest, ok := strings.CutPrefix(body, begin)
	end := strings.LastIndex(rest, "--"+boundary+"--")
	if !ok || end < 0 {
		return nil, azerr.InvalidInput
	}
	return strings.Split(rest[:end], begin), nil
}

// headerLine is the only form of headers that the service accepts in a batch.
var headerLine = regexp.MustCompile(`^[!#$%&'*+.^_|~0-9A-Za-z-]+: \S(.*\S)?$`)

// readBatched reads a part of a batch: its ID and its request, which has no body.
func readBatched(text string) (id string, r *http.Request, err error) {
	about, text, _ := strings.Cut(text, "\r\n\r\n")
	line, fields, _ := strings.Cut(strings.TrimRight(text, "\r\n"), "\r\n")
	for header := range strings.SplitSeq(about+"\r\n"+fields, "\r\n") {
		if header != "" && !headerLine.MatchString(header) {
			return "", nil, azerr.InvalidInput
		}
		if name, value, _ := strings.Cut(header, ": "); strings.EqualFold(name, "Content-ID") {
			id = value
		}
	}
	r, err = http.ReadRequest(bufio.NewReader(strings.NewReader(line + "\r\n" + fields + "\r\n\r\n")))
	if err != nil || r.ContentLength != 0 || r.URL.Host != "" || !strings.HasPrefix(r.URL.Path, "/") {
		return "", nil, azerr.InvalidInput
	}
	return id, r, nil
}

// partWriter is the response to one request of a batch.
type partWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (p *partWriter) Header() http.Header { return p.header }

// WriteHeader implements http.ResponseWriter.
func (p *partWriter) WriteHeader(status int) { p.status = status }

// Write implements http.ResponseWriter.
func (p *partWriter) Write(b []byte) (int, error) { return p.body.Write(b) }

// write adds the response to the responses of the batch.
func (p *partWriter) write(to *multipart.Writer, id string) error {
	about := textproto.MIMEHeader{"Content-Type": {"application/http"}}
	if id != "" {
		about["Content-ID"] = []string{id}
	}
	part, err := to.CreatePart(about)
	if err != nil {
		return fmt.Errorf("add a response to a batch: %w", err)
	}
	header := http.Header{} // Microsoft's client for JavaScript compares the names with those of the service
	for name, values := range p.header {
		header[strings.ToLower(name)] = values
	}
	response := http.Response{
		StatusCode: p.status, ProtoMajor: 1, ProtoMinor: 1, Header: header,
		ContentLength: int64(p.body.Len()), Body: io.NopCloser(&p.body),
	}
	return response.Write(part)
}
