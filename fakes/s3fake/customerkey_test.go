// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"encoding/base64"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// endpointOf returns the URL and the region of a request. A path that is a URL names its own endpoint, and its region as
// the endpoints of AWS do.
func endpointOf(base, path string) (target, region string) {
	host, ok := strings.CutPrefix(path, "https://")
	if !ok {
		return base + path, "us-east-1"
	}
	host, _, _ = strings.Cut(host, ".amazonaws.com/")
	_, region, _ = strings.Cut("."+host, ".s3.")
	return path, cmp.Or(region, "us-east-1")
}

// sealed are the headers with a customer's key.
func sealed(prefix, key string) string {
	sum := md5.Sum([]byte(key))
	prefix += "Server-Side-Encryption-Customer-"
	return prefix + "Algorithm: AES256\n" + prefix + "Key: " + base64.StdEncoding.EncodeToString([]byte(key)) + "\n" +
		prefix + "Key-Md5: " + base64.StdEncoding.EncodeToString(sum[:])
}

const (
	onePassword     = "0123456789abcdef0123456789abcdef"
	anotherPassword = "fedcba9876543210fedcba9876543210"
	overTLS         = "https://s3.amazonaws.com"
)

// TestCustomerKeys covers what no recording does.
func TestCustomerKeys(t *testing.T) {
	t.Parallel()
	key, other, source := sealed("X-Amz-", onePassword), sealed("X-Amz-", anotherPassword), sealed("X-Amz-Copy-Source-", onePassword)
	blocked := `<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault><BlockedEncryptionTypes><EncryptionType>SSE-C</EncryptionType></BlockedEncryptionTypes></Rule></ServerSideEncryptionConfiguration>`
	tests := map[string]struct {
		operation
		want string
	}{
		"a key over plain HTTP":                   {operation{method: "PUT", path: "/docs/new", headers: key, body: "x", status: 400, code: "InvalidArgument"}, "must be made over a secure connection"},
		"a key without its MD5":                   {operation{method: "PUT", path: overTLS + "/docs/new", headers: key[:strings.LastIndex(key, "\n")], body: "x", status: 400, code: "InvalidArgument"}, "client calculated MD5"},
		"a key that is not Base64":                {operation{method: "GET", path: overTLS + "/docs/sealed", headers: strings.Replace(key, "Customer-Key: ", "Customer-Key: *", 1), status: 400, code: "InvalidArgument"}, "secret key was invalid"},
		"an object without a key":                 {operation{method: "GET", path: overTLS + "/docs/plain", headers: key, status: 400, code: "InvalidRequest"}, "not applicable"},
		"a source without a key":                  {operation{method: "PUT", path: overTLS + "/docs/new", headers: "X-Amz-Copy-Source: docs/plain\n" + source, status: 400, code: "InvalidRequest"}, "not applicable"},
		"a part from a source with its key":       {operation{method: "PUT", path: overTLS + "/docs/parts?partNumber=2&uploadId={upload}", headers: "X-Amz-Copy-Source: docs/sealed\n" + key + "\n" + source, status: 200}, "<CopyPartResult"},
		"a part from a source without its key":    {operation{method: "PUT", path: overTLS + "/docs/parts?partNumber=2&uploadId={upload}", headers: "X-Amz-Copy-Source: docs/sealed\n" + key, status: 400, code: "InvalidRequest"}, "correct parameters"},
		"a part from a source with another key":   {operation{method: "PUT", path: overTLS + "/docs/parts?partNumber=2&uploadId={upload}", headers: "X-Amz-Copy-Source: docs/sealed\n" + other + "\n" + source, status: 400, code: "InvalidRequest"}, "did not match"},
		"parts that are listed with another key":  {operation{method: "GET", path: overTLS + "/docs/parts?uploadId={upload}", headers: other, status: 400, code: "InvalidRequest"}, "did not match"},
		"a completion with another key":           {operation{method: "POST", path: overTLS + "/docs/parts?uploadId={upload}", headers: other, body: "<CompleteMultipartUpload/>", status: 400, code: "InvalidRequest"}, "did not match"},
		"checksums that are joined without a key": {operation{method: "POST", path: overTLS + "/docs/summed?uploadId={summed}", body: "<CompleteMultipartUpload/>", status: 400, code: "InvalidRequest"}, "appropriate encryption parameters"},
		"a bucket that blocks the keys":           {operation{method: "PUT", path: overTLS + "/closed/k", headers: key, body: "x", status: 403, code: "AccessDenied"}, ""},
		"a copy onto itself under another key":    {operation{method: "PUT", path: overTLS + "/docs/sealed", headers: "X-Amz-Copy-Source: docs/sealed\n" + source + "\n" + other, status: 200}, "<CopyObjectResult"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{Server: faketest.Open(t, s3fake.New, s3fake.Options{}), known: map[string]string{}}
			for _, step := range []operation{
				{method: "PUT", path: "/docs"},
				{method: "PUT", path: "/closed"},
				{method: "PUT", path: "/closed?encryption", body: blocked},
				{method: "PUT", path: "/docs/plain", body: "plain"},
				{method: "PUT", path: overTLS + "/docs/sealed", headers: key, body: "sealed"},
				{method: "POST", path: overTLS + "/docs/summed?uploads", headers: key + "\nX-Amz-Checksum-Algorithm: SHA256"},
				{method: "POST", path: overTLS + "/docs/parts?uploads", headers: key},
			} {
				got := w.send(t, w.Root(), step)
				if got.Code != http.StatusOK {
					t.Fatalf("set up %s %s: %d %s", step.method, step.path, got.Code, got.Body)
				}
				w.learn(step, got)
				if strings.Contains(step.path, "summed") {
					w.known["{summed}"] = w.known["{upload}"]
				}
			}
			got := w.send(t, w.Root(), tc.operation)
			if got.Code != tc.status || errorCode(got.Body.Bytes()) != tc.code || !strings.Contains(got.Body.String(), tc.want) {
				t.Errorf("got %d, want %d %s %q\n%s", got.Code, tc.status, tc.code, tc.want, got.Body)
			}
		})
	}
}

