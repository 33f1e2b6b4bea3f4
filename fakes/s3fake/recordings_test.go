// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// recordings is the directory with what Amazon S3 was recorded to answer. The format is described in its README.
const recordings = "testdata/recordings"

// recording is a sequence of requests. Its name is that of the recording in the public tests of LocalStack, of which it
// states the facts.
type recording struct {
	name      string
	exchanges []*exchange
	// keys are the KMS keys that exist; nil means any.
	keys []string
}

type exchange struct {
	request operation
	status  int
	// want are the lines of the answer.
	want []string
	// anonymous requests have no signature. Those of a session have that of its credentials.
	anonymous, session bool
	// partial is an answer that was not recorded. Its lines only name values that later requests need.
	partial bool
	// form are the fields of a browser upload.
	form []field
	// times is how often the request is sent, with {n} counting from 0; 0 is once.
	times int
	// later is how much time passes before the request; lasts is how long its URL is valid.
	later, lasts time.Duration
}

// TestRecordings replays the recordings against the fake, and prints the score of docs/reference/judges.md.
func TestRecordings(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(recordings, "*.txt"))
	wantNoError(t, err)
	total, exchanges := 0, 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		wantNoError(t, err)
		for _, r := range parseRecordings(t, string(raw)) {
			total++
			exchanges += len(r.exchanges)
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				r.replay(t)
			})
		}
	}
	t.Logf("%d recordings with %d requests in %d files", total, exchanges, len(files))
}

// parseRecordings reads "== name", "> request", "< answer" lines.
func parseRecordings(t *testing.T, text string) []recording {
	t.Helper()
	var out []recording
	var current *exchange
	for line := range strings.SplitSeq(text, "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		switch {
		case kind == "==":
			out = append(out, recording{name: rest})
		case kind == ">" && strings.HasPrefix(rest, "keys "):
			out[len(out)-1].keys = strings.Fields(rest)[1:]
		case kind == ">" && current != nil && current.status == 0:
			current.add(t, rest)
		case kind == ">":
			rest, anonymous := strings.CutPrefix(rest, "anonymous ")
			rest, session := strings.CutPrefix(rest, "session ")
			rest, queues := strings.CutPrefix(rest, "sqs ")
			method, path, _ := strings.Cut(rest, " ")
			current = &exchange{anonymous: anonymous, session: session, request: operation{method: method, path: path, headers: "Content-Md5: "}}
			if queues {
				current.request.service, current.request.headers = "sqs", "Content-Md5: \nContent-Type: application/x-www-form-urlencoded"
			}
			last := &out[len(out)-1]
			last.exchanges = append(last.exchanges, current)
		case kind == "<" && current.status == 0:
			code, partial := strings.CutSuffix(rest, " ...")
			status, err := strconv.Atoi(code)
			wantNoError(t, err)
			current.status, current.partial = status, partial
		case kind == "<":
			current.want = append(current.want, rest)
		}
	}
	return out
}

// add reads one line of a request: a header, or the body as a Go string, which may be repeated.
func (e *exchange) add(t *testing.T, line string) {
	t.Helper()
	kind, rest, _ := strings.Cut(line, " ")
	switch kind {
	case "later":
		e.later = duration(t, rest)
		return
	case "lasts":
		e.lasts = duration(t, rest)
		return
	case "times":
		var err error
		e.times, err = strconv.Atoi(rest)
		wantNoError(t, err)
		return
	case "form", "upload":
		name, quoted, _ := strings.Cut(rest, ": ")
		value, err := strconv.Unquote(quoted)
		wantNoError(t, err)
		e.form = append(e.form, field{name: name, value: value, file: kind == "upload"})
		return
	}
	times := 1
	if count, unit, ok := strings.Cut(line, " * "); ok {
		if n, err := strconv.Atoi(count); err == nil {
			times, line = n, unit
		}
	}
	if !strings.HasPrefix(line, `"`) {
		e.request.headers = strings.TrimPrefix(e.request.headers+"\n"+line, "\n")
		return
	}
	body, err := strconv.Unquote(line)
	wantNoError(t, err)
	e.request.body += strings.Repeat(body, times)
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	wantNoError(t, err)
	return d
}

