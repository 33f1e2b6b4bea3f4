// SPDX-License-Identifier: Apache-2.0

package commits_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// size is the size of an object. The Go CDK uploads objects of at least 16 MiB in parts.
const size = 17 << 20

// write commits an object that must not exist, with CompleteMultipartUpload of the Go CDK.
func write(ctx context.Context, client *s3.Client, key, writer string) error {
	objects, err := s3blob.OpenBucket(ctx, client, bucket, nil)
	if err != nil {
		return err
	}
	w, err := objects.NewWriter(ctx, key, &blob.WriterOptions{IfNotExist: true, ContentType: "text/plain"})
	if err != nil {
		return errors.Join(err, objects.Close())
	}
	_, err = w.Write(bytes.Repeat([]byte(writer), size))
	return errors.Join(err, w.Close(), objects.Close())
}

// isCode reports whether an error has a code of S3.
func isCode(err error, code string) bool {
	answered, ok := errors.AsType[smithy.APIError](err)
	return ok && answered.ErrorCode() == code
}

// TestWritersInParts interrupts the completion of an upload while another writer, which has uploaded all parts of the
// same object, is about to complete it.
func TestWritersInParts(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestLeases has the same crashes with small objects")
	for moment, c := range crashes {
		for name, deleted := range map[string]bool{"the object remains": false, "the object is deleted before the other writer completes": true} {
			if deleted && !c.durable {
				continue
			}
			t.Run(moment+", "+name, func(t *testing.T) {
				t.Parallel()
				ctx, s, key := t.Context(), newStore(t), "table/00000001.metadata"
				err := s.during(func(client *s3.Client) error { return write(ctx, client, key, "b") }, func() {
					s.interrupt(c, "CompleteMultipartUpload", func(client *s3.Client) error { return write(ctx, client, key, "a") })
					if deleted {
						if _, err := s.client(nil).DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: &key}); err != nil {
							t.Fatal(err)
						}
					}
				})
				winner, code := "b", ""
				switch {
				case deleted:
					winner, code = "a", "ConditionalRequestConflict"
				case c.durable:
					winner, code = "a", "PreconditionFailed"
				}
				if (err == nil) != (code == "") || err != nil && !isCode(err, code) {
					t.Errorf("the second completion: %v, want %q", err, code)
				}
				s.requireObject(key, winner)
			})
		}
	}
}

// requireObject requires that a key has one version, which is the complete object of a writer.
func (s *store) requireObject(key, writer string) {
	s.t.Helper()
	ids, _ := s.versions(key)
	if len(ids) != 1 {
		s.t.Fatalf("the object has %d versions", len(ids))
	}
	out, err := s.client(nil).GetObject(s.t.Context(), &s3.GetObjectInput{Bucket: aws.String(bucket), Key: &key, VersionId: &ids[0]})
	if err != nil {
		s.t.Fatal(err)
	}
	content := &bytes.Buffer{}
	_, err = content.ReadFrom(out.Body)
	if err = errors.Join(err, out.Body.Close()); err != nil || !bytes.Equal(content.Bytes(), bytes.Repeat([]byte(writer), size)) {
		s.t.Errorf("the object has %d bytes and is not the complete object of %s: %v", content.Len(), writer, err)
	}
}
