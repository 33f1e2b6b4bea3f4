// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"bufio"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// expiring is a lifecycle without an ID.
const expiring = `<LifecycleConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Rule><Status>Enabled</Status><Filter><And><Prefix>old/</Prefix>` +
	`<Tag><Key>a</Key><Value>b</Value></Tag></And></Filter><Expiration><Days>3</Days></Expiration></Rule>` +
	`<Rule><ID>stale parts</ID><Status>Enabled</Status><Prefix/><AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule></LifecycleConfiguration>`

// TestResponses compares responses with the Amazon S3 API Reference where status and code are not sufficient.
func TestResponses(t *testing.T) {
	t.Parallel()
	put := func(path, headers, body string) operation {
		return operation{method: http.MethodPut, path: path, headers: headers, body: body}
	}
	get := func(path, headers string) operation {
		return operation{method: http.MethodGet, path: path, headers: headers}
	}
	head := func(path string) operation { return operation{method: http.MethodHead, path: path} }
	rules := put("/docs?lifecycle", "", expiring)
	suspended := put("/empty?versioning", "", `<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>`)
	const copied = "X-Amz-Copy-Source: docs/k"
	tests := map[string]struct {
		before []operation
		op     operation
		status int
		// header is "Name: value", a value that ends in * is a beginning; "!Name" must be absent.
		header string
		says   string
	}{
		"304 has the ETag":                   {nil, get("/docs/k", strings.Replace(known, "If-Match", "If-None-Match", 1)), 304, `Etag: "a9f0e61a137d86aa9db53465e0801612"`, ""},
		"304 has the date":                   {nil, get("/docs/k", "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT\nIf-None-Match: *"), 304, "Last-Modified: *", ""},
		"412 is no 304":                      {nil, get("/docs/k", "If-Match: other"), 412, "!Etag", "<Condition>If-Match</Condition>"},
		"a range of what has not changed":    {nil, get("/docs/k", "Range: bytes=0-0\nIf-Range: \"a9f0e61a137d86aa9db53465e0801612\""), 206, "Content-Length: 1", "s"},
		"a range of what has changed":        {nil, get("/docs/k", "Range: bytes=0-0\nIf-Range: \"other\""), 200, "Content-Length: 6", "second"},
		"an archived object names its class": {nil, get("/docs/frozen", ""), 403, "", "<StorageClass>GLACIER</StorageClass>"},
		"a rule without an ID gets one":      {[]operation{rules}, get("/docs?lifecycle", ""), 200, "", `<LifecycleConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Rule><ID>`},
		"a lifecycle for a client of MinIO":  {[]operation{rules}, get("/docs?lifecycle&withUpdatedAt=true", ""), 200, "", "<Rule><ID>"},
		"an action of another service":       {nil, query("ListTopics", "Version=2010-03-31"), 400, "", "for version 2010-03-31. This fake supports S3, IAM, STS, SQS and EKS Pod Identity"},
		"the expiration of a new object":     {[]operation{rules}, put("/docs/old/k", "X-Amz-Tagging: a=b", "x"), 200, `X-Amz-Expiration: expiry-date="*`, ""},
		"the expiration of an object":        {[]operation{rules, put("/docs/old/k", "X-Amz-Tagging: a=b", "x")}, head("/docs/old/k"), 200, `X-Amz-Expiration: expiry-date="*`, ""},
		"no expiration without the tag":      {[]operation{rules}, put("/docs/old/k", "", "x"), 200, "!X-Amz-Expiration", ""},
		"no expiration elsewhere":            {[]operation{rules}, put("/docs/new", "X-Amz-Tagging: a=b", "x"), 200, "!X-Amz-Expiration", ""},
		"the end of an upload":               {[]operation{rules}, operation{method: http.MethodPost, path: "/docs/new?uploads"}, 200, "X-Amz-Abort-Rule-Id: stale parts", ""},
		"the encryption of a copied part":    {nil, put("/docs/sealed?partNumber=2&uploadId={sealed}", copied, ""), 200, "X-Amz-Server-Side-Encryption: aws:kms", ""},
		// As recorded in test_s3/test_s3_invalid_content_md5; the documentation shows base64.
		"a wrong digest, in hexadecimal":   {nil, put("/docs/new", "Content-Md5: 1B2M2Y8AsgTpgAmY7PhCfg==", "x"), 400, "", "<ExpectedDigest>d41d8cd98f00b204e9800998ecf8427e</ExpectedDigest><CalculatedDigest>ndTkYSaMgDT1yFZOFVxnpg==</CalculatedDigest>"},
		"the versions of a key":            {nil, get("/docs/k?versions", ""), 400, "", "<Code>InvalidRequest</Code><Message>There is no such thing as the ?versions sub-resource for a key</Message>"},
		"a metadata table, read":           {nil, get("/docs?metadataJournalTable", ""), 405, "Allow: PUT", "<Method>GET</Method><ResourceType>BUCKET_METADATA_JOURNAL_TABLE_CONFIGURATION</ResourceType>"},
		"a metadata table, written":        {nil, put("/docs?metadataJournalTable", "", "<JournalTableConfiguration/>"), 501, "", "PutBucketMetadataJournalTable is not supported by this fake"},
		"tiers, none of which exist":       {nil, get("/docs?intelligent-tiering", ""), 200, "", "<ListIntelligentTieringConfigurationsResult "},
		"a URL as the source of a copy":    {nil, put("/docs/new", "X-Amz-Copy-Source: https://s3.amazonaws.com/docs/k", ""), 200, "", "<ETag>&quot;a9f0e61a137d86aa9db53465e0801612&quot;</ETag>"},
		"a version in the URL of a source": {[]operation{put("/docs/k", "", "x")}, put("/docs/new", "X-Amz-Copy-Source: http://127.0.0.1:9000/docs/%6B?versionId={version}", ""), 200, "X-Amz-Copy-Source-Version-Id: *", "<CopyObjectResult"},
		"an empty location, self-closing":  {nil, put("/fresh", "", "<CreateBucketConfiguration><LocationConstraint/></CreateBucketConfiguration>"), 200, "Location: /fresh", ""},
		"a parameter in capitals":          {nil, put("/docs/k?partNumber=1&UploadId={upload}", "", "x"), 501, "", "PutObjectUploadId is not supported by this fake"},
		"the uploads of a key":             {nil, get("/docs/k?uploads", ""), 400, "", "<Code>InvalidRequest</Code><Message>Key is not expected for the GET method ?uploads subresource</Message>"},
		"a key that is not UTF-8":          {nil, put("/docs/%ff", "", "x"), 400, "", "<Code>InvalidURI</Code>"},
		"a source that is not UTF-8":       {nil, put("/docs/new", "X-Amz-Copy-Source: docs/%ff", ""), 400, "", "<Code>InvalidArgument</Code>"},
		"an empty version among deletions": {nil, operation{method: http.MethodPost, path: "/docs?delete", body: `<Delete><Object><Key>k</Key><VersionId/></Object></Delete>`}, 400, "", "Version id cannot be the empty string"},
		"an empty version of a source":     {nil, put("/docs/new", copied+"?versionId=", ""), 400, "", "Version id cannot be the empty string"},
		"the null version of a new object": {[]operation{suspended}, put("/empty/k", "", "x"), 200, "!X-Amz-Version-Id", ""},
		// As recorded in test_s3/test_s3_copy_object_in_place_suspended_only, in contrast to other writes.
		"the null version of a copy": {[]operation{suspended}, put("/empty/k", copied, ""), 200, "X-Amz-Version-Id: null", ""},
		"the null version of an upload in parts": {
			[]operation{suspended, {method: http.MethodPost, path: "/empty/k?uploads"}, put("/empty/k?partNumber=1&uploadId={upload}", "", "part")},
			operation{method: http.MethodPost, path: "/empty/k?uploadId={upload}", body: parts},
			200, "!X-Amz-Version-Id", "",
		},
		"the null version of a delete marker":     {[]operation{suspended, put("/empty/k", "", "x")}, operation{method: http.MethodDelete, path: "/empty/k"}, 204, "X-Amz-Version-Id: null", ""},
		"the version of a copy":                   {nil, put("/docs/new", copied, ""), 200, "X-Amz-Version-Id: *", ""},
		"metadata in UTF-8, taken for ISO 8859-1": {[]operation{put("/docs/new", "X-Amz-Meta-A: \u00c4", "x")}, head("/docs/new"), 200, "x-amz-meta-a: =?UTF-8?B?w4PChA==?=", ""},
		// As recorded in test_s3/test_user_metadata_rfc2047_encoded; the User Guide's examples use the encoding B.
		"metadata by RFC 2047": {[]operation{put("/docs/new", "X-Amz-Meta-A: =?UTF-8?Q?=C3=84?=", "x")}, head("/docs/new"), 200, "x-amz-meta-a: =?UTF-8?Q?=C3=84?=", ""},
		"metadata in ASCII":    {[]operation{put("/docs/new", "X-Amz-Meta-A: a=b; c", "x")}, head("/docs/new"), 200, "x-amz-meta-a: a=b; c", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, op := range tc.before {
				if got := w.send(t, w.Root(), op); got.Code != http.StatusOK {
					t.Fatalf("%s %s: %d %s", op.method, op.path, got.Code, got.Body)
				} else {
					w.learn(op, got)
				}
			}
			got := w.send(t, w.Root(), tc.op)
			if got.Code != tc.status || !strings.Contains(got.Body.String(), tc.says) {
				t.Errorf("%d %s, want %d with %q", got.Code, got.Body, tc.status, tc.says)
			}
			header, want, _ := strings.Cut(tc.header, ": ")
			value := strings.Join(got.Header()[header], ",")
			absent := strings.HasPrefix(header, "!")
			if absent {
				value = got.Header().Get(header[1:])
			}
			begin, open := strings.CutSuffix(want, "*")
			if value != want && (!open || value == "" || !strings.HasPrefix(value, begin)) {
				t.Errorf("%s is %q, want %q", header, value, want)
			}
		})
	}
}

