// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// resumable starts a resumable upload as a caller and returns the path of its session.
func (w *world) resumable(t *testing.T, token, name string) string {
	t.Helper()
	got := w.send(t, token, operation{method: "POST", path: up + "?uploadType=resumable&name=" + name})
	_, path, ok := strings.Cut(got.Header().Get("Location"), "http://127.0.0.1")
	if !ok {
		t.Fatalf("start an upload: %d %s", got.Code, got.Body)
	}
	return path
}

// TestSessionOfAnotherPath uses the ID of an upload in the path of another bucket or object, before and after the upload
// is complete.
func TestSessionOfAnotherPath(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	started := w.send(t, w.admin, operation{method: "POST", path: "/docs/by-xml", headers: "X-Goog-Resumable: start"})
	_, session, _ := strings.Cut(started.Header().Get("Location"), "http://127.0.0.1")
	for path, others := range map[string][]string{
		w.resumable(t, w.admin, "by-json"): {"/b/fine/"},
		session:                            {"/fine/by-xml", "/docs/other"},
	} {
		expect := func() {
			t.Helper()
			for _, other := range others {
				at := strings.Replace(strings.Replace(path, "/b/docs/", other, 1), "/docs/by-xml", other, 1)
				for _, method := range []string{"PUT", "DELETE"} {
					if got := w.send(t, "", operation{method: method, path: at, body: "x"}); got.Code != http.StatusNotFound {
						t.Errorf("%s %s: %d %s", method, at, got.Code, got.Body)
					}
				}
			}
		}
		expect()
		if got := w.send(t, "", operation{method: "PUT", path: path, body: "x"}); got.Code != http.StatusOK {
			t.Errorf("PUT %s: %d %s", path, got.Code, got.Body)
		}
		expect()
	}
}

// TestPreconditionOfASession starts an upload whose precondition does not hold. The last request fails.
func TestPreconditionOfASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	started := w.send(t, w.admin, operation{method: "POST", path: "/docs/o", headers: "X-Goog-Resumable: start\nX-Goog-If-Generation-Match: 0"})
	_, byXML, _ := strings.Cut(started.Header().Get("Location"), "http://127.0.0.1")
	for _, session := range []string{w.resumable(t, w.admin, "o&ifGenerationMatch=0"), byXML} {
		if got := w.send(t, "", operation{method: "PUT", path: session, body: "x"}); got.Code != http.StatusPreconditionFailed {
			t.Errorf("PUT %s: %d %s", session, got.Code, got.Body)
		}
	}
}

// slowBody calls a function before the body is read.
type slowBody struct {
	io.Reader

	before func()
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.before != nil {
		b.before()
		b.before = nil
	}
	return b.Reader.Read(p)
}

// TestChangeOfAReplacedObject replaces an object between the authorization of a change and the change.
func TestChangeOfAReplacedObject(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"PATCH", "PUT"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			defer w.close(t)
			req := w.request(t, operation{method: method, path: o})
			req.Header.Set("Authorization", "Bearer "+w.admin)
			req.ContentLength = -1
			req.Body = io.NopCloser(&slowBody{strings.NewReader(`{"metadata":{"a":"b"}}`), func() {
				w.must(t, operation{method: "POST", path: up + "?uploadType=media&name=o", body: "new"})
			}})
			if got := w.serve(req); got.Code != http.StatusNotFound {
				t.Errorf("%d %s", got.Code, got.Body)
			}
			if got := w.send(t, w.admin, operation{method: "GET", path: o}); strings.Contains(got.Body.String(), "metadata\"") {
				t.Errorf("the new object is %s", got.Body)
			}
		})
	}
}

