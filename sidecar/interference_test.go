// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// errLost is the error of a request whose response was lost.
var errLost = errors.New("the connection was lost")

// interference makes one write of a Sidecar to the API, or one of its calls, fail.
type interference struct {
	// write is the number of the write that fails, from 1. Zero means none.
	write int
	// busy returns 429 instead of the API server's response. The write has no effect.
	busy bool
	// lost means that the write takes effect and the response is lost.
	lost bool
	// crash kills the Sidecar: from then on all its requests fail.
	crash bool

	mu     sync.Mutex
	seen   int
	struck []string
	fenced bool
	// dead is closed when the Sidecar is killed.
	dead chan struct{}
}

func (i *interference) wrap(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return transport{next, i} })
	return config
}

// kill makes all further requests of the Sidecar fail.
func (i *interference) kill() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.fenced {
		i.fenced = true
		close(i.dead)
	}
}

// next reports whether a request must fail, and whether the Sidecar is dead.
func (i *interference) next(request *http.Request) (strike, fenced bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.fenced {
		return false, true
	}
	if request.Method == http.MethodGet || strings.Contains(request.URL.Path, "/events") {
		return false, false
	}
	i.seen++
	if i.seen != i.write {
		return false, false
	}
	i.struck = append(i.struck, request.Method+" "+request.URL.Path)
	return true, false
}

type transport struct {
	next http.RoundTripper
	*interference
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	strike, fenced := t.interference.next(request)
	switch {
	case fenced:
		return nil, errLost
	case !strike:
		return t.next.RoundTrip(request)
	case t.busy:
		body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","message":"struck","code":429}`
		return &http.Response{
			StatusCode: http.StatusTooManyRequests, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
			Header: http.Header{"Content-Type": {"application/json"}, "Retry-After": {"1"}}, Body: io.NopCloser(strings.NewReader(body)),
		}, nil
	}
	if t.lost {
		response, err := t.next.RoundTrip(request)
		if err == nil {
			err = response.Body.Close()
		}
		if err != nil {
			return nil, err
		}
	}
	if t.crash {
		t.kill()
	}
	return nil, errLost
}

// strikeCall kills the Sidecar at its first call of an RPC and drops the response. effect determines whether the call
// reaches the backend.
func (i *interference) strikeCall(d *memdriver.Driver, rpc memdriver.RPC, effect bool) {
	d.Script(memdriver.Fault{RPC: rpc, AfterEffect: effect, Code: codes.Unavailable})
	memdriver.On(d, func(context.Context, proto.Message) error {
		if len(d.Calls(rpc)) > 0 {
			i.kill()
		}
		return nil
	})
}