// TestMalformedRequests sends requests that no client library sends.
func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	for how, f := range map[string]fake{"in the clear": start(t, s3fake.Options{}), "over TLS": startTLS(t, s3fake.Options{})} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			f.malformed(t)
		})
	}
}

func (f fake) malformed(t *testing.T) {
	t.Helper()
	f.bucket(t, "docs")
	signed := func(headers string) string {
		req := signedRequest(t, f.URL(), aws.Credentials{AccessKeyID: f.Root().AccessKeyID, SecretAccessKey: f.Root().SecretAccessKey}, operation{method: http.MethodPut, path: "/docs/k"})
		var b strings.Builder
		b.WriteString("PUT /docs/k HTTP/1.1\r\nHost: " + req.Host + "\r\nConnection: close\r\n" + headers)
		for name, values := range req.Header {
			b.WriteString(name + ": " + values[0] + "\r\n")
		}
		return b.String() + "\r\n"
	}
	tests := map[string]struct {
		request string
		status  int
		says    string
	}{
		"no length":                       {signed(""), 411, "<Code>MissingContentLength</Code>"},
		"a length of 0":                   {signed("Content-Length: 0\r\n"), 200, ""},
		"chunks":                          {signed("Transfer-Encoding: chunked\r\n") + "0\r\n\r\n", 501, "<Header>Transfer-Encoding</Header>"},
		"a malformed escape in the query": {"GET /docs?prefix=%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400, "<Code>InvalidURI</Code>"},
		"a malformed escape":              {"GET /docs/%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400, "<Code>InvalidURI</Code>"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, body := f.exchange(t, tc.request)
			if status != tc.status || !strings.Contains(body, tc.says) {
				t.Errorf("%d %s, want %d with %q", status, body, tc.status, tc.says)
			}
		})
	}
}

