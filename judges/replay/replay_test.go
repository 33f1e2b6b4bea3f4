// SPDX-License-Identifier: Apache-2.0

// Package replay_test replays recorded traffic of the real clouds against the fakes. The recordings belong to the Go
// modules gocloud.dev and cloud.google.com/go/storage, and are read from the module cache.
package replay_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// A recording is a file with exchanges in the order in which they were made.
type recording struct {
	name    string
	Entries []*exchange
}

// An exchange is a request and the cloud's answer. Credentials and times are removed or CLEARED.
type exchange struct {
	Request struct {
		Method, URL, MediaType string
		Header                 http.Header
		BodyParts              [][]byte
	}
	Response struct {
		StatusCode int
		Header     http.Header
		Body       []byte
	}
}

func (e *exchange) String() string {
	return fmt.Sprintf("%s %s = %d", e.Request.Method, e.Request.URL, e.Response.StatusCode)
}

// text is the exchange with the JSON of the request.
func (e *exchange) text() string {
	if kind := e.Request.MediaType; kind == "application/json" || kind == "multipart/related" {
		return e.String() + " " + string(e.Request.BodyParts[0])
	}
	return e.String()
}

// A suite is the recordings of one cloud in one module.
type suite struct {
	name, module, files string
	// outside matches the exchanges, with their JSON, that are not sent; each reason is in docs/reference/judges.md.
	outside []exclusion
	// known are the differences that remain. Every other difference is a failure.
	known []exclusion
	// want is the score.
	want  score
	start func(t *testing.T, r *recording) service
	rules rules
}

// An exclusion is a kind of exchange or difference, and the number of exchanges that have it.
type exclusion struct {
	match, reason string
	count         int
}

// A score counts exchanges.
type score struct {
	recorded, sent, status, equal int
}

// A service is a fake with the objects that existed when the recording began.
type service struct {
	url string
	// sign adds what the recorder removed: credentials and cleared values.
	sign func(t *testing.T, r *http.Request, e *exchange)
}

// least is the share of the sent exchanges, in per cent, that must be equal.
const least = 97

// TestReplay prints the scores of docs/reference/judges.md.
func TestReplay(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "the tests of each fake expect the same answers")
	for _, s := range []suite{s3Suite(), azureSuite(), googleSuite(), googleIntegrationSuite()} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(t)
		})
	}
}

// A tally is the total of the recordings of a suite.
type tally struct {
	sync.Mutex
	score
	reasons map[string]int
}

func (s suite) run(t *testing.T) {
	t.Helper()
	all := tally{reasons: map[string]int{}}
	t.Run("recordings", func(t *testing.T) {
		for _, r := range s.load(t) {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				s.replay(t, r, &all)
			})
		}
	})
	got := all.score
	t.Logf("%s: recorded %d, sent %d, equal status %d, equal %d", s.name, got.recorded, got.sent, got.status, got.equal)
	for _, reason := range slices.Sorted(maps.Keys(all.reasons)) {
		t.Logf("%4d %s", all.reasons[reason], reason)
	}
	if got != s.want {
		t.Errorf("got the score %+v, want %+v", got, s.want)
	}
	if got.equal*100 < got.sent*least {
		t.Errorf("%d of %d are equal, want %d %%", got.equal, got.sent, least)
	}
	for _, x := range slices.Concat(s.outside, s.known) {
		if n := all.reasons[x.reason]; n != x.count {
			t.Errorf("got %d excluded because %s, want %d", n, x.reason, x.count)
		}
	}
}

// load reads the recordings out of the module cache.
func (s suite) load(t *testing.T) []*recording {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", s.module).Output()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(strings.TrimSpace(string(dir)), s.files)
	var out []*recording
	err = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".replay" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		r := &recording{name: strings.TrimSuffix(strings.TrimPrefix(path, root), ".replay")}
		out = append(out, r)
		return json.Unmarshal(raw, r)
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(out, func(r *recording) bool { return len(r.Entries) == 0 })
}

func (s suite) replay(t *testing.T, r *recording, all *tally) {
	t.Helper()
	p := player{suite: s, service: s.start(t, r), ours: map[string]string{}}
	for i, e := range r.Entries {
		if reason := matching(s.outside, e.text()); reason != "" {
			all.add(score{recorded: 1}, reason)
			continue
		}
		result := score{recorded: 1, sent: 1}
		differences := p.play(t, e)
		if len(differences) == 0 || !strings.HasPrefix(differences[0], "status ") {
			result.status = 1
		}
		if len(differences) == 0 {
			result.equal = 1
		}
		var reasons []string
		for _, d := range differences {
			reason := matching(s.known, e.String()+": "+d)
			if reason == "" {
				t.Errorf("%d: %s: %s", i, e, d)
			}
			reasons = append(reasons, reason)
		}
		slices.Sort(reasons)
		all.add(result, slices.Compact(reasons)...)
	}
}

