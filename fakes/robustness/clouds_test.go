// SPDX-License-Identifier: Apache-2.0

package robustness_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// request is one call in its written form. {upload} and {session} are replaced by an upload or session that was
// started.
type request struct{ method, path, headers, body string }

// server is the common interface of the fakes.
type server interface {
	http.Handler
	Reset() error
	Close() error
}

// fake is a server with a bucket "kept" in it that has an object "o", and begun uploads.
type fake struct {
	server

	inventory func() any
	// calls returns the recorded calls.
	calls func() []fault.Call
	// sign makes a request the administrator's.
	sign func(r *http.Request, body string)
	// setup creates the resources for requests and uploads.
	setup []request
	// requests have something of every kind, for the fuzzer; uploads take a body; object is where the one that is read is.
	requests, uploads []request
	object            request
	// controls put control characters where headers are made of.
	controls []request
	// unready reports whether a response of 500 or more is one of the real service's.
	unready func(status int, body string) bool
}

// clouds makes the fakes.
func clouds() map[string]func(t *testing.T) *fake {
	return map[string]func(t *testing.T) *fake{"S3": s3, "Azure": azure, "GCS": gcs}
}

func s3(t *testing.T) *fake {
	t.Helper()
	s, err := s3fake.New(s3fake.Options{})
	wantNoError(t, err)
	root := s.Root()
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	const form = "Content-Type: application/x-www-form-urlencoded"
	f := &fake{
		server: s, inventory: func() any { return s.Inventory() }, calls: s.Calls,
		sign: func(r *http.Request, body string) {
			hash, name := "UNSIGNED-PAYLOAD", "s3"
			if r.Method == http.MethodPost && r.URL.Path == "/" {
				sum := sha256.Sum256([]byte(body))
				hash, name = hex.EncodeToString(sum[:]), "iam"
			}
			r.Header.Set("X-Amz-Content-Sha256", hash)
			credentials := aws.Credentials{AccessKeyID: root.AccessKeyID, SecretAccessKey: root.SecretAccessKey}
			if err := signer.SignHTTP(r.Context(), credentials, r, hash, name, s.Region(), time.Now()); err != nil {
				t.Error(err)
			}
		},
		setup: []request{
			{method: "PUT", path: "/kept"},
			{method: "PUT", path: "/kept/o", body: "object"},
			{method: "POST", path: "/kept/m?uploads"},
		},
		uploads: []request{
			{method: "PUT", path: "/kept/new"},
			{method: "PUT", path: "/kept/o"},
			{method: "PUT", path: "/kept/m?partNumber=1&uploadId={upload}"},
			{method: "POST", path: "/kept/m?uploadId={upload}", body: "<CompleteMultipartUpload><Part>"},
			{method: "POST", path: "/kept", headers: "Content-Type: multipart/form-data; boundary=z", body: "--z\r\nContent-Disposition: form-data; name=key\r\n\r\nposted\r\n--z\r\nContent-Disposition: form-data; name=file\r\n\r\n"},
		},
		object: request{method: "PUT", path: "/kept/large"},
		controls: []request{
			{method: "GET", path: "/kept/o?response-content-type=a%00b%0d%0ac"},
			{method: "GET", path: "/kept/o?response-content-disposition=%7f"},
		},
		unready: func(status int, body string) bool {
			return status == http.StatusNotImplemented && (body == "" || strings.Contains(body, "NotImplemented"))
		},
	}
	f.requests = append([]request{
		{method: "GET", path: "/"},
		{method: "GET", path: "/kept?list-type=2&prefix=o&delimiter=/&max-keys=2&encoding-type=url"},
		{method: "GET", path: "/kept?versions&key-marker=a&version-id-marker=b"},
		{method: "GET", path: "/kept?uploads&max-uploads=3"},
		{method: "GET", path: "/kept/o?response-content-type=text/plain", headers: "Range: bytes=1-3\nIf-None-Match: \"x\""},
		{method: "HEAD", path: "/kept/o?partNumber=1"},
		{method: "DELETE", path: "/kept/o?versionId=null"},
		{method: "PUT", path: "/kept/copy", headers: "X-Amz-Copy-Source: /kept/o\nX-Amz-Metadata-Directive: REPLACE\nX-Amz-Meta-A: b"},
		{method: "PUT", path: "/kept/m?partNumber=1&uploadId={upload}", headers: "X-Amz-Copy-Source: /kept/o\nX-Amz-Copy-Source-Range: bytes=0-1"},
		{method: "PUT", path: "/kept/m?partNumber=2&uploadId={upload}", body: "part"},
		{method: "GET", path: "/kept/m?uploadId={upload}&max-parts=1"},
		{method: "POST", path: "/kept/m?uploadId={upload}", body: `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>"x"</ETag></Part></CompleteMultipartUpload>`},
		{method: "POST", path: "/kept?delete", headers: "Content-MD5: x", body: `<Delete><Object><Key>o</Key><VersionId>null</VersionId></Object><Quiet>true</Quiet></Delete>`},
		{method: "PUT", path: "/kept?versioning", body: `<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>`},
		{method: "PUT", path: "/kept?tagging", body: `<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>`},
		{method: "PUT", path: "/kept/o?tagging", body: `<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>`},
		{method: "PUT", path: "/kept?policy", body: `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::kept/*","Condition":{"IpAddress":{"aws:SourceIp":"10.0.0.0/8"}}}]}`},
		{method: "PUT", path: "/kept?lifecycle", body: `<LifecycleConfiguration><Rule><ID>r</ID><Filter><Prefix>a</Prefix></Filter><Status>Enabled</Status><Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>`},
		{method: "PUT", path: "/kept?cors", body: `<CORSConfiguration><CORSRule><AllowedMethod>GET</AllowedMethod><AllowedOrigin>*</AllowedOrigin></CORSRule></CORSConfiguration>`},
		{method: "PUT", path: "/kept?object-lock", body: `<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled></ObjectLockConfiguration>`},
		{method: "PUT", path: "/kept/o?retention", body: `<Retention><Mode>GOVERNANCE</Mode><RetainUntilDate>2099-01-01T00:00:00Z</RetainUntilDate></Retention>`},
		{method: "OPTIONS", path: "/kept/o", headers: "Origin: http://a\nAccess-Control-Request-Method: GET"},
		{method: "POST", path: "/kept", headers: "Content-Type: multipart/form-data; boundary=z", body: "--z\r\nContent-Disposition: form-data; name=key\r\n\r\nk\r\n--z\r\nContent-Disposition: form-data; name=file\r\n\r\nx\r\n--z--"},
		{method: "POST", path: "/", headers: form, body: "Action=CreateUser&Version=2010-05-08&UserName=u&Tags.member.1.Key=a&Tags.member.1.Value=b"},
		{method: "POST", path: "/", headers: form, body: `Action=PutUserPolicy&Version=2010-05-08&UserName=u&PolicyName=p&PolicyDocument={"Version":"2012-10-17","Statement":[]}`},
		{method: "POST", path: "/", headers: form, body: "Action=CreateAccessKey&Version=2010-05-08&UserName=u"},
		{method: "POST", path: "/", headers: form, body: "Action=ListUsers&Version=2010-05-08&MaxItems=1&Marker=x"},
		{method: "POST", path: "/", headers: form, body: "Action=AssumeRole&Version=2011-06-15&RoleArn=arn:aws:iam::000000000000:role/r&RoleSessionName=s&DurationSeconds=900"},
	}, f.setup...)
	return f
}