// exchange sends a request as it is and returns the response's status and body.
func (f fake) exchange(t *testing.T, request string) (int, string) {
	t.Helper()
	scheme, address, _ := strings.Cut(f.URL(), "://")
	dial := (&net.Dialer{}).DialContext
	if transport, ok := f.http.Transport.(*http.Transport); ok && scheme == "https" {
		dial = (&tls.Dialer{Config: transport.TLSClientConfig}).DialContext
	}
	conn, err := dial(t.Context(), "tcp", address)
	wantNoError(t, err)
	defer conn.Close()
	if _, err := conn.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	wantNoError(t, err)
	defer resp.Body.Close()
	var b strings.Builder
	if _, err := bufio.NewReader(resp.Body).WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, b.String()
}

// TestCreatingABucketAgain is an error in every region but one (BucketAlreadyOwnedByYou in CreateBucket of the Amazon S3
// API Reference).
func TestCreatingABucketAgain(t *testing.T) {
	t.Parallel()
	for region, want := range map[string]string{"us-east-1": "", "eu-central-1": "BucketAlreadyOwnedByYou"} {
		f := start(t, s3fake.Options{Region: region})
		input := &s3.CreateBucketInput{Bucket: aws.String("docs")}
		if region != "us-east-1" {
			input.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(region)}
		}
		_, err := f.s3(f.Root()).CreateBucket(t.Context(), input)
		wantNoError(t, err)
		_, err = f.s3(f.Root()).CreateBucket(t.Context(), input)
		if got := code(t, err); got != want {
			t.Errorf("in %s: %q, want %q", region, got, want)
		}
	}
}

