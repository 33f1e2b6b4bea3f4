// SPDX-License-Identifier: Apache-2.0

package robustness_test

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// workers is the number of the fuzzer's clients, and batch the number of requests that they send before everything is
// recreated.
const workers, batch = 8, 5000

// TestFuzzedRequests sends requests that were valid before something in them was changed, the same ones in each run of a tier. None
// may end in a panic, or in a failure of the server that is not the service's own response.
func TestFuzzedRequests(t *testing.T) { //nolint:paralleltest // see TestAbortedUploads
	total := fulltest.Size(1000, 10_000, 100_000)
	run(t, 0, func(t *testing.T, f *running) {
		t.Helper()
		statuses := map[int]int{}
		for sent := 0; sent < total; sent += batch {
			if sent > 0 {
				wantNoError(t, f.Reset())
				f.prepare(f.setup)
			}
			f.fuzz(t, uint64(sent), min(batch, total-sent), statuses)
		}
		t.Logf("%d requests, by status: %v", total, statuses)
		if len(statuses) < 5 {
			t.Errorf("the responses are of few kinds: %v", statuses)
		}
	})
}

// fuzz sends n requests by all workers.
func (f *running) fuzz(t *testing.T, seed uint64, n int, statuses map[int]int) {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	for worker := range workers {
		all.Go(func() {
			random := mutator{rand.New(rand.NewPCG(seed, uint64(worker))), f.requests}
			for range n / workers {
				r := random.request()
				resp, body, err := f.send(r, nil)
				if err != nil {
					t.Errorf("%+v: %v", r, err)
					continue
				}
				if resp.StatusCode >= http.StatusInternalServerError && !f.unready(resp.StatusCode, body) {
					t.Errorf("%+v: %d %s", r, resp.StatusCode, body)
				}
				mu.Lock()
				statuses[resp.StatusCode]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
}

// mutator makes requests from those that are known.
type mutator struct {
	*rand.Rand

	known []request
}

func (m mutator) one() request { return m.known[m.IntN(len(m.known))] }

// request is a known request in which up to three things are changed. It is one that can be sent.
func (m mutator) request() request {
	for {
		r := m.one()
		for range m.IntN(4) {
			r = m.change(r)
		}
		path := strings.NewReplacer("{session}", "/s", "{upload}", "u").Replace(r.path)
		if _, err := http.NewRequest(r.method, "http://h"+path, http.NoBody); err == nil && strings.HasPrefix(path, "/") {
			return r
		}
	}
}

// change changes one thing.
func (m mutator) change(r request) request {
	switch m.IntN(7) {
	case 0:
		r.method = []string{"GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE"}[m.IntN(8)]
	case 1:
		r.path = m.text(r.path)
	case 2:
		r.headers = m.headers(r.headers)
	case 3:
		r.headers += "\n" + m.headers(m.one().headers)
	case 4:
		r.body = m.text(r.body)
	case 5:
		r.body = m.one().body
	case 6:
		path, query, _ := strings.Cut(r.path, "?")
		_, other, _ := strings.Cut(m.one().path, "?")
		r.path = path + "?" + strings.Trim(query+"&"+other, "&")
	}
	return r
}

// headers changes the value of one header.
func (m mutator) headers(text string) string {
	lines := strings.Split(text, "\n")
	i := m.IntN(len(lines))
	name, value, ok := strings.Cut(lines[i], ": ")
	if !ok {
		name = []string{"Range", "If-Match", "If-None-Match", "If-Modified-Since", "Content-Md5", "Content-Range", "Content-Encoding", "Content-Type", "Authorization"}[m.IntN(9)]
	}
	value = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, m.text(value))
	lines = slices.Clone(lines)
	lines[i] = name + ": " + value
	return strings.Join(lines, "\n")
}

// strange is what parsers do not expect.
var strange = []string{
	"", "-1", "0", "1", "9223372036854775807", "18446744073709551616", "1e999", "%", "%00", "%2F", "%ff", "..", "//", "?", "&", "=", "#", "\x00", "\xff", "é", "\u202e", "'", "\"", "<", ">", "]]>", "<!--",
	"{", "}", "[", "]", "null", "true", "\\", "*", "${aws:username}", "\r\n", " ", "+", ":", ";", ",", "a,b", "bytes=9-1", "Mon, 02 Jan 2006 15:04:05 GMT", "0001-01-01T00:00:00Z", "99999-01-01T00:00:00Z",
	strings.Repeat("a", 2000), strings.Repeat("[", 500), strings.Repeat("<a>", 500), strings.Repeat("{\"a\":", 500),
}

// text puts something strange in the place of a piece of a text, leaves the piece out, or repeats it.
func (m mutator) text(s string) string {
	from := m.IntN(len(s) + 1)
	to := from + m.IntN(min(len(s)-from, 8)+1)
	switch m.IntN(4) {
	case 0:
		return s[:from] + s[to:]
	case 1:
		return s[:to] + s[from:]
	default:
		return s[:from] + strange[m.IntN(len(strange))] + s[to:]
	}
}
