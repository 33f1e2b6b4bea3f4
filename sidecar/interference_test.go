// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// interference returns 429 instead of the API server's response to one write of a Sidecar, which has no effect.
type interference struct {
	// write is the number of the write, from 1.
	write int

	mu     sync.Mutex
	seen   int
	struck []string
}

func (i *interference) wrap(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return transport{next, i} })
	return config
}

// strikes reports whether a request must fail.
func (i *interference) strikes(request *http.Request) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if request.Method == http.MethodGet || strings.Contains(request.URL.Path, "/events") {
		return false
	}
	i.seen++
	if i.seen != i.write {
		return false
	}
	i.struck = append(i.struck, request.Method+" "+request.URL.Path)
	return true
}

type transport struct {
	next http.RoundTripper
	*interference
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if !t.strikes(request) {
		return t.next.RoundTrip(request)
	}
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","message":"struck","code":429}`
	return &http.Response{
		StatusCode: http.StatusTooManyRequests, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Header: http.Header{"Content-Type": {"application/json"}, "Retry-After": {"1"}}, Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}
