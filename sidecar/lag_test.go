// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

// lag delays watch events, so that the cache becomes stale, and records reads from the API server.
type lag struct {
	mu    sync.Mutex
	free  chan struct{}       // open while watch events are delayed, nil otherwise
	reads map[string][]string // the responses to reads of single objects, by name
}

func (l *lag) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = make(chan struct{})
}

func (l *lag) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free != nil {
		close(l.free)
		l.free = nil
	}
}

// note records the response to a read.
func (l *lag) note(name string, response *http.Response) error {
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads[name] = append(l.reads[name], string(body))
	return nil
}

func (l *lag) wait() {
	l.mu.Lock()
	free := l.free
	l.mu.Unlock()
	if free != nil {
		<-free
	}
}

type lagging struct {
	next http.RoundTripper
	lag  *lag
}

// RoundTrip implements http.RoundTripper.
func (l lagging) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(request)
	switch {
	case err != nil:
	case request.URL.Query().Get("watch") != "":
		response.Body = lateBody{response.Body, l.lag}
	case request.Method == http.MethodGet:
		err = l.lag.note(path.Base(request.URL.Path), response)
	}
	return response, err
}

type lateBody struct {
	io.ReadCloser

	lag *lag
}

// Read implements io.Reader.
func (b lateBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.lag.wait()
	return n, err
}

// lagSystem has a Sidecar with a cache that can be delayed, and with a short backoff.
func lagSystem(t *testing.T) (*system, *lag) {
	t.Helper()
	s, l := newSystem(t, memdriver.Options{}), &lag{reads: map[string][]string{}}
	s.options.Backoff = reconciler.BackoffOptions{Base: 10 * time.Millisecond, Max: 20 * time.Millisecond}
	s.wrap = func(config *rest.Config) *rest.Config {
		config = rest.CopyConfig(config)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return lagging{next, l} })
		return config
	}
	s.run()
	t.Cleanup(l.end)
	return s, l
}

// untilRead waits until the Sidecar has read an object from the API server and the response contained one of the
// texts.
func (s *system) untilRead(l *lag, name string, texts ...string) {
	s.t.Helper()
	s.Eventually(fmt.Sprintf("the Sidecar has read %q of %s", texts, name), func(context.Context) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, text := range texts {
			if slices.ContainsFunc(l.reads[name], func(read string) bool { return strings.Contains(read, text) }) {
				return nil
			}
		}
		return errors.New("it did not")
	})
}

func TestNothingIsCreatedForADeletedBucket(t *testing.T) {
	t.Parallel()
	s, l := lagSystem(t)
	s.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.Unavailable, Times: memdriver.Always})
	b := s.bucket()
	s.Create(b)
	s.untilCondition(b, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.Retrying)
	s.await(memdriver.CreateBucket, 2)
	l.begin()
	s.leave(b)
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { cosiapi.RemoveProtection(b) })
	s.Gone(b)
	s.untilRead(l, b.Name, cosiapi.BucketClaimBeingDeletedAnnotation, `"reason":"NotFound"`)
	s.driver.ClearScript()
	l.end()
	s.settled()
	if buckets := s.driver.Inventory().Buckets; len(buckets) > 0 {
		t.Errorf("a bucket was created without a Bucket: %v", buckets)
	}
}

func TestAccessThatIsBeingDeletedIsNotGranted(t *testing.T) {
	t.Parallel()
	s, l := lagSystem(t)
	b := s.readyBucket()
	s.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Code: codes.Unavailable, Times: memdriver.Always})
	a := s.access(b)
	s.handOff(a, b)
	s.untilCondition(a, cosiapi.ConditionProvisioned, metav1.ConditionUnknown, conditions.Retrying)
	s.await(memdriver.GrantAccess, 2)
	l.begin()
	s.Delete(a)
	s.untilRead(l, a.Name, `"deletionTimestamp"`)
	s.driver.ClearScript()
	l.end()
	s.release(a)
	if calls := s.driver.Calls(memdriver.GrantAccess); calls[len(calls)-1].Code == codes.OK {
		t.Error("an access that was being deleted was granted")
	}
}
