// SPDX-License-Identifier: Apache-2.0

package s3fake

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/calls"
	"github.com/cooper-cosi/cooper/fakes/internal/once"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iamapi"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/s3api"
)

// maxQuery limits the body of an IAM or STS request.
const maxQuery = 1 << 20

// query is a call to IAM or STS.
type query struct {
	server    *state
	r         *http.Request
	form      url.Values
	bodyHash  string
	service   string
	err       error
	principal *iam.Principal
}

func (s *state) newQuery(r *http.Request) *query {
	q := &query{server: s, r: r, service: sigv4.ServiceOf(r)}
	q.form, q.bodyHash, q.err = readForm(r)
	if q.err == nil {
		q.err = single(r, q.form)
	}
	if byAction := s.iam.Service(q.form); byAction != "" {
		q.service = byAction
	}
	q.service = cmp.Or(q.service, "iam")
	return q
}

// readForm reads the parameters from the query and the body, and hashes the body for the signature.
func readForm(r *http.Request) (form url.Values, hash string, err error) {
	form, queryErr := url.ParseQuery(r.URL.RawQuery)
	raw, hash, err := readAll(r)
	if err != nil {
		return form, "", err
	}
	body, bodyErr := url.ParseQuery(string(raw))
	for k, v := range body {
		form[k] = append(form[k], v...)
	}
	if queryErr != nil || bodyErr != nil {
		return form, hash, errMalformedQuery
	}
	return form, hash, nil
}

// errMalformedQuery has the status given in "Common errors" in the IAM API Reference.
var errMalformedQuery = awserr.New(http.StatusNotFound, "MalformedQueryString", "The query string contains a syntax error.")

// single rejects a request with duplicate parameters or headers.
func single(r *http.Request, form url.Values) error {
	if _, name := once.Headers(r.Header, []string{"X-Amz-"}, nil); name != "" {
		return awserr.Newf(http.StatusBadRequest, "MalformedHttpRequestException", "The header %s occurs more than once.", name)
	}
	if name := once.Parameter(form); name != "" {
		return awserr.Newf(http.StatusBadRequest, "InvalidQueryParameter", "The parameter %s occurs more than once.", name)
	}
	return nil
}

// readAll reads a body and returns its SHA-256 in hex.
func readAll(r *http.Request) (raw []byte, hash string, err error) {
	raw, err = io.ReadAll(io.LimitReader(r.Body, maxQuery+1))
	if err != nil || len(raw) > maxQuery {
		return nil, "", awserr.New(http.StatusBadRequest, "InvalidRequest", "The request body could not be read or is too large.")
	}
	sum := sha256.Sum256(raw)
	return raw, hex.EncodeToString(sum[:]), nil
}

// Describe implements exchange.
func (q *query) Describe() calls.Description {
	d := calls.Description{Operation: q.service + ":" + q.form.Get("Action"), Principal: q.caller()}
	for _, param := range []string{"UserName", "GroupName", "RoleName", "PolicyArn", "RoleArn", "PolicyName", "AccessKeyId", "OpenIDConnectProviderArn"} {
		if v := q.form.Get(param); v != "" {
			d.Resource = v
			break
		}
	}
	return d
}

// caller is the ARN of the caller, or "" before it is authenticated.
func (q *query) caller() string {
	if q.principal == nil {
		return ""
	}
	return q.principal.ARN
}

// Serve implements exchange.
func (q *query) Serve(w http.ResponseWriter, requestID string) *awserr.Error {
	body, err := q.respond(requestID)
	if err != nil {
		e := awserr.From(err)
		q.Fail(w, requestID, e)
		return e
	}
	q.write(w, requestID, http.StatusOK, body)
	return nil
}

// Fail implements exchange.
func (q *query) Fail(w http.ResponseWriter, requestID string, e *awserr.Error) {
	q.write(w, requestID, e.Status, iamapi.ErrorXML(e, q.service, requestID))
}

