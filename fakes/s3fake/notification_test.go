// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

const uploadsARN = "arn:aws:sqs:us-east-1:000000000000:uploads"

// sqs calls an operation of SQS with the JSON protocol, and returns the result and the error code.
func (f fake) sqs(t *testing.T, c s3fake.Credentials, action, input string) (map[string]any, string) {
	t.Helper()
	got := (&world{Server: f.Server}).send(t, c, operation{
		method: http.MethodPost, path: "/", service: "sqs", headers: "X-Amz-Target: AmazonSQS." + action + "\nContent-Type: application/x-amz-json-1.0", body: input,
	})
	var out map[string]any
	if err := json.Unmarshal(got.Body.Bytes(), &out); err != nil {
		t.Fatalf("%s: %d %s: %v", action, got.Code, got.Body, err)
	}
	code, _, _ := strings.Cut(got.Header().Get("X-Amzn-Query-Error"), ";")
	if (code == "") != (got.Code == http.StatusOK) {
		t.Errorf("%s: %d %s", action, got.Code, got.Body)
	}
	return out, code
}

// queue makes a queue and returns its URL.
func (f fake) queue(t *testing.T, name string) string {
	t.Helper()
	out, code := f.sqs(t, f.Root(), "CreateQueue", `{"QueueName":"`+name+`"}`)
	url, ok := out["QueueUrl"].(string)
	if code != "" || !ok {
		t.Fatalf("create queue %s: %s %v", name, code, out)
	}
	return url
}

// notified is the content of a message about an event.
type notified struct {
	Event   string `json:"Event"`
	Records []struct {
		EventVersion string `json:"eventVersion"`
		EventName    string `json:"eventName"`
		Region       string `json:"awsRegion"`
		UserIdentity struct {
			PrincipalID string `json:"principalId"`
		} `json:"userIdentity"`
		S3 struct {
			ConfigurationID string `json:"configurationId"`
			Object          struct {
				Key       string `json:"key"`
				Size      *int64 `json:"size"`
				ETag      string `json:"eTag"`
				VersionID string `json:"versionId"`
				Sequencer string `json:"sequencer"`
			} `json:"object"`
		} `json:"s3"`
	} `json:"Records"`
}

// drain receives and deletes the messages of a queue, until there are none.
func (f fake) drain(t *testing.T, url string) []notified {
	t.Helper()
	var all []notified
	for {
		out, code := f.sqs(t, f.Root(), "ReceiveMessage", `{"QueueUrl":"`+url+`","MaxNumberOfMessages":10}`)
		messages, _ := out["Messages"].([]any)
		if len(messages) == 0 || code != "" {
			return all
		}
		for _, m := range messages {
			message, _ := m.(map[string]any)
			body, _ := message["Body"].(string)
			var n notified
			wantNoError(t, json.Unmarshal([]byte(body), &n))
			all = append(all, n)
			if _, code := f.sqs(t, f.Root(), "DeleteMessage", fmt.Sprintf(`{"QueueUrl":%q,"ReceiptHandle":%q}`, url, message["ReceiptHandle"])); code != "" {
				t.Fatalf("delete a message: %s", code)
			}
		}
	}
}