// TestUploadsOfUnknownSize sends the ranges of Google's client for Node, without credentials: the URL of the session is
// enough. See nodejs-storage, src/resumable-upload.ts.
func TestUploadsOfUnknownSize(t *testing.T) {
	t.Parallel()
	type chunk struct {
		header string
		size   int
		status int
	}
	for name, chunks := range map[string][]chunk{
		"a stream":                       {{"bytes 0-*/*", 2, 200}},
		"a stream of nothing":            {{"bytes 0-*/*", 0, 200}},
		"a stream of 256 KiB":            {{"bytes 0-*/*", 256 << 10, 200}},
		"a stream after a chunk":         {{"bytes 0-262143/*", 256 << 10, 308}, {"bytes 262144-*/*", 7, 200}},
		"a stream of nothing at the end": {{"bytes 0-262143/*", 256 << 10, 308}, {"bytes 262144-*/*", 0, 200}},
		"a stream with a gap":            {{"bytes 7-*/*", 2, 503}},
		"a chunk that is no multiple":    {{"bytes 0-262144/262146", 262145, 308}, {"bytes 262145-262145/262146", 1, 200}},
		"a chunk that is too small":      {{"bytes 0-262142/*", 262143, 400}},
		"a chunk of unknown length":      {{"bytes 0-*/2", 2, 200}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			defer w.close(t)
			path, sent := w.resumable(t, w.admin, "stream"), ""
			for _, c := range chunks {
				part := string(body(c.size))
				sent += part
				req := w.request(t, operation{method: "PUT", path: path, headers: "Content-Range: " + c.header, body: part})
				req.ContentLength = -1
				if got := w.serve(req); got.Code != c.status {
					t.Fatalf("%s: %d %s", c.header, got.Code, got.Body)
				}
			}
			got := w.send(t, w.admin, operation{method: "GET", path: b + "/o/stream?alt=media"})
			if finished := chunks[len(chunks)-1].status == http.StatusOK; finished != (got.Code == http.StatusOK && got.Body.String() == sent) {
				t.Errorf("%d with %d bytes, want %d", got.Code, got.Body.Len(), len(sent))
			}
		})
	}
}

