// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// operation is one operation of the behavioural table. Expected values come from the operation's page in the Amazon
// S3 API Reference (doc) for the status, and from "Required permissions for Amazon S3 API operations" in the Amazon
// S3 User Guide for the actions.
type operation struct {
	method, path, headers, body string
	// service is the one it is signed for, by default S3, or IAM or STS for the Query protocol.
	service string
	// actions are the permissions that the caller needs, separated by spaces.
	actions string
	status  int
	// code is the error of a request that is allowed and wrong.
	code string
	// perKey operations return 200 and report refusals per key in the body.
	perKey bool
	// open operations are decided by something else than identity policies; only their refusals of keys are tested.
	open bool
}

// credential is a way to call; %a stands for the operation's actions, %1 for one of them, %r for its resource.
type credential struct {
	policy string
	// each makes one row per action of the operation.
	each bool
	// key changes the credentials: anonymous, wrong secret, unknown, inactive.
	key    string
	status int
	code   string
	// doc is the source in the AWS documentation.
	doc string
}

const evaluation = "IAM User Guide, Policy evaluation logic"

func credentials4() map[string]credential {
	errors := "Amazon S3 API Reference, Error responses"
	return map[string]credential{
		"allowed everything":                         {policy: `{"Effect":"Allow","Action":"*","Resource":"*"}`, doc: evaluation},
		"allowed exactly the required actions":       {policy: `{"Effect":"Allow","Action":[%a],"Resource":"*"}`, doc: evaluation},
		"allowed everything but one action it needs": {policy: `{"Effect":"Allow","NotAction":"%1","Resource":"*"}`, each: true, status: 403, code: "AccessDenied", doc: evaluation},
		"allowed everything and denied one action":   {policy: `{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"%1","Resource":"*"}`, each: true, status: 403, code: "AccessDenied", doc: evaluation},
		"allowed everything on another bucket":       {policy: `{"Effect":"Allow","Action":"*","Resource":["arn:aws:s3:::other","arn:aws:s3:::other/*","arn:aws:iam::000000000000:user/other"]}`, status: 403, code: "AccessDenied", doc: evaluation},
		"without a policy":                           {status: 403, code: "AccessDenied", doc: evaluation},
		"anonymous":                                  {policy: `{"Effect":"Allow","Action":"*","Resource":"*"}`, key: "anonymous", status: 403, code: "AccessDenied", doc: errors},
		"with a wrong secret":                        {policy: `{"Effect":"Allow","Action":"*","Resource":"*"}`, key: "wrong secret", status: 403, code: "SignatureDoesNotMatch", doc: errors},
		"with a key that does not exist":             {policy: `{"Effect":"Allow","Action":"*","Resource":"*"}`, key: "unknown", status: 403, code: "InvalidAccessKeyId", doc: errors},
		"with an inactive key":                       {policy: `{"Effect":"Allow","Action":"*","Resource":"*"}`, key: "inactive", status: 403, code: "InvalidAccessKeyId", doc: errors},
	}
}

// row is one line of the table.
type row struct {
	op, who string
	operation
	policy, key string
	wantStatus  int
	wantCode    string
}

func rows(t *testing.T) []row {
	t.Helper()
	var out []row
	for name, op := range operations() {
		query := strings.Contains(name, ":") && !strings.HasPrefix(name, "s3control:")
		for who, c := range credentials4() {
			r := row{op: name, who: who, operation: op, policy: c.policy, key: c.key, wantStatus: c.status, wantCode: c.code}
			if c.status == 0 {
				r.wantStatus, r.wantCode = op.status, op.code
			}
			if query && c.status != 0 {
				r.wantCode = map[string]string{"InvalidAccessKeyId": "InvalidClientTokenId"}[c.code]
				if r.wantCode == "" {
					r.wantCode = c.code
				}
				if c.key == "anonymous" {
					r.wantCode = "MissingAuthenticationToken"
				}
			}
			if op.open && c.status == http.StatusForbidden && (c.key == "" || c.key == "anonymous") && !strings.HasPrefix(name, "sts:Get") {
				continue
			}
			actions := strings.Fields(op.actions)
			if op.open && c.key == "" {
				r.wantStatus, r.wantCode = op.status, ""
				if strings.Contains(r.policy, "%") {
					continue
				}
			}
			r.policy = strings.ReplaceAll(r.policy, "%a", `"`+strings.Join(actions, `","`)+`"`)
			if !c.each {
				out = append(out, r)
				continue
			}
			for _, a := range actions {
				one := r
				one.who += " (" + a + ")"
				one.policy = strings.ReplaceAll(r.policy, "%1", a)
				out = append(out, one)
			}
		}
	}
	return out
}

