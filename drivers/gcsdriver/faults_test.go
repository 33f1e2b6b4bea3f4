// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

func inject(t *testing.T, on google, rules ...fault.Rule) {
	t.Helper()
	mustSucceed(t, on.Faults.Set(fault.Plan{Rules: rules}))
}

// TestDelaysOfPropagation checks that one call waits out short propagation delays at Google.
func TestDelaysOfPropagation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	request := with(grantRequest(drivertest.NewAccount(), readWrite, w.NewBucket(t, nil)), "credentials", "both")
	inject(t, w.google,
		fault.Rule{Operation: "storage.buckets.setIamPolicy", Times: 2, Code: "invalid", Message: "Service account x does not exist."},
		fault.Rule{Operation: "storage.projects.hmacKeys.create", Times: 2, Code: "notFound"},
		fault.Rule{Operation: "iam.projects.serviceAccounts.keys.create", Times: 2, Code: "notFound"},
		fault.Rule{Operation: "storage.projects.hmacKeys.delete", Times: 2, Code: "invalid", Message: "Cannot delete keys in ACTIVE state."},
	)
	w.MustGrant(t, request)
	drivertest.WantCode(t, w.Revoke(t, request), codes.OK)
	if accounts := w.google.Inventory().Accounts; len(accounts) != 0 {
		t.Errorf("left are %+v", accounts)
	}
}

// TestDelaysAcrossCalls lets the next calls go on where one gave up.
func TestDelaysAcrossCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	request := grantRequest(drivertest.NewAccount(), readWrite, w.NewBucket(t, nil))
	w.MustGrant(t, request)
	request.Rotation = "r1" // of two keys, none may work while the other waits
	w.MustGrant(t, request)
	inject(t, w.google, fault.Rule{Operation: "storage.projects.hmacKeys.delete", Times: 8, Code: "invalid", Message: "Cannot delete keys in ACTIVE state."})
	drivertest.WantCode(t, w.Revoke(t, request), codes.Unavailable, "tries again")
	left := w.google.Inventory()
	if len(left.Accounts[0].HMAC) != 2 {
		t.Errorf("left are %v", left.Accounts[0].HMAC)
	}
	for _, state := range left.Accounts[0].HMAC {
		if state != "INACTIVE" {
			t.Errorf("a key is %s while its removal waits", state)
		}
	}
	if text := fmt.Sprint(left.Buckets[0].Bindings); strings.Contains(text, left.Accounts[0].Email) {
		t.Errorf("while the removal of keys waits, it is bound: %s", text)
	}
	drivertest.WantCode(t, w.Revoke(t, request), codes.OK)
}

func TestLimitsInPlainWords(t *testing.T) {
	t.Parallel()
	on := startGoogle(t, gcsfake.Options{})
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	for name, test := range map[string]struct {
		rule fault.Rule
		text string
	}{
		"HMAC keys":              {fault.Rule{Operation: "storage.projects.hmacKeys.create", Times: 1, Code: "quotaExceeded"}, "ten"},
		"service account keys":   {fault.Rule{Operation: "iam.projects.serviceAccounts.keys.create", Times: 3, Status: http.StatusTooManyRequests, Code: "rateLimitExceeded"}, "ten"},
		"Google limits the rate": {fault.Rule{Operation: "storage.projects.hmacKeys.create", Times: 3, Code: "rateLimitExceeded"}, "limits the rate of requests"},
	} {
		inject(t, on, test.rule)
		_, err := w.DriverGrantBucketAccess(t.Context(), with(grantRequest(drivertest.NewAccount(), readOnly, bucket), "credentials", "both"))
		t.Log(name)
		drivertest.WantCode(t, err, codes.ResourceExhausted, test.text)
	}
	inject(t, on)
	for i := 0; ; i++ {
		if _, err := on.NewAccount("", fmt.Sprintf("account-%d", i)); err != nil {
			break
		}
	}
	_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(drivertest.NewAccount(), readOnly, bucket))
	drivertest.WantCode(t, err, codes.ResourceExhausted, "100", "raise the quota")
}