// TestSimpleUploadsByPUT uploads with PUT. Scopes and permissions are those of POST.
func TestSimpleUploadsByPUT(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	reads, err := w.Token(w.AdminEmail(""), "https://www.googleapis.com/auth/devstorage.read_only")
	wantNoError(t, err)
	for name, tc := range map[string]struct {
		token, query, kind, body string
		want                     int
	}{
		"media":                  {w.admin, "uploadType=media&name=a", "text/plain", "x", 200},
		"multipart":              {w.admin, "uploadType=multipart", "multipart/related; boundary=z", "--z\r\n\r\n{\"name\":\"b\"}\r\n--z\r\n\r\nx\r\n--z--", 200},
		"with a scope for reads": {reads, "uploadType=media&name=c", "", "x", 403},
		"without credentials":    {"", "uploadType=media&name=d", "", "x", 401},
		"without a session":      {w.admin, "uploadType=resumable&name=e", "", "x", 404},
	} {
		got := w.send(t, tc.token, operation{method: "PUT", path: up + "?" + tc.query, headers: "Content-Type: " + tc.kind, body: tc.body})
		if got.Code != tc.want {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
}

// TestDocumentsOfClients sends integers as numbers, as the clients for Node and Python do, and an empty list.
func TestDocumentsOfClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	const fine = "/storage/v1/b/fine"
	for _, tc := range []struct {
		name string
		operation

		status          int
		contains, lacks string
	}{
		{"a retention period", operation{method: "PATCH", path: fine, body: `{"retentionPolicy":{"retentionPeriod":10}}`}, 200, `"retentionPeriod":"10"`, "null"},
		{"no soft delete", operation{method: "PATCH", path: fine, body: `{"softDeletePolicy":{"retentionDurationSeconds":0}}`}, 200, `"retentionDurationSeconds":"0"`, "null"},
		{"no retention period", operation{method: "PATCH", path: fine, body: `{"retentionPolicy":null}`}, 200, "fine", "retentionPolicy"},
		{"half a second", operation{method: "PATCH", path: fine, body: `{"retentionPolicy":{"retentionPeriod":10.5}}`}, 400, "parseError", "null"},
		{"a word", operation{method: "PATCH", path: fine, body: `{"retentionPolicy":{"retentionPeriod":"ten"}}`}, 400, "parseError", "null"},
		{"a precondition of a source", operation{method: "POST", path: fine + "/o/x/compose", body: `{"sourceObjects":[{"name":"o","objectPreconditions":{"ifGenerationMatch":1}}]}`}, 412, "conditionNotMet", "null"},
		{"a generation of a source", operation{method: "POST", path: fine + "/o/x/compose", body: `{"sourceObjects":[{"name":"o","generation":1}]}`}, 404, "notFound", "null"},
		{"CORS", operation{method: "PATCH", path: fine, body: `{"cors":[{"origin":["*"],"method":["GET"],"maxAgeSeconds":1}]}`}, 200, `"cors"`, "null"},
		{"labels", operation{method: "PATCH", path: fine, body: `{"labels":{"a":"b"}}`}, 200, `"labels"`, "null"},
		{"no labels", operation{method: "PATCH", path: fine, body: `{"labels":{"a":null}}`}, 200, "fine", `"labels"`},
		{"options of a list", operation{method: "GET", path: fine + "/o?force=true&includeFiles=true&private=true"}, 200, `"items"`, "null"},
		{"options of a deletion", operation{method: "DELETE", path: fine + "/o/o?force=true&prefix=x&versions=true"}, 204, "", "null"},
		{"no CORS", operation{method: "PATCH", path: fine, body: `{"cors":[]}`}, 200, "fine", `"cors"`},
	} {
		got := w.send(t, w.admin, tc.operation)
		if text := got.Body.String(); got.Code != tc.status || !strings.Contains(text, tc.contains) || strings.Contains(text, tc.lacks) {
			t.Errorf("%s: %d %s", tc.name, got.Code, text)
		}
	}
}

// zipped returns gzip of a text.
func zipped(t *testing.T, text string) string {
	t.Helper()
	var z bytes.Buffer
	writer := gzip.NewWriter(&z)
	_, err := io.WriteString(writer, text)
	wantNoError(t, err)
	wantNoError(t, writer.Close())
	return z.String()
}

// TestCompressedRequests sends bodies that are compressed for transport, as Google's client for Java does by default.
func TestCompressedRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	session := w.resumable(t, w.admin, "resumed")
	for name, tc := range map[string]struct {
		operation

		status int
		// read is an object with the content "plain".
		read string
	}{
		"a document":                 {operation{method: "POST", path: "/storage/v1/b?project=cooper-fake", body: zipped(t, `{"name":"fresh"}`)}, 200, ""},
		"a media upload":             {operation{method: "POST", path: up + "?uploadType=media&name=media", body: zipped(t, "plain")}, 200, "media"},
		"a multipart upload":         {operation{method: "POST", path: up + "?uploadType=multipart", headers: "\nContent-Type: multipart/related; boundary=z", body: zipped(t, "--z\r\n\r\n{\"name\":\"b\"}\r\n--z\r\n\r\nplain\r\n--z--")}, 200, "b"},
		"an attribute by XML":        {operation{method: "PUT", path: "/docs/xml", body: zipped(t, "plain")}, 200, "xml"},
		"a chunk":                    {operation{method: "PUT", path: session, body: zipped(t, "plain")}, 400, ""},
		"no body":                    {operation{method: "GET", path: "/storage/v1/b/docs/iam"}, 200, ""},
		"a document that is none":    {operation{method: "POST", path: "/storage/v1/b?project=cooper-fake", body: `{"name":"other"}`}, 400, ""},
		"a document that is cut off": {operation{method: "POST", path: "/storage/v1/b?project=cooper-fake", body: zipped(t, `{"name":"other"}`)[:20]}, 400, ""},
		"an upload that is cut off":  {operation{method: "POST", path: up + "?uploadType=media&name=cut", body: zipped(t, "plain")[:20]}, 400, ""},
	} {
		tc.headers = "Content-Encoding: gzip" + tc.headers
		if got := w.send(t, w.admin, tc.operation); got.Code != tc.status {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
		if tc.read == "" {
			continue
		}
		if got := w.send(t, w.admin, operation{method: "GET", path: b + "/o/" + tc.read + "?alt=media"}); got.Body.String() != "plain" {
			t.Errorf("%s: it stored %q", name, got.Body)
		}
	}
	if got := w.send(t, w.admin, operation{method: "PUT", path: session, headers: "Content-Encoding: br", body: "x"}); got.Code != http.StatusBadRequest {
		t.Errorf("another coding: %d %s", got.Code, got.Body)
	}
}

// TestGzip reads objects with the content encoding gzip, as "Transcoding of gzip-compressed files" describes.
func TestGzip(t *testing.T) {
	t.Parallel()
	plain := string(body(100))
	compressed := zipped(t, plain)
	for name, tc := range map[string]struct {
		stored, accepts, requested string
		want, encoding             string
		status                     int
	}{
		"compressed":                   {stored: compressed, want: plain, status: 200},
		"compressed twice":             {stored: compressed + compressed, want: plain + plain, status: 200},
		"a range of it":                {stored: compressed, requested: "bytes=0-1", want: plain, status: 200},
		"accepted":                     {stored: compressed, accepts: "deflate, GZIP;q=0.5", want: compressed, encoding: "gzip", status: 200},
		"accepted by a star":           {stored: compressed, accepts: "br, *", want: compressed, encoding: "gzip", status: 200},
		"excluded":                     {stored: compressed, accepts: "gzip;q=0", want: plain, status: 200},
		"excluded with more digits":    {stored: compressed, accepts: "*, gzip; q=0.000", want: plain, status: 200},
		"another coding":               {stored: compressed, accepts: "gzipped", want: plain, status: 200},
		"not compressed":               {stored: "hello", want: "hello", encoding: "gzip", status: 200},
		"a range of an uncompressed":   {stored: "hello", requested: "bytes=1-2", want: "el", encoding: "gzip", status: 206},
		"empty":                        {stored: "", want: "", encoding: "gzip", status: 200},
		"incomplete":                   {stored: compressed[:len(compressed)-9], want: compressed[:len(compressed)-9], encoding: "gzip", status: 200},
		"with something after it":      {stored: compressed + "x", want: compressed + "x", encoding: "gzip", status: 200},
		"not compressed, and accepted": {stored: "hello", accepts: "gzip", want: "hello", encoding: "gzip", status: 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			defer w.close(t)
			w.must(t, operation{method: "POST", path: up + "?uploadType=media&name=z&contentEncoding=gzip", body: tc.stored})
			headers := ""
			for header, value := range map[string]string{"Accept-Encoding": tc.accepts, "Range": tc.requested} {
				if value != "" {
					headers += header + ": " + value + "\n"
				}
			}
			for _, path := range []string{b + "/o/z?alt=media", "/docs/z"} {
				got := w.send(t, w.admin, operation{method: "GET", path: path, headers: strings.TrimSuffix(headers, "\n")})
				if got.Code != tc.status || got.Body.String() != tc.want || got.Header().Get("Content-Encoding") != tc.encoding {
					t.Errorf("%s: %d %q, encoding %q", path, got.Code, got.Body, got.Header().Get("Content-Encoding"))
				}
			}
		})
	}
}

