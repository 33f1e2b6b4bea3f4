// SPDX-License-Identifier: Apache-2.0

package memdriver_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

func TestCallsAreRecordedAlsoWhenTheyFail(t *testing.T) {
	t.Parallel()
	driver := memdriver.New(memdriver.Options{})
	client := serve(t, driver)
	driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.Unavailable, Message: "down"})
	requests := []*cosi.DriverCreateBucketRequest{
		{BucketId: "bc-1", Parameters: map[string]string{"k": "v"}}, {BucketId: "bc-1"}, {},
	}
	for _, request := range requests {
		_, _ = client.DriverCreateBucket(t.Context(), request)
	}
	var got []string
	for _, call := range driver.Calls(memdriver.CreateBucket) {
		if call.Finished <= call.Started {
			t.Errorf("the call began at %d and ended at %d", call.Started, call.Finished)
		}
		got = append(got, call.ID+" "+call.Code.String()+" "+call.Message)
	}
	want := []string{"bc-1 Unavailable down", "bc-1 OK ", " InvalidArgument bucket_id is required"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(requests, memdriver.Requests[*cosi.DriverCreateBucketRequest](driver), protocmp.Transform()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if got := len(driver.CallsFor("bc-1")); got != 2 {
		t.Errorf("%d calls for bc-1, want 2", got)
	}
	driver.ForgetCalls()
	if got := driver.Calls(); len(got) != 0 {
		t.Errorf("calls after ForgetCalls: %v", got)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	type fault = memdriver.Fault
	const create = memdriver.CreateBucket
	tests := map[string]struct {
		faults []fault
		// want are the codes of three creations of bc-1, bc-2 and bc-3.
		want        []codes.Code
		wantBuckets []string
	}{
		"none": {nil, []codes.Code{0, 0, 0}, []string{"bc-1", "bc-2", "bc-3"}},
		"one call": {
			[]fault{{RPC: create, Code: codes.Internal}}, []codes.Code{codes.Internal, 0, 0}, []string{"bc-2", "bc-3"},
		},
		"the second call": {
			[]fault{{RPC: create, Skip: 1, Code: codes.Internal}}, []codes.Code{0, codes.Internal, 0}, []string{"bc-1", "bc-3"},
		},
		"two calls": {
			[]fault{{RPC: create, Times: 2, Code: codes.Internal}},
			[]codes.Code{codes.Internal, codes.Internal, 0},
			[]string{"bc-3"},
		},
		"all calls but the first": {
			[]fault{{Skip: 1, Times: memdriver.Always, Code: codes.Internal}},
			[]codes.Code{0, codes.Internal, codes.Internal},
			[]string{"bc-1"},
		},
		"calls for one resource": {
			[]fault{{ID: "bc-3", Times: memdriver.Always, Code: codes.NotFound}},
			[]codes.Code{0, 0, codes.NotFound},
			[]string{"bc-1", "bc-2"},
		},
		"another RPC": {
			[]fault{{RPC: memdriver.DeleteBucket, Code: codes.Internal}}, []codes.Code{0, 0, 0}, []string{"bc-1", "bc-2", "bc-3"},
		},
		"the change is made but the response is lost": {
			[]fault{{RPC: create, AfterEffect: true, Code: codes.Unavailable}},
			[]codes.Code{codes.Unavailable, 0, 0},
			[]string{"bc-1", "bc-2", "bc-3"},
		},
		"several faults in order": {
			[]fault{{Code: codes.Internal}, {Code: codes.Aborted}}, []codes.Code{codes.Internal, codes.Aborted, 0}, []string{"bc-3"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver := memdriver.New(memdriver.Options{})
			client := serve(t, driver)
			driver.Script(test.faults...)
			var got []codes.Code
			for _, id := range []string{"bc-1", "bc-2", "bc-3"} {
				_, err := client.DriverCreateBucket(t.Context(), createOf(id))
				got = append(got, status.Code(err))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("codes %v, want %v", got, test.want)
			}
			var buckets []string
			for _, bucket := range driver.Inventory().Buckets {
				buckets = append(buckets, bucket.ID)
			}
			if diff := cmp.Diff(test.wantBuckets, buckets); diff != "" {
				t.Errorf("buckets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScriptedResponseAndRemoval(t *testing.T) {
	t.Parallel()
	driver := memdriver.New(memdriver.Options{})
	client := serve(t, driver)
	remove := driver.Script(memdriver.Fault{
		RPC: memdriver.GenerateBucketID, Times: memdriver.Always, Answer: &cosi.DriverGenerateBucketIdResponse{BucketId: "x"},
	})
	generate := func(want string) {
		t.Helper()
		response := must[*cosi.DriverGenerateBucketIdResponse](t)(client.DriverGenerateBucketId(t.Context(),
			&cosi.DriverGenerateBucketIdRequest{Name: "bc-1"}))
		if response.GetBucketId() != want {
			t.Errorf("got %q, want %q", response.GetBucketId(), want)
		}
	}
	generate("x")
	generate("x")
	remove()
	generate("bc-1")
	driver.Script(memdriver.Fault{Times: memdriver.Always, Code: codes.Internal})
	driver.ClearScript()
	generate("bc-1")
}

func TestHeldCalls(t *testing.T) {
	t.Parallel()
	driver := memdriver.New(memdriver.Options{})
	client := serve(t, driver)
	release := make(chan struct{})
	driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, ID: "bc-1", Hold: release})
	answered := make(chan error, 1)
	go func() {
		_, err := client.DriverCreateBucket(t.Context(), createOf("bc-1"))
		answered <- err
	}()
	if _, err := driver.Await(t.Context(), memdriver.Started(1), memdriver.CreateBucket); err != nil {
		t.Fatal(err)
	}
	must[*cosi.DriverCreateBucketResponse](t)(client.DriverCreateBucket(t.Context(), createOf("bc-2")))
	_, err := client.DriverDeleteBucket(t.Context(), &cosi.DriverDeleteBucketRequest{BucketId: "bc-1"})
	wantCode(t, err, codes.Aborted)
	_, err = client.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: "bc-1", Protocols: []*cosi.ObjectProtocol{{}}})
	wantCode(t, err, codes.InvalidArgument)
	if got := [...]int{driver.MaxConcurrency("bc-1"), driver.MaxConcurrency("bc-2"), driver.MaxConcurrency("")}; got != [...]int{2, 1, 2} {
		t.Errorf("concurrency of bc-1, bc-2 and at most: %v", got)
	}
	close(release)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	calls, err := driver.Await(t.Context(), memdriver.Finished(4))
	if err != nil || calls[0].ID != "bc-1" || calls[0].Finished != 8 {
		t.Errorf("the held call ended at event %d, want 8: %v", calls[0].Finished, err)
	}
}

func TestHeldCallEndsWithItsClient(t *testing.T) {
	t.Parallel()
	driver := memdriver.New(memdriver.Options{})
	client := serve(t, driver)
	driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Hold: make(chan struct{})})
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, err := client.DriverCreateBucket(ctx, createOf("bc-1"))
		answered <- err
	}()
	if _, err := driver.Await(t.Context(), memdriver.Started(1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	wantCode(t, <-answered, codes.Canceled)
	calls, err := driver.Await(t.Context(), memdriver.Finished(1))
	if err != nil || calls[0].Code != codes.Canceled || len(driver.Inventory().Buckets) != 0 {
		t.Errorf("the call: %+v, %v", calls, err)
	}
	if _, err := driver.Await(ctx, memdriver.Finished(2)); !errors.Is(err, context.Canceled) {
		t.Errorf("Await with an ended context: %v", err)
	}
}

func TestDriverThatDoesNotNoticeItsClientIsGone(t *testing.T) {
	t.Parallel()
	driver := memdriver.New(memdriver.Options{})
	client := serve(t, driver)
	release := make(chan struct{})
	driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Hold: release, IgnoreContext: true})
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, err := client.DriverCreateBucket(ctx, createOf("bc-1"))
		answered <- err
	}()
	if _, err := driver.Await(t.Context(), memdriver.Started(1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	wantCode(t, <-answered, codes.Canceled)
	_, err := client.DriverCreateBucket(t.Context(), createOf("bc-1"))
	wantCode(t, err, codes.Aborted)
	close(release)
	if _, err := driver.Await(t.Context(), memdriver.Finished(2)); err != nil {
		t.Fatal(err)
	}
	if got := len(driver.Inventory().Buckets); got != 1 {
		t.Errorf("%d buckets, want the created one", got)
	}
}

func TestHooks(t *testing.T) {
	t.Parallel()
	driver := memdriver.New(memdriver.Options{})
	client := serve(t, driver)
	var order []string
	memdriver.On(driver, func(_ context.Context, request *cosi.DriverCreateBucketRequest) error {
		order = append(order, "first "+request.GetBucketId())
		if len(driver.Inventory().Buckets) != 0 {
			t.Error("the hook runs after the effect")
		}
		return nil
	})
	remove := memdriver.On(driver, func(context.Context, *cosi.DriverCreateBucketRequest) error {
		order = append(order, "second")
		return status.Error(codes.ResourceExhausted, "quota")
	})
	_, err := client.DriverCreateBucket(t.Context(), createOf("bc-1"))
	wantCode(t, err, codes.ResourceExhausted)
	remove()
	must[*cosi.DriverCreateBucketResponse](t)(client.DriverCreateBucket(t.Context(), createOf("bc-1")))
	must[*cosi.DriverDeleteBucketResponse](t)(client.DriverDeleteBucket(t.Context(), &cosi.DriverDeleteBucketRequest{BucketId: "bc-1"}))
	if diff := cmp.Diff([]string{"first bc-1", "second", "first bc-1"}, order); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
}

func TestAdministratorsActions(t *testing.T) {
	t.Parallel()
	driver := memdriver.New(memdriver.Options{})
	if err := driver.PutObject("none", "o"); status.Code(err) != codes.NotFound {
		t.Errorf("an object without a bucket: %v", err)
	}
	if err := errors.Join(driver.AddBucket("b"), driver.PutObject("b", "o"), driver.PutObject("b", "o"), driver.PutObject("b", "p")); err != nil {
		t.Fatal(err)
	}
	want := []memdriver.Bucket{{
		ID: "b", Protocols: []cosi.ObjectProtocol_Type{cosi.ObjectProtocol_S3}, Foreign: true, Objects: []string{"o", "p"},
	}}
	if diff := cmp.Diff(want, driver.Inventory().Buckets); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
	if err := errors.Join(driver.RemoveObjects("b"), driver.RemoveBucket("b")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(memdriver.Inventory{}, driver.Inventory()); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
}
