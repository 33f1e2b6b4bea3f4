// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

const (
	traveller = "arn:aws:iam::000000000000:role/traveller"
	tagsToo   = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"000000000000"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`
)

// as sends a request with credentials that may be temporary.
func (w *world) as(t *testing.T, c aws.Credentials, op operation) *httptest.ResponseRecorder {
	t.Helper()
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, signedRequest(t, "http://127.0.0.1", c, op))
	return rec
}

// assume makes a session.
func (w *world) assume(t *testing.T, c aws.Credentials, params ...string) aws.Credentials {
	t.Helper()
	return w.session(t, c, "AssumeRole", params...)
}

// session makes a session by an action of STS.
func (w *world) session(t *testing.T, c aws.Credentials, action string, params ...string) aws.Credentials {
	t.Helper()
	got := w.as(t, c, query(action, params...))
	var response struct {
		Result struct {
			Key    string `xml:"Credentials>AccessKeyId"`
			Secret string `xml:"Credentials>SecretAccessKey"`
			Token  string `xml:"Credentials>SessionToken"`
		} `xml:",any"`
	}
	if err := xml.Unmarshal(got.Body.Bytes(), &response); err != nil || got.Code != http.StatusOK {
		t.Fatalf("%s %v: %d %s %v", action, params, got.Code, got.Body, err)
	}
	made := response.Result
	return aws.Credentials{AccessKeyID: made.Key, SecretAccessKey: made.Secret, SessionToken: made.Token}
}

// travellers adds a role with all permissions and sessions of up to two hours, and a user with a policy.
func (w *world) travellers(t *testing.T, policy string) aws.Credentials {
	t.Helper()
	for _, op := range []operation{
		query("CreateRole", "RoleName=traveller", "MaxSessionDuration=7200", "AssumeRolePolicyDocument="+tagsToo),
		query("PutRolePolicy", "RoleName=traveller", "PolicyName=p", "PolicyDocument="+allow("*", "*")),
	} {
		if got := w.send(t, w.Root(), op); got.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", op.actions, got.Code, got.Body)
		}
	}
	c := s3fake.Credentials{AccessKeyID: "AKIATRAVELLER000", SecretAccessKey: "secret"}
	wantNoError(t, w.ImportUser(s3fake.ImportedUser{Name: "walker", Credentials: c, Policy: policy}))
	return aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey}
}

// TestAssumeRole requests sessions that AWS rejects (AssumeRole in the STS API Reference, "Pass session tags in AWS
// STS" and "Roles terms and concepts" in the IAM User Guide), and unimplemented features, which must not be ignored.
func TestAssumeRole(t *testing.T) {
	t.Parallel()
	const name, tag, value = "RoleSessionName=session", "Tags.member.1.Key=team", "Tags.member.1.Value=a"
	everything, noTags := allow("*", "*"), allow("sts:AssumeRole", "*")
	eleven := []string{"RoleArn=" + traveller, name}
	for i := range 11 {
		eleven = append(eleven, fmt.Sprintf("PolicyArns.member.%d.arn=%s", i+1, managed))
	}
	tests := map[string]struct {
		policy  string
		params  []string
		chained bool
		status  int
		code    string
		says    string
	}{
		"with tags":                              {policy: everything, params: []string{"RoleArn=" + traveller, name, tag, value}, status: 200},
		"with tags that the trust does not name": {everything, []string{"RoleArn=arn:aws:iam::000000000000:role/role", name, tag, value}, false, 403, "AccessDenied", "sts:TagSession"},
		"with tags that the caller may not give": {noTags, []string{"RoleArn=" + traveller, name, tag, value}, false, 403, "AccessDenied", "sts:TagSession"},
		"for two hours":                          {policy: everything, params: []string{"RoleArn=" + traveller, name, "DurationSeconds=7200"}, status: 200},
		"for three hours":                        {everything, []string{"RoleArn=" + traveller, name, "DurationSeconds=10800"}, false, 400, "ValidationError", "MaxSessionDuration"},
		"for two hours, by a session":            {everything, []string{"RoleArn=" + traveller, name, "DurationSeconds=7200"}, true, 400, "ValidationError", "1 hour session limit for roles assumed by role chaining"},
		"for an hour, by a session":              {policy: everything, params: []string{"RoleArn=" + traveller, name, "DurationSeconds=3600"}, chained: true, status: 200},
		"with ten session policies":              {policy: everything, params: eleven[:12], status: 200},
		"with eleven session policies":           {everything, eleven, false, 400, "ValidationError", "policyArns"},
		"with a second factor":                   {everything, []string{"RoleArn=" + traveller, name, "SerialNumber=GAHT12345678", "TokenCode=123456"}, false, 501, "NotImplemented", "SerialNumber"},
		"with a source identity":                 {everything, []string{"RoleArn=" + traveller, name, "SourceIdentity=me"}, false, 501, "NotImplemented", "SourceIdentity"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			caller := w.travellers(t, tc.policy)
			if tc.chained {
				caller = w.assume(t, caller, "RoleArn="+traveller, "RoleSessionName=first")
			}
			got := w.as(t, caller, query("AssumeRole", tc.params...))
			if got.Code != tc.status || errorCode(got.Body.Bytes()) != tc.code || !strings.Contains(got.Body.String(), tc.says) {
				t.Errorf("%d %s, want %d %s", got.Code, got.Body, tc.status, tc.code)
			}
		})
	}
}

// TestTransitiveTags requests sessions from a session. They have only its transitive tag, which their roles must trust.
func TestTransitiveTags(t *testing.T) {
	t.Parallel()
	const trusting, strict = "RoleArn=arn:aws:iam::000000000000:role/trusting", "RoleArn=arn:aws:iam::000000000000:role/strict"
	const tagged = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"*",` +
		`"Condition":{"StringEquals":{"aws:PrincipalTag/team":"a"},"Null":{"aws:PrincipalTag/site":"true"}}}]}`
	w := newWorld(t)
	caller := w.travellers(t, allow("*", "*"))
	for _, op := range []operation{
		query("CreateRole", "RoleName=trusting", "AssumeRolePolicyDocument="+tagsToo), query("PutRolePolicy", "RoleName=trusting", "PolicyName=p", "PolicyDocument="+tagged),
		query("CreateRole", "RoleName=strict", "AssumeRolePolicyDocument="+trust),
	} {
		if got := w.send(t, w.Root(), op); got.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", op.actions, got.Code, got.Body)
		}
	}
	first := w.assume(t, caller, "RoleArn="+traveller, "RoleSessionName=first", "TransitiveTagKeys.member.1=team",
		"Tags.member.1.Key=team", "Tags.member.1.Value=a", "Tags.member.2.Key=site", "Tags.member.2.Value=b")
	read := operation{method: http.MethodGet, path: "/docs/k"}
	if got := w.as(t, w.assume(t, first, trusting, "RoleSessionName=second"), read); got.Code != http.StatusOK {
		t.Errorf("a session of the session: %d %s", got.Code, got.Body)
	}
	if got := w.as(t, w.assume(t, caller, trusting, "RoleSessionName=other"), read); got.Code != http.StatusForbidden {
		t.Errorf("a session without tags: %d %s", got.Code, got.Body)
	}
	if got := w.as(t, first, query("AssumeRole", strict, "RoleSessionName=second")); got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), "sts:TagSession") {
		t.Errorf("a role that does not trust tags: %d %s", got.Code, got.Body)
	}
}

