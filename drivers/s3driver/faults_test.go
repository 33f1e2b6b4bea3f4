// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// outage is a store that responds with 503 to everything for a while: to more calls than one RPC makes, or for a
// minute with COOPER_SOAK.
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

// TestOutage starts an outage before each step of a complete lifecycle. The step is repeated like a sidecar does
// until it succeeds; nothing is created twice.
func TestOutage(t *testing.T) {
	t.Parallel()
	on, server := startFake(t, s3fake.Options{})
	broken := &outage{}
	// The driver is not served, because the calls of its health check would end the outage sooner.
	driver, err := s3driver.New(s3driver.Options{
		Config:      s3driver.Config{Cluster: eksCluster, Backends: map[string]s3driver.BackendConfig{"main": on.backend}},
		Credentials: credstore.NewMemory(), WrapTransport: broken.wrap,
	})
	mustSucceed(t, err)
	life := names{bucket: "bc-" + drivertest.NewAccount(), account: drivertest.NewAccount()}
	for _, step := range []struct {
		name string
		call func(context.Context, driverkit.Driver, names) error
	}{{"create", callCreate}, {"grant", callGrant("")}, {"revoke", callRevoke}, {"delete", callDelete}} {
		broken.begin()
		refused := 0
		for err := step.call(t.Context(), driver, life); err != nil; err = step.call(t.Context(), driver, life) {
			drivertest.WantCode(t, err, codes.Unavailable)
			refused++
		}
		t.Logf("%s: %d RPCs were answered Unavailable", step.name, refused)
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

// closed is a body that the SDK has closed before net/http checks whether there is more of it.
type closed struct{ io.ReadCloser }

func (closed) WriteTo(io.Writer) (int64, error) { return 0, io.EOF }

// TestBodiesThatTheSDKClosesEarly closes the body of every request early, which would close its connection
// (internal/wholebody).
func TestBodiesThatTheSDKClosesEarly(t *testing.T) {
	t.Parallel()
	on, _ := startFake(t, s3fake.Options{})
	w := newWorld(t, on, worldOptions{wrap: func(next http.RoundTripper) http.RoundTripper {
		return transportFunc(func(request *http.Request) (*http.Response, error) {
			if request.ContentLength > 0 {
				request.Body = closed{request.Body}
			}
			return next.RoundTrip(request)
		})
	}})
	w.MustGrant(t, grantRequest(drivertest.NewAccount(), readWrite, w.NewBucket(t, nil)))
}

// TestClocksThatDiffer has a store whose clock is an hour ahead of the driver's.
func TestClocksThatDiffer(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	on, _ := startFake(t, s3fake.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	w := newWorld(t, on, worldOptions{})
	bucket := w.NewBucket(t, nil)
	ahead.Store(int64(time.Hour))
	// The SDK learns the clock skew from the store's responses, if they contain the time.
	if _, err := w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: bucket}); err != nil {
		drivertest.WantCode(t, err, codes.Unavailable, "clock")
	}
	ahead.Store(0)
	w.MustGrant(t, grantRequest(drivertest.NewAccount(), readWrite, bucket))
}

func TestThrottlingAndRecovery(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rule fault.Rule
		want codes.Code
	}{
		"S3 asks to slow down":    {fault.Rule{Operation: "GetBucket*", Code: "SlowDown", Status: 503}, codes.ResourceExhausted},
		"S3 is not available":     {fault.Rule{Operation: "GetBucket*", Code: "ServiceUnavailable", Status: 503}, codes.Unavailable},
		"IAM asks to slow down":   {fault.Rule{Operation: "iam:*", Code: "Throttling", Status: 400}, codes.ResourceExhausted},
		"IAM has no room for key": {fault.Rule{Operation: "iam:CreateAccessKey", Code: "LimitExceeded", Status: 409}, codes.ResourceExhausted},
		"IAM has lost its head":   {fault.Rule{Operation: "iam:*", Code: "ServiceFailure", Status: 500}, codes.Unavailable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on, server := startFake(t, s3fake.Options{})
			w := newWorld(t, on, worldOptions{})
			bucket, account := w.NewBucket(t, nil), drivertest.NewAccount()
			mustSucceed(t, server.Faults.Add(test.rule))
			_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(account, readWrite, bucket))
			drivertest.WantCode(t, err, test.want)
			server.Faults.Clear()
			w.MustGrant(t, grantRequest(account, readWrite, bucket))
			if users := server.Inventory().Users; len(users) != 1 || len(users[0].Keys) != 1 {
				t.Errorf("users %v, want one with one key", users)
			}
		})
	}
}

