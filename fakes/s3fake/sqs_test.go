// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// sqsCalls are inputs of all supported operations that succeed for a queue "uploads".
func sqsCalls(url string) map[string]string {
	return map[string]string{
		"CreateQueue": `{"QueueName":"uploads"}`, "GetQueueUrl": `{"QueueName":"uploads"}`, "GetQueueAttributes": `{"QueueUrl":"` + url + `","AttributeNames":["All"]}`,
		"ReceiveMessage": `{"QueueUrl":"` + url + `"}`, "DeleteMessage": `{"QueueUrl":"` + url + `","ReceiptHandle":"MDAwMDAwMDAtMDAwMC00MDAwLTgwMDAtMDAwMDAwMDAwMDAwLzE="}`,
	}
}

// TestQueuesAreProtected calls each operation with different permissions ("Overview of managing access in Amazon SQS").
func TestQueuesAreProtected(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{})
	url := f.queue(t, "uploads")
	nobody, elsewhere := f.user(t, "nobody", ""), f.user(t, "elsewhere", allow("sqs:*", "arn:aws:sqs:us-east-1:000000000000:other"))
	wrong := f.Root()
	wrong.SecretAccessKey += "x"
	for action, input := range sqsCalls(url) {
		exactly := f.user(t, "only-"+action, allow("sqs:"+action, uploadsARN))
		all := f.user(t, "all-but-"+action, `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:*","Resource":"*"},{"Effect":"Deny","Action":"sqs:`+action+`","Resource":"*"}]}`)
		for who, tc := range map[string]struct {
			caller s3fake.Credentials
			want   string
		}{
			"root": {f.Root(), ""}, "a user with this permission": {exactly, ""}, "a user without a policy": {nobody, "AccessDenied"},
			"a user with permissions for another queue": {elsewhere, "AccessDenied"}, "a user to whom it is denied": {all, "AccessDenied"},
			"a wrong secret": {wrong, "SignatureDoesNotMatch"}, "an unknown key": {s3fake.Credentials{AccessKeyID: "AKIANOBODY", SecretAccessKey: "x"}, "InvalidClientTokenId"},
			"an anonymous caller": {s3fake.Credentials{}, "MissingAuthenticationToken"},
		} {
			if _, code := f.sqs(t, tc.caller, action, input); code != tc.want {
				t.Errorf("%s as %s: %q, want %q", action, who, code, tc.want)
			}
		}
	}
}

// TestAQueuesPolicy lets a user without a policy receive messages.
func TestAQueuesPolicy(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{})
	reader := f.user(t, "reader", "")
	policy := `{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Principal\":{\"AWS\":\"arn:aws:iam::000000000000:user/reader\"},\"Action\":\"sqs:ReceiveMessage\",\"Resource\":\"` + uploadsARN + `\"}]}`
	out, code := f.sqs(t, f.Root(), "CreateQueue", `{"QueueName":"uploads","Attributes":{"Policy":"`+policy+`"}}`)
	if code != "" {
		t.Fatalf("create the queue: %s", code)
	}
	url, _ := out["QueueUrl"].(string)
	for action, want := range map[string]string{"ReceiveMessage": "", "GetQueueAttributes": "AccessDenied"} {
		if _, code := f.sqs(t, reader, action, sqsCalls(url)[action]); code != want {
			t.Errorf("%s: %q, want %q", action, code, want)
		}
	}
}