// TestGlobsWithDelimiter lists with both, as measured on the service for fake-gcs-server's pull request 2328.
func TestGlobsWithDelimiter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	for _, name := range []string{"brand.jpg", "hi-res/party-01.jpg", "hi-res/party-02.jpg", "hi-res/deep/party-09.jpg", "low-res/party-01.jpg", "empty-dir/readme.txt"} {
		w.must(t, operation{method: "POST", path: "/upload/storage/v1/b/empty/o?uploadType=media&name=img/" + name, body: "x"})
	}
	for glob, want := range map[string]struct{ items, prefixes []string }{
		"img/**.jpg": {items: []string{"img/brand.jpg"}},
		"img/*/":     {prefixes: []string{"img/empty-dir/", "img/hi-res/", "img/low-res/"}},
		"img/*":      {items: []string{"img/brand.jpg"}},
		"**":         {items: []string{"img/brand.jpg"}, prefixes: []string{"img/empty-dir/", "img/hi-res/", "img/low-res/"}},
	} {
		for _, size := range []string{"", "&maxResults=1"} {
			var items, prefixes []string
			for next := ""; ; {
				path := "/storage/v1/b/empty/o?prefix=img/&delimiter=/&matchGlob=" + glob + size + next
				var page struct {
					Items         []struct{ Name string }
					Prefixes      []string
					NextPageToken string
				}
				wantNoError(t, json.Unmarshal(w.send(t, w.admin, operation{method: "GET", path: path}).Body.Bytes(), &page))
				for _, item := range page.Items {
					items = append(items, item.Name)
				}
				prefixes = append(prefixes, page.Prefixes...)
				if page.NextPageToken == "" {
					break
				}
				next = "&pageToken=" + page.NextPageToken
			}
			if diff := gocmp.Diff([][]string{want.items, want.prefixes}, [][]string{items, prefixes}); diff != "" {
				t.Errorf("%s%s (-want +got):\n%s", glob, size, diff)
			}
		}
	}
}