// TestDeletionInSeveralCalls ends each call after one page of deleted objects. The next call continues with the
// remaining ones.
func TestDeletionInSeveralCalls(t *testing.T) {
	t.Parallel()
	const objects, page = 2100, 1000
	on, _ := startFake(t, s3fake.Options{})
	var timeUp context.CancelFunc
	driver, err := s3driver.New(s3driver.Options{
		Config:      s3driver.Config{Cluster: eksCluster, Backends: map[string]s3driver.BackendConfig{"main": on.backend}},
		Credentials: credstore.NewMemory(),
		WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return transportFunc(func(request *http.Request) (*http.Response, error) {
				response, err := next.RoundTrip(request)
				if request.Method == http.MethodPost && request.URL.Query().Has("delete") {
					timeUp()
				}
				return response, err
			})
		},
	})
	mustSucceed(t, err)
	bucket := "bc-1"
	if _, err := driver.CreateBucket(t.Context(), driverkit.CreateBucketRequest{BucketID: bucket}); err != nil {
		t.Fatal(err)
	}
	root := s3Client(on.backend.Endpoint, "us-east-1", on.rootID, on.rootSecret)
	var group sync.WaitGroup
	for part := range 4 {
		group.Go(func() {
			for i := part; i < objects; i += 4 {
				if err := putObject(t, root, bucket, fmt.Sprint("key", i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	calls := 0
	for left := objects; left > 0; calls++ {
		var ctx context.Context
		ctx, timeUp = context.WithCancel(t.Context())
		err := driver.DeleteBucket(ctx, driverkit.DeleteBucketRequest{BucketID: bucket, Parameters: driverkit.Values{"deleteNonEmpty": "true"}})
		timeUp()
		if err == nil {
			t.Fatal("a call succeeded after its deadline")
		}
		found := 0
		for pages := s3.NewListObjectsV2Paginator(root, &s3.ListObjectsV2Input{Bucket: &bucket}); pages.HasMorePages(); {
			listed, err := pages.NextPage(t.Context())
			mustSucceed(t, err)
			found += len(listed.Contents)
		}
		if want := max(0, left-page); found != want {
			t.Fatalf("call %d left %d of %d objects, want %d", calls+1, found, left, want)
		}
		left = found
	}
	timeUp = func() {}
	mustSucceed(t, driver.DeleteBucket(t.Context(), driverkit.DeleteBucketRequest{BucketID: bucket}))
	t.Logf("%d objects were deleted in %d calls", objects, calls)
}

// TestRefusedConfiguration has the store refuse the configuration of a bucket that it has just created. The error names
// the parameter, the bucket has the driver's mark, and a driver that was killed in between still deletes it.
func TestRefusedConfiguration(t *testing.T) {
	t.Parallel()
	refused := func(operation, code string) fault.Rule {
		return fault.Rule{Operation: operation, Code: code, Status: http.StatusBadRequest}
	}
	broken := fault.Rule{Code: "InternalError", Status: http.StatusInternalServerError}
	created, marked := broken, broken
	created.Operation, created.Effect, marked.Operation = "CreateBucket", fault.FailAfter, "PutBucketTagging"
	for name, test := range map[string]struct {
		parameters map[string]string
		rule       fault.Rule
		// want is in the error. If it is empty, the driver is killed after the call of the rule.
		want string
	}{
		"a lifecycle": {
			parameters: map[string]string{"lifecycle": oneRule},
			rule:       refused("PutBucketLifecycleConfiguration", "InvalidRequest"),
			want:       "parameter lifecycle: the store does not accept a value of the request; check the class parameters (InvalidRequest)",
		},
		"a CORS configuration": {
			parameters: map[string]string{"cors": oneOrigin}, rule: refused("PutBucketCors", "MalformedXML"), want: "parameter cors",
		},
		"a queue": {
			parameters: map[string]string{"eventQueue": "arn:aws:sqs:us-east-1:000000000000:missing"},
			rule:       refused("PutBucketNotificationConfiguration", "InvalidArgument"),
			want:       "parameter eventQueue: the store does not accept the queue or an event type; the queue must exist in the region of the bucket, must not be a FIFO queue, and its policy must allow s3.amazonaws.com to send messages (InvalidArgument)",
		},
		"events in a store without them": {
			parameters: map[string]string{"eventQueue": "arn:aws:sqs:us-east-1:000000000000:missing"},
			rule:       fault.Rule{Operation: "GetBucketNotificationConfiguration", Code: "NotImplemented", Status: http.StatusNotImplemented},
			want:       "the store does not support parameter eventQueue",
		},
		"an encryption": {
			parameters: map[string]string{"encryption": "SSE-KMS", "kmsKeyID": "k"}, rule: refused("PutBucketEncryption", "KMS.NotFoundException"), want: "parameter encryption",
		},
		"nothing, but the driver is killed after the creation": {
			rule: created,
		},
		"nothing, but the driver is killed before the last mark": {
			parameters: map[string]string{"lifecycle": oneRule}, rule: marked,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on, server := startFake(t, s3fake.Options{})
			store, id := credstore.NewMemory(), "bc-"+drivertest.NewAccount()
			mustSucceed(t, server.Faults.Add(test.rule))
			w := newWorld(t, on, worldOptions{store: store})
			_, err := w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: id, Parameters: test.parameters})
			if test.want != "" {
				drivertest.WantCode(t, err, codes.InvalidArgument, test.want)
			} else if err == nil {
				t.Error("the fault had no effect")
			}
			held := server.Inventory().Buckets
			if len(held) != 1 || !strings.Contains(held[0].Config["tagging"], "cosi-driver") || !strings.Contains(held[0].Config["tagging"], "creating") {
				t.Fatalf("want one bucket with the mark of an incomplete one, got %+v", held)
			}
			again := newWorld(t, on, worldOptions{store: store})
			if err := again.Delete(t, id, nil); err != nil {
				t.Errorf("the next process does not delete the bucket: %v", err)
			}
			server.Faults.Clear()
			again.mustCreate(t, id, nil)
			if err := again.Delete(t, id, nil); err != nil || len(server.Inventory().Buckets) > 0 {
				t.Errorf("after the correction: %v, %+v", err, server.Inventory().Buckets)
			}
		})
	}
}
