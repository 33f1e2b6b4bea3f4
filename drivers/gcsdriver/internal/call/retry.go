// SPDX-License-Identifier: Apache-2.0

package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

// Attempts is the number of attempts of a call. If all of them fail, the sidecar retries the RPC.
const Attempts = 3

// Pause waits before a retry with this number, counted from 1: 100 ms, 200 ms and so on, up to 3 s, with 50% jitter.
// It ends when the context does.
func Pause(ctx context.Context, attempt int) error {
	wait := min(100*time.Millisecond<<min(attempt-1, 6), 3*time.Second)
	timer := time.NewTimer(wait/2 + rand.N(wait)) //nolint:gosec // spreads load, guards nothing
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Settle repeats run until it succeeds, until inTime reports that waiting will not resolve the error, or until the
// number of attempts is reached. In the last case, the next RPC can continue.
func Settle[T any](ctx context.Context, attempts int, inTime func(error) bool, run func() (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		answer, err := run()
		if err == nil || attempt == attempts || !inTime(err) {
			return answer, err
		}
		if err := Pause(ctx, attempt); err != nil {
			var none T
			return none, err
		}
	}
}

// Retry retries requests after transient failures as Google's "Retry strategy" recommends: on 408, 429, 500, 502, 503
// and 504, and on broken connections. All of the driver's requests may be retried, except those marked by DoOnce.
type Retry struct {
	// Next sends one request.
	Next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (r Retry) RoundTrip(request *http.Request) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		sent, err := again(request, attempt)
		if err != nil {
			return nil, err
		}
		response, err := r.Next.RoundTrip(sent)
		if attempt == Attempts || once(request.Context()) || !momentary(response, err) {
			return response, err
		}
		if response != nil {
			// A connection is reused only after its response has been read.
			_, _ = io.CopyN(io.Discard, response.Body, 64<<10)
			_ = response.Body.Close()
		}
		if err := Pause(request.Context(), attempt); err != nil {
			return nil, err
		}
	}
}

// again returns the request for an attempt with a new body, because a body can be read only once.
func again(request *http.Request, attempt int) (*http.Request, error) {
	if attempt == 1 || request.Body == nil || request.Body == http.NoBody {
		return request, nil
	}
	if request.GetBody == nil {
		return nil, errors.New("repeat a request: its body cannot be read again")
	}
	body, err := request.GetBody()
	if err != nil {
		return nil, fmt.Errorf("repeat a request: %w", err)
	}
	fresh := request.Clone(request.Context())
	fresh.Body = body
	return fresh, nil
}

func momentary(response *http.Response, err error) bool {
	if err != nil {
		return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
	}
	return slices.Contains([]int{
		http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
	}, response.StatusCode)
}