// summary is one line for each message.
func summary(messages []notified) []string {
	var lines []string
	for _, m := range messages {
		if m.Event != "" {
			lines = append(lines, m.Event)
		}
		for _, r := range m.Records {
			o := r.S3.Object
			line := r.EventName + " " + o.Key
			if o.Size != nil {
				line += fmt.Sprintf(" %d bytes", *o.Size)
			}
			for _, member := range [][2]string{{"eTag", o.ETag}, {"version", o.VersionID}, {"sequencer", o.Sequencer}} {
				if member[1] == "" {
					line += " no " + member[0]
				}
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// configure stores a notification configuration and returns the error code.
func (f fake) configure(t *testing.T, bucket string, configs ...types.QueueConfiguration) string {
	t.Helper()
	_, err := f.s3(f.Root()).PutBucketNotificationConfiguration(t.Context(), &s3.PutBucketNotificationConfigurationInput{
		Bucket: &bucket, NotificationConfiguration: &types.NotificationConfiguration{QueueConfigurations: configs},
	})
	return code(t, err)
}

func everything(arn string) types.QueueConfiguration {
	return types.QueueConfiguration{Id: aws.String("all"), QueueArn: &arn, Events: []types.Event{"s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:ObjectTagging:*"}}
}

// changes makes each kind of change to a bucket with versioning that causes an event.
func (f fake) changes(t *testing.T, bucket string) {
	t.Helper()
	client, b := f.s3(f.Root()), aws.String(bucket)
	must := func(_ any, err error) {
		t.Helper()
		wantNoError(t, err)
	}
	put, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: b, Key: aws.String("a b@c"), Body: strings.NewReader("four")})
	wantNoError(t, err)
	must(client.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: b, Key: aws.String("copy"), CopySource: aws.String(bucket + "/a%20b@c")}))
	upload, err := client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: b, Key: aws.String("parts")})
	wantNoError(t, err)
	part, err := client.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: b, Key: aws.String("parts"), UploadId: upload.UploadId, PartNumber: aws.Int32(1), Body: strings.NewReader("part")})
	wantNoError(t, err)
	complete := &s3.CompleteMultipartUploadInput{Bucket: b, Key: aws.String("parts"), UploadId: upload.UploadId, MultipartUpload: &types.CompletedMultipartUpload{
		Parts: []types.CompletedPart{{ETag: part.ETag, PartNumber: aws.Int32(1)}},
	}}
	for range 2 { // the second one changes nothing
		must(client.CompleteMultipartUpload(t.Context(), complete))
	}
	f.form(t, bucket, "form")
	must(client.PutObjectTagging(t.Context(), &s3.PutObjectTaggingInput{Bucket: b, Key: aws.String("copy"), Tagging: &types.Tagging{TagSet: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}}))
	must(client.DeleteObjectTagging(t.Context(), &s3.DeleteObjectTaggingInput{Bucket: b, Key: aws.String("copy")}))
	must(client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: b, Key: aws.String("a b@c")}))
	must(client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: b, Key: aws.String("a b@c"), VersionId: put.VersionId}))
	must(client.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: b, Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: aws.String("copy")}, {Key: aws.String("form")}}}}))
	// None of these changes anything.
	if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: b, Key: aws.String("parts"), IfNoneMatch: aws.String("*"), Body: strings.NewReader("x")}); err == nil {
		t.Error("the object was replaced")
	}
	must(client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: b, Key: aws.String("parts")}))
}

// form uploads an object as an anonymous browser does, which the bucket's policy allows.
func (f fake) form(t *testing.T, bucket, key string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	wantNoError(t, w.WriteField("key", key))
	file, err := w.CreateFormFile("file", "f")
	wantNoError(t, err)
	_, err = io.WriteString(file, "form")
	wantNoError(t, err)
	wantNoError(t, w.Close())
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, f.URL()+"/"+bucket, &b)
	req.Header.Set("Content-Type", w.FormDataContentType())
	rec := httptest.NewRecorder()
	f.ServeHTTP(rec, req)
	if rec.Code != http.StatusNoContent {
		t.Fatalf("upload a form: %d %s", rec.Code, rec.Body)
	}
}

// open makes a bucket with versioning to which anonymous callers may write.
func (f fake) open(t *testing.T, name string) {
	t.Helper()
	f.bucket(t, name)
	client := f.s3(f.Root())
	policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:PutObject","Resource":"arn:aws:s3:::` + name + `/form"}]}`
	_, err := client.PutBucketPolicy(t.Context(), &s3.PutBucketPolicyInput{Bucket: &name, Policy: &policy})
	wantNoError(t, err)
	_, err = client.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{Bucket: &name, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled}})
	wantNoError(t, err)
}

// changed are the events of changes.
var changed = []string{
	"ObjectCreated:Put a+b%40c 4 bytes", "ObjectCreated:Copy copy 4 bytes", "ObjectCreated:CompleteMultipartUpload parts 4 bytes", "ObjectCreated:Post form 4 bytes",
	"ObjectTagging:Put copy no sequencer", "ObjectTagging:Delete copy no sequencer", "ObjectRemoved:DeleteMarkerCreated a+b%40c",
	"ObjectRemoved:Delete a+b%40c no eTag", "ObjectRemoved:DeleteMarkerCreated copy", "ObjectRemoved:DeleteMarkerCreated form",
}

