// SPDX-License-Identifier: Apache-2.0

package drivertest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// Crash kills a process at one of its calls: either before the call takes effect, or after the effect but before the
// response. It counts calls to the backend and writes to the credential store. A dead process makes no more calls.
type Crash struct {
	at          int
	afterEffect bool
	meanwhile   func()

	mu    sync.Mutex
	kill  context.CancelFunc
	calls []string
	dead  bool
}

// Killed is the error returned by calls of a dead process. Clients that check for it do not retry.
type Killed struct{}

// Error implements error.
func (Killed) Error() string { return "the process was killed" }

// NonRetriable prevents retries of the Azure SDK.
func (Killed) NonRetriable() {}

// Paused returns a Crash that pauses the process before the call with the given number, counted from 1, instead of
// killing it. During the pause, it runs the given function. This simulates a leader that is paused and replaced by
// another one.
func Paused(at int, meanwhile func()) *Crash { return &Crash{at: at, meanwhile: meanwhile} }

// Context returns the context for the process's calls. It is canceled when the process dies.
func (c *Crash) Context(t testing.TB) context.Context {
	t.Helper()
	ctx, kill := context.WithCancel(t.Context())
	t.Cleanup(kill)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kill = kill
	return ctx
}

// Dead reports whether the process was killed.
func (c *Crash) Dead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// Calls returns the names of the calls so far.
func (c *Crash) Calls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// Call runs effect as the next call of the process, or kills the process. effect must not depend on the context of
// the process.
func (c *Crash) Call(name string, effect func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return Killed{}
	}
	c.calls = append(c.calls, name)
	if len(c.calls) != c.at {
		return effect()
	}
	if c.meanwhile != nil {
		c.meanwhile()
		return effect()
	}
	c.dead = true
	if c.kill != nil {
		c.kill()
	}
	if c.afterEffect {
		// The process dies before it sees the result of the call.
		_ = effect()
	}
	return Killed{}
}

// Wrap counts the requests of an HTTP client as calls of the process.
func (c *Crash) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		var response *http.Response
		err := c.Call(request.Method+" "+request.URL.RequestURI(), func() error {
			var err error
			// The server's work must not depend on the process that made the request.
			response, err = next.RoundTrip(request.WithContext(context.WithoutCancel(request.Context()))) //nolint:bodyclose // it is the caller's
			return err
		})
		if errors.Is(err, Killed{}) && response != nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			response = nil
		}
		return response, err
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// Store counts the writes to a credential store as calls of the process.
func (c *Crash) Store(store credentials.Store) credentials.Store { return crashStore{store, c} }

type crashStore struct {
	credentials.Store

	crash *Crash
}

func (c crashStore) Put(ctx context.Context, entry credentials.Entry) (credentials.Entry, error) {
	var stored credentials.Entry
	err := c.crash.Call("store.Put "+entry.Account, func() error {
		var err error
		stored, err = c.Store.Put(context.WithoutCancel(ctx), entry)
		return err
	})
	return stored, err
}

func (c crashStore) Delete(ctx context.Context, account string) error {
	return c.crash.Call("store.Delete "+account, func() error {
		return c.Store.Delete(context.WithoutCancel(ctx), account)
	})
}

// CrashMatrix runs the same work repeatedly: once without a crash to count the calls, and then, for each call, once
// with a crash before its effect and once with a crash after it.
type CrashMatrix struct {
	// Sample is the number of cells to run, evenly spaced, unless COOPER_SOAK is set; 0 runs all.
	Sample int
	// Short replaces Sample in go test -short; 0 leaves Sample unchanged.
	Short int
	// Cell prepares the state and runs the work in a process with this crash, ignoring the error. It then runs the
	// work again in a new process and checks the result.
	Cell func(t *testing.T, crash *Crash)
}

// Run runs the matrix until the first failing cell.
func (m CrashMatrix) Run(t *testing.T) {
	t.Helper()
	whole := &Crash{}
	m.Cell(t, whole)
	calls := len(whole.Calls())
	if calls == 0 && !t.Failed() {
		t.Error("the work makes no call that can crash")
	}
	var before, after []*Crash
	for at := range calls {
		before, after = append(before, &Crash{at: at + 1}), append(after, &Crash{at: at + 1, afterEffect: true})
	}
	cells := slices.Concat(before, after) // Spread chooses equally many of both
	if n := cmp.Or(fulltest.Size(m.Short, 0, 0), m.Sample); n > 0 {
		cells = fulltest.Spread(cells, n)
	}
	for _, crash := range cells {
		if t.Failed() {
			return
		}
		m.Cell(t, crash)
		if t.Failed() || !crash.Dead() {
			t.Errorf("killed (%t) at call %d (after its effect: %t) of:\n%s", crash.Dead(), crash.at, crash.afterEffect, strings.Join(crash.Calls(), "\n"))
		}
	}
	t.Logf("%d cells over %d calls", len(cells), calls)
}