func (a *tally) add(s score, reasons ...string) {
	a.Lock()
	defer a.Unlock()
	a.recorded += s.recorded
	a.sent += s.sent
	a.status += s.status
	a.equal += s.equal
	for _, reason := range reasons {
		a.reasons[reason]++
	}
}

// matching returns the reason of the first exclusion that matches.
func matching(exclusions []exclusion, text string) string {
	for _, x := range exclusions {
		if regexp.MustCompile(x.match).MatchString(text) {
			return x.reason
		}
	}
	return ""
}

// A player sends the requests of one recording.
type player struct {
	suite
	service
	// ours maps values that the cloud chose, such as generations, to the values that the fake chose.
	ours map[string]string
}

// client neither decompresses nor follows redirects, like the recorder.
var client = &http.Client{
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 4},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// play sends a request and returns how the answer differs from the recorded one.
func (p player) play(t *testing.T, e *exchange) []string {
	t.Helper()
	r := p.request(t, e)
	p.sign(t, r, e)
	got := send(t, p.url, r)
	return p.compare(t, e, got)
}

// An answer is a response with its body.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send sends a signed request for a host of the cloud to the fake.
func send(t *testing.T, fake string, r *http.Request) answer {
	t.Helper()
	at, err := url.Parse(fake)
	if err != nil {
		t.Fatal(err)
	}
	r.Host, r.URL.Scheme, r.URL.Host = r.URL.Host, at.Scheme, at.Host
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, body}
}

// prepare sends a request that the recording does not contain.
func (s service) prepare(t *testing.T, method, target string, header http.Header, body []byte) {
	t.Helper()
	var e exchange
	e.Request.Method, e.Request.URL = method, target
	r, err := http.NewRequestWithContext(t.Context(), method, target, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	s.sign(t, r, &e)
	if got := send(t, s.url, r); got.status >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: got %d %s", method, target, got.status, got.body)
	}
}

// request is the recorded request with the fake's values.
func (p player) request(t *testing.T, e *exchange) *http.Request {
	t.Helper()
	target, err := url.Parse(e.Request.URL)
	if err != nil {
		t.Fatal(err)
	}
	query := strings.Split(target.RawQuery, "&")
	for i, pair := range query {
		name, value, _ := strings.Cut(pair, "=")
		value, err := url.QueryUnescape(value)
		if err != nil {
			t.Fatal(err)
		}
		if known, ok := p.ours[value]; ok {
			query[i] = name + "=" + url.QueryEscape(known)
		}
	}
	target.RawQuery = strings.Join(query, "&")
	header := e.Request.Header.Clone()
	delete(header, "Content-Length")
	for _, values := range header {
		for i, value := range values {
			if known, ok := p.ours[value]; ok {
				values[i] = known
			}
		}
	}
	body := p.body(t, e, header)
	r, err := http.NewRequestWithContext(t.Context(), e.Request.Method, target.String(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.URL, r.Header = target, header
	if len(body) == 0 {
		r.Body = http.NoBody
	}
	return r
}

// body returns the recorded body. The recorder replaces the boundary of a body with parts, and omits their types.
func (p player) body(t *testing.T, e *exchange, header http.Header) []byte {
	t.Helper()
	if e.Request.MediaType != "" {
		header.Set("Content-Type", e.Request.MediaType)
	}
	parts := e.Request.BodyParts
	if !strings.HasPrefix(e.Request.MediaType, "multipart/") {
		body := bytes.Join(parts, nil)
		if e.Request.MediaType == "application/json" {
			body = p.fill(body)
		}
		return body
	}
	const boundary = "cooper-replay-boundary"
	header.Set("Content-Type", e.Request.MediaType+"; boundary="+boundary)
	var out bytes.Buffer
	for i, part := range parts {
		kind := "Content-Type: application/json\r\n"
		if i > 0 {
			kind = e.contentType()
		}
		fmt.Fprintf(&out, "--%s\r\n%s\r\n%s\r\n", boundary, kind, part)
	}
	fmt.Fprintf(&out, "--%s--\r\n", boundary)
	return out.Bytes()
}

// contentType returns the header of the part with an object. The value is the content type in the cloud's answer.
func (e *exchange) contentType() string {
	var made struct{ ContentType string }
	if err := json.Unmarshal(e.Response.Body, &made); err != nil || made.ContentType == "" {
		return ""
	}
	return "Content-Type: " + made.ContentType + "\r\n"
}

// fill replaces the cloud's values in a JSON body.
func (p player) fill(body []byte) []byte {
	for theirs, ours := range p.ours {
		body = bytes.ReplaceAll(body, []byte(`"`+theirs+`"`), []byte(`"`+ours+`"`))
	}
	return body
}
