// SPDX-License-Identifier: Apache-2.0

package s3fakecmd_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// TestNotifySendsEventsToAURL has a receiver for the queue that --notify names, which does not exist.
func TestNotifySendsEventsToAURL(t *testing.T) {
	t.Parallel()
	events := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m struct{ Event, Bucket string }
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		events <- r.URL.String() + " " + m.Event + " " + m.Bucket
	}))
	t.Cleanup(receiver.Close)
	c := startChild(t, "--notify", "uploads="+receiver.URL+"/events?to=me")
	client := c.s3()
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("docs")}); err != nil {
		t.Fatal(err)
	}
	config := &types.NotificationConfiguration{QueueConfigurations: []types.QueueConfiguration{
		{QueueArn: aws.String("arn:aws:sqs:us-east-1:000000000000:uploads"), Events: []types.Event{types.EventS3ObjectCreated}},
	}}
	if _, err := client.PutBucketNotificationConfiguration(t.Context(), &s3.PutBucketNotificationConfigurationInput{Bucket: aws.String("docs"), NotificationConfiguration: config}); err != nil {
		t.Fatal(err)
	}
	if got, want := <-events, "/events?to=me s3:TestEvent docs"; got != want {
		t.Errorf("received %q, want %q", got, want)
	}
}
