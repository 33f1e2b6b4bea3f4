// SPDX-License-Identifier: Apache-2.0

// Package sqsapi serves the part of Amazon SQS that receivers of S3's event notifications need: CreateQueue,
// GetQueueUrl, GetQueueAttributes, ReceiveMessage and DeleteMessage of standard queues. Only S3 sends messages. It
// supports the JSON protocol of current SDKs and the Query protocol of older ones. Callers must verify the signature of
// a request before they call this package, which then evaluates the policies.
package sqsapi

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/journal"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
)

// Options are the arguments of New.
type Options struct {
	Account *iam.Account
	Journal journal.Journal
	Region  string
	Now     func() time.Time
}

// API handles SQS requests.
type API struct {
	Options

	mu     sync.Mutex
	queues map[string]*queue
}

// New returns the API with the queues in the journal.
func New(o Options) (*API, error) {
	a := &API{Options: o, queues: map[string]*queue{}}
	return a, a.load(o.Journal)
}

// Request is one call by an authenticated caller.
type Request struct {
	Call

	Principal iam.Principal
	Context   iampolicy.Context
	// Base is the URL of the server, without a slash at the end.
	Base string
}

// operation handles a request about the queue with a name.
type operation func(a *API, ctx context.Context, r Request, name string) (any, error)

// operations are the supported operations.
var operations = map[string]operation{
	"CreateQueue": (*API).createQueue, "GetQueueUrl": onQueue((*API).queueURL), "GetQueueAttributes": onQueue((*API).queueAttributes),
	"ReceiveMessage": (*API).receive, "DeleteMessage": onQueue((*API).deleteMessage),
}

// onQueue returns an operation on an existing queue, which it locks.
func onQueue(run func(*API, Request, *queue) (any, error)) operation {
	return func(a *API, _ context.Context, r Request, name string) (any, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		q := a.queues[name]
		if q == nil {
			return nil, errNoQueue
		}
		return run(a, r, q)
	}
}

// Operations returns the names of all supported operations.
func Operations() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		out = append(out, "sqs:"+name)
	}
	return out
}

// Serve handles one request and returns the result, which Call.Encode encodes.
func (a *API) Serve(ctx context.Context, r Request) (any, error) {
	run := operations[r.Action]
	if run == nil {
		return nil, unserved("%s is not supported by this fake.", r.Action)
	}
	name, err := a.name(r.Input)
	if err != nil {
		return nil, err
	}
	if err := a.authorize(r, name); err != nil {
		return nil, err
	}
	return run(a, ctx, r, name)
}

// name returns the name of the queue that the request is about.
func (a *API) name(in Input) (string, error) {
	if in.QueueName != "" {
		if in.Owner != "" && in.Owner != a.Account.Options.ID {
			return "", errNoQueue
		}
		return in.QueueName, nil
	}
	if in.QueueURL == "" {
		return "", refused(errMissing, "The request must contain the parameter QueueUrl or QueueName.")
	}
	parts := strings.Split(in.QueueURL, "/")
	if len(parts) < 2 || parts[len(parts)-2] != a.Account.Options.ID {
		return "", errNoQueue
	}
	return parts[len(parts)-1], nil
}

// authorize evaluates the caller's policies and the queue's.
func (a *API) authorize(r Request, name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	in := r.Principal.Inputs()
	if q := a.queues[name]; q != nil {
		in.Resource = q.policy
	}
	d := iampolicy.Decide(in, iampolicy.Request{Action: "sqs:" + r.Action, Resource: a.arn(name), Context: r.Context, Principal: r.Principal.Caller()})
	if d.Allowed {
		return nil
	}
	action := "sqs:" + strings.ToLower(r.Action)
	return refused(errDenied, "User: %s is not authorized to perform: %s on resource: %s %s", r.Principal.ARN, action, a.arn(name), d.Reason(action))
}

var queueName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

