// SPDX-License-Identifier: Apache-2.0

// Package fakecontainer runs the fakes of S3, Azure Blob Storage and Google Cloud Storage in containers. Its API
// follows the modules of testcontainers-go. The Run functions take an image and customizers, and return a
// testcontainers.Container with the addresses and credentials for clients. The package does not import the fakes or
// any client library.
package fakecontainer

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

// S3 is a fake S3 with IAM and STS.
type S3 struct {
	testcontainers.Container

	// URL is the endpoint for clients outside Docker.
	URL string
	// Region is the fake's own region.
	Region string
	// AccessKeyID and SecretAccessKey are the root credentials, and also the administrator's credentials below
	// /_cooper/.
	AccessKeyID, SecretAccessKey string
}

// Azure is a fake Blob Storage.
type Azure struct {
	testcontainers.Container

	// URL is the endpoint of the account for clients outside Docker.
	URL string
	// Account and Key are the storage account and its key1, and also the administrator's credentials below /_cooper/.
	Account, Key string
}

// GCS is a fake Cloud Storage with IAM.
type GCS struct {
	testcontainers.Container

	// URL is the endpoint for clients outside Docker.
	URL string
	// ProjectID is the ID of the only project.
	ProjectID string
	// AdminKey is the JSON key file of a service account with all permissions.
	AdminKey []byte
}

// The default names of the fakes, and credentials that protect nothing.
const (
	region    = "us-east-1"
	rootKey   = "AKIACOOPERCONTAINERS"
	rootValue = "only-for-tests-on-this-machine"
	account   = "devstoreaccount1"
	key1      = "b25seSBmb3IgdGVzdHMgb24gdGhpcyBtYWNoaW5l"
	project   = "cooper-fake"
	keyFile   = "/keys/admin.json"
	// inside is the address in the Google fake's responses until its port outside the container is known.
	inside = "http://fake-gcs"
)

// RunS3 starts a fake S3 and waits until it is ready. Like the other Run functions, it may return a container
// together with an error, so call testcontainers.CleanupContainer before you check the error.
func RunS3(ctx context.Context, image string, options ...testcontainers.ContainerCustomizer) (*S3, error) {
	c, url, err := run(ctx, image, "9000", []string{"s3", "--root-access-key-id=" + rootKey, "--root-secret-access-key=" + rootValue}, options)
	if c == nil {
		return nil, err
	}
	return &S3{Container: c, URL: url, Region: region, AccessKeyID: rootKey, SecretAccessKey: rootValue}, err
}

// RunAzure starts a fake Blob Storage and waits until it is ready.
func RunAzure(ctx context.Context, image string, options ...testcontainers.ContainerCustomizer) (*Azure, error) {
	c, url, err := run(ctx, image, "10000", []string{"azure", "--key=" + key1}, options)
	if c == nil {
		return nil, err
	}
	return &Azure{Container: c, URL: url + "/" + account, Account: account, Key: key1}, err
}

// RunGCS starts a fake Cloud Storage and waits until it is ready.
func RunGCS(ctx context.Context, image string, options ...testcontainers.ContainerCustomizer) (*GCS, error) {
	c, url, err := run(ctx, image, "9002", []string{"gcs", "--key-file=" + keyFile, "--url=" + inside}, options)
	if c == nil {
		return nil, err
	}
	fake := &GCS{Container: c, URL: url, ProjectID: project}
	if err == nil {
		fake.AdminKey, err = fake.adminKey(ctx)
	}
	return fake, err
}

// run starts a container. Commands of customizers are appended to the fake's.
func run(ctx context.Context, image, port string, command []string, options []testcontainers.ContainerCustomizer) (c *testcontainers.DockerContainer, url string, err error) {
	all := append([]testcontainers.ContainerCustomizer{
		testcontainers.WithCmd(append(append([]string{"fakes"}, command...), "--listen=0.0.0.0:"+port, "--admin")...),
		testcontainers.WithExposedPorts(port + "/tcp"),
		testcontainers.WithTmpfs(map[string]string{"/tmp": "mode=1777"}),
		testcontainers.WithWaitStrategy(wait.ForHTTP("/_cooper/health").WithPort(port + "/tcp")),
	}, options...)
	c, err = testcontainers.Run(ctx, image, all...)
	if err != nil {
		return c, "", fmt.Errorf("run cooper fakes %s: %w", command[0], err)
	}
	if url, err = c.PortEndpoint(ctx, port+"/tcp", "http"); err != nil {
		return c, "", fmt.Errorf("get the address of cooper fakes %s: %w", command[0], err)
	}
	return c, url, nil
}

// adminKey reads the administrator's key, with the address at which this process reaches the fake.
func (g *GCS) adminKey(ctx context.Context) ([]byte, error) {
	file, err := g.CopyFileFromContainer(ctx, keyFile)
	if err != nil {
		return nil, fmt.Errorf("read the administrator's key: %w", err)
	}
	defer file.Close()
	raw, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("read the administrator's key: %w", err)
	}
	return bytes.ReplaceAll(raw, []byte(inside), []byte(g.URL)), nil
}