func azure(t *testing.T) *fake {
	t.Helper()
	s, err := azurefake.New(azurefake.Options{Deletion: -1})
	wantNoError(t, err)
	const account = "/" + azurefake.DefaultAccount
	key, _ := s.Keys(azurefake.DefaultAccount)
	credential, err := service.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	wantNoError(t, err)
	all := sas.AccountPermissions{Read: true, Write: true, Delete: true, List: true, Add: true, Create: true, Update: true, Process: true, Tag: true, FilterByTags: true, DeletePreviousVersion: true}
	types := sas.AccountResourceTypes{Service: true, Container: true, Object: true}
	signed, err := sas.AccountSignatureValues{ExpiryTime: time.Now().Add(24 * time.Hour), Permissions: all.String(), ResourceTypes: types.String()}.SignWithSharedKey(credential)
	wantNoError(t, err)
	const version, block = "X-Ms-Version: 2024-11-04\n", "X-Ms-Blob-Type: BlockBlob"
	f := &fake{
		server: s, inventory: func() any { return s.Inventory() }, calls: s.Calls,
		sign: func(r *http.Request, _ string) {
			if r.URL.RawQuery != "" {
				r.URL.RawQuery += "&"
			}
			r.URL.RawQuery += signed.Encode()
		},
		setup: []request{
			{method: "PUT", path: account + "/kept?restype=container", headers: version},
			{method: "PUT", path: account + "/kept/o", headers: version + block, body: "object"},
			{method: "PUT", path: account + "/kept/log", headers: version + "X-Ms-Blob-Type: AppendBlob"},
		},
		uploads: []request{
			{method: "PUT", path: account + "/kept/new", headers: version + block},
			{method: "PUT", path: account + "/kept/o", headers: version + block},
			{method: "PUT", path: account + "/kept/o?comp=block&blockid=YQ%3D%3D", headers: version},
			{method: "PUT", path: account + "/kept/o?comp=blocklist", headers: version, body: "<BlockList><Latest>"},
			{method: "PUT", path: account + "/kept/log?comp=appendblock", headers: version},
		},
		object: request{method: "PUT", path: account + "/kept/large", headers: version + block},
		controls: []request{
			{method: "PUT", path: account + "/kept?restype=container&comp=acl", headers: version, body: "<SignedIdentifiers>\x00</SignedIdentifiers>"},
			{method: "GET", path: account + "/kept/o?rsct=a%00b", headers: version},
		},
		unready: func(status int, _ string) bool { return status == http.StatusNotImplemented },
	}
	f.requests = append([]request{
		{method: "GET", path: account + "/?comp=list&prefix=k&maxresults=2&include=metadata", headers: version},
		{method: "GET", path: account + "/?comp=blobs&where=a%3D%27b%27", headers: version},
		{method: "GET", path: account + "/kept?restype=container&comp=list&delimiter=/&include=snapshots,tags,uncommittedblobs&marker=a", headers: version},
		{method: "GET", path: account + "/kept?restype=container&comp=acl", headers: version},
		{method: "PUT", path: account + "/kept?restype=container&comp=acl", headers: version, body: `<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Start>2024-01-01</Start><Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>`},
		{method: "PUT", path: account + "/kept?restype=container&comp=lease", headers: version + "X-Ms-Lease-Action: acquire\nX-Ms-Lease-Duration: 15"},
		{method: "PUT", path: account + "/kept?restype=container&comp=metadata", headers: version + "X-Ms-Meta-A: b"},
		{method: "GET", path: account + "/kept/o", headers: version + "X-Ms-Range: bytes=1-3\nX-Ms-Range-Get-Content-Crc64: true\nIf-Match: x"},
		{method: "HEAD", path: account + "/kept/o?snapshot=2024-01-01T00:00:00.0000000Z", headers: version},
		{method: "PUT", path: account + "/kept/o?comp=snapshot", headers: version},
		{method: "PUT", path: account + "/kept/o?comp=tags", headers: version, body: `<Tags><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tags>`},
		{method: "PUT", path: account + "/kept/o?comp=properties", headers: version + "X-Ms-Blob-Content-Type: a/b"},
		{method: "PUT", path: account + "/kept/o?comp=tier", headers: version + "X-Ms-Access-Tier: Cool"},
		{method: "PUT", path: account + "/kept/o?comp=lease", headers: version + "X-Ms-Lease-Action: acquire\nX-Ms-Lease-Duration: -1"},
		{method: "PUT", path: account + "/kept/o?comp=block&blockid=YQ%3D%3D", headers: version, body: "block"},
		{method: "PUT", path: account + "/kept/o?comp=blocklist", headers: version, body: `<BlockList><Latest>YQ==</Latest></BlockList>`},
		{method: "GET", path: account + "/kept/o?comp=blocklist&blocklisttype=all", headers: version},
		{method: "PUT", path: account + "/kept/log?comp=appendblock", headers: version + "X-Ms-Blob-Condition-Appendpos: 0", body: "line"},
		{method: "PUT", path: account + "/kept/log?comp=seal", headers: version},
		{method: "DELETE", path: account + "/kept/o", headers: version + "X-Ms-Delete-Snapshots: include"},
		{method: "POST", path: account + "/?restype=service&comp=userdelegationkey", headers: version, body: `<KeyInfo><Start>2024-01-01T00:00:00Z</Start><Expiry>2024-01-02T00:00:00Z</Expiry></KeyInfo>`},
		{method: "GET", path: "/subscriptions/" + s.SubscriptionID() + "/resourceGroups?api-version=2021-04-01"},
		{method: "POST", path: "/" + s.TenantID() + "/oauth2/v2.0/token", headers: "Content-Type: application/x-www-form-urlencoded", body: "grant_type=client_credentials&client_id=a&client_secret=b&scope=c"},
	}, f.setup...)
	return f
}