func checkName(name string) error {
	switch {
	case strings.HasSuffix(name, ".fifo"):
		return unserved("FIFO queues are not supported by this fake. S3 does not send notifications to them.")
	case !queueName.MatchString(name):
		return refused(errInvalidValue, "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	return nil
}

// setting describes an attribute that clients can set: its initial value, and its range if it is a number.
type setting struct {
	initial  string
	min, max int
}

var attributes = map[string]setting{
	"DelaySeconds": {"0", 0, 900}, "MaximumMessageSize": {"1048576", 1024, 1048576}, "MessageRetentionPeriod": {"345600", 60, 1209600},
	"ReceiveMessageWaitTimeSeconds": {"0", 0, 20}, "VisibilityTimeout": {"30", 0, 43200}, "Policy": {},
}

func checkAttributes(values map[string]string) error {
	for name, v := range values {
		s, ok := attributes[name]
		n, err := strconv.Atoi(v)
		switch {
		case !ok:
			return unserved("The attribute %s is not supported by this fake.", name)
		case name == "Policy" && v != "":
			_, err = iampolicy.ParseQueue(v)
		case name == "Policy":
			err = nil
		case n < s.min || n > s.max:
			err = fmt.Errorf("must be between %d and %d", s.min, s.max)
		}
		if err != nil {
			return refused(errAttributeValue, "Invalid value for the parameter %s. (%s)", name, err)
		}
	}
	return nil
}

// urlResult is the result of CreateQueue and GetQueueUrl.
type urlResult struct {
	QueueURL string `json:"QueueUrl" xml:"QueueUrl"`
}

func (a *API) url(r Request, name string) urlResult {
	return urlResult{r.Base + "/" + a.Account.Options.ID + "/" + name}
}

func (a *API) createQueue(_ context.Context, r Request, name string) (any, error) {
	if r.Input.QueueName == "" {
		return nil, refused(errMissing, "The request must contain the parameter QueueName.")
	}
	if err := a.Create(name, r.Input.Attributes); err != nil {
		return nil, err
	}
	return a.url(r, name), nil
}

func (a *API) queueURL(r Request, q *queue) (any, error) { return a.url(r, q.Name), nil }

// attributesResult is the result of GetQueueAttributes.
type attributesResult struct {
	Attributes pairs `json:"Attributes,omitempty" xml:"Attribute"`
}

func (a *API) queueAttributes(r Request, q *queue) (any, error) {
	visible, inFlight, delayed := q.counts(a.Now())
	created := strconv.FormatInt(q.Created, 10)
	all := pairs{
		"QueueArn": q.arn, "CreatedTimestamp": created, "LastModifiedTimestamp": created, "SqsManagedSseEnabled": "false",
		"ApproximateNumberOfMessages": strconv.Itoa(visible), "ApproximateNumberOfMessagesNotVisible": strconv.Itoa(inFlight),
		"ApproximateNumberOfMessagesDelayed": strconv.Itoa(delayed),
	}
	for name := range attributes {
		if v := q.text(name); v != "" {
			all[name] = v
		}
	}
	out := pairs{}
	for _, name := range r.Input.AttributeNames {
		v, ok := all[name]
		switch {
		case name == "All":
			return attributesResult{all}, nil
		case ok:
			out[name] = v
		case name != "Policy":
			return nil, refused(errAttributeName, "Unknown Attribute %s.", name)
		}
	}
	return attributesResult{out}, nil
}

// number returns an optional parameter, which must be in a range.
func number(name string, v *int, initial, least, most int) (int, error) {
	switch {
	case v == nil:
		return initial, nil
	case *v < least || *v > most:
		return 0, refused(errInvalidValue, "Value %d for parameter %s is invalid. Reason: Must be >= %d and <= %d, if provided.", *v, name, least, most)
	}
	return *v, nil
}

func (a *API) deleteMessage(r Request, q *queue) (any, error) {
	if r.Input.ReceiptHandle == "" {
		return nil, refused(errMissing, "The request must contain the parameter ReceiptHandle.")
	}
	id, ok := handled(r.Input.ReceiptHandle)
	if !ok {
		return nil, refused(errHandle, "The input receipt handle %q is not a valid receipt handle.", r.Input.ReceiptHandle)
	}
	if i := slices.IndexFunc(q.messages, func(m *message) bool { return m.id == id }); i >= 0 {
		q.messages = slices.Delete(q.messages, i, i+1)
	}
	return nil, nil
}