func TestBehaviour(t *testing.T) {
	t.Parallel()
	table := rows(t)
	refusals := 0
	// A rejected call changes nothing, so all of them can share a world.
	shared := newWorld(t)
	for _, r := range table {
		if r.wantStatus == http.StatusForbidden {
			refusals++
		}
		t.Run(r.op+"/"+r.who, func(t *testing.T) {
			t.Parallel()
			w := shared
			if r.wantStatus != http.StatusForbidden || r.perKey {
				w = newWorld(t)
			}
			got := w.call(t, r)
			if code := errorCode(got.Body.Bytes()); got.Code != r.wantStatus && !r.perKey || !strings.EqualFold(code, r.wantCode) && r.method != http.MethodHead {
				t.Errorf("%s %s: got %d %s, want %d %s\n%s", r.method, r.path, got.Code, code, r.wantStatus, r.wantCode, got.Body.String())
			}
		})
	}
	t.Logf("%d rows, %d refusals", len(table), refusals)
	if len(table) < 300 || refusals*2 < len(table) {
		t.Errorf("%d rows with %d refusals, want at least 300 and half of them refusals", len(table), refusals)
	}
	covered := map[string]bool{}
	for name := range operations() {
		op, _, _ := strings.Cut(name, " ")
		covered[op] = true
	}
	for _, name := range shared.Operations() {
		if !covered[name] && !slices.Contains(elsewhere, name) {
			t.Errorf("operation %s is served and has no row", name)
		}
	}
}

// elsewhere are the operations that authenticate by something else than a signature and have tests of their own:
// TestPostObject, TestWebIdentity and TestPodIdentity. TestQueuesAreProtected has those of SQS, whose errors are JSON.
var elsewhere = []string{
	"PostObject", "sts:AssumeRoleWithWebIdentity", "eks-auth:AssumeRoleForPodIdentity", "eks:CreatePodIdentityAssociation",
	"eks:DeletePodIdentityAssociation", "eks:DescribePodIdentityAssociation", "eks:ListPodIdentityAssociations",
	"sqs:CreateQueue", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ReceiveMessage",
}

func errorCode(body []byte) string {
	_, rest, ok := strings.Cut(string(body), "<Code>")
	if !ok {
		return ""
	}
	code, _, _ := strings.Cut(rest, "</Code>")
	return code
}

// world is a server with something of everything in it, called without a listener.
type world struct {
	*s3fake.Server
	known   map[string]string
	callers atomic.Int64
	// clock is the time of a server that replays a recording.
	clock func() time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s := faketest.Open(t, s3fake.New, s3fake.Options{Clusters: map[string]string{"dev": "https://issuer.example.com"}})
	w := &world{Server: s, known: map[string]string{}}
	for _, step := range setup() {
		got := w.send(t, s.Root(), step)
		if got.Code >= http.StatusMultipleChoices {
			t.Fatalf("set up %s %s: %d %s", step.method, step.path, got.Code, got.Body.String())
		}
		w.learn(step, got)
	}
	return w
}