func TestQueuesReceiveEvents(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{OpenBuckets: true})
	f.open(t, "docs")
	url := f.queue(t, "uploads")
	if code := f.configure(t, "docs", everything(uploadsARN)); code != "" {
		t.Fatalf("configure: %s", code)
	}
	f.changes(t, "docs")
	messages := f.drain(t, url)
	if diff := gocmp.Diff(append([]string{"s3:TestEvent"}, changed...), summary(messages)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	last := map[string]string{}
	for _, m := range messages[1:] {
		r := m.Records[0]
		o := r.S3.Object
		want := map[bool]string{true: "2.3", false: "2.1"}[strings.HasPrefix(r.EventName, "ObjectTagging")]
		if r.EventVersion != want || r.S3.ConfigurationID != "all" || !strings.HasPrefix(r.UserIdentity.PrincipalID, map[bool]string{true: "Anonymous", false: "AWS:"}[r.EventName == "ObjectCreated:Post"]) {
			t.Errorf("the record is %+v", r)
		}
		if o.Sequencer != "" && o.Sequencer <= last[o.Key] {
			t.Errorf("%s: sequencer %s follows %s", o.Key, o.Sequencer, last[o.Key])
		}
		last[o.Key] = o.Sequencer
	}
	// Another configuration replaces the first one.
	if code := f.configure(t, "docs"); code != "" {
		t.Fatalf("configure: %s", code)
	}
	f.form(t, "docs", "form")
	if got := summary(f.drain(t, url)); len(got) != 0 {
		t.Errorf("messages without a configuration: %v", got)
	}
}

// TestBucketsWithoutVersioning has the events of a bucket that never had versions, with a filter.
func TestBucketsWithoutVersioning(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{})
	f.bucket(t, "docs")
	url := f.queue(t, "uploads")
	if got := f.Inventory().Queues; len(got) != 1 || got[0] != "uploads" {
		t.Errorf("the inventory has the queues %v", got)
	}
	config := everything(uploadsARN)
	config.Filter = &types.NotificationConfigurationFilter{Key: &types.S3KeyFilter{FilterRules: []types.FilterRule{
		{Name: "prefix", Value: aws.String("in/")}, {Name: "suffix", Value: aws.String(".jpg")},
	}}}
	if code := f.configure(t, "docs", config); code != "" {
		t.Fatalf("configure: %s", code)
	}
	client := f.s3(f.Root())
	for _, key := range []string{"in/a.jpg", "in/a.png", "a.jpg"} {
		_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("docs"), Key: &key, Body: strings.NewReader("x")})
		wantNoError(t, err)
	}
	for range 2 { // the second one deletes nothing, and causes an event, too
		_, err := client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String("docs"), Key: aws.String("in/a.jpg")})
		wantNoError(t, err)
	}
	want := []string{"s3:TestEvent", "ObjectCreated:Put in/a.jpg 1 bytes no version", "ObjectRemoved:Delete in/a.jpg no eTag no version", "ObjectRemoved:Delete in/a.jpg no eTag no version"}
	if diff := gocmp.Diff(want, summary(f.drain(t, url))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	out, err := client.GetBucketNotificationConfiguration(t.Context(), &s3.GetBucketNotificationConfigurationInput{Bucket: aws.String("docs")})
	if err != nil || len(out.QueueConfigurations) != 1 || out.QueueConfigurations[0].Filter.Key.FilterRules[1].Name != "Suffix" {
		t.Errorf("the configuration is %+v, %v", out, err)
	}
}

