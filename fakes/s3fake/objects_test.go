// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"bytes"
	"io"
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
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(out.Body)
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("aws-sdk-go-v2 got %d bytes, want %d: %v", len(got), len(want), err)
				}
				m := f.minio(t, c)
				if _, err := m.PutObject(t.Context(), "docs", "m", bytes.NewReader(want), int64(size), minio.PutObjectOptions{}); err != nil {
					t.Fatalf("minio-go puts %d bytes: %v", size, err)
				}
				o, err := m.GetObject(t.Context(), "docs", "m", minio.GetObjectOptions{})
				if err != nil {
					t.Fatal(err)
				}
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
			if err != nil {
				t.Fatal(err)
			}
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
