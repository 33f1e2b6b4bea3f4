// SPDX-License-Identifier: Apache-2.0

// Command e2e-client is the workload of the tests on clusters: it uses buckets with
// what Pods get from access Secrets, and an ordinary client of S3. Its arguments are
// where the keys of Secrets are: "env" for the environment, otherwise a directory.
// It stores an object in each bucket, reads it, and says so. With "stay" for the
// last argument it then waits until it is told to end.
package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e-client:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, sources []string) error {
	for _, source := range sources {
		if source == "stay" {
			<-ctx.Done()
			return nil
		}
		if err := use(ctx, source); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
	}
	return nil
}

// key returns the value of a key of the Secret.
func key(source, name string) (string, error) {
	if source == "env" {
		return os.Getenv(name), nil
	}
	content, err := os.ReadFile(filepath.Join(source, name))
	return string(content), err
}

// use stores an object and reads it.
func use(ctx context.Context, source string) error {
	var values [5]string
	for i, name := range []string{"AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION", "BUCKET_NAME"} {
		var err error
		if values[i], err = key(source, name); err != nil {
			return err
		}
	}
	endpoint, err := url.Parse(values[0])
	if err != nil {
		return fmt.Errorf("endpoint: %w", err)
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: credentials.NewStaticV4(values[1], values[2], ""), Region: values[3],
		Secure: endpoint.Scheme == "https", BucketLookup: minio.BucketLookupPath,
	})
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	const name, text = "hello", "from a Pod"
	bucket := values[4]
	if _, err := client.PutObject(ctx, bucket, name, strings.NewReader(text), int64(len(text)), minio.PutObjectOptions{}); err != nil {
		return fmt.Errorf("store an object: %w", err)
	}
	object, err := client.GetObject(ctx, bucket, name, minio.GetObjectOptions{})
	if err != nil {
		return fmt.Errorf("read the object: %w", err)
	}
	content, err := io.ReadAll(object)
	if err != nil || string(content) != text {
		return fmt.Errorf("read the object: got %q, want %q, %w", content, text, err)
	}
	fmt.Println("stored and read in", bucket)
	return nil
}