// TestDestinationsMustExist has the fields in which S3 was recorded to return each destination and the reason.
func TestDestinationsMustExist(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{})
	f.bucket(t, "docs")
	put := func(headers string) *httptest.ResponseRecorder {
		body := "<NotificationConfiguration><QueueConfiguration><Queue>" + uploadsARN + "</Queue><Event>s3:ObjectCreated:*</Event></QueueConfiguration></NotificationConfiguration>"
		return (&world{Server: f.Server}).send(t, f.Root(), operation{method: http.MethodPut, path: "/docs?notification", headers: headers, body: body})
	}
	const want = "<Message>Unable to validate the following destination configurations</Message><ArgumentName1>" + uploadsARN + "</ArgumentName1><ArgumentValue1>"
	if got := put(""); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), want+"The destination queue does not exist</ArgumentValue1>") {
		t.Errorf("a queue that does not exist: %d %s", got.Code, got.Body)
	}
	if got := put("X-Amz-Skip-Destination-Validation: true"); got.Code != http.StatusOK {
		t.Errorf("without validation: %d %s", got.Code, got.Body)
	}
	policy := `{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Principal\":{\"Service\":\"s3.amazonaws.com\"},\"Action\":\"sqs:SendMessage\",\"Resource\":\"*\",` +
		`\"Condition\":{\"ArnLike\":{\"aws:SourceArn\":\"arn:aws:s3:::other\"}}}]}`
	if _, code := f.sqs(t, f.Root(), "CreateQueue", `{"QueueName":"uploads","Attributes":{"Policy":"`+policy+`"}}`); code != "" {
		t.Fatalf("create a queue with a policy: %s", code)
	}
	if got := put(""); !strings.Contains(got.Body.String(), want+"Permissions on the destination queue do not allow S3 to publish notifications from this bucket") {
		t.Errorf("a queue whose policy allows another bucket: %d %s", got.Code, got.Body)
	}
	for name, element := range map[string]string{
		"a topic":      "<TopicConfiguration><Topic>arn:aws:sns:us-east-1:000000000000:t</Topic><Event>s3:ObjectCreated:*</Event></TopicConfiguration>",
		"a function":   "<CloudFunctionConfiguration><CloudFunction>arn:aws:lambda:us-east-1:000000000000:function:f</CloudFunction><Event>s3:ObjectCreated:*</Event></CloudFunctionConfiguration>",
		"an event bus": "<EventBridgeConfiguration/>",
	} {
		got := (&world{Server: f.Server}).send(t, f.Root(), operation{method: http.MethodPut, path: "/docs?notification", body: "<NotificationConfiguration>" + element + "</NotificationConfiguration>"})
		feature, _, _ := strings.Cut(element[1:], ">")
		if got.Code != http.StatusNotImplemented || !strings.Contains(got.Body.String(), strings.TrimSuffix(feature, "/")) {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
}

// receive starts a receiver of webhooks and returns its URL.
func receive(t *testing.T) (url string, got <-chan notified) {
	t.Helper()
	received := make(chan notified, 20)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n notified
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Error(err)
		}
		received <- n
	}))
	t.Cleanup(receiver.Close)
	return receiver.URL + "/events", received
}

// TestEventsOfOtherRegions has a bucket in another region than the server's. It can have no queue, but a webhook.
func TestEventsOfOtherRegions(t *testing.T) {
	t.Parallel()
	url, got := receive(t)
	f := start(t, s3fake.Options{Webhooks: map[string]string{"uploads": url}})
	w := &world{Server: f.Server}
	send := func(method, path, body string) *httptest.ResponseRecorder {
		return w.send(t, f.Root(), operation{method: method, path: path, body: body})
	}
	f.queue(t, "other")
	send(http.MethodPut, virginia+"/irish", inIreland)
	configure := func(arn string) *httptest.ResponseRecorder {
		return send(http.MethodPut, ireland+"/irish?notification", "<NotificationConfiguration><QueueConfiguration><Queue>"+arn+"</Queue><Event>s3:ObjectCreated:*</Event></QueueConfiguration></NotificationConfiguration>")
	}
	for _, arn := range []string{uploadsARN, "arn:aws:sqs:us-east-1:000000000000:other"} {
		if got := configure(arn); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), "<Code>InvalidArgument</Code><Message>The notification destination service region is not valid for the bucket location constraint</Message>") {
			t.Errorf("%s: %d %s", arn, got.Code, got.Body)
		}
	}
	if got := configure("arn:aws:sqs:eu-west-1:000000000000:other"); !strings.Contains(got.Body.String(), "The destination queue does not exist") {
		t.Errorf("a queue of the server's region: %d %s", got.Code, got.Body)
	}
	if got := configure("arn:aws:sqs:eu-west-1:000000000000:uploads"); got.Code != http.StatusOK {
		t.Fatalf("a webhook: %d %s", got.Code, got.Body)
	}
	<-got // s3:TestEvent
	send(http.MethodPut, ireland+"/irish/k", "x")
	if m := <-got; len(m.Records) != 1 || m.Records[0].Region != "eu-west-1" {
		t.Errorf("the message is %+v", m)
	}
}