func gcs(t *testing.T) *fake {
	t.Helper()
	s, err := gcsfake.New(gcsfake.Options{})
	wantNoError(t, err)
	token, err := s.TokenFor(s.AdminEmail(""), 24*time.Hour)
	wantNoError(t, err)
	const (
		bucket, upload = "/storage/v1/b/kept", "/upload/storage/v1/b/kept/o"
		project        = gcsfake.DefaultProject
	)
	f := &fake{
		server: s, inventory: func() any { return s.Inventory() }, calls: s.Calls,
		sign: func(r *http.Request, _ string) { r.Header.Set("Authorization", "Bearer "+token) },
		setup: []request{
			{method: "POST", path: "/storage/v1/b?project=" + project, body: `{"name":"kept"}`},
			{method: "POST", path: upload + "?uploadType=media&name=o", body: "object"},
			{method: "POST", path: "/kept/m?uploads"},
			{method: "POST", path: upload + "?uploadType=resumable&name=resumed"},
		},
		uploads: []request{
			{method: "POST", path: upload + "?uploadType=media&name=new"},
			{method: "POST", path: upload + "?uploadType=media&name=o"},
			{method: "PUT", path: "{session}"},
			{method: "PUT", path: "/kept/new"},
			{method: "PUT", path: "/kept/m?partNumber=1&uploadId={upload}"},
		},
		object: request{method: "PUT", path: "/kept/large"},
		controls: []request{
			{method: "PATCH", path: bucket + "/o/o", body: `{"contentType":"a\u0000b\r\nc","metadata":{"k":"\u0001"}}`},
			{method: "GET", path: bucket + "/o/o?alt=media"},
			{method: "GET", path: "/kept/o?response-content-type=%00"},
		},
		unready: func(status int, body string) bool {
			return status == http.StatusServiceUnavailable && strings.Contains(body, "begins after the bytes")
		},
	}
	f.requests = append([]request{
		{method: "GET", path: "/storage/v1/b?project=" + project + "&prefix=k&maxResults=1&fields=items(name)"},
		{method: "GET", path: bucket + "?projection=full"},
		{method: "PATCH", path: bucket, body: `{"labels":{"a":"b"},"lifecycle":{"rule":[{"action":{"type":"Delete"},"condition":{"age":1}}]}}`},
		{method: "PUT", path: bucket, body: `{"versioning":{"enabled":true},"cors":[{"origin":["*"]}]}`},
		{method: "GET", path: bucket + "/iam?optionsRequestedPolicyVersion=3"},
		{method: "PUT", path: bucket + "/iam", body: `{"version":3,"bindings":[{"role":"roles/storage.objectViewer","members":["allUsers"],"condition":{"title":"t","expression":"resource.name.startsWith('x')"}}]}`},
		{method: "GET", path: bucket + "/o?prefix=o&delimiter=/&matchGlob=**&versions=true&startOffset=a"},
		{method: "GET", path: bucket + "/o/o?alt=media", headers: "Range: bytes=1-3"},
		{method: "GET", path: bucket + "/o/o?ifGenerationMatch=0&generation=1"},
		{method: "PATCH", path: bucket + "/o/o", body: `{"metadata":{"a":"b"},"customTime":"2099-01-01T00:00:00Z","temporaryHold":false}`},
		{method: "POST", path: bucket + "/o/o/rewriteTo/b/kept/o/copy?maxBytesRewrittenPerCall=1048576", body: `{"storageClass":"NEARLINE"}`},
		{method: "POST", path: bucket + "/o/o/copyTo/b/kept/o/copy"},
		{method: "POST", path: bucket + "/o/o/moveTo/o/moved"},
		{method: "POST", path: bucket + "/o/all/compose", body: `{"sourceObjects":[{"name":"o","generation":"1"}],"destination":{"contentType":"a/b"}}`},
		{method: "DELETE", path: bucket + "/o/o"},
		{method: "POST", path: upload + "?uploadType=multipart", headers: "Content-Type: multipart/related; boundary=z", body: "--z\r\n\r\n{\"name\":\"x\"}\r\n--z\r\n\r\nbody\r\n--z--"},
		{method: "PUT", path: "{session}", headers: "Content-Range: bytes 0-3/*", body: "body"},
		{method: "PUT", path: "{session}", headers: "Content-Range: bytes */*"},
		{method: "POST", path: "/storage/v1/projects/" + project + "/hmacKeys?serviceAccountEmail=a@b"},
		{method: "POST", path: "/v1/projects/" + project + "/serviceAccounts", body: `{"accountId":"fresh-account","serviceAccount":{"displayName":"d"}}`},
		{method: "GET", path: "/v1/projects/" + project + "/serviceAccounts?pageSize=1&pageToken=a"},
		{method: "POST", path: "/v1/projects/" + project + "/roles", body: `{"roleId":"fresh","role":{"includedPermissions":["storage.objects.get"]}}`},
		{method: "POST", path: "/token", headers: "Content-Type: application/x-www-form-urlencoded", body: "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=a.b.c"},
		{method: "POST", path: "/batch/storage/v1", headers: "Content-Type: multipart/mixed; boundary=z", body: "--z\r\nContent-Type: application/http\r\n\r\nGET /storage/v1/b/kept HTTP/1.1\r\n\r\n\r\n--z--"},
		{method: "GET", path: "/kept?list-type=2&prefix=o&max-keys=1"},
		{method: "PUT", path: "/kept/x", headers: "X-Goog-Meta-A: b\nX-Goog-Copy-Source: /kept/o"},
		{method: "POST", path: "/kept?delete", body: `<Delete><Object><Key>o</Key></Object></Delete>`},
		{method: "PUT", path: "/kept?lifecycle", body: `<LifecycleConfiguration><Rule><Action><Delete/></Action><Condition><Age>1</Age></Condition></Rule></LifecycleConfiguration>`},
	}, f.setup...)
	return f
}

