// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/minio/minio-go/v7"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

func TestClientsStoreObjects(t *testing.T) {
	t.Parallel()
	starts := map[string]func(*testing.T, s3fake.Options) fake{"over HTTP": start, "over TLS": startTLS}
	for name, start := range starts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, s3fake.Options{})
			c := f.user(t, "u", allow("s3:*", "*"))
			f.bucket(t, "docs")
			for _, size := range []int{0, 1, 4096, 300_000} {
				want := body(size)
				client := f.s3(c)
				if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("docs"), Key: aws.String("a b/ü"), Body: bytes.NewReader(want)}); err != nil {
					t.Fatalf("put %d bytes: %v", size, err)
				}
				out, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("docs"), Key: aws.String("a b/ü")})
				wantNoError(t, err)
				got, err := io.ReadAll(out.Body)
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("aws-sdk-go-v2 got %d bytes, want %d: %v", len(got), len(want), err)
				}
				m := f.minio(t, c)
				if _, err := m.PutObject(t.Context(), "docs", "m", bytes.NewReader(want), int64(size), minio.PutObjectOptions{}); err != nil {
					t.Fatalf("minio-go puts %d bytes: %v", size, err)
				}
				o, err := m.GetObject(t.Context(), "docs", "m", minio.GetObjectOptions{})
				wantNoError(t, err)
				if got, err := io.ReadAll(o); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("minio-go got %d bytes, want %d: %v", len(got), len(want), err)
				}
			}
			m := f.minio(t, c)
			unknown := body(6 << 20)
			if _, err := m.PutObject(t.Context(), "docs", "stream", io.MultiReader(bytes.NewReader(unknown)), -1, minio.PutObjectOptions{PartSize: 5 << 20}); err != nil {
				t.Fatalf("minio-go puts a stream of unknown size: %v", err)
			}
			o, err := m.GetObject(t.Context(), "docs", "stream", minio.GetObjectOptions{})
			wantNoError(t, err)
			if got, err := io.ReadAll(o); err != nil || !bytes.Equal(got, unknown) {
				t.Fatalf("the stream came back with %d bytes, want %d: %v", len(got), len(unknown), err)
			}
		})
	}
}

func TestKeysAreRefusedAsAWSRefusesThem(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{})
	f.bucket(t, "docs")
	c := f.user(t, "u", allow("s3:ListBucket", "arn:aws:s3:::docs"))
	head := func(c s3fake.Credentials) string {
		_, err := f.s3(c).ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("docs")})
		return code(t, err)
	}
	expect := func(step, want string, c s3fake.Credentials) {
		t.Helper()
		if got := head(c); got != want {
			t.Errorf("%s: got %q, want %q", step, got, want)
		}
	}
	expect("with the right key", "", c)
	expect("with a key nobody made", "InvalidAccessKeyId", s3fake.Credentials{AccessKeyID: "AKIAAAAAAAAAAAAAAAAA", SecretAccessKey: "x"})
	expect("with a wrong secret", "SignatureDoesNotMatch", s3fake.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: "wrong"})
	_, err := f.s3(c).PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("docs"), Key: aws.String("k"), Body: bytes.NewReader(nil)})
	if got := code(t, err); got != "AccessDenied" {
		t.Errorf("put without s3:PutObject: got %q, want AccessDenied", got)
	}
	admin := f.iam(f.Root())
	status := func(s iamtypes.StatusType) {
		t.Helper()
		if _, err := admin.UpdateAccessKey(t.Context(), &iam.UpdateAccessKeyInput{UserName: aws.String("u"), AccessKeyId: &c.AccessKeyID, Status: s}); err != nil {
			t.Fatal(err)
		}
	}
	status(iamtypes.StatusTypeInactive)
	expect("with an inactive key", "InvalidAccessKeyId", c)
	status(iamtypes.StatusTypeActive)
	expect("with the key active again", "", c)
	if _, err := admin.DeleteAccessKey(t.Context(), &iam.DeleteAccessKeyInput{UserName: aws.String("u"), AccessKeyId: &c.AccessKeyID}); err != nil {
		t.Fatal(err)
	}
	expect("with a deleted key", "InvalidAccessKeyId", c)
}

// TestPartNumbersOfComposites completes uploads from a second part alone: S3 refuses it where a composite checksum is made
// of the parts (CompletedPart in the Amazon S3 API Reference).
func TestPartNumbersOfComposites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const sum, part = "N6aAEzvQk0L5NK+43Sx9nhtiTaXzXjo4rbED43wFXtE=", "f4c9385f1902f7334b00b9b4ecd164de"
	tests := map[string]struct{ begin, complete, want string }{
		"without a checksum":         {"", "", ""},
		"with a composite checksum":  {"X-Amz-Checksum-Algorithm: SHA256", "<ChecksumSHA256>" + sum + "</ChecksumSHA256>", "InvalidPartOrder"},
		"with the checksum of whole": {"X-Amz-Checksum-Algorithm: CRC64NVME", "", ""},
	}
	for name, tc := range tests {
		key := strings.ReplaceAll(name, " ", "-")
		got := w.send(t, w.Root(), operation{method: http.MethodPost, path: "/empty/" + key + "?uploads", headers: tc.begin})
		_, rest, _ := strings.Cut(got.Body.String(), "<UploadId>")
		id, _, _ := strings.Cut(rest, "<")
		headers := ""
		if tc.complete != "" {
			headers = "X-Amz-Checksum-Sha256: " + sum
		}
		if got := w.send(t, w.Root(), operation{method: http.MethodPut, path: "/empty/" + key + "?partNumber=2&uploadId=" + id, headers: headers, body: "part"}); got.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", name, got.Code, got.Body)
		}
		body := "<CompleteMultipartUpload><Part><PartNumber>2</PartNumber><ETag>" + part + "</ETag>" + tc.complete + "</Part></CompleteMultipartUpload>"
		got = w.send(t, w.Root(), operation{method: http.MethodPost, path: "/empty/" + key + "?uploadId=" + id, body: body})
		if code := errorCode(got.Body.Bytes()); code != tc.want {
			t.Errorf("%s: %d %s, want %q", name, got.Code, got.Body, tc.want)
		}
	}
}

// TestCopySourceIsAForm checks that a plus sign is a space in x-amz-copy-source but a plus sign in a path.
func TestCopySourceIsAForm(t *testing.T) {
	t.Parallel()
	f := start(t, s3fake.Options{})
	f.bucket(t, "docs")
	client := f.s3(f.Root())
	for key, source := range map[string]string{"a b": "docs/a+b", "a+b": "docs/a%2Bb", "c d": "docs/c%20d"} {
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("docs"), Key: &key, Body: strings.NewReader(key)}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: aws.String("docs"), Key: aws.String("copy"), CopySource: &source}); err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		out, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("docs"), Key: aws.String("copy")})
		wantNoError(t, err)
		if got, err := io.ReadAll(out.Body); err != nil || string(got) != key {
			t.Errorf("%s is a copy of %q, want %q: %v", source, got, key, err)
		}
	}
}