// TestTenKeys reaches the fake's own limit while another client concurrently creates keys for the account.
func TestTenKeys(t *testing.T) {
	t.Parallel()
	on := startGoogle(t, gcsfake.Options{})
	w := newWorld(t, on, worldOptions{wrap: func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/hmacKeys") {
				for range 10 {
					if _, err := on.NewHMAC(request.URL.Query().Get("serviceAccountEmail")); err != nil {
						break
					}
				}
			}
			return next.RoundTrip(request)
		})
	}})
	request := grantRequest(drivertest.NewAccount(), readOnly, w.NewBucket(t, nil))
	_, err := w.DriverGrantBucketAccess(t.Context(), request)
	drivertest.WantCode(t, err, codes.ResourceExhausted, "ten", "HMAC keys", "iam.gserviceaccount.com")
	// Those keys were never delivered: revoke removes them, too.
	drivertest.WantCode(t, w.Revoke(t, request), codes.OK)
	if accounts := on.Inventory().Accounts; len(accounts) != 0 {
		t.Errorf("left are %+v", accounts)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// TestLostResponses loses the response of every kind of call once, and makes sure that the RPC succeeds,
// now or when it is repeated, and that nothing is made twice.
func TestLostResponses(t *testing.T) {
	t.Parallel()
	on := startGoogle(t, gcsfake.Options{})
	w := newWorld(t, on, worldOptions{})
	for _, operation := range []string{
		"storage.buckets.insert", "iam.projects.serviceAccounts.create", "storage.buckets.setIamPolicy",
		"storage.projects.hmacKeys.create", "storage.projects.hmacKeys.update", "storage.projects.hmacKeys.delete",
		"iam.projects.serviceAccounts.keys.create", "iam.projects.serviceAccounts.keys.delete", "iam.projects.serviceAccounts.delete",
	} {
		for _, effect := range []fault.Effect{fault.Drop, fault.DropAfter} {
			inject(t, on, fault.Rule{Operation: operation, Times: 1, Effect: effect})
			bucket := w.NewBucket(t, nil)
			request := with(grantRequest(drivertest.NewAccount(), readWrite, bucket), "credentials", "both")
			if _, err := w.DriverGrantBucketAccess(t.Context(), request); err != nil {
				drivertest.WantCode(t, err, codes.Unavailable)
				w.MustGrant(t, request)
			}
			if accounts := on.Inventory().Accounts; len(accounts) != 1 || len(accounts[0].HMAC) != 1 || len(accounts[0].Keys) != 1 {
				t.Errorf("%s, %s: accounts are %+v", operation, effect, accounts)
			}
			drivertest.WantCode(t, w.Revoke(t, request), codes.OK)
			drivertest.WantCode(t, w.Delete(t, bucket, nil), codes.OK)
			if held := on.Inventory(); len(held.Accounts)+len(held.Buckets) > 0 {
				t.Errorf("%s, %s: left are %+v", operation, effect, held)
			}
		}
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startGoogle(t, gcsfake.Options{}), worldOptions{})
	bucket := w.NewBucket(t, nil)
	inject(t, w.google, fault.Rule{Operation: "storage.projects.hmacKeys.create", Effect: fault.Delay, Latency: fault.Duration(time.Hour)})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	request := grantRequest(drivertest.NewAccount(), readOnly, bucket)
	_, err := w.DriverGrantBucketAccess(ctx, request)
	drivertest.WantCode(t, err, codes.DeadlineExceeded)
	inject(t, w.google)
	// The caller sees its deadline before the handler has returned.
	for err = context.DeadlineExceeded; err != nil; {
		if _, err = w.DriverGrantBucketAccess(t.Context(), request); err != nil && status.Code(err) != codes.Aborted {
			t.Fatalf("grant after a deadline: %v", err)
		}
	}
}