var uploadID = regexp.MustCompile(`<UploadId>([^<]+)`)

// caller sends requests to a fake.
type caller struct {
	*http.Client

	t    *testing.T
	url  string
	sign func(*http.Request, string)
	// upload and session are those that the fake has started.
	upload, session string
}

// prepare sends the setup, and remembers what its responses say.
func (c *caller) prepare(setup []request) {
	c.t.Helper()
	for _, r := range setup {
		resp, body, err := c.send(r, nil)
		if err != nil || resp.StatusCode >= http.StatusMultipleChoices {
			c.t.Fatalf("%s %s: %v %v %s", r.method, r.path, err, resp, body)
		}
		if m := uploadID.FindStringSubmatch(body); m != nil {
			c.upload = m[1]
		}
		if _, session, ok := strings.Cut(resp.Header.Get("Location"), c.url); ok && strings.Contains(session, "upload_id") {
			c.session = session
		}
	}
}

// build makes the request, with another body if that is not nil.
func (c *caller) build(r request, body io.Reader, size int64) (*http.Request, error) {
	if body == nil {
		body, size = strings.NewReader(r.body), int64(len(r.body))
	}
	path := strings.NewReplacer("{upload}", c.upload, "{session}", c.session).Replace(r.path)
	req, err := http.NewRequestWithContext(c.t.Context(), r.method, c.url+path, body)
	if err != nil {
		return nil, err
	}
	if req.ContentLength = size; size == 0 {
		req.Body = http.NoBody
	}
	for line := range strings.SplitSeq(r.headers, "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			req.Header.Add(name, value)
		}
	}
	c.sign(req, r.body)
	return req, nil
}

// send sends a request and reads the response. A stream is the body, and begins with the request's own.
func (c *caller) send(r request, stream *stream) (*http.Response, string, error) {
	var body io.Reader
	var size int64
	if stream != nil {
		stream.begin = r.body
		body, size = stream, stream.size
	}
	req, err := c.build(r, body, size)
	if err != nil {
		return nil, "", err
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, "", err
	}
	raw, err := io.ReadAll(resp.Body)
	if closed := resp.Body.Close(); err == nil {
		err = closed
	}
	return resp, string(raw), err
}

// stream is a body of size bytes, of which only so many come before the client gives up. It begins with a text.
type stream struct {
	size, sent, most int64
	begin            string
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	switch {
	case s.sent >= s.size:
		return 0, io.EOF
	case s.sent >= s.most:
		return 0, fmt.Errorf("given up after %d bytes", s.sent)
	}
	n := int(min(int64(len(p)), s.size-s.sent, s.most-s.sent))
	clear(p[:n]) // it may hold what began the body
	if s.sent < int64(len(s.begin)) {
		n = copy(p[:n], s.begin[s.sent:])
	}
	s.sent += int64(n)
	return n, nil
}