func (r recording) replay(t *testing.T) {
	t.Helper()
	now := time.Now().Truncate(time.Second)
	clock := func() time.Time { return now }
	w := &world{Server: faketest.Open(t, s3fake.New, s3fake.Options{Now: clock, KMSKeys: r.keys}), known: map[string]string{"{n}": "0"}, clock: clock}
	recorder := s3fake.Credentials{AccessKeyID: "AKIARECORDERRECORDER", SecretAccessKey: "secret"}
	wantNoError(t, w.ImportUser(s3fake.ImportedUser{Name: "recorder", Credentials: recorder, Policy: allow("*", "*")}))
	for i, e := range r.exchanges {
		now = now.Add(e.later + time.Millisecond)
		caller := aws.Credentials{AccessKeyID: recorder.AccessKeyID, SecretAccessKey: recorder.SecretAccessKey}
		got := w.perform(t, caller, e)
		for n := 1; n < e.times; n++ {
			w.known["{n}"] = strconv.Itoa(n)
			got = w.perform(t, caller, e)
		}
		where := fmt.Sprintf("request %d, %s %s", i+1, e.request.method, w.fill(e.request.path))
		if got.Code != e.status {
			t.Fatalf("%s: got %d, want %d\n%s", where, got.Code, e.status, got.Body.String())
		}
		if e.partial && len(e.want) == 0 {
			continue
		}
		have, err := answer(got)
		if err != nil {
			t.Fatalf("%s: %v\n%s", where, err, got.Body.String())
		}
		for _, line := range e.want {
			name, want, _ := strings.Cut(line, ": ")
			if list, all := strings.CutSuffix(name, "*"); all {
				maps.DeleteFunc(have, func(name, _ string) bool { return strings.HasPrefix(name, list) })
				continue
			}
			value, ok := have[name]
			if !ok || !w.matches(want, value) {
				t.Errorf("%s: got %s %q, want %q", where, name, value, w.fill(want))
			}
			delete(have, name)
		}
		if e.partial {
			continue
		}
		delete(have, "x-amz-bucket-region") // which the recordings of listings leave out
		for _, name := range slices.Sorted(maps.Keys(have)) {
			t.Errorf("%s: got %s %q, which S3 does not send", where, name, have[name])
		}
	}
}

// placeholder is a part of a recorded value that varies. JSON in a body is not one.
var placeholder = regexp.MustCompile(`\*|\{[a-z]+\d*\}`)

// matches compares a value with a text in which * stands for anything, and {name} for the value that the name has since
// its first occurrence.
func (w *world) matches(want, got string) bool {
	want = w.fill(want)
	for want != "" {
		place := placeholder.FindStringIndex(want)
		if place == nil {
			return want == got
		}
		if !strings.HasPrefix(got, want[:place[0]]) {
			return false
		}
		name := want[place[0]:place[1]]
		got, want = got[place[0]:], want[place[1]:]
		end := len(got)
		if want != "" {
			if end = strings.Index(got, want[:1]); end < 0 {
				return false
			}
		}
		if name != "*" {
			w.known[name] = got[:end]
		}
		got = got[end:]
	}
	return got == ""
}

// answer returns the parts of an answer that were recorded: headers by name and elements by path. Lists have a number.
func answer(got *httptest.ResponseRecorder) (map[string]string, error) {
	out := map[string]string{}
	for name, values := range got.Header() {
		lower := strings.ToLower(name)
		if strings.HasPrefix(lower, "access-control-") || strings.HasPrefix(lower, "x-amz-") && lower != "x-amz-request-id" && lower != "x-amz-id-2" || slices.Contains(comparedHeaders, lower) {
			out[lower] = strings.Join(values, ", ")
		}
	}
	body := got.Body.Bytes()
	if !isXML(got.Header().Get("Content-Type")) || !bytes.HasPrefix(body, []byte("<")) {
		if len(body) > 0 && len(body) <= maxShown && got.Code < http.StatusMultipleChoices {
			out["body"] = strconv.QuoteToASCII(string(body))
		}
		return out, nil
	}
	return out, elements(body, out)
}

// isXML reports whether a response of S3, IAM or STS is a document. Objects can have these types, too.
func isXML(contentType string) bool {
	return contentType == "application/xml" || contentType == "text/xml"
}

// maxShown is the size of the longest body that a recording states.
const maxShown = 300

var comparedHeaders = []string{
	"etag", "accept-ranges", "cache-control", "content-disposition", "content-encoding", "content-language", "content-range", "expires", "location", "allow", "vary",
}

// addText adds the text of an element, or, if it is a JSON object, its members.
func addText(path, text string, out map[string]string) {
	var object map[string]any
	if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &object) == nil {
		flatten(path, object, out)
		return
	}
	out[path] = text
}

func flatten(path string, value any, out map[string]string) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			flatten(path+"."+name, v, out)
		}
	case []any:
		for i, v := range value {
			at := path
			if i > 0 {
				at += "#" + strconv.Itoa(i+1)
			}
			flatten(at, v, out)
		}
	default:
		out[path] = fmt.Sprint(value)
	}
}

func elements(body []byte, out map[string]string) error {
	d := xml.NewDecoder(bytes.NewReader(body))
	var path []string
	counts := map[string]int{}
	text, leaf := "", false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := strings.Join(append(slices.Clone(path), token.Name.Local), ".")
			counts[name]++
			step := token.Name.Local
			if n := counts[name]; n > 1 {
				step += "#" + strconv.Itoa(n)
			}
			path, text, leaf = append(path, step), "", true
		case xml.CharData:
			text += string(token)
		case xml.EndElement:
			if last := path[len(path)-1]; leaf && last != "RequestId" && last != "HostId" && !strings.HasSuffix(strings.Join(path, "."), ".ResponseMetadata.RequestId") {
				addText(strings.Join(path, "."), text, out)
			}
			path, leaf = path[:len(path)-1], false
		case nil:
			return err
		}
	}
}
