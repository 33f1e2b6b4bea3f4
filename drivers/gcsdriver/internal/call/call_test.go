// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/call"
)

// flaky fails the first failures requests with a status.
func flaky(t *testing.T, failures int32, status int) (url string, requests *atomic.Int32) {
	t.Helper()
	requests = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != "body" {
			t.Errorf("request %d has body %q", requests.Load()+1, body)
		}
		if requests.Add(1) <= failures {
			w.WriteHeader(status)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

func TestRetry(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		failures, requests int32
		status, want       int
		once               bool
	}{
		"a problem of a moment is repeated":        {1, 2, 503, 200, false},
		"a lasting problem is returned":            {9, call.Attempts, 503, 503, false},
		"throttling is repeated":                   {2, 3, 429, 200, false},
		"a refusal is not repeated":                {9, 1, 403, 403, false},
		"a conflict is not repeated":               {9, 1, 412, 412, false},
		"what makes something new is not repeated": {9, 1, 503, 503, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, requests := flaky(t, test.failures, test.status)
			client := &http.Client{Transport: call.Retry{Next: http.DefaultTransport}}
			do := call.Do[int]
			if test.once {
				do = call.DoOnce[int]
			}
			got, err := do(t.Context(), call.Storage, "x.y", func(ctx context.Context) (int, error) {
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("body"))
				if err != nil {
					return 0, err
				}
				response, err := client.Do(request)
				if err != nil {
					return 0, err
				}
				return response.StatusCode, response.Body.Close()
			})
			if err != nil || got != test.want || requests.Load() != test.requests {
				t.Errorf("status %d after %d requests, %v; want %d after %d", got, requests.Load(), err, test.want, test.requests)
			}
		})
	}
}

func TestDoNamesTheCall(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	_, err := call.Do(t.Context(), call.IAM, "a.b", func(ctx context.Context) (int, error) {
		if api, operation := call.Name(ctx); api != call.IAM || operation != "a.b" {
			t.Errorf("the call is named %s %s", api, operation)
		}
		return 0, failure
	})
	named, ok := errors.AsType[*call.Error](err)
	if !ok || named.Operation != "a.b" || !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := call.Do(ctx, call.IAM, "a.b", func(context.Context) (int, error) { return 0, failure }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}