func TestSQSErrors(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{})
	url := f.queue(t, "uploads")
	tests := map[string]struct{ action, input, want string }{
		"a queue that exists":               {"CreateQueue", `{"QueueName":"uploads","Attributes":{"VisibilityTimeout":"30"}}`, ""},
		"a queue that exists and differs":   {"CreateQueue", `{"QueueName":"uploads","Attributes":{"VisibilityTimeout":"31"}}`, "QueueAlreadyExists"},
		"a name with a dot":                 {"CreateQueue", `{"QueueName":"a.b"}`, "InvalidParameterValue"},
		"no name":                           {"CreateQueue", `{}`, "MissingParameter"},
		"a queue in order":                  {"CreateQueue", `{"QueueName":"a.fifo"}`, "NotImplemented"},
		"an attribute that does not exist":  {"CreateQueue", `{"QueueName":"a","Attributes":{"Color":"red"}}`, "NotImplemented"},
		"a timeout that is too long":        {"CreateQueue", `{"QueueName":"a","Attributes":{"VisibilityTimeout":"43201"}}`, "InvalidAttributeValue"},
		"a policy without principals":       {"CreateQueue", `{"QueueName":"a","Attributes":{"Policy":"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"sqs:*\"}]}"}}`, "InvalidAttributeValue"},
		"a queue for failures":              {"CreateQueue", `{"QueueName":"a","Attributes":{"RedrivePolicy":"{}"}}`, "NotImplemented"},
		"a tag":                             {"CreateQueue", `{"QueueName":"a","tags":{"a":"b"}}`, "NotImplemented"},
		"no JSON":                           {"CreateQueue", `Action=CreateQueue`, "SerializationException"},
		"the URL of no queue":               {"GetQueueUrl", `{"QueueName":"nothing"}`, "AWS.SimpleQueueService.NonExistentQueue"},
		"a queue of another account":        {"GetQueueUrl", `{"QueueName":"uploads","QueueOwnerAWSAccountId":"111111111111"}`, "AWS.SimpleQueueService.NonExistentQueue"},
		"messages of no queue":              {"ReceiveMessage", `{"QueueUrl":"` + url + `2"}`, "AWS.SimpleQueueService.NonExistentQueue"},
		"too many messages":                 {"ReceiveMessage", `{"QueueUrl":"` + url + `","MaxNumberOfMessages":11}`, "InvalidParameterValue"},
		"too long a wait":                   {"ReceiveMessage", `{"QueueUrl":"` + url + `","WaitTimeSeconds":21}`, "InvalidParameterValue"},
		"an attribute that queues have not": {"GetQueueAttributes", `{"QueueUrl":"` + url + `","AttributeNames":["Color"]}`, "InvalidAttributeName"},
		"an attribute that is not set":      {"GetQueueAttributes", `{"QueueUrl":"` + url + `","AttributeNames":["Policy"]}`, ""},
		"a handle that is not one":          {"DeleteMessage", `{"QueueUrl":"` + url + `","ReceiptHandle":"x"}`, "ReceiptHandleIsInvalid"},
		"no handle":                         {"DeleteMessage", `{"QueueUrl":"` + url + `"}`, "MissingParameter"},
		"a message of somebody else":        {"SendMessage", `{"QueueUrl":"` + url + `","MessageBody":"x"}`, "NotImplemented"},
		"an operation that does not exist":  {"Dance", `{}`, "NotImplemented"},
	}
	for name, tc := range tests {
		if _, code := f.sqs(t, f.Root(), tc.action, tc.input); code != tc.want {
			t.Errorf("%s: %q, want %q", name, code, tc.want)
		}
	}
}

// TestReceiversWaitForMessages starts to wait before the message is there, and again while it is hidden.
func TestReceiversWaitForMessages(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{})
	f.bucket(t, "docs")
	url := f.queue(t, "uploads")
	if code := f.configure(t, "docs", everything(uploadsARN)); code != "" {
		t.Fatalf("configure: %s", code)
	}
	f.drain(t, url)
	received := make(chan map[string]any)
	receive := func() {
		out, _ := f.sqs(t, f.Root(), "ReceiveMessage", `{"QueueUrl":"`+url+`","WaitTimeSeconds":20,"VisibilityTimeout":1,"AttributeNames":["All"]}`)
		received <- out
	}
	go receive()
	_, err := f.s3(f.Root()).PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("docs"), Key: aws.String("k"), Body: strings.NewReader("x")})
	wantNoError(t, err)
	for i := range 2 {
		messages, _ := (<-received)["Messages"].([]any)
		if len(messages) != 1 {
			t.Fatalf("receive %d: %v", i, messages)
		}
		message, _ := messages[0].(map[string]any)
		attributes, _ := message["Attributes"].(map[string]any)
		if want := map[int]string{0: "1", 1: "2"}[i]; attributes["ApproximateReceiveCount"] != want {
			t.Errorf("receive %d: %v", i, attributes)
		}
		if i == 0 {
			go receive()
		}
	}
}