// TestCustomerKeysAreNotStored searches the files of a server for keys. Objects remain readable with their keys.
func TestCustomerKeysAreNotStored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, err := s3fake.New(s3fake.Options{Dir: dir})
	wantNoError(t, err)
	w := &world{Server: server, known: map[string]string{}}
	headers := sealed("X-Amz-", onePassword)
	for _, step := range []operation{{method: "PUT", path: "/docs"}, {method: "PUT", path: overTLS + "/docs/k", headers: headers, body: "text"}, {method: "POST", path: overTLS + "/docs/k?uploads", headers: headers}} {
		if got := w.send(t, w.Root(), step); got.Code != http.StatusOK {
			t.Fatalf("%s %s: %d %s", step.method, step.path, got.Code, got.Body)
		}
	}
	wantNoError(t, server.Close())
	sum := md5.Sum([]byte(onePassword))
	wantNoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		for _, secret := range [][]byte{[]byte(onePassword), sum[:], []byte(base64.StdEncoding.EncodeToString([]byte(onePassword))), []byte(base64.StdEncoding.EncodeToString(sum[:]))} {
			if bytes.Contains(raw, secret) {
				t.Errorf("%s contains the key or its MD5", path)
			}
		}
		return err
	}))
	w.Server = faketest.Open(t, s3fake.New, s3fake.Options{Dir: dir})
	got := w.send(t, w.Root(), operation{method: "GET", path: overTLS + "/docs/k", headers: headers})
	if got.Code != http.StatusOK || got.Body.String() != "text" {
		t.Errorf("after a restart: %d %s", got.Code, got.Body)
	}
}

// TestCustomerKeysWithTheSDK uploads parts with checksums under a key over TLS, and reads them through the SDK and through a
// presigned URL.
func TestCustomerKeysWithTheSDK(t *testing.T) {
	t.Parallel()
	f := startTLS(t, s3fake.Options{})
	f.bucket(t, "docs")
	client := f.s3(f.Root())
	sum := md5.Sum([]byte(onePassword))
	bucket, key, algorithm := aws.String("docs"), aws.String("k"), aws.String("AES256")
	secret, digest := aws.String(base64.StdEncoding.EncodeToString([]byte(onePassword))), aws.String(base64.StdEncoding.EncodeToString(sum[:]))
	upload, err := client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{
		Bucket: bucket, Key: key, ChecksumAlgorithm: types.ChecksumAlgorithmCrc32, SSECustomerAlgorithm: algorithm, SSECustomerKey: secret, SSECustomerKeyMD5: digest,
	})
	wantNoError(t, err)
	part, err := client.UploadPart(t.Context(), &s3.UploadPartInput{
		Bucket: bucket, Key: key, UploadId: upload.UploadId, PartNumber: aws.Int32(1), Body: strings.NewReader("text"), ChecksumAlgorithm: types.ChecksumAlgorithmCrc32,
		SSECustomerAlgorithm: algorithm, SSECustomerKey: secret, SSECustomerKeyMD5: digest,
	})
	wantNoError(t, err)
	_, err = client.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{
		Bucket: bucket, Key: key, UploadId: upload.UploadId, SSECustomerAlgorithm: algorithm, SSECustomerKey: secret, SSECustomerKeyMD5: digest,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{{ETag: part.ETag, PartNumber: aws.Int32(1), ChecksumCRC32: part.ChecksumCRC32}}},
	})
	wantNoError(t, err)
	input := &s3.GetObjectInput{Bucket: bucket, Key: key, SSECustomerAlgorithm: algorithm, SSECustomerKey: secret, SSECustomerKeyMD5: digest}
	got, err := client.GetObject(t.Context(), input)
	wantNoError(t, err)
	body, err := io.ReadAll(got.Body)
	wantNoError(t, err)
	if string(body) != "text" || aws.ToString(got.SSECustomerKeyMD5) != *digest {
		t.Errorf("%q with the key %s", body, aws.ToString(got.SSECustomerKeyMD5))
	}
	presigned, err := s3.NewPresignClient(client).PresignGetObject(t.Context(), input)
	wantNoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, presigned.URL, http.NoBody)
	wantNoError(t, err)
	request.Header = presigned.SignedHeader.Clone()
	response, err := f.http.Do(request)
	wantNoError(t, err)
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil || string(body) != "text" {
		t.Errorf("the presigned URL: %d %s %v", response.StatusCode, body, err)
	}
}
