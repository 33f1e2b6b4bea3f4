// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// eventReceiver starts a webhook, and returns its URL and the events about objects. MinIO's names of events begin with s3:.
// While the channel is full, it discards events.
func eventReceiver(t *testing.T) (string, <-chan string) {
	t.Helper()
	events := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		var message struct {
			Records []struct {
				EventName string `json:"eventName"`
				S3        struct {
					Bucket struct {
						Name string `json:"name"`
					} `json:"bucket"`
					Object struct {
						Key string `json:"key"`
					} `json:"object"`
				} `json:"s3"`
			} `json:"Records"`
		}
		body, err := io.ReadAll(request.Body)
		if err != nil || len(body) > 0 && json.Unmarshal(body, &message) != nil {
			t.Errorf("the webhook received %q, %v", body, err)
		}
		for _, record := range message.Records {
			select {
			case events <- strings.TrimPrefix(record.EventName, "s3:") + " " + record.S3.Bucket.Name + "/" + record.S3.Object.Key:
			default:
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, events
}

// testEventsOfABucket receives the events that a workload causes.
func testEventsOfABucket(t *testing.T, on target) {
	if on.queue == "" {
		return // the store has no queue
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w, account := newWorld(t, on, worldOptions{}), drivertest.NewAccount()
	parameters := map[string]string{"eventQueue": on.queue}
	bucket := w.NewBucket(t, parameters)
	received := func(event string) {
		t.Helper()
		for want := event + " " + bucket + "/key"; ; {
			select {
			case got := <-on.events: // also of other tests at the same store
				if got == want {
					return
				}
			case <-ctx.Done():
				t.Fatalf("the queue did not receive %q", want)
			}
		}
	}
	client := workload(t, w.MustGrant(t, grantRequest(account, readWrite, bucket)))
	mustSucceed(t, putObject(t, client, bucket, "key"))
	received("ObjectCreated:Put")
	_, err := client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: aws.String("key")})
	mustSucceed(t, err)
	received("ObjectRemoved:Delete")
	mustSucceed(t, w.Create(t, bucket, parameters))
	mustSucceed(t, w.revoke(t, account, bucket))
	mustSucceed(t, w.Delete(t, bucket, parameters))
}

// TestChangeOfTheEventQueue changes the driver's notification of a bucket. An administrator's notification remains.
func TestChangeOfTheEventQueue(t *testing.T) {
	t.Parallel()
	on, server := ourServer(t, s3fake.Options{})
	w := newWorld(t, on, worldOptions{})
	parameters := map[string]string{"eventQueue": on.queue}
	bucket, root := w.NewBucket(t, parameters), w.root()
	change := func(queue, events string) error {
		_, err := w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{
			BucketId: bucket, Parameters: parameters, Update: changed(parameters, map[string]string{"eventQueue": queue, "eventTypes": events}),
		})
		return err
	}
	has := func(want ...string) {
		t.Helper()
		mustSucceed(t, w.Create(t, bucket, parameters))
		out, err := root.GetBucketNotificationConfiguration(t.Context(), &s3.GetBucketNotificationConfigurationInput{Bucket: &bucket})
		mustSucceed(t, err)
		var got []string
		for _, queue := range out.QueueConfigurations {
			got = append(got, fmt.Sprint(*queue.Id, queue.Events))
		}
		if !slices.Equal(got, want) {
			t.Errorf("the notifications are %q, want %q", got, want)
		}
	}
	const initial, administrators = "cosi[s3:ObjectCreated:* s3:ObjectRemoved:*]", "other[s3:ObjectTagging:*]"
	has(initial)
	mustSucceed(t, change("", ""))
	has()
	_, err := root.PutBucketNotificationConfiguration(t.Context(), &s3.PutBucketNotificationConfigurationInput{
		Bucket: &bucket, NotificationConfiguration: &types.NotificationConfiguration{
			QueueConfigurations: []types.QueueConfiguration{{Id: aws.String("other"), QueueArn: &on.queue, Events: []types.Event{"s3:ObjectTagging:*"}}},
		},
	})
	mustSucceed(t, err)
	mustSucceed(t, change(on.queue, ""))
	has(administrators, initial)
	mustSucceed(t, change(on.queue, "s3:ObjectRemoved:*"))
	has(administrators, "cosi[s3:ObjectRemoved:*]")

	missing := strings.ReplaceAll(on.queue, "uploads", "missing")
	drivertest.WantCode(t, change(missing, ""), codes.InvalidArgument, "parameter eventQueue", "s3.amazonaws.com")
	drivertest.WantCode(t, change(on.queue, "s3:ObjectRestore:*"), codes.InvalidArgument, "does not support parameter eventQueue, or one of the event types")
	drivertest.WantCode(t, change("", "s3:ObjectRemoved:*"), codes.InvalidArgument, "parameter eventTypes requires eventQueue")
	has(administrators, "cosi[s3:ObjectRemoved:*]")
	mustSucceed(t, change("", ""))
	has(administrators)
	mustSucceed(t, server.Faults.Add(fault.Rule{Operation: "GetBucketNotificationConfiguration", Code: "NotImplemented", Status: http.StatusNotImplemented, Times: 1}))
	mustSucceed(t, change("", "")) // a store without notifications has none to remove
	mustSucceed(t, w.Delete(t, bucket, parameters))
}

// TestEventQueueOfOtherTypes checks that a type of store without events refuses the parameter before it creates a bucket.
func TestEventQueueOfOtherTypes(t *testing.T) {
	t.Parallel()
	on, server := ourServer(t, s3fake.Options{})
	on.backend.Type = s3driver.TypeSeaweedFS
	on.backend.AccountID, on.backend.IAM = "", s3driver.IAMConfig{}
	w, bucket := newWorld(t, on, worldOptions{}), "bc-"+drivertest.NewAccount()
	drivertest.WantCode(t, w.Create(t, bucket, map[string]string{"eventQueue": on.queue}), codes.InvalidArgument,
		"parameter eventQueue", "seaweedfs", "does not support event notifications")
	if made := server.Inventory().Buckets; len(made) > 0 {
		t.Errorf("the store has %+v", made)
	}
}
