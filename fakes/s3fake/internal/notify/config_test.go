// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

const someQueue = "arn:aws:sqs:us-east-1:000000000000:q"

// rule returns a QueueConfiguration for events and filter rules, which are name=value.
func rule(id, queue, events string, filters ...string) string {
	b := "<QueueConfiguration><Id>" + id + "</Id><Queue>" + queue + "</Queue>"
	for event := range strings.FieldsSeq(events) {
		b += "<Event>s3:" + event + "</Event>"
	}
	if len(filters) > 0 {
		b += "<Filter><S3Key>"
		for _, f := range filters {
			name, value, _ := strings.Cut(f, "=")
			b += "<FilterRule><Name>" + name + "</Name><Value>" + value + "</Value></FilterRule>"
		}
		b += "</S3Key></Filter>"
	}
	return b + "</QueueConfiguration>"
}

func configuration(t *testing.T, rules ...string) (*Configuration, error) {
	t.Helper()
	c := &Configuration{}
	if err := xml.Unmarshal([]byte("<NotificationConfiguration>"+strings.Join(rules, "")+"</NotificationConfiguration>"), c); err != nil {
		t.Fatal(err)
	}
	return c, c.Complete(func() string { return "generated" })
}

// TestConfigurations has the errors of S3: those of the configuration, filter rules and ARNs were recorded, the others
// are in the Amazon S3 API Reference.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	many := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			id := fmt.Sprintf("%d/", i)
			out[i] = rule(id, someQueue, "ObjectCreated:*", "prefix="+id)
		}
		return out
	}
	tests := map[string]struct {
		rules []string
		// want is the code and the start of the message, "" for no error.
		want string
	}{
		"none":                        {nil, ""},
		"one":                         {[]string{rule("a", someQueue, "ObjectCreated:* ObjectRemoved:Delete")}, ""},
		"without an event":            {[]string{rule("a", someQueue, "")}, "MalformedXML"},
		"without a queue":             {[]string{rule("a", "", "ObjectCreated:*")}, "MalformedXML"},
		"an event that is not one":    {[]string{rule("a", someQueue, "ObjectCreated:Patch")}, "InvalidArgument The event"},
		"an event without a wildcard": {[]string{rule("a", someQueue, "ObjectAcl:*")}, "InvalidArgument The event"},
		"an event of ACLs":            {[]string{rule("a", someQueue, "ObjectAcl:Put")}, ""},
		"every event there is":        {[]string{rule("a", someQueue, "*")}, "InvalidArgument The event"},
		"an event that never happens": {[]string{rule("a", someQueue, "ObjectRestore:Post")}, "NotImplemented The event s3:ObjectRestore:Post"},
		"a filter by size":            {[]string{rule("a", someQueue, "ObjectCreated:*", "size=1")}, "InvalidArgument filter rule name must be either prefix or suffix"},
		"two prefixes":                {[]string{rule("a", someQueue, "ObjectCreated:*", "prefix=a", "Prefix=b")}, "InvalidArgument Cannot specify more than one prefix"},
		"a long suffix":               {[]string{rule("a", someQueue, "ObjectCreated:*", "suffix="+strings.Repeat("x", 1025))}, "InvalidArgument Size of filter rule value"},
		"a name instead of an ARN":    {[]string{rule("a", "q", "ObjectCreated:*")}, "InvalidArgument The ARN could not be parsed"},
		"the ARN of a topic":          {[]string{rule("a", "arn:aws:sns:us-east-1:000000000000:t", "ObjectCreated:*")}, "InvalidArgument The ARN could not be parsed"},
		"one ID twice":                {[]string{rule("a", someQueue, "ObjectCreated:*"), rule("a", someQueue, "ObjectRemoved:*")}, "InvalidArgument Same ID"},
		"the same events twice":       {[]string{rule("a", someQueue, "ObjectCreated:*"), rule("b", someQueue, "ObjectCreated:Put")}, "InvalidArgument Configurations overlap. Configurations on the same bucket cannot share a common event type.[{ArgumentName Event} {ArgumentValue s3:ObjectCreated:*, s3:ObjectCreated:Put}]"},
		"one prefix in another":       {[]string{rule("a", someQueue, "ObjectCreated:*", "prefix=a/"), rule("b", someQueue, "ObjectCreated:Put", "prefix=a/b")}, "InvalidArgument Configuration is ambiguously defined"},
		"one suffix in another":       {[]string{rule("a", someQueue, "ObjectCreated:*", "suffix=.gz"), rule("b", someQueue, "ObjectCreated:*", "suffix=.tar.gz")}, "InvalidArgument Configuration is ambiguously defined"},
		"prefixes of different keys":  {[]string{rule("a", someQueue, "ObjectCreated:*", "prefix=a/"), rule("b", someQueue, "ObjectCreated:*", "prefix=b/")}, ""},
		"suffixes of different keys":  {[]string{rule("a", someQueue, "ObjectCreated:*", "prefix=a", "suffix=.jpg"), rule("b", someQueue, "ObjectCreated:*", "prefix=a", "suffix=.png")}, ""},
		"100 rules":                   {many(100), ""},
		"101 rules":                   {many(101), "InvalidArgument A bucket can have at most 100"},
		"the same event many times":   {[]string{rule("a", someQueue, strings.Repeat("ObjectCreated:Put ", 100))}, "MalformedXML"},
		"different events":            {[]string{rule("a", someQueue, "ObjectCreated:Put"), rule("b", someQueue, "ObjectCreated:Post ObjectTagging:*")}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := configuration(t, tc.rules...)
			got := ""
			if err != nil {
				e := awserr.From(err)
				got = fmt.Sprint(e.Code, " ", e.Message, e.Fields)
			}
			if !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRulesMatchEventsAndKeys(t *testing.T) {
	t.Parallel()
	c, err := configuration(t, rule("", someQueue, "ObjectCreated:* ObjectRemoved:Delete", "prefix=in%20box/", "SUFFIX=.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	r := c.Queues[0]
	if r.ID != "generated" || *r.Filter.Rules[0].Name != "Prefix" || *r.Filter.Rules[1].Name != "Suffix" {
		t.Errorf("the completed rule is %+v", r)
	}
	tests := map[string]struct {
		event, key string
		want       bool
	}{
		"a put":                    {CreatedPut, "in box/a.jpg", true},
		"a completed upload":       {CreatedComplete, "in box/a.jpg", true},
		"a deletion":               {RemovedDelete, "in box/a.jpg", true},
		"a delete marker":          {RemovedMarker, "in box/a.jpg", false},
		"new tags":                 {TaggingPut, "in box/a.jpg", false},
		"a key in another folder":  {CreatedPut, "a.jpg", false},
		"a key of another kind":    {CreatedPut, "in box/a.png", false},
		"a key as in the document": {CreatedPut, "in%20box/a.jpg", false},
	}
	for name, tc := range tests {
		if got := r.matches(tc.event, tc.key); got != tc.want {
			t.Errorf("%s: matches is %v, want %v", name, got, tc.want)
		}
	}
}

// TestMessages compares messages with those of S3 ("Event message structure"), member by member.
func TestMessages(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 5e6, time.UTC)
	o := Origin{Region: "us-east-1", BucketARN: "arn:aws:s3:::b", Owner: "owner", Caller: "AWS:AIDA1", SourceIP: "192.0.2.1", RequestID: "R", HostID: "H"}
	tests := map[string]struct {
		event         Event
		version, want string
	}{
		"an empty object":   {Event{Name: CreatedPut, Key: "a@b c/d+ü", ETag: "e", Sequencer: "1"}, "2.1", `{"key":"a%40b+c/d%2B%C3%BC","size":0,"eTag":"e","sequencer":"1"}`},
		"a deleted version": {Event{Name: RemovedDelete, Key: "k", VersionID: "v", Sequencer: "2"}, "2.1", `{"key":"k","versionId":"v","sequencer":"2"}`},
		"deleted tags":      {Event{Name: TaggingDelete, Key: "k", ETag: "e"}, "2.3", `{"key":"k","eTag":"e"}`},
	}
	for name, tc := range tests {
		tc.event.Bucket, tc.event.Time = "b", now
		want := `{"Records":[{"eventVersion":"` + tc.version + `","eventSource":"aws:s3","awsRegion":"us-east-1","eventTime":"2026-11-30T12:00:00.005Z","eventName":"` + tc.event.Name + `",
			"userIdentity":{"principalId":"AWS:AIDA1"},"requestParameters":{"sourceIPAddress":"192.0.2.1"},"responseElements":{"x-amz-id-2":"H","x-amz-request-id":"R"},
			"s3":{"s3SchemaVersion":"1.0","configurationId":"c","bucket":{"name":"b","ownerIdentity":{"principalId":"owner"},"arn":"arn:aws:s3:::b"},"object":` + tc.want + `}}]}`
		compareJSON(t, name, message(tc.event, o, "c"), want)
	}
	want := `{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"2026-11-30T12:00:00.005Z","Bucket":"b","RequestId":"R","HostId":"H"}`
	compareJSON(t, "the test event", testMessage("b", now, o), want)
}

func compareJSON(t *testing.T, name string, got []byte, want string) {
	t.Helper()
	var a, b any
	if err := errors.Join(json.Unmarshal(got, &a), json.Unmarshal([]byte(want), &b)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestSequencersIncrease(t *testing.T) {
	t.Parallel()
	h := New(Options{})
	last := ""
	for range 3 {
		got := h.Sequencer()
		if len(got) != 18 || got <= last {
			t.Errorf("%s follows %s", got, last)
		}
		last = got
	}
}

// FuzzConfiguration reads any document. A configuration that is accepted must be read again as it was.
func FuzzConfiguration(f *testing.F) {
	f.Add("<NotificationConfiguration>" + rule("a", someQueue, "ObjectCreated:*", "prefix=a%20", "suffix=b") + "</NotificationConfiguration>")
	f.Add("<NotificationConfiguration><QueueConfiguration><Filter/></QueueConfiguration></NotificationConfiguration>")
	f.Fuzz(func(t *testing.T, raw string) {
		c := &Configuration{}
		if xml.Unmarshal([]byte(raw), c) != nil || c.Complete(func() string { return "id" }) != nil {
			return
		}
		for i := range c.Queues {
			c.Queues[i].matches(CreatedPut, "k")
		}
		again, err := xml.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(again, &Configuration{}); err != nil {
			t.Errorf("%s: %v", again, err)
		}
		var m map[string]any
		if err := json.Unmarshal(message(Event{Key: raw}, Origin{}, raw), &m); err != nil {
			t.Error(err)
		}
	})
}

// TestSequencersDoNotRepeat creates hubs one after the other, as restarts do.
func TestSequencersDoNotRepeat(t *testing.T) {
	t.Parallel()
	last := ""
	for range 5 {
		h := New(Options{})
		for range 3 {
			next := h.Sequencer()
			if len(next) != 18 || next <= last {
				t.Errorf("%q follows %q", next, last)
			}
			last = next
		}
	}
}
