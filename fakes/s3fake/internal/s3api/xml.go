// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"bytes"
	"crypto/md5" //nolint:gosec // Content-MD5 is part of the protocol
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/checksum"
	"github.com/cooper-cosi/cooper/fakes/internal/xmltext"
)

const namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

// document builds an XML response. Listings are long, which is why it does not use reflection.
type document struct {
	buf  bytes.Buffer
	open []string
}

func newDocument(root string) *document { return newDocumentOf(root, namespace) }

func newDocumentOf(root, namespace string) *document {
	d := &document{}
	d.buf.WriteString(xml.Header)
	d.buf.WriteString("<" + root + ` xmlns="` + namespace + `">`)
	d.open = append(d.open, root)
	return d
}

func (d *document) start(name string) *document {
	d.buf.WriteString("<" + name + ">")
	d.open = append(d.open, name)
	return d
}

func (d *document) end() *document {
	last := len(d.open) - 1
	d.buf.WriteString("</" + d.open[last] + ">")
	d.open = d.open[:last]
	return d
}

func (d *document) text(name, value string) *document {
	d.buf.WriteByte('<')
	d.buf.WriteString(name)
	d.buf.WriteByte('>')
	escape(&d.buf, value)
	d.buf.WriteString("</")
	d.buf.WriteString(name)
	d.buf.WriteByte('>')
	return d
}

// optional writes the element unless the value is empty.
func (d *document) optional(name, value string) *document {
	if value == "" {
		return d
	}
	return d.text(name, value)
}

func (d *document) int(name string, value int64) *document {
	return d.text(name, strconv.FormatInt(value, 10))
}

func (d *document) bool(name string, value bool) *document {
	return d.text(name, strconv.FormatBool(value))
}

// time writes the time of a bucket, an object or a part, which S3 keeps in seconds.
func (d *document) time(name string, t time.Time) *document {
	return d.text(name, stamp(t.Truncate(time.Second)))
}

// stamp is how S3 writes times in XML.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// escape writes text, with control characters as references: S3 returns keys that hold them.
func escape(b *bytes.Buffer, s string) {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		c := s[i]
		plain = c >= ' ' && c < 0x7f && c != '<' && c != '>' && c != '&' && c != '"' && c != '\''
	}
	if plain {
		b.WriteString(s)
		return
	}
	for _, r := range s {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '"':
			b.WriteString("&quot;")
		case r < ' ' || r == 0x7f:
			b.WriteString("&#x" + strconv.FormatInt(int64(r), 16) + ";")
		default:
			b.WriteRune(r)
		}
	}
}

// bytes returns the complete document.
func (d *document) bytes() []byte {
	for len(d.open) > 0 {
		d.end()
	}
	return d.buf.Bytes()
}

// send responds with the document.
func (q *request) send(d *document) error { return q.raw(contentXML, d.bytes()) }

const contentXML = "application/xml"

// raw responds with a stored document.
func (q *request) raw(contentType string, body []byte) error {
	return q.respond(http.StatusOK, contentType, body)
}

func (q *request) respond(status int, contentType string, body []byte) error {
	h := q.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	q.done = true
	q.w.WriteHeader(status)
	_, _ = q.w.Write(body) // fails only if the client has disconnected
	return nil
}

// status responds without a body.
func (q *request) status(code int) error {
	if code == http.StatusOK {
		q.w.Header().Set("Content-Length", "0")
	}
	q.done = true
	q.w.WriteHeader(code)
	return nil
}

// statusUnless returns err, or responds with a status if it is nil.
func (q *request) statusUnless(err error, code int) error {
	if err != nil {
		return err
	}
	return q.status(code)
}