func (q *query) write(w http.ResponseWriter, requestID string, status int, body []byte) {
	w.Header().Set("Content-Type", "text/xml")
	w.Header().Set("X-Amzn-Requestid", requestID)
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only if the client has disconnected
}

func (q *query) respond(requestID string) ([]byte, error) {
	if q.err != nil {
		return nil, q.err
	}
	if !q.server.iam.Open(q.form) {
		if err := q.authenticate(); err != nil {
			return nil, err
		}
	}
	return q.server.iam.Serve(iamapi.Request{Form: q.form, Principal: q.principal, RequestID: requestID, Context: q.conditions(), Now: q.server.options.Now()})
}

// iamRegions maps partitions other than aws to the region of their only IAM service.
var iamRegions = map[string]string{"aws-cn": "cn-north-1", "aws-eusc": "eusc-de-east-1", "aws-us-gov": "us-gov-west-1"}

// authenticate verifies the signature. IAM is global and its requests are signed for one region of the partition; STS
// is also regional.
func (q *query) authenticate() error {
	s := q.server
	region := cmp.Or(iamRegions[s.options.Partition], "us-east-1")
	switch q.service {
	case "sts":
		region = ""
	case "eks", "eks-auth", "sqs":
		region = s.options.Region
	}
	v := sigv4.Verifier{
		Expect: sigv4.Expect{Service: q.service, Region: region}, Now: s.options.Now, BodyHash: q.bodyHash,
		Lookup: func(id, token string) (string, error) { return s.account.Secret(id, token, iam.ErrInvalidClientToken) },
	}
	signed, err := v.VerifyService(q.r)
	if err != nil {
		return err
	}
	p, err := s.account.Principal(signed.AccessKeyID)
	if err != nil {
		return iam.ErrInvalidClientToken
	}
	q.principal = &p
	s.account.Used(signed.AccessKeyID, q.service, "us-east-1")
	return nil
}

func (q *query) conditions() iampolicy.Context {
	ctx := s3api.RequestContext(q.r, q.server.options.Now())
	for param, key := range map[string]string{"PolicyArn": "iam:PolicyARN", "PermissionsBoundary": "iam:PermissionsBoundary"} {
		if v := q.form.Get(param); v != "" {
			ctx.Set(key, v)
		}
	}
	q.targetConditions(ctx)
	if q.principal != nil {
		q.principal.Describe(ctx)
	}
	return ctx
}

// boundedActions matches actions for which iam:PermissionsBoundary is the boundary of the user or role. For actions
// that create a user or role or set a boundary, it is the boundary in the request ("Delegating responsibility to
// others using permissions boundaries" in the IAM User Guide).
var boundedActions = regexp.MustCompile(`^(Attach|Detach|Put|Delete)(User|Role)Policy$|^Delete(User|Role)PermissionsBoundary$`)

// targetConditions adds condition keys: the tags in the request, and the tags and boundary of the user or role that
// is its target.
func (q *query) targetConditions(ctx iampolicy.Context) {
	var keys []string
	for i := 1; ; i++ {
		key := "Tags.member." + strconv.Itoa(i) + "."
		if !q.form.Has(key + "Key") {
			break
		}
		keys = append(keys, q.form.Get(key+"Key"))
		ctx.Set("aws:RequestTag/"+q.form.Get(key+"Key"), q.form.Get(key+"Value"))
	}
	ctx.Set("aws:TagKeys", keys...)
	for param, kind := range map[string]iam.Kind{"UserName": iam.KindUser, "RoleName": iam.KindRole} {
		target, err := q.server.account.Identity(kind, q.form.Get(param))
		if err != nil {
			continue
		}
		if target.Boundary != "" && boundedActions.MatchString(q.form.Get("Action")) {
			ctx.Set("iam:PermissionsBoundary", target.Boundary)
		}
		for _, t := range target.Tags {
			ctx.Set("aws:ResourceTag/"+t.Key, t.Value)
			ctx.Set("iam:ResourceTag/"+t.Key, t.Value)
		}
	}
}