// TestSessionsAndBucketPolicies gives access to a role and to one of its sessions: only access that is given to the
// session itself is not limited by a session policy ("Policy evaluation logic" in the IAM User Guide).
func TestSessionsAndBucketPolicies(t *testing.T) {
	t.Parallel()
	const session = "arn:aws:sts::000000000000:assumed-role/traveller/session"
	read := operation{method: http.MethodGet, path: "/docs/k"}
	for principal, want := range map[string]int{session: http.StatusOK, traveller: http.StatusForbidden, "000000000000": http.StatusForbidden} {
		t.Run(principal, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.assume(t, w.travellers(t, allow("*", "*")), "RoleArn="+traveller, "RoleSessionName=session", "Policy="+allow("s3:ListBucket", "*"))
			if got := w.as(t, c, read); got.Code != http.StatusForbidden {
				t.Fatalf("without the bucket policy: %d %s", got.Code, got.Body)
			}
			policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"` + principal + `"},"Action":"s3:GetObject","Resource":"arn:aws:s3:::docs/*"}]}`
			if got := w.send(t, w.Root(), operation{method: http.MethodPut, path: "/docs?policy", body: policy}); got.Code != http.StatusNoContent {
				t.Fatalf("put the policy: %d %s", got.Code, got.Body)
			}
			if got := w.as(t, c, read); got.Code != want {
				t.Errorf("%d %s, want %d", got.Code, got.Body, want)
			}
		})
	}
}

// TestSessionsExpire outlives a session; S3 and the other services have different words for it.
func TestSessionsExpire(t *testing.T) {
	t.Parallel()
	var shift atomic.Int64
	shift.Store(int64(-10 * time.Minute))
	s := faketest.Open(t, s3fake.New, s3fake.Options{Now: func() time.Time { return time.Now().Add(time.Duration(shift.Load())) }})
	w := &world{Server: s, known: map[string]string{}}
	c := w.assume(t, w.travellers(t, allow("*", "*")), "RoleArn="+traveller, "RoleSessionName=session", "DurationSeconds=900")
	list, whoami := operation{method: http.MethodGet, path: "/"}, query("GetCallerIdentity")
	for _, op := range []operation{list, whoami} {
		if got := w.as(t, c, op); got.Code != http.StatusOK {
			t.Errorf("%s: %d %s", op.method, got.Code, got.Body)
		}
	}
	shift.Store(int64(10 * time.Minute))
	for status, op := range map[int]operation{http.StatusBadRequest: list, http.StatusForbidden: whoami} {
		if got := w.as(t, c, op); got.Code != status || errorCode(got.Body.Bytes()) != "ExpiredToken" {
			t.Errorf("%s: %d %s, want %d ExpiredToken", op.method, got.Code, got.Body, status)
		}
	}
}

// TestSessionsOfUsers has a user make a session of its own, for which no policy is asked, and which outlives its key
// ("Permissions for GetSessionToken" and "Disabling permissions for temporary security credentials" in the IAM User Guide).
func TestSessionsOfUsers(t *testing.T) {
	t.Parallel()
	const every, noToken = `{"Effect":"Allow","Action":"*","Resource":"*"}`, `{"Effect":"Deny","Action":"sts:*","Resource":"*"}`
	const noSession = `{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"DateGreaterThan":{"aws:TokenIssueTime":"1970-01-01T00:00:00Z"}}}`
	list, read := query("ListUsers"), operation{method: http.MethodGet, path: "/docs/k"}
	user := "UserName=walker"
	tests := map[string]struct {
		policy string
		// meanwhile are an administrator's calls before the session is used.
		meanwhile []operation
		use       operation
		status    int
		code      string
	}{
		"it is denied all of STS":               {every + "," + noToken, nil, read, 200, ""},
		"its key is deleted":                    {every, []operation{query("DeleteAccessKey", user, "AccessKeyId=AKIATRAVELLER000")}, read, 200, ""},
		"its policy is deleted":                 {every, []operation{query("DeleteUserPolicy", user, "PolicyName=imported")}, read, 403, "AccessDenied"},
		"it is denied all that sessions do":     {every + "," + noSession, nil, read, 403, "AccessDenied"},
		"it is deleted":                         {every, []operation{query("DeleteAccessKey", user, "AccessKeyId=AKIATRAVELLER000"), query("DeleteUserPolicy", user, "PolicyName=imported"), query("DeleteUser", user)}, read, 403, "InvalidAccessKeyId"},
		"IAM wants a second factor":             {every, nil, list, 403, "InvalidClientTokenId"},
		"a session does not make another one":   {every, nil, query("GetSessionToken"), 403, "AccessDenied"},
		"a session says whose it is":            {every, nil, query("GetCallerIdentity"), 200, ""},
		"a session of a session, for an hour":   {every, nil, query("AssumeRole", "RoleArn="+traveller, "RoleSessionName=session"), 200, ""},
		"a second factor is not served":         {every, nil, query("GetSessionToken", "SerialNumber=GAHT12345678", "TokenCode=123456"), 501, "NotImplemented"},
		"its key itself may do what it may not": {every + "," + noSession, nil, query("GetCallerIdentity"), 200, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			own := w.travellers(t, `{"Version":"2012-10-17","Statement":[`+tc.policy+`]}`)
			session := w.session(t, own, "GetSessionToken", "DurationSeconds=129600")
			if got := w.as(t, own, read); got.Code != http.StatusOK {
				t.Fatalf("the key itself: %d %s", got.Code, got.Body)
			}
			for _, op := range tc.meanwhile {
				if got := w.send(t, w.Root(), op); got.Code != http.StatusOK {
					t.Fatalf("%s: %d %s", op.actions, got.Code, got.Body)
				}
			}
			if got := w.as(t, session, tc.use); got.Code != tc.status || errorCode(got.Body.Bytes()) != tc.code {
				t.Errorf("%d %s, want %d %s", got.Code, got.Body, tc.status, tc.code)
			}
		})
	}
}

// TestSizeOfTokens asks for a session token of some size ("MinimumSessionTokenSize" in the STS API Reference).
func TestSizeOfTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for size, want := range map[string]struct {
		least int
		code  string
	}{
		"0": {1, ""}, "2048": {2048, ""}, "4096": {4096, ""}, "4097": {0, "ValidationError"}, "-1": {0, "ValidationError"}, "x": {0, "MalformedInput"},
	} {
		got := w.send(t, w.Root(), query("GetSessionToken", "MinimumSessionTokenSize="+size))
		_, rest, _ := strings.Cut(got.Body.String(), "<SessionToken>")
		token, _, _ := strings.Cut(rest, "<")
		if errorCode(got.Body.Bytes()) != want.code || len(token) < want.least {
			t.Errorf("%s: %d %s, a token of %d bytes", size, got.Code, got.Body, len(token))
		}
	}
}
