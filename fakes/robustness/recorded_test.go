// SPDX-License-Identifier: Apache-2.0

package robustness_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// observed is a response that calls complete when it has all bytes of an object.
type observed struct {
	http.ResponseWriter

	left     int
	complete func()
}

func (o *observed) Write(p []byte) (int, error) {
	n, err := o.ResponseWriter.Write(p)
	if o.left -= n; o.left == 0 {
		o.complete()
	}
	return n, err
}

func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// TestRecordedReads reads objects that do not fit into the buffers of net/http. When the client has the whole object, the
// read is in the record of calls.
func TestRecordedReads(t *testing.T) {
	t.Parallel()
	const size = 300 << 10
	for name, open := range clouds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, completed := open(t), 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				before := len(f.calls())
				f.ServeHTTP(&observed{w, size, func() {
					if completed++; len(f.calls()) != before+1 {
						t.Error("the client has the object, and the call is not recorded")
					}
				}}, r)
			}))
			c := &caller{t: t, url: server.URL, sign: f.sign, Client: server.Client()}
			c.prepare(f.setup)
			put := f.object
			put.body = strings.Repeat("x", size)
			get := f.object
			get.method, get.headers = http.MethodGet, strings.Split(f.object.headers, "\n")[0]
			for _, r := range []request{put, get} {
				if resp, body, err := c.send(r, nil); err != nil || resp.StatusCode >= http.StatusMultipleChoices {
					t.Fatalf("%s %s: %v %v %.200s", r.method, r.path, err, resp, body)
				}
			}
			server.Close()
			if completed != 1 {
				t.Errorf("%d responses had %d bytes", completed, size)
			}
			wantNoError(t, f.Close())
		})
	}
}