// learn remembers IDs that later requests need.
func (w *world) learn(step operation, got *httptest.ResponseRecorder) {
	if v := got.Header().Get("X-Amz-Version-Id"); v != "" {
		w.known["{version}"] = v
	}
	if v := got.Header().Get("Etag"); v != "" {
		w.known["{etag}"] = strings.Trim(v, `"`)
	}
	for element, name := range map[string]string{"UploadId": "{upload}", "AccessKeyId": "{key}"} {
		if _, rest, ok := strings.Cut(got.Body.String(), "<"+element+">"); ok {
			w.known[name], _, _ = strings.Cut(rest, "<")
		}
	}
	// Uploads and versions of the keys that are about one thing go by the key's name too.
	key, _, _ := strings.Cut(strings.TrimPrefix(step.path, "/docs/"), "?")
	switch id := w.known["{upload}"]; key {
	case "sealed", "summed":
		w.known["{"+key+"}"] = id
	case "locked", "governed":
		w.known["{"+key+"}"] = w.known["{version}"]
	}
}

func (w *world) fill(s string) string {
	for name, v := range w.known {
		s = strings.ReplaceAll(s, name, v)
	}
	return s
}

// call makes a user with the row's policy and sends the row's request as him.
func (w *world) call(t *testing.T, r row) *httptest.ResponseRecorder {
	t.Helper()
	name := fmt.Sprintf("caller-%d", w.callers.Add(1))
	c := s3fake.Credentials{AccessKeyID: "AKIA" + strings.ToUpper(hex.EncodeToString([]byte(name))), SecretAccessKey: "secret"}
	u := s3fake.ImportedUser{Name: name, Credentials: c}
	if r.policy != "" {
		u.Policy = `{"Version":"2012-10-17","Statement":[` + r.policy + `]}`
	}
	wantNoError(t, w.ImportUser(u))
	switch r.key {
	case "anonymous":
		c = s3fake.Credentials{}
	case "wrong secret":
		c.SecretAccessKey = "wrong"
	case "unknown":
		c.AccessKeyID = "AKIANOSUCHKEYATALLXX"
	case "inactive":
		w.send(t, w.Root(), operation{method: "POST", path: "/", body: "Action=UpdateAccessKey&UserName=" + name + "&Status=Inactive&AccessKeyId=" + c.AccessKeyID})
	}
	return w.send(t, c, r.operation)
}

// send signs and serves one request. A path of "/" with a body is the Query protocol.
func (w *world) send(tb testing.TB, c s3fake.Credentials, op operation) *httptest.ResponseRecorder {
	tb.Helper()
	op.path, op.headers, op.body = w.fill(op.path), w.fill(op.headers), w.fill(op.body)
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, signedRequest(tb, "http://127.0.0.1", aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey}, op))
	return rec
}

// signedRequest is an operation as a request; without an access key it is anonymous.
func signedRequest(tb testing.TB, base string, creds aws.Credentials, op operation) *http.Request {
	tb.Helper()
	body := []byte(op.body)
	target, region := endpointOf(base, op.path)
	req := httptest.NewRequestWithContext(tb.Context(), op.method, target, bytes.NewReader(body))
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	service := cmp.Or(op.service, "s3")
	if op.service == "" && op.path == "/" && op.method == http.MethodPost {
		service = "iam"
		if strings.Contains(op.body, "Action=AssumeRole") || strings.Contains(op.body, "GetCallerIdentity") || strings.Contains(op.body, "GetSessionToken") {
			service = "sts"
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else {
		req.Header.Set("X-Amz-Content-Sha256", hash)
		if len(body) > 0 {
			digest := md5.Sum(body)
			req.Header.Set("Content-Md5", base64.StdEncoding.EncodeToString(digest[:]))
		}
	}
	sent := map[string]bool{}
	for line := range strings.SplitSeq(op.headers, "\n") {
		switch name, value, ok := strings.Cut(line, ": "); {
		case ok && value == "":
			req.Header.Del(name)
		case ok && value == `""`:
			req.Header.Set(name, "")
		case ok && sent[name]:
			req.Header.Add(name, value)
		case ok:
			req.Header.Set(name, value)
			sent[name] = true
		}
	}
	if creds.AccessKeyID != "" {
		raw := req.URL.RawQuery
		defer func() { req.URL.RawQuery = raw }() // the signer omits what it cannot parse
		wantNoError(tb, v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).SignHTTP(tb.Context(), creds, req, hash, service, region, time.Now()))
	}
	return req
}