// TestOlderClientsUseTheQueryProtocol has the requests of AWS CLI and boto3 of Debian 12.
func TestOlderClientsUseTheQueryProtocol(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{})
	f.bucket(t, "docs")
	send := func(body string) string {
		t.Helper()
		got := (&world{Server: f.Server}).send(t, f.Root(), operation{
			method: http.MethodPost, path: "/000000000000/uploads", service: "sqs", headers: "Content-Type: application/x-www-form-urlencoded", body: body + "&Version=2012-11-05",
		})
		if (got.Code == http.StatusOK) == strings.Contains(got.Body.String(), "<Error>") {
			t.Errorf("%s: %d %s", body, got.Code, got.Body)
		}
		return got.Body.String()
	}
	between := func(s, name string) string {
		t.Helper()
		_, rest, ok := strings.Cut(s, "<"+name+">")
		v, _, _ := strings.Cut(rest, "</"+name+">")
		if !ok {
			t.Fatalf("%s has no %s", s, name)
		}
		return v
	}
	url := between(send("Action=CreateQueue&QueueName=uploads&Attribute.1.Name=VisibilityTimeout&Attribute.1.Value=60"), "QueueUrl")
	if got := send("Action=GetQueueAttributes&AttributeName.1=QueueArn&AttributeName.2=VisibilityTimeout&QueueUrl=" + url); !strings.Contains(got,
		"<GetQueueAttributesResult><Attribute><Name>QueueArn</Name><Value>"+uploadsARN+"</Value></Attribute><Attribute><Name>VisibilityTimeout</Name><Value>60</Value></Attribute></GetQueueAttributesResult>") {
		t.Errorf("attributes: %s", got)
	}
	if code := f.configure(t, "docs", everything(uploadsARN)); code != "" {
		t.Fatalf("configure: %s", code)
	}
	got := send("Action=ReceiveMessage&MaxNumberOfMessages=10&AttributeName.1=All&QueueUrl=" + url)
	if between(got, "MessageId") == "" || !strings.Contains(between(got, "Body"), "s3:TestEvent") || !strings.Contains(got, "<Attribute><Name>SenderId</Name>") {
		t.Errorf("messages: %s", got)
	}
	send("Action=DeleteMessage&QueueUrl=" + url + "&ReceiptHandle=" + strings.ReplaceAll(between(got, "ReceiptHandle"), "=", "%3D"))
	if got := send("Action=GetQueueUrl&QueueName=uploads"); between(got, "QueueUrl") != url {
		t.Errorf("the URL: %s", got)
	}
	for body, want := range map[string]string{
		"Action=GetQueueUrl&QueueName=other":                      "AWS.SimpleQueueService.NonExistentQueue",
		"Action=ReceiveMessage&WaitTimeSeconds=x&QueueUrl=" + url: "InvalidParameterValue",
		"Action=PurgeQueue&QueueUrl=" + url:                       "NotImplemented",
		"Action=CreateQueue&QueueName=a&Tag.1.Key=b":              "NotImplemented",
	} {
		if got := send(body); between(got, "Code") != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// TestQueuesSurviveARestart keeps the queue and its attributes. Messages are lost.
func TestQueuesSurviveARestart(t *testing.T) {
	t.Parallel()
	o := s3fake.Options{Dir: t.TempDir()}
	f := start(t, o)
	url := f.queue(t, "uploads")
	wantNoError(t, f.Close())
	f = start(t, o)
	out, code := f.sqs(t, f.Root(), "GetQueueAttributes", `{"QueueUrl":"`+url+`","AttributeNames":["QueueArn"]}`)
	if attributes, _ := out["Attributes"].(map[string]any); code != "" || attributes["QueueArn"] != uploadsARN {
		t.Errorf("after a restart: %s %v", code, out)
	}
}
