// SPDX-License-Identifier: Apache-2.0

// Command e2e-client is the workload of the tests on clusters. It uses buckets with an ordinary S3 client and
// the access Secrets of its Pod. Its arguments are the locations of Secrets: "env" for the environment,
// otherwise a directory. The command stores an object in each bucket, reads it, and reports success. With the
// additional last argument "stay", it then waits until it is stopped. With "again", it repeats these steps
// until it is stopped, and reports failures.
//
// "fill FILE" writes to FILE until its volume is full, and "remove FILE" frees the space. Without arguments
// the command fails, to simulate a crashing program.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

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

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("no Secret is set; pass env or the directory of a Secret as an argument")
	}
	last := len(args) - 1
	switch {
	case args[0] == "fill" && last == 1:
		return fill(args[1])
	case args[0] == "remove" && last == 1:
		return os.Remove(args[1])
	case args[last] == "again":
		again(ctx, args[:last])
		return nil
	case args[last] == "stay":
		err := useAll(ctx, args[:last])
		if err == nil {
			<-ctx.Done()
		}
		return err
	default:
		return useAll(ctx, args)
	}
}

func useAll(ctx context.Context, sources []string) error {
	for _, source := range sources {
		if err := use(ctx, source); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
	}
	return nil
}

// interval is the pause between repetitions.
const interval = 200 * time.Millisecond

func again(ctx context.Context, sources []string) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := useAll(ctx, sources); err != nil && ctx.Err() == nil {
			fmt.Println("failed:", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// fill writes until the volume is full.
func fill(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	const block = 4096
	for err == nil {
		_, err = file.Write(make([]byte, block))
	}
	_ = file.Close() // the file is incomplete anyway
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	fmt.Println("full")
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
		return fmt.Errorf("parse AWS_ENDPOINT_URL: %w", err)
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: credentials.NewStaticV4(values[1], values[2], ""), Region: values[3],
		Secure: endpoint.Scheme == "https", BucketLookup: minio.BucketLookupPath,
	})
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
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
	if err != nil {
		return fmt.Errorf("read the object: %w", err)
	}
	if string(content) != text {
		return fmt.Errorf("read the object: got %q, want %q", content, text)
	}
	fmt.Println("stored and read in", bucket)
	return nil
}