// TestKeysOfRoot has the root user manage his own access keys without a UserName (CreateAccessKey in the IAM API
// Reference).
func TestKeysOfRoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := w.send(t, w.Root(), query("CreateAccessKey"))
	w.learn(operation{}, got)
	_, rest, _ := strings.Cut(got.Body.String(), "<SecretAccessKey>")
	secret, _, _ := strings.Cut(rest, "<")
	own := s3fake.Credentials{AccessKeyID: w.known["{key}"], SecretAccessKey: secret}
	steps := []struct {
		name   string
		who    s3fake.Credentials
		op     operation
		status int
		says   string
	}{
		{"a third key", w.Root(), query("CreateAccessKey"), 409, "LimitExceeded"},
		{"the new key", own, operation{method: http.MethodGet, path: "/docs/k"}, 200, "second"},
		{"its list", own, query("ListAccessKeys"), 200, w.Root().AccessKeyID},
		{"who that is", own, query("GetCallerIdentity"), 200, ":root</Arn>"},
		{"an end", w.Root(), query("UpdateAccessKey", "AccessKeyId={key}", "Status=Inactive"), 200, ""},
		{"the inactive key", own, operation{method: http.MethodGet, path: "/docs/k"}, 403, "InvalidAccessKeyId"},
		{"the deletion", w.Root(), query("DeleteAccessKey", "AccessKeyId={key}"), 200, ""},
		{"the first key", w.Root(), query("DeleteAccessKey", "AccessKeyId="+w.Root().AccessKeyID), 501, "NotImplemented"},
		{"no user of that name", w.Root(), query("ListUsers", "MaxItems=100"), 200, ""},
	}
	for _, s := range steps {
		if got := w.send(t, s.who, s.op); got.Code != s.status || !strings.Contains(got.Body.String(), s.says) || strings.Contains(got.Body.String(), "root_account") {
			t.Errorf("%s: %d %s, want %d with %q", s.name, got.Code, got.Body, s.status, s.says)
		}
	}
}

