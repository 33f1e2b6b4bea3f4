// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"context"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
)

// outage is a store that responds with 503 to everything for a while: to more calls than one RPC makes, and
// with COOPER_SOAK for a minute.
type outage struct {
	calls atomic.Int64
	until atomic.Int64
}

const callsOfAnOutage = 4

func (o *outage) begin() {
	length := time.Duration(0)
	if os.Getenv("COOPER_SOAK") != "" {
		length = time.Minute
	}
	o.until.Store(time.Now().Add(length).UnixNano())
	o.calls.Store(callsOfAnOutage)
}

// goesOn counts a call and reports whether the response is 503.
func (o *outage) goesOn() bool {
	return o.calls.Add(-1) >= 0 || time.Now().UnixNano() < o.until.Load()
}

func (o *outage) wrap(next http.RoundTripper) http.RoundTripper {
	return transportFunc(func(request *http.Request) (*http.Response, error) {
		if !o.goesOn() {
			return next.RoundTrip(request)
		}
		return &http.Response{
			StatusCode: http.StatusServiceUnavailable, Status: "503 Service Unavailable", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{}, Body: http.NoBody, Request: request,
		}, nil
	})
}

// TestOutage has one begin before each step of a whole life. A sidecar repeats the step until it is
// done; nothing is made twice.
func TestOutage(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	broken := &outage{}
	// It is not served: the calls that ask for its health would end the outage sooner.
	driver, err := s3driver.New(s3driver.Options{
		Config:      s3driver.Config{Backends: map[string]s3driver.BackendConfig{"main": on.backend}},
		Credentials: credstore.NewMemory(), WrapTransport: broken.wrap,
	})
	if err != nil {
		t.Fatal(err)
	}
	life := names{bucket: "bc-" + drivertest.NewAccount(), account: drivertest.NewAccount()}
	for _, step := range []struct {
		name string
		call func(context.Context, *s3driver.Driver, names) error
	}{{"create", callCreate}, {"grant", callGrant("")}, {"revoke", callRevoke}, {"delete", callDelete}} {
		broken.begin()
		refused := 0
		for err := step.call(t.Context(), driver, life); err != nil; err = step.call(t.Context(), driver, life) {
			drivertest.WantCode(t, err, codes.Unavailable)
			refused++
		}
		t.Logf("%s: %d RPCs returned Unavailable", step.name, refused)
		if refused == 0 {
			t.Errorf("%s: the outage was not noticed", step.name)
		}
		if held := server.Inventory(); step.name == "grant" && (len(held.Buckets) != 1 || len(held.Users) != 1 || len(held.Users[0].Keys) != 1) {
			t.Errorf("the store has %d buckets and users %v, want one each with one key", len(held.Buckets), held.Users)
		}
	}
	if left := server.Inventory(); len(left.Buckets)+len(left.Users) != 0 {
		t.Errorf("left are buckets %v and users %v", left.Buckets, left.Users)
	}
}
