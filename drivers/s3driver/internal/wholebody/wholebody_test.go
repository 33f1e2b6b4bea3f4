// SPDX-License-Identifier: Apache-2.0

package wholebody_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/wholebody"
)

// ended is the SDK's body after its end: it has nothing more to write, and returns that as an error.
type ended struct{ io.Reader }

func (e ended) WriteTo(w io.Writer) (int64, error) {
	n, _ := io.Copy(w, e.Reader)
	return n, io.EOF
}

func (ended) Close() error { return nil }

// TestTransport sends a body that is closed while it is sent, which fails without the Transport.
func TestTransport(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
		if r.URL.Path == "/late" { // not before the connection has ended
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	for name, test := range map[string]struct {
		transport http.RoundTripper
		path      string
		fails     bool
	}{
		"net/http alone ends the connection": {http.DefaultTransport, "/late", true},
		"a body of its own arrives":          {wholebody.Transport{Next: http.DefaultTransport}, "/", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+test.path, ended{strings.NewReader("text")})
			if err != nil {
				t.Fatal(err)
			}
			request.ContentLength = 4
			response, err := test.transport.RoundTrip(request)
			if (err != nil) != test.fails {
				t.Fatalf("%v; want an error: %t", err, test.fails)
			}
			if err != nil {
				return
			}
			defer response.Body.Close()
			if text, err := io.ReadAll(response.Body); err != nil || string(text) != "text" {
				t.Errorf("the store has heard %q, %v", text, err)
			}
		})
	}
}