// writeError responds with an error document.
func (q *request) writeError(e *awserr.Error) {
	if q.done {
		panic(http.ErrAbortHandler)
	}
	h := q.w.Header()
	maps.Copy(h, e.Header)
	if e.Status == http.StatusNotModified { // with the ETag and the dates of the object (RFC 9110, 15.4.5)
		q.w.WriteHeader(e.Status)
		return
	}
	for _, name := range []string{"Etag", "Content-Length", "Accept-Ranges"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/xml")
	var b bytes.Buffer
	begin, middle, end := "<Error>", "", "</Error>"
	if q.control {
		begin, middle, end = "<ErrorResponse><Error>", "</Error>", "</ErrorResponse>"
	}
	b.WriteString(xml.Header + begin)
	for _, f := range append([]awserr.Field{{Name: "Code", Value: e.Code}, {Name: "Message", Value: e.Message}}, e.Fields...) {
		var text bytes.Buffer
		escape(&text, f.Value)
		b.WriteString("<" + f.Name + ">" + xmltext.Plain(text.String()) + "</" + f.Name + ">")
	}
	b.WriteString(middle + "<RequestId>" + q.id + "</RequestId><HostId>" + HostID + "</HostId>" + end)
	if q.r.Method == http.MethodHead {
		q.w.WriteHeader(e.Status)
		return
	}
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	q.w.WriteHeader(e.Status)
	_, _ = q.w.Write(b.Bytes()) // fails only if the client has disconnected
}

// Malformed returns the body of the response to a request whose URL cannot be parsed.
func Malformed() []byte {
	return []byte(xml.Header + "<Error><Code>" + errInvalidURI.Code + "</Code><Message>Couldn't parse the specified URI.</Message></Error>")
}

// HostID is the second request ID of every response, also in the header x-amz-id-2. The fake is one host, so it is constant.
const HostID = "Y29vcGVyLXMzZmFrZQ=="

// maxDocument bounds XML and JSON bodies: 1000 keys of 1 KiB and their markup.
const maxDocument = 4 << 20

// readBody reads a document body and verifies Content-MD5 and checksums over it.
func (q *request) readBody() ([]byte, error) {
	if q.document != nil {
		return q.document, nil
	}
	raw, err := q.readDocument()
	if err == nil {
		q.document = raw
	}
	return raw, err
}

func (q *request) readDocument() ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(q.body, maxDocument+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxDocument {
		return nil, awserr.New(http.StatusBadRequest, "MaxMessageLengthExceeded", "Your request was too big.").With("MaxMessageLengthBytes", itoa(maxDocument))
	}
	if v := q.r.Header.Get("Content-Md5"); v != "" {
		sum := md5.Sum(raw) //nolint:gosec // see the import
		want, err := base64.StdEncoding.DecodeString(v)
		switch {
		case err != nil || len(want) != md5.Size:
			return nil, errInvalidDigest.With("Content-MD5", v)
		case !bytes.Equal(want, sum[:]):
			return nil, errBadDigest.With("ExpectedDigest", hex.EncodeToString(want)).With("CalculatedDigest", base64.StdEncoding.EncodeToString(sum[:]))
		}
	}
	want, err := q.checksumHeader()
	if err != nil || want.Value == "" {
		return raw, err
	}
	h := want.Algorithm.New()
	_, _ = h.Write(raw) // a hash never fails
	if checksum.Encode(h) != want.Value {
		return nil, badChecksum(want.Algorithm)
	}
	return raw, nil
}

// requireChecksum rejects bodies without Content-MD5 or a checksum.
func (q *request) requireChecksum() error {
	if q.r.Header.Get("Content-Md5") != "" {
		return nil
	}
	want, err := q.checksumHeader()
	if err == nil && want.Value == "" {
		return errChecksumRequired
	}
	return err
}

// readXML reads the body into a document of the schema.
func (q *request) readXML(into any) error {
	raw, err := q.readBody()
	if err != nil {
		return err
	}
	return parseXML(raw, into)
}

func unsupportedElement(name string) error {
	return notImplemented(name, "The element "+name+" is not supported by this fake.")
}

func parseXML(raw []byte, into any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		return errMissingBody
	}
	dec := xml.NewDecoder(bytes.NewReader(raw))
	if err := dec.Decode(into); err != nil {
		if e, ok := errors.AsType[*awserr.Error](err); ok {
			return e
		}
		return errMalformedXML
	}
	for {
		t, err := dec.Token()
		if errors.Is(err, io.EOF) {
			if name := accept.UnknownElement(raw, into); name != "" {
				return unsupportedElement(name)
			}
			return nil
		}
		if err != nil {
			return errMalformedXML
		}
		if c, ok := t.(xml.CharData); !ok || strings.TrimSpace(string(c)) != "" {
			return errMalformedXML
		}
	}
}
