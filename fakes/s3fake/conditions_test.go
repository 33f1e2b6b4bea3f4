// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// TestConditionsOfRequests allows a request under a condition that it meets, and under one that it does not. Which keys
// an operation has is in "Condition keys for Amazon S3" of the Service Authorization Reference.
func TestConditionsOfRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put := func(path, headers, body string) operation {
		return operation{method: http.MethodPut, path: path, headers: headers, body: body}
	}
	for _, op := range []operation{put("/docs/tagged", "X-Amz-Tagging: team=a", "x"), put("/docs/k?tagging", "", tagging)} {
		if got := w.send(t, w.Root(), op); got.Code != http.StatusOK {
			t.Fatalf("set up %s: %d %s", op.path, got.Code, got.Body)
		}
	}
	get := func(path string) operation { return operation{method: http.MethodGet, path: path} }
	located := `<CreateBucketConfiguration><Tags><Tag><Key>a</Key><Value>b</Value></Tag></Tags></CreateBucketConfiguration>`
	tests := map[string]struct {
		request operation
		holds   string
		fails   string
	}{
		"tags in the body of PutObjectTagging":    {put("/docs/k?tagging", "", tagging), `"StringEquals":{"s3:RequestObjectTag/a":"b"}`, `"StringEquals":{"s3:RequestObjectTag/a":"c"}`},
		"tag keys in the body":                    {put("/docs/k?tagging", "", tagging), `"ForAllValues:StringEquals":{"s3:RequestObjectTagKeys":["a","z"]}`, `"ForAllValues:StringEquals":{"s3:RequestObjectTagKeys":["z"]}`},
		"tags in a header":                        {put("/docs/new", "X-Amz-Tagging: a=b", "x"), `"StringEquals":{"s3:RequestObjectTag/a":"b"}`, `"Null":{"s3:RequestObjectTag/a":"true"}`},
		"tags of an object that is read":          {get("/docs/tagged"), `"StringEquals":{"s3:ExistingObjectTag/team":"a"}`, `"StringEquals":{"s3:ExistingObjectTag/team":"b"}`},
		"tags of an object whose tags are read":   {get("/docs/tagged?tagging"), `"StringEquals":{"s3:ExistingObjectTag/team":"a"}`, `"StringNotEquals":{"s3:ExistingObjectTag/team":"a"}`},
		"tags of an object whose tags are put":    {put("/docs/tagged?tagging", "", tagging), `"StringEquals":{"s3:ExistingObjectTag/team":"a"}`, `"StringNotEquals":{"s3:ExistingObjectTag/team":"a"}`},
		"tags of an object whose ACL is read":     {get("/docs/tagged?acl"), `"StringEquals":{"s3:ExistingObjectTag/team":"a"}`, `"StringNotEquals":{"s3:ExistingObjectTag/team":"a"}`},
		"the mode of a retention":                 {put("/docs/k?retention", "", retention), `"StringEquals":{"s3:object-lock-mode":"GOVERNANCE"}`, `"StringEquals":{"s3:object-lock-mode":"COMPLIANCE"}`},
		"the days of a retention":                 {put("/docs/k?retention", "", retention), `"NumericGreaterThan":{"s3:object-lock-remaining-retention-days":"365"}`, `"NumericLessThan":{"s3:object-lock-remaining-retention-days":"365"}`},
		"the days of a new object's retention":    {put("/docs/new", until, "x"), `"NumericGreaterThan":{"s3:object-lock-remaining-retention-days":"365"}`, `"NumericLessThan":{"s3:object-lock-remaining-retention-days":"365"}`},
		"the date of a retention":                 {put("/docs/k?retention", "", retention), `"DateGreaterThan":{"s3:object-lock-retain-until-date":"2098-01-01T00:00:00Z"}`, `"DateLessThan":{"s3:object-lock-retain-until-date":"2098-01-01T00:00:00Z"}`},
		"a legal hold":                            {put("/docs/k?legal-hold", "", hold), `"StringEquals":{"s3:object-lock-legal-hold":"ON"}`, `"StringEquals":{"s3:object-lock-legal-hold":"OFF"}`},
		"a write that must not overwrite":         {put("/docs/new", "If-None-Match: *", "x"), `"Null":{"s3:if-none-match":"false"}`, `"Null":{"s3:if-none-match":"true"}`},
		"a write that makes an object":            {put("/docs/new", "", "x"), `"Bool":{"s3:ObjectCreationOperation":"true"}`, `"Bool":{"s3:ObjectCreationOperation":"false"}`},
		"a part makes no object":                  {put("/docs/k?partNumber=2&uploadId={upload}", "", "x"), `"Bool":{"s3:ObjectCreationOperation":"false"}`, `"Bool":{"s3:ObjectCreationOperation":"true"}`},
		"the prefix of a listing":                 {get("/docs?list-type=2&prefix=home%2Fme"), `"StringLike":{"s3:prefix":["home/*"]}`, `"StringLike":{"s3:prefix":["other/*"]}`},
		"a listing without a prefix":              {get("/docs?list-type=2"), `"StringLikeIfExists":{"s3:prefix":"home/*"}`, `"StringLike":{"s3:prefix":"home/*"}`},
		"the length of a listing":                 {get("/docs?list-type=2&max-keys=10"), `"NumericLessThanEquals":{"s3:max-keys":"10"}`, `"NumericLessThan":{"s3:max-keys":"10"}`},
		"the storage class":                       {put("/docs/new", "X-Amz-Storage-Class: STANDARD_IA", "x"), `"StringEquals":{"s3:x-amz-storage-class":"STANDARD_IA"}`, `"StringEquals":{"s3:x-amz-storage-class":"STANDARD"}`},
		"encryption that is asked for":            {put("/docs/new", "X-Amz-Server-Side-Encryption: AES256", "x"), `"StringEquals":{"s3:x-amz-server-side-encryption":"AES256"}`, `"StringNotEquals":{"s3:x-amz-server-side-encryption":"AES256"}`},
		"tags of a new bucket":                    {put("/fresh", "", located), `"StringEquals":{"aws:RequestTag/a":"b"}`, `"ForAnyValue:StringEquals":{"aws:TagKeys":"z"}`},
		"the caller's name as a variable":         {get("/docs?list-type=2&prefix=caller-"), `"StringNotEquals":{"s3:prefix":"${aws:username}"}`, `"StringEquals":{"s3:prefix":"${aws:username}"}`},
		"a variable with a default":               {get("/docs?list-type=2&prefix=none"), `"StringEquals":{"s3:prefix":"${aws:PrincipalTag/team, 'none'}"}`, `"StringEquals":{"s3:prefix":"${aws:PrincipalTag/team}"}`},
		"an address":                              {get("/docs/k"), `"IpAddress":{"aws:SourceIp":"192.0.2.0/24"}`, `"NotIpAddress":{"aws:SourceIp":"192.0.2.0/24"}`},
		"no encryption on the way":                {get("/docs/k"), `"Bool":{"aws:SecureTransport":"false"}`, `"Bool":{"aws:SecureTransport":"true"}`},
		"nobody has a second factor":              {get("/docs/k"), `"BoolIfExists":{"aws:MultiFactorAuthPresent":"true"}`, `"Bool":{"aws:MultiFactorAuthPresent":"true"}`},
		"the ARN of the caller":                   {get("/docs/k"), `"ArnLike":{"aws:PrincipalArn":"arn:aws:iam::*:user/caller-*"}`, `"ArnNotLike":{"aws:PrincipalArn":"arn:aws:iam::*:user/caller-*"}`},
		"two conditions, of which both must hold": {get("/docs/k"), `"Bool":{"aws:SecureTransport":"false"},"StringEquals":{"aws:PrincipalType":"User"}`, `"Bool":{"aws:SecureTransport":"false"},"StringEquals":{"aws:PrincipalType":"Account"}`},
		"the service that uses a KMS key":         {get("/docs/sealed"), `"StringLikeIfExists":{"kms:ViaService":"s3.*.amazonaws.com"}`, `"StringLikeIfExists":{"kms:ViaService":"ec2.*.amazonaws.com"}`},
		"the object that a KMS key is used for":   {get("/docs/sealed"), `"StringLikeIfExists":{"kms:EncryptionContext:aws:s3:arn":"arn:aws:s3:::docs/*"}`, `"StringLikeIfExists":{"kms:EncryptionContext:aws:s3:arn":["arn:aws:s3:::docs","arn:aws:s3:::other/*"]}`},
		"the bucket that has a key of its own":    {put("/docs/new", kms+"\nX-Amz-Server-Side-Encryption-Bucket-Key-Enabled: true", "x"), `"StringLikeIfExists":{"kms:EncryptionContext:aws:s3:arn":"arn:aws:s3:::docs"}`, `"StringLikeIfExists":{"kms:EncryptionContext:aws:s3:arn":"arn:aws:s3:::docs/*"}`},
		"the account of the bucket":               {get("/docs/k"), `"StringEquals":{"aws:ResourceAccount":"000000000000"}`, `"StringEquals":{"aws:ResourceAccount":"111122223333"}`},
		"no grant":                                {get("/docs/k"), `"Null":{"s3:x-amz-grant-read":"true"}`, `"Null":{"s3:x-amz-grant-read":"false"}`},
		"no key of a customer":                    {get("/docs/k"), `"Null":{"s3:x-amz-server-side-encryption-customer-algorithm":"true"}`, `"StringEquals":{"s3:x-amz-server-side-encryption-customer-algorithm":"AES256"}`},
		"a time":                                  {get("/docs/k"), `"DateLessThan":{"aws:CurrentTime":"2099-01-01T00:00:00Z"}`, `"DateGreaterThan":{"aws:CurrentTime":"2099-01-01T00:00:00Z"}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			allowed := func(condition string) row {
				return row{operation: tc.request, policy: `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{` + condition + `}}`}
			}
			if got := newWorldLike(t).call(t, allowed(tc.holds)); got.Code != http.StatusOK {
				t.Errorf("under %s: %d %s", tc.holds, got.Code, got.Body)
			}
			if got := w.call(t, allowed(tc.fails)); got.Code != http.StatusForbidden {
				t.Errorf("under %s: %d %s", tc.fails, got.Code, got.Body)
			}
		})
	}
}

// TestConditionsOfHeaders denies headers by their condition keys. The denial must take precedence over the error for
// headers that are not implemented, or only for other operations. "Condition keys for Amazon S3" lists the headers
// with keys.
func TestConditionsOfHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	object, bucket := operation{method: http.MethodPut, path: "/docs/new", body: "x"}, operation{method: http.MethodPut, path: "/fresh"}
	for header, on := range map[string]struct {
		operation
		value string
	}{
		"x-amz-acl":                                       {object, "public-read"},
		"x-amz-grant-read":                                {object, "id=1"},
		"x-amz-grant-write":                               {bucket, "id=1"},
		"x-amz-grant-read-acp":                            {object, "id=1"},
		"x-amz-grant-write-acp":                           {object, "id=1"},
		"x-amz-grant-full-control":                        {object, "id=1"},
		"x-amz-copy-source":                               {object, "docs/k"},
		"x-amz-metadata-directive":                        {object, "REPLACE"},
		"x-amz-server-side-encryption":                    {object, "aws:kms:dsse"},
		"x-amz-server-side-encryption-aws-kms-key-id":     {object, "k"},
		"x-amz-server-side-encryption-customer-algorithm": {object, "AES256"},
		"x-amz-storage-class":                             {object, "GLACIER"},
		"x-amz-website-redirect-location":                 {object, "/x"},
		"x-amz-object-ownership":                          {bucket, "ObjectWriter"},
		"x-amz-bucket-namespace":                          {bucket, "account-regional"},
		"x-amz-content-sha256":                            {object, ""},
		"if-match":                                        {object, "x"},
		"if-none-match":                                   {object, "*"},
	} {
		op := on.operation
		if on.value != "" {
			op.headers = header + ": " + on.value
		}
		policy := `{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"Null":{"s3:` + header + `":"false"}}}`
		if got := w.call(t, row{operation: op, policy: policy}); got.Code != http.StatusForbidden || errorCode(got.Body.Bytes()) != "AccessDenied" {
			t.Errorf("with %s: %d %s", header, got.Code, got.Body)
		}
	}
}

// newWorldLike is a world with the tagged objects of TestConditionsOfRequests.
func newWorldLike(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.send(t, w.Root(), operation{method: http.MethodPut, path: "/docs/tagged", headers: "X-Amz-Tagging: team=a", body: "x"})
	return w
}

// TestExpectedBucketOwner names the account that a bucket is to belong to ("Verifying bucket ownership with bucket owner
// condition" in the Amazon S3 User Guide).
func TestExpectedBucketOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, op := range []operation{
		{method: http.MethodGet, path: "/docs?location"},
		{method: http.MethodGet, path: "/docs?tagging"},
		{method: http.MethodGet, path: "/docs/k"},
		{method: http.MethodPut, path: "/docs?tagging", body: tagging},
		{method: http.MethodDelete, path: "/docs"},
		{method: http.MethodHead, path: "/docs"},
	} {
		op.headers = "X-Amz-Expected-Bucket-Owner: 111122223333"
		if got := w.send(t, w.Root(), op); got.Code != http.StatusForbidden || op.method != http.MethodHead && errorCode(got.Body.Bytes()) != "AccessDenied" {
			t.Errorf("%s %s of another account: %d %s, want 403 AccessDenied", op.method, op.path, got.Code, got.Body)
		}
	}
	if got := w.send(t, w.Root(), operation{method: http.MethodGet, path: "/docs/k", headers: "X-Amz-Expected-Bucket-Owner: 000000000000"}); got.Code != http.StatusOK {
		t.Errorf("of its own account: %d %s", got.Code, got.Body)
	}
}

// TestResourceOfListBuckets lists the buckets under policies that name all of them, in either way, and under one that
// names a single one ("Walkthrough: Controlling access to a bucket with user policies" in the Amazon S3 User Guide).
func TestResourceOfListBuckets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for resource, want := range map[string]int{"*": http.StatusOK, "arn:aws:s3:::*": http.StatusOK, "arn:aws:s3:::docs": http.StatusForbidden} {
		got := w.call(t, row{operation: operation{method: http.MethodGet, path: "/"}, policy: `{"Effect":"Allow","Action":"s3:ListAllMyBuckets","Resource":"` + resource + `"}`})
		if got.Code != want {
			t.Errorf("on %s: %d %s, want %d", resource, got.Code, got.Body, want)
		}
	}
}

// TestConditionsOfPresignedURLs denies the same requests as the examples in "Amazon S3 Signature Version 4
// Authentication Specific Policy Keys" (Amazon S3 API Reference).
func TestConditionsOfPresignedURLs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tests := map[string]struct {
		denied string
		age    time.Duration
		want   int
	}{
		"a body that is not signed":            {`"StringEquals":{"s3:x-amz-content-sha256":"UNSIGNED-PAYLOAD"}`, 0, http.StatusForbidden},
		"a signature in the query":             {`"StringEquals":{"s3:authType":"REST-QUERY-STRING"}`, 0, http.StatusForbidden},
		"an old signature":                     {`"NumericGreaterThan":{"s3:signatureAge":"600000"}`, 11 * time.Minute, http.StatusForbidden},
		"an old signature, when it is not old": {`"NumericGreaterThan":{"s3:signatureAge":"600000"}`, time.Minute, http.StatusOK},
		"a signature in a header":              {`"StringEquals":{"s3:authType":"REST-HEADER"}`, 0, http.StatusOK},
	}
	n := 0
	for name, tc := range tests {
		n++
		c := s3fake.Credentials{AccessKeyID: "AKIAPRESIGNED" + strings.Repeat("A", n), SecretAccessKey: "secret"}
		err := w.ImportUser(s3fake.ImportedUser{Name: strings.ReplaceAll(name, " ", "-"), Credentials: c, Policy: `{"Version":"2012-10-17","Statement":[
			{"Effect":"Allow","Action":"s3:*","Resource":"*"},{"Effect":"Deny","Action":"s3:*","Resource":"*","Condition":{` + tc.denied + `}}]}`})
		wantNoError(t, err)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "http://127.0.0.1/docs/presigned?X-Amz-Expires=3600", strings.NewReader("x"))
			url, _, err := signer.PresignHTTP(t.Context(), aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey}, req, "UNSIGNED-PAYLOAD", "s3", "us-east-1", time.Now().Add(-tc.age))
			wantNoError(t, err)
			got := httptest.NewRecorder()
			w.ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), http.MethodPut, url, strings.NewReader("x")))
			if got.Code != tc.want {
				t.Errorf("%d %s, want %d", got.Code, got.Body, tc.want)
			}
		})
	}
}

// TestTLSVersion compares the version of TLS, as policies do that demand a modern one.
func TestTLSVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for version, want := range map[uint16]int{tls.VersionTLS12: http.StatusForbidden, tls.VersionTLS13: http.StatusOK} {
		c := s3fake.Credentials{AccessKeyID: "AKIATLS" + strings.Repeat("A", int(version&0xf)), SecretAccessKey: "secret"}
		err := w.ImportUser(s3fake.ImportedUser{Name: tls.VersionName(version)[4:], Credentials: c, Policy: `{"Version":"2012-10-17","Statement":[
			{"Effect":"Allow","Action":"s3:*","Resource":"*"},
			{"Effect":"Deny","Action":"s3:*","Resource":"*","Condition":{"NumericLessThan":{"s3:TlsVersion":"1.3"}}}]}`})
		wantNoError(t, err)
		req := signedRequest(t, "https://127.0.0.1", aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey}, operation{method: http.MethodGet, path: "/docs/k"})
		req.TLS = &tls.ConnectionState{Version: version}
		got := httptest.NewRecorder()
		if w.ServeHTTP(got, req); got.Code != want {
			t.Errorf("%s: %d %s, want %d", tls.VersionName(version), got.Code, got.Body, want)
		}
	}
}

// TestGroups gives a user what his groups may, and takes it again.
func TestGroups(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := s3fake.Credentials{AccessKeyID: "AKIAMEMBER", SecretAccessKey: "secret"}
	wantNoError(t, w.ImportUser(s3fake.ImportedUser{Name: "member", Credentials: c}))
	read := func(want int) {
		t.Helper()
		if got := w.send(t, c, operation{method: http.MethodGet, path: "/docs/k"}); got.Code != want {
			t.Errorf("read: %d %s, want %d", got.Code, got.Body, want)
		}
	}
	do := func(op operation) {
		t.Helper()
		if got := w.send(t, w.Root(), op); got.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", op.actions, got.Code, got.Body)
		}
	}
	read(http.StatusForbidden)
	do(query("CreateGroup", "GroupName=readers", "Path=/a/"))
	do(query("AddUserToGroup", "GroupName=readers", "UserName=member"))
	do(query("AddUserToGroup", "GroupName=readers", "UserName=member")) // which changes nothing
	read(http.StatusForbidden)
	do(query("PutGroupPolicy", "GroupName=readers", "PolicyName=p", "PolicyDocument="+anyPolicy))
	read(http.StatusOK)
	do(query("UpdateGroup", "GroupName=readers", "NewGroupName=others", "NewPath=/b/"))
	read(http.StatusOK)
	do(query("DeleteGroupPolicy", "GroupName=others", "PolicyName=p"))
	read(http.StatusForbidden)
	do(query("AttachGroupPolicy", "GroupName=others", "PolicyArn="+managed))
	read(http.StatusOK)
	do(query("PutGroupPolicy", "GroupName=others", "PolicyName=p", "PolicyDocument="+strings.Replace(anyPolicy, "Allow", "Deny", 1)))
	read(http.StatusForbidden)
	do(query("RemoveUserFromGroup", "GroupName=others", "UserName=member"))
	do(query("PutUserPolicy", "UserName=member", "PolicyName=p", "PolicyDocument="+anyPolicy))
	read(http.StatusOK)
	if inv := w.Inventory(); len(inv.Groups) != 3 || inv.Groups[1].Name != "others" || len(inv.Groups[1].Attached) != 1 {
		t.Errorf("the inventory has the groups %+v", inv.Groups)
	}
}