// TestARejectedResetKeepsMessages tries to reset a server with a data directory while a message waits.
func TestARejectedResetKeepsMessages(t *testing.T) {
	t.Parallel()
	arrived, respond := make(chan struct{}, 20), make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-respond
	}))
	t.Cleanup(receiver.Close)
	release := sync.OnceFunc(func() { close(respond) })
	t.Cleanup(release)
	f := start(t, s3fake.Options{Dir: t.TempDir(), Webhooks: map[string]string{"uploads": receiver.URL}})
	f.bucket(t, "docs")
	if code := f.configure(t, "docs", everything(uploadsARN)); code != "" {
		t.Fatalf("configure: %s", code)
	}
	_, err := f.s3(f.Root()).PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("docs"), Key: aws.String("k"), Body: strings.NewReader("x")})
	wantNoError(t, err)
	<-arrived // s3:TestEvent
	if err := f.Reset(); err == nil {
		t.Error("a server with a data directory was reset")
	}
	release()
	<-arrived
}

// TestWebhooksReceiveEvents has a receiver instead of a queue, which does not exist.
func TestWebhooksReceiveEvents(t *testing.T) {
	t.Parallel()
	url, got := receive(t)
	f := start(t, s3fake.Options{OpenBuckets: true, Webhooks: map[string]string{"uploads": url}})
	f.open(t, "docs")
	if code := f.configure(t, "docs", everything(uploadsARN)); code != "" {
		t.Fatalf("configure: %s", code)
	}
	f.changes(t, "docs")
	var messages []notified
	for range len(changed) + 1 {
		messages = append(messages, <-got)
	}
	if diff := gocmp.Diff(append([]string{"s3:TestEvent"}, changed...), summary(messages)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// TestTheCallbackGetsEveryEvent calls the server from the callback.
func TestTheCallbackGetsEveryEvent(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []s3fake.Event
	var f fake
	f = start(t, s3fake.Options{OnEvent: func(e s3fake.Event) {
		mu.Lock()
		got = append(got, e)
		mu.Unlock()
		if e.Name == "ObjectCreated:Put" {
			_, err := f.s3(f.Root()).DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &e.Bucket, Key: &e.Key})
			if err != nil {
				t.Error(err)
			}
		}
	}})
	f.bucket(t, "docs")
	_, err := f.s3(f.Root()).PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("docs"), Key: aws.String("k"), Body: strings.NewReader("four")})
	wantNoError(t, err)
	if len(got) != 2 || got[0].Name != "ObjectCreated:Put" || got[0].Size != 4 || got[1].Name != "ObjectRemoved:Delete" || got[1].Sequencer <= got[0].Sequencer || got[0].Principal == "" {
		t.Errorf("events %+v", got)
	}
}

// TestMessagesHaveTheOrderOfTheWrites writes one key from several clients at the same time. The messages name the
// versions in their order.
func TestMessagesHaveTheOrderOfTheWrites(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{OpenBuckets: true})
	f.open(t, "docs")
	url := f.queue(t, "uploads")
	if code := f.configure(t, "docs", everything(uploadsARN)); code != "" {
		t.Fatalf("configure: %s", code)
	}
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for range 10 {
				if _, err := f.s3(f.Root()).PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("docs"), Key: aws.String("k"), Body: strings.NewReader("x")}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	var got, want []string
	for _, m := range f.drain(t, url)[1:] {
		got = append(got, m.Records[0].S3.Object.VersionID)
	}
	versions, err := f.s3(f.Root()).ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: aws.String("docs")})
	wantNoError(t, err)
	for _, v := range versions.Versions { // the newest one is the first
		want = append([]string{*v.VersionId}, want...)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}
