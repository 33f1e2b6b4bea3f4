// SPDX-License-Identifier: Apache-2.0

// Package queues_test receives the event notifications of the fake of S3 with the SDK of Amazon SQS.
package queues_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// TestTheSDKReceivesEvents works like a worker that waits for new objects.
func TestTheSDKReceivesEvents(t *testing.T) {
	t.Parallel()
	fake := faketest.Start(t, s3fake.New, s3fake.Options{})
	root := fake.Root()
	config := aws.Config{
		Region: fake.Region(), BaseEndpoint: aws.String(fake.URL()), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(root.AccessKeyID, root.SecretAccessKey, ""),
	}
	ctx, queues := t.Context(), sqs.NewFromConfig(config)
	objects := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("uploads"), Attributes: map[string]string{"VisibilityTimeout": "60"}}))
	queue, err := queues.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("uploads")})
	must(queue, err)
	attributes, err := queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: queue.QueueUrl, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn}})
	must(attributes, err)
	must(objects.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String("docs")}))
	must(objects.PutBucketNotificationConfiguration(ctx, &s3.PutBucketNotificationConfigurationInput{
		Bucket: aws.String("docs"), NotificationConfiguration: &s3types.NotificationConfiguration{QueueConfigurations: []s3types.QueueConfiguration{
			{QueueArn: aws.String(attributes.Attributes["QueueArn"]), Events: []s3types.Event{s3types.EventS3ObjectCreated}},
		}},
	}))
	must(objects.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("docs"), Key: aws.String("a b"), Body: strings.NewReader("four")}))
	got := ""
	for range 2 {
		// The SDK compares MD5OfBody.
		out, err := queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: queue.QueueUrl, WaitTimeSeconds: 5, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}})
		must(out, err)
		if len(out.Messages) != 1 || out.Messages[0].Attributes["ApproximateReceiveCount"] != "1" {
			t.Fatalf("received %+v", out.Messages)
		}
		var body struct {
			Event   string `json:"Event"`
			Records []struct {
				EventName string `json:"eventName"`
				S3        struct {
					Object struct {
						Key string `json:"key"`
					} `json:"object"`
				} `json:"s3"`
			} `json:"Records"`
		}
		must(nil, json.Unmarshal([]byte(*out.Messages[0].Body), &body))
		got += body.Event + " "
		for _, r := range body.Records {
			got += r.EventName + " " + r.S3.Object.Key
		}
		must(queues.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: queue.QueueUrl, ReceiptHandle: out.Messages[0].ReceiptHandle}))
	}
	if want := "s3:TestEvent  ObjectCreated:Put a+b"; got != want {
		t.Errorf("received %q, want %q", got, want)
	}
	var missing *types.QueueDoesNotExist
	if _, err := queues.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("other")}); !errors.As(err, &missing) {
		t.Errorf("a queue that does not exist: %v", err)
	}
	var unserved smithy.APIError
	if _, err := queues.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: queue.QueueUrl, MessageBody: aws.String("x")}); !errors.As(err, &unserved) || unserved.ErrorCode() != "NotImplemented" || !strings.Contains(unserved.ErrorMessage(), "SendMessage") {
		t.Errorf("an operation that is not supported: %v", err)
	}
}

// TestTheSDKReceivesEventsOfTheDriversBucket sends the events of a bucket to the queue of its class. The queue must accept
// messages from S3.
func TestTheSDKReceivesEventsOfTheDriversBucket(t *testing.T) {
	t.Parallel()
	fake := faketest.Start(t, s3fake.New, s3fake.Options{})
	root := fake.Root()
	driver, err := s3driver.New(s3driver.Options{Credentials: credstore.NewMemory(), Config: s3driver.Config{Backends: map[string]s3driver.BackendConfig{"main": {
		Type: s3driver.TypeAWS, Endpoint: fake.URL(),
		Credentials: s3driver.CredentialsConfig{AccessKeyID: root.AccessKeyID, SecretAccessKey: cosi.NewSecret(root.SecretAccessKey)},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	client := drivertest.Serve(t, driver, driverkit.Options{})
	config := func(id, secret string) aws.Config {
		return aws.Config{Region: fake.Region(), BaseEndpoint: aws.String(fake.URL()), RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider(id, secret, "")}
	}
	queues := sqs.NewFromConfig(config(root.AccessKeyID, root.SecretAccessKey))
	newQueue := func(name, bucket string) (url *string, arn string) {
		t.Helper()
		arn = "arn:aws:sqs:us-east-1:000000000000:" + name
		policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"s3.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"` + arn + `",` +
			`"Condition":{"ArnLike":{"aws:SourceArn":"arn:aws:s3:::` + bucket + `"}}}]}`
		queue, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{"Policy": policy}})
		if err != nil {
			t.Fatal(err)
		}
		return queue.QueueUrl, arn
	}
	_, closed := newQueue("closed", "other-*")
	url, arn := newQueue("uploads", "bc-*")
	drivertest.WantCode(t, client.Create(t, "bc-closed", map[string]string{"eventQueue": closed}), codes.InvalidArgument, "parameter eventQueue", "its policy must allow s3.amazonaws.com")

	bucket := client.NewBucket(t, map[string]string{"eventQueue": arn})
	granted := client.MustGrant(t, drivertest.GrantRequest(cosi.ObjectProtocol_S3, drivertest.NewAccount(), drivertest.Modes{Data: cosi.AccessMode_READ_WRITE}, bucket)).GetCredentials().GetS3()
	objects := s3.NewFromConfig(config(granted.GetAccessKeyId(), granted.GetAccessSecretKey()), func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := objects.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("photo"), Body: strings.NewReader("four")}); err != nil {
		t.Fatal(err)
	}
	out, err := queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 5, MaxNumberOfMessages: 10})
	if err != nil || len(out.Messages) != 2 || !strings.Contains(*out.Messages[0].Body, "s3:TestEvent") {
		t.Fatalf("received %+v, %v", out, err)
	}
	for _, want := range []string{`"eventName":"ObjectCreated:Put"`, `"configurationId":"cosi"`, `"key":"photo"`, bucket} {
		if body := *out.Messages[1].Body; !strings.Contains(body, want) {
			t.Errorf("received %s, want %s", body, want)
		}
	}
}
