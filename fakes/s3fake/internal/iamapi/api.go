// SPDX-License-Identifier: Apache-2.0

// Package iamapi implements the Query protocol of AWS Identity and Access Management (2010-05-08) and of the Security
// Token Service (2011-06-15) for an iam.Account. Callers must verify the signature of a request before they call this
// package. The package then authorizes the principal with the same policies as the rest of the fake.
package iamapi

import (
	"cmp"
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
)

// namespaces are the namespaces of the responses by service.
var namespaces = map[string]string{
	"iam": "https://iam.amazonaws.com/doc/2010-05-08/", "sts": "https://sts.amazonaws.com/doc/2011-06-15/", "sqs": "http://queue.amazonaws.com/doc/2012-11-05/",
}

var versions = map[string]string{"iam": "2010-05-08", "sts": "2011-06-15"}

// API handles Query requests for one account.
type API struct {
	account    *iam.Account
	operations map[string]operation
	tokens     *TokenVerifier
}

// operation is one action of the API.
type operation struct {
	service string
	// open operations need no signature and no policy: STS decides them by the role's trust policy.
	open bool
	// allowed operations need a signature but no policy.
	allowed bool
	// unserved operations are AWS's and not this fake's.
	unserved bool
	// tagging is the additional action that a request with tags requires ("Tags for AWS Identity and Access
	// Management resources" in the IAM User Guide).
	tagging string
	// resource returns the ARN that policies are asked about; nil asks about "*".
	resource func(*call) string
	run      func(*call) (any, error)
	// parameters are those in the API description from which AWS generates its SDKs, except those that the fake does
	// not implement.
	parameters accept.List
}

// Request is one call with a verified signature.
type Request struct {
	Form url.Values
	// Principal is nil for an unsigned request.
	Principal *iam.Principal
	RequestID string
	Context   iampolicy.Context
	// Now is the time of the request by the service's clock.
	Now time.Time
}

// call is a Request inside an operation.
type call struct {
	Request
	*API
	action string
}

// New returns the API of an account. tokens verifies web identity tokens.
func New(account *iam.Account, tokens *TokenVerifier) *API {
	a := &API{account: account, tokens: tokens, operations: map[string]operation{}}
	for _, table := range []map[string]operation{
		userOperations(), groupOperations(), keyOperations(), inlineOperations(), managedOperations(),
		attachOperations(), roleOperations(), linkedOperations(), tagOperations(), providerOperations(), stsOperations(),
		unservedOperations(), unconfiguredOperations(),
	} {
		for name, op := range table {
			op.service = cmp.Or(op.service, "iam")
			a.operations[name] = op
		}
	}
	return a
}

// Operations returns the names of all implemented actions in the form "service:Action", in order.
func (a *API) Operations() []string {
	out := make([]string, 0, len(a.operations))
	for name, op := range a.operations {
		if !op.unserved {
			out = append(out, op.service+":"+name)
		}
	}
	slices.Sort(out)
	return out
}

// Service returns the service of a request, "iam" or "sts", or "" if the action is unknown.
func (a *API) Service(form url.Values) string { return a.operations[form.Get("Action")].service }

// Open reports whether clients call the action without a signature.
func (a *API) Open(form url.Values) bool { return a.operations[form.Get("Action")].open }

// Serve handles one request and returns the response as an XML document.
func (a *API) Serve(r Request) ([]byte, error) {
	c := &call{Request: r, API: a, action: r.Form.Get("Action")}
	op, ok := a.operations[c.action]
	if version := r.Form.Get("Version"); !ok || (version != "" && version != versions[op.service]) {
		version = cmp.Or(version, "NO_VERSION_SPECIFIED")
		hint := ""
		if version != versions["sts"] && version != versions["iam"] && version != "NO_VERSION_SPECIFIED" {
			hint = ". This fake supports S3, IAM, STS, SQS and EKS Pod Identity"
		}
		return nil, awserr.Newf(http.StatusBadRequest, "InvalidAction", "Could not find operation %s for version %s%s", c.action, version, hint)
	}
	if err := c.authorize(op); err != nil {
		return nil, err
	}
	if !op.unserved {
		if err := c.checkParameters(op.parameters); err != nil {
			return nil, err
		}
	}
	if _, err := c.maxItems(); err != nil {
		return nil, err
	}
	result, err := op.run(c)
	if err != nil {
		return nil, err
	}
	return Encode(c.action, op.service, result, r.RequestID)
}

