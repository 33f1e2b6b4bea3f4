// SPDX-License-Identifier: Apache-2.0

// Command e2e-identity is a workload without a stored credential. Like the clouds' own clients, it exchanges
// the token of its Pod's ServiceAccount for a cloud credential. With that credential it stores an object in
// its bucket, reads the object, and reports success. Its environment variables are the entries of the access
// Secret and the variables that the clouds' own clients use.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"google.golang.org/api/option"
)

const name, text = "hello", "from a Pod without a key"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e-identity:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	clouds := map[string]func(context.Context) (string, error){"S3": useS3, "Azure": useAzure, "GCS": useGCS}
	use, ok := clouds[os.Getenv("COSI_PROTOCOL")]
	if !ok {
		return fmt.Errorf("COSI_PROTOCOL is %q, want S3, Azure or GCS", os.Getenv("COSI_PROTOCOL"))
	}
	got, err := use(ctx)
	if err != nil {
		return err
	}
	if got != text {
		return fmt.Errorf("read the object: got %q, want %q", got, text)
	}
	fmt.Println("stored and read as", os.Getenv("COSI_PROTOCOL"))
	return nil
}

// useS3 uses an AWS role.
func useS3(ctx context.Context) (string, error) {
	endpoint, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL"))
	if err != nil {
		return "", fmt.Errorf("parse AWS_ENDPOINT_URL: %w", err)
	}
	session, err := credentials.NewSTSWebIdentity(endpoint.String(), func() (*credentials.WebIdentityToken, error) {
		token, err := os.ReadFile(os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"))
		return &credentials.WebIdentityToken{Token: string(token)}, err
	}, func(i *credentials.STSWebIdentity) { i.RoleARN = os.Getenv("AWS_ROLE_ARN") })
	if err != nil {
		return "", fmt.Errorf("create credentials for the AWS role: %w", err)
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: session, Region: os.Getenv("AWS_DEFAULT_REGION"), Secure: endpoint.Scheme == "https", BucketLookup: minio.BucketLookupPath,
	})
	if err != nil {
		return "", fmt.Errorf("create a client: %w", err)
	}
	bucket := os.Getenv("BUCKET_NAME")
	if _, err := client.PutObject(ctx, bucket, name, strings.NewReader(text), int64(len(text)), minio.PutObjectOptions{}); err != nil {
		return "", fmt.Errorf("store an object: %w", err)
	}
	object, err := client.GetObject(ctx, bucket, name, minio.GetObjectOptions{})
	if err != nil {
		return "", fmt.Errorf("read the object: %w", err)
	}
	return read(object)
}

// useAzure uses a managed identity. The Secret has no key for the container's URL, so CONTAINER_URL contains
// it.
func useAzure(ctx context.Context) (string, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(os.Getenv("COSI_CERTIFICATE_AUTHORITY"))) {
		return "", errors.New("COSI_CERTIFICATE_AUTHORITY contains no PEM certificate")
	}
	trusting := azcore.ClientOptions{Transport: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}}
	login, err := azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
		ClientOptions: trusting, DisableInstanceDiscovery: true, // for clouds that Microsoft does not list
	})
	if err != nil {
		return "", fmt.Errorf("create credentials for the managed identity: %w", err)
	}
	client, err := container.NewClient(os.Getenv("CONTAINER_URL"), login, &container.ClientOptions{ClientOptions: trusting})
	if err != nil {
		return "", fmt.Errorf("create a client: %w", err)
	}
	if _, err := client.NewBlockBlobClient(name).UploadBuffer(ctx, []byte(text), nil); err != nil {
		return "", fmt.Errorf("store a blob: %w", err)
	}
	response, err := client.NewBlobClient(name).DownloadStream(ctx, nil)
	if err != nil {
		return "", fmt.Errorf("read the blob: %w", err)
	}
	return read(response.Body)
}

// useGCS uses a principal of a workload identity pool. GOOGLE_APPLICATION_CREDENTIALS names a configuration
// without secrets.
func useGCS(ctx context.Context) (string, error) {
	config, err := os.ReadFile(os.Getenv("GOOGLE_APPLICATION_CREDENTIALS"))
	if err != nil {
		return "", err
	}
	client, err := storage.NewClient(ctx, option.WithEndpoint(os.Getenv("GCS_ENDPOINT_URL")+"/storage/v1/"),
		option.WithAuthCredentialsJSON(option.ExternalAccount, config), storage.WithJSONReads())
	if err != nil {
		return "", fmt.Errorf("create a client: %w", err)
	}
	client.SetRetry(storage.WithPolicy(storage.RetryNever))
	object := client.Bucket(os.Getenv("BUCKET_NAME")).Object(name)
	writer := object.NewWriter(ctx)
	_, err = io.WriteString(writer, text)
	if err := errors.Join(err, writer.Close()); err != nil {
		return "", fmt.Errorf("store an object: %w", err)
	}
	reader, err := object.NewReader(ctx)
	if err != nil {
		return "", fmt.Errorf("read the object: %w", err)
	}
	return read(reader)
}

func read(body io.ReadCloser) (string, error) {
	content, err := io.ReadAll(body)
	if err := errors.Join(err, body.Close()); err != nil {
		return "", fmt.Errorf("read the object: %w", err)
	}
	return string(content), nil
}