// TestRequestsOfPython sends requests as Google's client for Python does. See google/cloud/storage in python-storage. The
// client sends True and False as booleans. It depends on the microseconds of a custom time, the namespace of multipart
// uploads, and an x-goog-hash header without spaces in the JSON API.
func TestRequestsOfPython(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	w.must(t, operation{method: "POST", path: up + "?uploadType=media&name=dir/", body: "x"})
	w.must(t, operation{method: "DELETE", path: hmac + "/{inactive}"})
	const conditional = `"bindings":[{"role":"roles/storage.objectViewer","members":["user:a@example.com"],"condition":{"title":"t","expression":"true"}}]`
	day := func(n string) string {
		return `{"retention":{"mode":"Unlocked","retainUntilTime":"2999-01-0` + n + `T00:00:00Z"}}`
	}
	for _, tc := range []struct {
		name string
		operation

		status   int
		contains string
	}{
		{"a list with delimiters", operation{method: "GET", path: b + "/o?delimiter=/&includeTrailingDelimiter=True&fields=items(name)"}, 200, `{"name":"dir/"}`},
		{"a list without them", operation{method: "GET", path: b + "/o?delimiter=/&includeTrailingDelimiter=False&fields=items(name)"}, 200, `{"items":[{"name":"o"}]}`},
		{"a bucket with retention of objects", operation{method: "POST", path: "/storage/v1/b?project=cooper-fake&enableObjectRetention=True", body: `{"name":"fresh"}`}, 200, `"objectRetention":{"mode":"Enabled"}`},
		{"a longer retention", operation{method: "PATCH", path: "/storage/v1/b/locked/o/o", body: day("2")}, 200, "2999-01-02"},
		{"a shorter retention", operation{method: "PATCH", path: "/storage/v1/b/locked/o/o?overrideUnlockedRetention=False", body: day("1")}, 403, "retention"},
		{"a shorter retention by force", operation{method: "PATCH", path: "/storage/v1/b/locked/o/o?overrideUnlockedRetention=True", body: day("1")}, 200, "2999-01-01"},
		{"deleted keys", operation{method: "GET", path: hmac + "?showDeletedKeys=True"}, 200, `"DELETED"`},
		{"an unsupported option that is off", operation{method: "GET", path: "/storage/v1/b?project=cooper-fake&softDeleted=False"}, 200, `"docs"`},
		{"microseconds", operation{method: "PATCH", path: o, body: `{"customTime":"2030-01-01T00:00:00.123456Z"}`}, 200, `"customTime":"2030-01-01T00:00:00.123456Z"`},
		{"milliseconds", operation{method: "PATCH", path: o, body: `{"customTime":"2030-01-01T00:00:01Z"}`}, 200, `"customTime":"2030-01-01T00:00:01.000Z"`},
		{"a multipart upload", operation{method: "POST", path: "/docs/parts?uploads"}, 200, `<InitiateMultipartUploadResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`},
		{"a part", operation{method: "PUT", path: "/docs/m?partNumber=2&uploadId={upload}", headers: "X-Goog-Meta-A: b\nX-Goog-Custom-Time: 2030-01-01T00:00:00Z", body: "part"}, 200, ""},
		{"the completion", operation{method: "POST", path: "/docs/m?uploadId={upload}", headers: "X-Goog-Meta-A: b", body: `<CompleteMultipartUpload><Part><PartNumber>2</PartNumber><ETag>"f4c9385f1902f7334b00b9b4ecd164de"</ETag></Part></CompleteMultipartUpload>`}, 200, `<CompleteMultipartUploadResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`},
		{"the cancellation", operation{method: "DELETE", path: "/hard/m?uploadId={keyed upload}", headers: "X-Goog-Meta-A: b\n" + keyHeaders("", 'k')}, 204, ""},
		{"a list of buckets with a slash", operation{method: "GET", path: "/storage/v1/b/?project=cooper-fake"}, 200, `"docs"`},
		{"a list by XML", operation{method: "GET", path: "/docs"}, 200, `<ListBucketResult xmlns="http://doc.s3.amazonaws.com/2006-03-01">`},
		{"a condition without uniform access", operation{method: "PUT", path: "/storage/v1/b/fine/iam", body: `{"version":1,` + conditional + `}`}, 412, "enable uniform bucket-level access"},
		{"a condition with version 1", operation{method: "PUT", path: b + "/iam", body: `{"version":1,` + conditional + `}`}, 400, "at least 3"},
		{"the service agent", operation{method: "PUT", path: b + "/iam", body: `{"bindings":[{"role":"roles/storage.objectViewer","members":["serviceAccount:service-111111111111@gs-project-accounts.iam.gserviceaccount.com"]}]}`}, 200, "service-111111111111@"},
		{"a service agent without its project", operation{method: "PUT", path: b + "/iam", body: `{"bindings":[{"role":"roles/storage.objectViewer","members":["serviceAccount:service-3@gs-project-accounts.iam.gserviceaccount.com"]}]}`}, 400, "does not exist"},
		{"a condition with version 3", operation{method: "PUT", path: b + "/iam", body: `{"version":3,` + conditional + `}`}, 200, `"condition"`},
	} {
		if got := w.send(t, w.admin, tc.operation); got.Code != tc.status || !strings.Contains(got.Body.String(), tc.contains) {
			t.Errorf("%s: %d %s", tc.name, got.Code, got.Body)
		}
	}
	const crc, md5 = "crc32c=ev2UKA==", "md5=qfDmGhN9hqqdtTRl4IAWEg==" // of "second"
	for path, want := range map[string][]string{"/download" + o + "?alt=media": {crc + "," + md5}, "/docs/o": {crc, md5}} {
		got := w.send(t, w.admin, operation{method: "GET", path: path}).Header().Values("X-Goog-Hash")
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// TestBatchOfPython sends a batch as Google's client for Python does: its lines end without a carriage return, and its calls
// have whole URLs.
func TestBatchOfPython(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	const part = "--z\nContent-Type: application/http\nMIME-Version: 1.0\nContent-Transfer-Encoding: 7bit\n\n"
	got := w.send(t, w.admin, operation{method: "POST", path: "/batch/storage/v1", headers: `Content-Type: multipart/mixed; boundary="z"`, body: part +
		"PATCH http://127.0.0.1" + o + "?projection=full HTTP/1.1\nAccept-Encoding: gzip\nContent-Length: 24\nContent-Type: application/json\n\n" + `{"metadata": {"a": "b"}}` + "\n" + part +
		"DELETE http://127.0.0.1" + b + "/o/dir%2Fa HTTP/1.1\nAccept-Encoding: gzip\n\n\n--z--\n"})
	if text := got.Body.String(); got.Code != http.StatusOK || !strings.Contains(text, "HTTP/1.1 200 OK") || !strings.Contains(text, "HTTP/1.1 204 No Content") {
		t.Errorf("%d %s", got.Code, text)
	}
	if got := w.ask(t, "GET", o, "")["metadata"]; gocmp.Diff(got, any(map[string]any{"a": "b"})) != "" {
		t.Errorf("the change of a batch: %v", got)
	}
	w.refused(t, operation{method: "GET", path: b + "/o/dir%2Fa"}, http.StatusNotFound, "notFound")
}