// TestMessages has the texts of errors as S3 writes them, which tools print and scripts look for: those of "Error responses" in
// the Amazon S3 API Reference, or, where S3 does not keep to it, as users report them.
func TestMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	get := func(path string) operation { return operation{method: http.MethodGet, path: path} }
	put := func(path, headers, body string) operation {
		return operation{method: http.MethodPut, path: path, headers: headers, body: body}
	}
	for code, tc := range map[string]struct {
		op      operation
		message string
	}{
		"NoSuchBucket": {get("/nowhere"), "The specified bucket does not exist"},
		"NoSuchKey":    {get("/docs/none"), "The specified key does not exist."},
		// As recorded in test_s3_api/test_delete_object_versioned; an ID that S3 never issued is invalid.
		"NoSuchVersion":                        {get("/docs/k?versionId={locked}"), "The specified version does not exist."},
		"NoSuchUpload":                         {get("/docs/k?uploadId=none"), "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed."},
		"NoSuchBucketPolicy":                   {get("/empty?policy"), "The bucket policy does not exist"},
		"NoSuchCORSConfiguration":              {get("/empty?cors"), "The CORS configuration does not exist"},
		"NoSuchLifecycleConfiguration":         {get("/empty?lifecycle"), "The lifecycle configuration does not exist"},
		"NoSuchTagSet":                         {get("/empty?tagging"), "The TagSet does not exist"},
		"NoSuchObjectLockConfiguration":        {get("/docs/k?retention"), "The specified object does not have a ObjectLock configuration"},
		"ObjectLockConfigurationNotFoundError": {get("/empty?object-lock"), "Object Lock configuration does not exist for this bucket"},
		"InvalidRange":                         {operation{method: http.MethodGet, path: "/docs/k", headers: "Range: bytes=99-"}, "The requested range is not satisfiable"},
		"InvalidObjectState":                   {get("/docs/frozen"), "The operation is not valid for the object's storage class"},
		"PreconditionFailed":                   {operation{method: http.MethodGet, path: "/docs/k", headers: `If-Match: "x"`}, "At least one of the pre-conditions you specified did not hold"},
		"BucketNotEmpty":                       {operation{method: http.MethodDelete, path: "/docs"}, "The bucket you tried to delete is not empty. You must delete all versions in the bucket."},
		"InvalidBucketName":                    {put("/UPPER", "", ""), "The specified bucket is not valid."},
		"BadDigest":                            {put("/docs/new", "Content-Md5: 1B2M2Y8AsgTpgAmY7PhCfg==", "x"), "The Content-MD5 you specified did not match what we received."},
		"InvalidDigest":                        {put("/docs/new", "Content-Md5: x", "x"), "The Content-MD5 you specified was invalid."},
		"InvalidStorageClass":                  {put("/docs/new", "X-Amz-Storage-Class: WARM", "x"), "The storage class you specified is not valid"},
		"MalformedXML":                         {put("/docs?tagging", "", "<Tagging>"), "The XML you provided was not well-formed or did not validate against our published schema"},
		"MissingRequestBodyError":              {put("/docs?cors", "Content-Md5: 1B2M2Y8AsgTpgAmY7PhCfg==", ""), "Request Body is empty"},
		"InvalidPart":                          {operation{method: http.MethodPost, path: "/docs/k?uploadId={upload}", body: strings.Replace(parts, "{etag}", "x", 1)}, "One or more of the specified parts could not be found.  The part may not have been uploaded, or the specified entity tag may not match the part's entity tag."},
		"InvalidPartOrder":                     {operation{method: http.MethodPost, path: "/docs/k?uploadId={upload}", body: strings.Replace(parts, "<Part>", "<Part><PartNumber>2</PartNumber><ETag>{etag}</ETag></Part><Part>", 1)}, "The list of parts was not in ascending order. Parts must be ordered by part number."},
		"KeyTooLongError":                      {get("/docs/" + strings.Repeat("k", 1025)), "Your key is too long"},
		"AccessControlListNotSupported":        {put("/docs?acl", "X-Amz-Acl: public-read", ""), "The bucket does not allow ACLs"},
		"MethodNotAllowed":                     {operation{method: http.MethodPost, path: "/docs/k?tagging"}, "The specified method is not allowed against this resource."},
		"InvalidLocationConstraint":            {put("/fresh", "", "<CreateBucketConfiguration><LocationConstraint>mars-1</LocationConstraint></CreateBucketConfiguration>"), "The specified location-constraint is not valid"},
	} {
		got := w.send(t, w.Root(), tc.op)
		if body := got.Body.String(); !strings.Contains(body, "<Code>"+code+"</Code><Message>"+tc.message+"</Message>") {
			t.Errorf("%s %s: %d %s, want %s: %s", tc.op.method, tc.op.path, got.Code, body, code, tc.message)
		}
	}
}

// TestManagedPoliciesOfAWS attaches policies that are AWS's own. Those that the fake lacks do not exist.
func TestManagedPoliciesOfAWS(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := s3fake.Credentials{AccessKeyID: "AKIAPOWERUSER", SecretAccessKey: "secret"}
	wantNoError(t, w.ImportUser(s3fake.ImportedUser{Name: "power", Credentials: c}))
	const ofAWS = "PolicyArn=arn:aws:iam::aws:policy/"
	steps := []struct {
		who    s3fake.Credentials
		op     operation
		status int
	}{
		{w.Root(), query("AttachUserPolicy", "UserName=power", ofAWS+"PowerUserAccess"), 200},
		{c, operation{method: http.MethodGet, path: "/docs/k"}, 200},
		{c, query("ListUsers"), 403},
		{w.Root(), query("AttachUserPolicy", "UserName=power", ofAWS+"AWSDenyAll"), 200},
		{c, operation{method: http.MethodGet, path: "/docs/k"}, 403},
		{w.Root(), query("AttachUserPolicy", "UserName=power", ofAWS+"AmazonEC2FullAccess"), 404},
		{w.Root(), query("GetPolicy", ofAWS+"AmazonEC2FullAccess"), 404},
		{w.Root(), query("PutUserPermissionsBoundary", "UserName=power", "PermissionsBoundary=arn:aws:iam::aws:policy/AmazonEC2FullAccess"), 404},
		{w.Root(), query("GetPolicy", ofAWS+"ReadOnlyAccess"), 200},
	}
	for _, s := range steps {
		if got := w.send(t, s.who, s.op); got.Code != s.status {
			t.Errorf("%s %s: %d %s, want %d", s.op.path, s.op.body, got.Code, got.Body, s.status)
		}
	}
}