// authorize asks the principal's policies.
func (c *call) authorize(op operation) error {
	if p := c.Principal; p != nil && p.Session != nil && p.Session.UserID != "" && op.service == "iam" {
		return iam.ErrInvalidClientToken // IAM serves sessions of users only with a second factor
	}
	if op.open || op.allowed {
		return nil
	}
	resource := "*"
	if op.resource != nil {
		resource = op.resource(c)
	}
	actions := []string{op.service + ":" + c.action}
	if op.tagging != "" && c.Form.Has("Tags.member.1.Key") {
		actions = append(actions, op.tagging)
	}
	for _, action := range actions {
		if err := Authorize(*c.Principal, action, resource, c.Context); err != nil {
			return err
		}
	}
	return nil
}

// Authorize evaluates identity policies and boundaries for an action without a resource policy. It returns an error
// if they do not allow the action.
func Authorize(p iam.Principal, action, resource string, ctx iampolicy.Context) error {
	d := iampolicy.Decide(p.Inputs(), iampolicy.Request{Action: action, Resource: resource, Context: ctx, Principal: p.Caller()})
	if d.Allowed {
		return nil
	}
	reason := d.Reason(action)
	if d.Explicit || d.Policy != iampolicy.IdentityBased {
		reason = "on resource: " + resource + " " + reason
	}
	return awserr.Newf(http.StatusForbidden, "AccessDenied", "User: %s is not authorized to perform: %s %s", p.ARN, action, reason)
}

// empty is the result of actions that return nothing.
type empty struct{}

// Encode wraps a result as <ActionResponse><ActionResult/>...<ResponseMetadata/>. nil is no result.
func Encode(action, service string, result any, requestID string) ([]byte, error) {
	var b strings.Builder
	b.WriteString(`<` + action + `Response xmlns="` + namespaces[service] + `">`)
	if _, none := result.(empty); !none && result != nil {
		e := xml.NewEncoder(&b)
		if err := e.EncodeElement(result, xml.StartElement{Name: xml.Name{Local: action + "Result"}}); err != nil {
			return nil, awserr.From(err)
		}
	}
	b.WriteString(`<ResponseMetadata><RequestId>` + requestID + `</RequestId></ResponseMetadata></` + action + `Response>`)
	return []byte(b.String()), nil
}

// ErrorXML returns the error document of the Query protocol.
func ErrorXML(e *awserr.Error, service, requestID string) []byte {
	namespace := cmp.Or(namespaces[service], namespaces["iam"])
	if e.Code == "InvalidAction" {
		namespace = "http://webservices.amazon.com/AWSFault/2005-15-09"
	}
	kind := "Sender"
	if e.Status >= http.StatusInternalServerError {
		kind = "Receiver"
	}
	var b strings.Builder
	b.WriteString(xml.Header + `<ErrorResponse xmlns="` + namespace + `"><Error><Type>` + kind + `</Type><Code>`)
	_ = xml.EscapeText(&b, []byte(e.Code)) // a strings.Builder never fails
	b.WriteString(`</Code>`)
	if e.Message != "" {
		b.WriteString(`<Message>`)
		_ = xml.EscapeText(&b, []byte(e.Message))
		b.WriteString(`</Message>`)
	}
	b.WriteString(`</Error><RequestId>` + requestID + `</RequestId></ErrorResponse>`)
	return []byte(b.String())
}

// stamp is how IAM writes times.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
