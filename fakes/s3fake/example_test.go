// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// clientFor returns the official client of AWS for a fake, which addresses buckets path-style.
func clientFor(server *s3fake.Server, c s3fake.Credentials) *s3.Client {
	return s3.New(s3.Options{
		Region: server.Region(), BaseEndpoint: aws.String(server.URL()), UsePathStyle: true, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(c.AccessKeyID, c.SecretAccessKey, ""),
	})
}

// refusalOf returns the code of a refusal, "" for none.
func refusalOf(err error) string {
	var refusal smithy.APIError
	if !errors.As(err, &refusal) {
		return ""
	}
	return refusal.ErrorCode()
}

// The account's root credentials have all permissions; an unknown key has none.
func Example() {
	ctx := context.Background()
	server, err := s3fake.New(s3fake.Options{})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		panic(err)
	}
	defer server.Close()

	root := clientFor(server, server.Root())
	if _, err := root.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String("photos")}); err != nil {
		panic(err)
	}
	put := &s3.PutObjectInput{Bucket: aws.String("photos"), Key: aws.String("cat.jpg"), Body: strings.NewReader("meow")}
	if _, err := root.PutObject(ctx, put); err != nil {
		panic(err)
	}
	stranger := clientFor(server, s3fake.Credentials{AccessKeyID: "AKIASTRANGER", SecretAccessKey: "guessed"})
	_, err = stranger.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String("photos"), Key: aws.String("cat.jpg")})
	fmt.Println("a stranger reads:", refusalOf(err))

	for _, bucket := range server.Inventory().Buckets {
		fmt.Println("the fake holds:", bucket.Name, bucket.Objects)
	}
	// Output:
	// a stranger reads: InvalidAccessKeyId
	// the fake holds: photos [cat.jpg]
}

// The first creation of a bucket takes effect, and its client never hears of it.
func ExampleServer_faults() {
	ctx := context.Background()
	server, err := s3fake.New(s3fake.Options{})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		panic(err)
	}
	defer server.Close()
	if err := server.Faults.Add(fault.Rule{Operation: "CreateBucket", Effect: fault.DropAfter, Nth: 1}); err != nil {
		panic(err)
	}

	root := clientFor(server, server.Root())
	create := &s3.CreateBucketInput{Bucket: aws.String("photos")}
	_, err = root.CreateBucket(ctx, create)
	fmt.Println("the first time it failed:", err != nil)
	_, err = root.CreateBucket(ctx, create)
	fmt.Println("the second time it failed:", err != nil) // in us-east-1 one may create a bucket of one's own again
	for _, call := range server.Calls() {
		fmt.Printf("%s %s: performed %t, fault %q, code %q\n", call.Operation, call.Resource, call.Performed, call.Fault, call.Code)
	}
	// Output:
	// the first time it failed: true
	// the second time it failed: false
	// CreateBucket photos: performed true, fault "rule 1", code ""
	// CreateBucket photos: performed true, fault "", code ""
}
